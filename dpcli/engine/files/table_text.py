"""The text of a table of CSV or JSON Lines, after one line of placeholders.

Privacy: the lines before the records are public. They are at the start of the file, where no record
changes what they are.

In JSON Lines, every line is an object, which is a row; its keys name the columns.

    number         the digits as they are written, not rounded
    true, false    these words
    text           as it is
    null           a blank cell, which is missing, as for a key that the object does not have
    object, list   a blank cell: nested values cannot be read

The spec names the keys that are read. A line that is no object, or has more than `LONGEST_LINE`
bytes, is a row with all cells missing. A blank line is no row.

Privacy: the first object is a record, so no object decides which columns there are. A file may lack
a key in all of its records, which no message may say (`reading_warnings`). Every line is decoded by
itself, by the decoder of Python, line by line. The native readers of polars are faster, but they
round numbers, and one line that they refuse ends the reading of all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.engine.files.content import (
    TYPED,
    UTF8_BOM,
    WINDOWS,
    parse_line,
    parse_records,
    placeholder_header,
    split_start,
    to_utf8,
)
from dpcli.problems.errors import DataError


def table_text(
    blocks: Iterable[bytes], dialect: Dialect, name: str
) -> tuple[tuple[str, ...], Iterator[bytes]]:
    """The names of the columns, and the records in UTF-8 after a line of placeholders.

    Without a declared form of the header there are no names, and all the text: its first line that
    is not blank names the columns. Raises DataError `no-header`.
    """
    has_public_start = not dialect.names or dialect.skip_lines > 0
    text = to_utf8(blocks, dialect.encoding, has_header=has_public_start)
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
    """The names in the next records that are not blank; none if there are too few records."""
    if dialect.multiline:
        records: Iterator[Sequence[str] | None] = parse_records(lines, dialect)
    else:
        records = (parse_line(line.rstrip("\r\n"), dialect) for line in lines)
    header = []
    for record in records:
        if record is None:
            break
        header += [record] if record else []
        if len(header) == dialect.header_lines:
            return merged_names(*header) if len(header) > 1 else tuple(header[0])
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


LONGEST_LINE = 1 << 24
"""Bytes of the longest line that is read."""

ROWS = 1 << 12
"""Rows that are written together."""

WORDS = {True: "true", False: "false"}
"""The words for the truth values."""

DECODER = json.JSONDecoder(parse_float=TYPED.__add__, parse_int=TYPED.__add__, parse_constant=str)
"""Decodes a line; numbers are typed texts."""


def json_table(
    blocks: Iterable[bytes], names: Sequence[str], file: str
) -> tuple[tuple[str, ...], Iterator[bytes]]:
    """The names of the columns, and the rows as CSV in UTF-8 after a line of placeholders.

    Without `names`, for a draft of a spec, they are the keys of the first object; DataError
    `no-header.json` if the first line is no object with keys.
    """
    records: Iterator[dict[str, object] | None] = map(_record, _lines(blocks))
    if not names:
        first = next(records, None)
        if not first:
            raise DataError.about("no-header.json", file=file)
        names, records = tuple(first), chain((first,), records)
    return tuple(names), _as_csv(records, names)


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """All lines that are not blank; of a line that is too long, enough to know that."""
    waiting, unmarked = b"", True
    for block in chain(blocks, (b"\n",)):
        *lines, waiting = (waiting + block).split(b"\n")
        waiting = waiting[: LONGEST_LINE + 1]
        for line in lines:
            text = line.removeprefix(UTF8_BOM) if unmarked else line
            unmarked = False
            if text.strip():
                yield text


def _record(line: bytes) -> dict[str, object] | None:
    if len(line) > LONGEST_LINE:
        return None
    try:
        value = DECODER.decode(line.decode("utf-8", "replace").strip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_csv(records: Iterable[dict[str, object] | None], names: Sequence[str]) -> Iterator[bytes]:
    yield placeholder_header(STANDARD_DIALECT.delimiter, len(names)).encode()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for number, record in enumerate(records, 1):
        cells = map((record or {}).get, names)
        writer.writerow([cell if isinstance(cell, str) else _scalar(cell) for cell in cells])
        if number % ROWS == 0:
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode("utf-8", "replace")


def _scalar(value: object) -> str:
    return WORDS[value] if isinstance(value, bool) else ""
