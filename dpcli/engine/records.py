"""The reference reader: records by the module `csv`, and plain copies of files.

A spec with `csv: {multiline: false}` declares files in which every line is one record. A line
ends at LF, CRLF or CR, also between quotes. A line in which a quoted cell is not closed is a
row all of whose cells are missing: it is still a row, so that damage does not change how many
rows there are. Any other line holds the cells that the reference reader finds in it alone. A
blank line is no row, or in a file of one column a row whose cell is missing.

Privacy: in such files, no line changes what another line is read as. To change one line of a
file, or to add or remove one, changes one row at most, however odd the line is. The writer of a
record decides one row of the table, and without this rule an open quote would decide all that
follow.
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from dpcli.dialect import Dialect
from dpcli.errors import DataError

UTF8_MARK = b"\xef\xbb\xbf"

LINES_END = re.compile("\r\n|\r|\n")
"""Nothing else ends a line, whatever other readers of text think of form feeds and the like."""

WINDOWS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes to look at, ever more, until the first record is certainly whole."""

BLOCK = 1 << 23
"""Characters that are read at a time; a longer line is taken whole."""


def records(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    """All records, from lines with their ends; a blank line is one without cells."""
    csv.field_size_limit(sys.maxsize)
    if dialect.quote is None:
        return csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)


def record_of(line: str, dialect: Dialect) -> list[str] | None:
    """The cells of one line without its end; None if a quoted cell is not closed in it."""
    # Behind an open quote the second line is part of the first record.
    cells, *others = records((f"{line}\n", "\n"), dialect)
    return cells if others else None


def quoted_fields(dialect: Dialect) -> str:
    """A pattern of quoted fields between separators. In a text without other quotes these are all.

    Unless lines may end within cells, the field ends in the line in which it begins.
    """
    d, q = re.escape(dialect.delimiter), re.escape(dialect.quote or "")
    inner = q if dialect.multiline else rf"{q}\r\n"
    return rf"(?<![^{d}\r\n]){q}(?:[^{inner}]++|{q}{q})*+{q}(?![^{d}\r\n])"


def numbered_header(delimiter: str, width: int) -> str:
    """A header line that stands for names: `c0`, `c1` and so on.

    Native readers look at the first bytes for compression and the like: these must never be
    those of a record.
    """
    return delimiter.join(f"c{place}" for place in range(width)) + "\n"


def is_separator_mark(header: Sequence[str]) -> bool:
    """Whether a first line is the mark by which spreadsheets state what is between cells."""
    rest = "".join(header)
    return rest[:4].lower() == "sep=" and len(rest) <= 5


def header_of(file: BinaryIO, name: str, size: int, dialect: Dialect) -> tuple[str, ...]:
    """The names in the first record that is not blank."""
    names = first_record(file, size, dialect)
    if names:
        return tuple(names)
    if names is not None:
        raise DataError.of(
            "no-header",
            f"a quote is not closed in the header line of `{name}`",
            "write `csv: {quote: none}` if quotes mean nothing in the file, or `multiline: true` "
            "if names have line ends in them",
        )
    raise DataError.of(
        "no-header",
        f"`{name}` has no header line",
        "the first line must name the columns; for a file without one, list them in the spec: "
        "`csv: {names: [...]}`, as `dpcli init DATA --no-header` does",
    )


def first_record(file: BinaryIO, size: int, dialect: Dialect, start: int = 0) -> list[str] | None:
    """The cells of the first record from `start` on that is not blank, if there is a whole one.

    None at all if a quote is not closed in the line that should hold it.
    """
    for window in WINDOWS:
        content = os.pread(file.fileno(), window, start)
        text = content.removeprefix(UTF8_MARK).decode("utf-8", errors="replace")
        if not dialect.multiline:
            line, *others = LINES_END.split(text.lstrip("\r\n"), maxsplit=1)
            if line and (others or start + len(content) >= size):
                return record_of(line, dialect) or []
            continue
        found = (row for row in records(io.StringIO(text, newline=""), dialect) if row)
        cells = next(found, None)
        # A record is known to be whole when another one follows it.
        if cells and (start + len(content) >= size or next(found, None) is not None):
            return cells
    return None


@contextmanager
def plain_copy(
    file: BinaryIO, width: int, dialect: Dialect, wanted: Sequence[int]
) -> Iterator[BinaryIO]:
    """A nameless temporary file on whose records all readers agree.

    If every line is one record, a file in the same dialect with the same columns, of which
    `width` is the number. Else standard CSV with the wanted columns alone.
    """
    with tempfile.TemporaryFile(prefix="dpcli-") as copy:
        text = io.TextIOWrapper(copy, encoding="utf-8", newline="")
        newline = "" if dialect.multiline else None
        file.seek(0)
        lines = io.TextIOWrapper(file, "utf-8-sig", "replace", newline)
        try:
            if dialect.multiline:
                _copy_records(lines, width, dialect, wanted, text)
            else:
                _copy_lines(lines, width, dialect, text)
        finally:
            lines.detach()
        text.detach()
        copy.seek(0)
        yield copy


def _copy_records(
    lines: TextIO, width: int, dialect: Dialect, wanted: Sequence[int], copy: TextIO
) -> None:
    """Write the wanted columns with quotes around each cell, so that none is taken for structure.

    The header names the columns by their positions in `wanted`.
    """
    writer = csv.writer(copy, quoting=csv.QUOTE_ALL, lineterminator="\n")
    rows = records(lines, dialect)
    next((row for row in rows if row), [])
    writer.writerow(range(max(1, len(wanted))))
    for row in rows:
        # In a file of one column a blank line is a row whose only cell is missing.
        if not row and width > 1:
            continue
        count = len(row)
        writer.writerow([row[place] if place < count else "" for place in wanted] or [""])


def _copy_lines(lines: TextIO, width: int, dialect: Dialect, copy: TextIO) -> None:
    """Write odd lines as their cells, in the usual form; the others are copied as they are."""
    quote, quoted = dialect.quote, quoted_fields(dialect)
    writer = csv.writer(
        copy, delimiter=dialect.delimiter, quotechar=quote or '"', lineterminator="\n"
    )
    copy.write(numbered_header(dialect.delimiter, width))
    # The first line that is not blank names the columns.
    next((line for line in lines if line != "\n"), "")
    while block := lines.read(BLOCK):
        text = (block + lines.readline()).removesuffix("\n") + "\n"
        if width > 1:
            text = re.sub("\n\n+", "\n", text.lstrip("\n"))
        if quote is None or quote not in text or quote not in re.sub(quoted, "", text):
            copy.write(text)
            continue
        for line in text[:-1].split("\n"):
            if quote in line:
                writer.writerow(record_of(line, dialect) or [""] * width)
            else:
                copy.write(line + "\n")
