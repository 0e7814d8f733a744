"""The first records of files, as Python's module `csv` reads them."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from dpcli.dialect import Dialect
from dpcli.errors import DataError

UTF8_MARK = b"\xef\xbb\xbf"

LINES_END = re.compile("\r\n|\r|\n")
"""Nothing else ends a line, whatever other readers of text think of form feeds and the like."""

WINDOWS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes to look at, ever more, until the first record is certainly whole."""


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
    raise DataError.about("no-header" if names is None else "no-header.open-quote", file=name)


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
