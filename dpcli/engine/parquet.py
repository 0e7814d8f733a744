"""Tables in Parquet: their columns, and every cell as CSV would write it.

    integer, decimal   all digits, as many decimals as the type has
    float              the shortest text that reads back as the same number; nan, inf
    boolean            true or false
    date               YYYY-MM-DD
    date and time      YYYY-MM-DD HH:MM:SS, by the clock of the declared time zone
    text, category     as it is
    null               a blank cell, which is missing

Whole numbers on a grid of ones, and days, go without a text: what stands in them is the same.
Days outside the years 1 to 9999 are blank, as no CSV can write them. The types are the
header of such a file, and decide by themselves what is refused.
"""

from __future__ import annotations

import datetime
import io
import os
from collections.abc import Sequence
from typing import BinaryIO

import polars as pl

from dpcli.columns import Column, NumericColumn
from dpcli.engine.decode import swap_decimal_mark
from dpcli.engine.progress import silenced_stderr
from dpcli.engine.source import Source
from dpcli.errors import DataError, StoppedBySignal

TEXTUAL = (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)

WIDE = (pl.UInt64, pl.Int128, pl.UInt128)
"""Types of numbers that may need more than a machine word."""

FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
EPOCH = datetime.date(1970, 1, 1)

UNITS = {"ms": 10**3, "us": 10**6, "ns": 10**9}

DAY = 86_400

MARK = b"PAR1"
"""How a Parquet file begins and ends."""

TAIL = 8
"""Bytes at its end: the length of the footer, and the mark."""

ROW = 16
"""Bytes that a row takes at least where rows are brought together."""


def parquet_source(name: str, file: BinaryIO) -> Source:
    """A file with the names and types of its columns. DataError `not-parquet` in one sentence.

    Columns that hold no texts are `odd`; `unfit_ids` may write one id in two ways, or two in
    one. The size is at least the number of rows, and some measure of what they need in memory.
    """
    try:
        with silenced_stderr():
            frame = pl.scan_parquet(_footer(file), glob=False, hive_partitioning=False)
            schema = frame.collect_schema()
            rows: int = frame.select(pl.len()).collect().item()
    except (KeyboardInterrupt, StoppedBySignal):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        raise DataError.about("not-parquet", file=name) from None
    if not schema:
        raise DataError.about("no-header.parquet", file=name)
    # A nested type may list categories, so that its own name alone is shown.
    names = {column: dtype.base_type().__name__ for column, dtype in schema.items()}
    odd = {name: kind for name, kind in names.items() if not _is_readable(schema[name])}
    unfit_ids = {
        name: kind
        for name, kind in names.items()
        if schema[name].is_float()
        or schema[name].is_decimal()
        or isinstance(schema[name], pl.Datetime)
    }
    size = max(os.fstat(file.fileno()).st_size, rows * ROW)
    return Source(name, file, size, tuple(schema), dialect=None, odd=odd, unfit_ids=unfit_ids)


def _is_readable(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or isinstance(dtype, (*TEXTUAL, pl.Date, pl.Datetime))


def scan_parquet_file(file: BinaryIO) -> pl.LazyFrame:
    """The table itself.

    With its schema given, the file is never mapped into memory: to touch a page of a mapped
    file that was cut off would end the process.
    """
    schema = pl.scan_parquet(_footer(file), glob=False, hive_partitioning=False).collect_schema()
    return pl.scan_parquet(
        file, glob=False, hive_partitioning=False, use_statistics=False, schema=schema
    )


def rows_of(file: BinaryIO) -> int:
    """The number of rows, which the end of the file states."""
    rows: int = scan_parquet_file(file).select(pl.len()).collect().item()
    return rows


def parquet_frame(source: Source, wanted: Sequence[Column], decimal: str) -> pl.LazyFrame:
    """The wanted columns of a Parquet file; an empty row of it is a row."""
    table = scan_parquet_file(source.file)
    types = table.collect_schema().dtypes()
    texts = []
    for at, column in enumerate(wanted):
        place = source.header.index(column.name)
        cell = _whole(place, types[place], column)
        if cell is None:
            cell = swap_decimal_mark(text_of(place, types[place], decimal), column, decimal)
        texts.append(cell.alias(f"t{at}"))
    if texts:
        return table.select(*texts, pl.lit(value=False).alias("odd_blank"))
    # A literal alone would be one row: some column has to state how many there are.
    readable = [at for at, name in enumerate(source.header) if name not in source.odd]
    return table.select(pl.nth(*readable[:1] or [0]).is_null().alias("odd_blank"))


def _whole(place: int, dtype: pl.DataType, column: Column) -> pl.Expr | None:
    """Whole numbers and days as they are; None where a cell has to be read as a text."""
    if not isinstance(column, NumericColumn):
        return None
    if column.kind == "date":
        return (
            _days(pl.nth(place), dtype, 1).to_physical().cast(pl.Int64)
            if dtype == pl.Date
            else None
        )
    whole = dtype.is_integer() and dtype not in WIDE and column.step == 1
    return pl.nth(place).cast(pl.Int64) if whole else None


def _footer(file: BinaryIO) -> io.BytesIO:
    """A Parquet file without its rows: what stands at the end about its columns."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(os.pread(file.fileno(), TAIL, max(0, size - TAIL))[:4], "little")
    if not 0 < length <= size - TAIL - len(MARK):
        raise ValueError
    return io.BytesIO(MARK + os.pread(file.fileno(), length + TAIL, size - TAIL - length))


def text_of(place: int, dtype: pl.DataType, decimal: str) -> pl.Expr:
    """The column at a place as texts, with this mark before decimals."""
    column = pl.nth(place)
    if isinstance(dtype, pl.Date):
        return _days(column, dtype, 1).dt.to_string("%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        second = UNITS[dtype.time_unit]
        return _days(column, dtype, DAY * second).dt.to_string("%Y-%m-%d %H:%M:%S")
    text = column.cast(pl.String)
    if decimal != "." and (dtype.is_float() or dtype.is_decimal()):
        return text.str.replace(".", decimal, literal=True)
    return text


def _days(column: pl.Expr, dtype: pl.DataType, day: int) -> pl.Expr:
    """Days or times of the calendar, null outside it, where writing one would fail."""
    # Nanoseconds fill their type before the calendar ends.
    first = max((FIRST - EPOCH).days * day, -(1 << 63))
    last = min(((LAST - EPOCH).days + 1) * day, 1 << 63) - 1
    number = column.to_physical().cast(pl.Int64)
    inside = number.clip(first, last).cast(pl.Int32 if isinstance(dtype, pl.Date) else pl.Int64)
    return pl.when(number.is_between(first, last)).then(inside.cast(dtype))
