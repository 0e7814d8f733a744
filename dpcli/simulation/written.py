"""A dummy file as the spec says that files are written, to be read by it again."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import BinaryIO

from dpcli.columns import Column, NumericColumn
from dpcli.dialect import ENCODINGS, UTF16, Dialect
from dpcli.errors import UsageError

UTF16_MARK = b"\xff\xfe"
"""Says that what follows is UTF-16, the low byte first."""


def write_as(
    dialect: Dialect, columns: Sequence[Column], source: BinaryIO, target: BinaryIO
) -> None:
    """Standard CSV with these columns, and a mark behind them, in another dialect.

    A file without a header line has the cells of every name that it is declared to have.
    Letters that the encoding lacks become question marks, and without quotes a cell that
    would need them becomes blank.
    """
    if dialect.encoding == UTF16:
        target.write(UTF16_MARK)
    text = io.TextIOWrapper(
        target, encoding=ENCODINGS[dialect.encoding], errors="replace", newline=""
    )
    writer = csv.writer(
        text,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    )
    plain = io.TextIOWrapper(source, encoding="utf-8", newline="")
    records = csv.reader(plain)
    header = next(records)
    if not dialect.names:
        _require_writable(header, dialect)
    places = [header.index(name) if name in header else None for name in dialect.names]
    places = [*places, len(header) - 1] if dialect.names else list(range(len(header)))
    numeric = {column.name for column in columns if isinstance(column, NumericColumn)}
    commas = {place for place, name in enumerate(header) if name in numeric}

    def cell(place: int | None, row: Sequence[str]) -> str:
        found = "" if place is None else row[place]
        if dialect.decimal == "," and place in commas:
            found = found.replace(".", ",")
        needed = dialect.quote is None and (dialect.delimiter in found or "\n" in found)
        return "" if needed else found

    if not dialect.names:
        writer.writerow(header)
    for row in records:
        writer.writerow([cell(place, row) for place in places])
    text.flush()
    text.detach()
    plain.detach()


def _require_writable(header: Sequence[str], dialect: Dialect) -> None:
    """Raise UsageError for a name that no header line of the dialect can hold."""
    for name in header:
        lost = name.encode(ENCODINGS[dialect.encoding], "replace").decode(
            ENCODINGS[dialect.encoding]
        )
        if lost != name or (dialect.quote is None and dialect.delimiter in name):
            raise UsageError.of(
                "dummy-names",
                f"the column `{name}` cannot stand in a header line that is written as `csv` says",
                "no such file can have it: mend `csv` or the name, or leave --dummy out",
            )
