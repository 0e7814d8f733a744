"""The lines before the records of CSV text: skipped ones, and the header.

Privacy: the lines before the records are public. They are at the start of the file, where no record
changes what they are.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from dpcli.data.formats import Dialect
from dpcli.engine.files.csv_marks import plain_text, without_marks
from dpcli.engine.files.decoding import (
    UTF8_BOM,
    WINDOWS,
    column_names,
    parse_lines,
    placeholder_header,
    split_start,
    to_utf8,
)
from dpcli.problems.errors import DataError


def table_text(
    blocks: Iterable[bytes], dialect: Dialect, name: str
) -> tuple[tuple[str, ...], Iterator[bytes]]:
    """Names of the columns, and the records in UTF-8 after a line of placeholders.

    Without a declared form of the header there are no names, and all the text: its first line that
    is not blank names the columns. Raises DataError `no-header`.
    """
    has_public_start = not dialect.names or dialect.skip_lines > 0
    text = to_utf8(blocks, dialect.encoding, has_header=has_public_start)
    if dialect.escape or dialect.comment:
        text, dialect = plain_text(text, dialect), without_marks(dialect)
    if dialect.begins_with_header:
        return (), text
    window = len(UTF8_BOM) if dialect.names and not dialect.skip_lines else WINDOWS[-1]
    start, all_blocks = split_start(text, window)
    next(all_blocks)
    lines = io.StringIO(start.removeprefix(UTF8_BOM).decode("utf-8", "replace"), newline="")
    for _ in range(dialect.skip_lines):
        lines.readline()
    names = dialect.names or header_names(lines, dialect)
    rest = lines.read()
    if not names or (not dialect.names and not rest and len(start) >= window):
        raise DataError.about("no-header", file=name)
    header = placeholder_header(dialect.delimiter, len(names))
    return names, chain(((header + rest).encode("utf-8", "replace"),), all_blocks)


def header_names(lines: Iterable[str], dialect: Dialect) -> tuple[str, ...]:
    """The names in the next records that are not blank; none if records are too few."""
    # Blank lines within a name would become one space.
    blanks = " \t\r\n".replace(dialect.delimiter, "")
    lines = (line for line in lines if line.strip(blanks))
    header = []
    for record in parse_lines(lines, dialect):
        if record is None:
            break
        header += [record] if record else []
        if len(header) == dialect.header_lines:
            names = merged_names(*header) if len(header) > 1 else header[0]
            return column_names(names, dialect)
    return ()


def merged_names(upper: Sequence[str], lower: Sequence[str]) -> tuple[str, ...]:
    """One name for each column of a header of two lines.

    An empty cell of the first line takes the text to its left, because programs write a text that
    spans several columns into the first of them. If both lines have a text, `: ` is between them;
    a column without a text in the second line has its own text of the first line, if any. Blanks
    and line ends within a text become one space.

    >>> merged_names(["Id", "Which?", "", "", "Age"], ["", "Web", "Print", "", ""])
    ('Id', 'Which?: Web', 'Which?: Print', '', 'Age')
    """
    names, group = [], ""
    for above, below in zip_longest(upper, lower, fillvalue=""):
        own, part = " ".join(above.split()), " ".join(below.split())
        group = own or group
        names.append(": ".join(filter(None, (group, part))) if part else own)
    return tuple(names)
