"""The reference reader: records of CSV text as Python's `csv` module reads them."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator

from dpcli.dialect import Dialect

UTF8_MARK = b"\xef\xbb\xbf"


def records(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    """All records, from lines with their ends; a blank line is one without cells."""
    csv.field_size_limit(sys.maxsize)
    if dialect.quote is None:
        return csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
