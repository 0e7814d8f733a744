"""The reference reader: records of CSV text as Python's `csv` module reads them."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator

from dpcli.dialect import Dialect

UTF8_MARK = b"\xef\xbb\xbf"

LINES_END = re.compile("\r\n|\r|\n")
"""Nothing else ends a line, whatever other readers of text think of form feeds and the like."""


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
