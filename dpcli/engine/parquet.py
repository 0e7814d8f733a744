"""Parquet files: their columns, and every cell as CSV would write it.

    integer, decimal   all digits, as many decimals as the type has
    float              the shortest text that reads back as the same number; nan, inf
    boolean            true or false
    date               YYYY-MM-DD
    date and time      YYYY-MM-DD HH:MM:SS, by the clock of the declared time zone
    text, category     as it is; bytes that are not UTF-8 become the replacement character
    null               a blank cell, which is missing

Whole numbers with step 1, and days, are read without a text; the values are the same. The form that
a column declares is that of its texts; numbers and times need none (`typed_cells`). Days outside
the years 1 to 9999 are blank, because no CSV can write them. The types are part of the header of a
Parquet file, and only they decide which columns are refused.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import polars as pl

from dpcli.data.column import Column
from dpcli.data.date_cells import within_calendar
from dpcli.data.number_cells import DECIMAL_DIGITS
from dpcli.engine.dataset import Source
from dpcli.engine.file_content import TYPED
from dpcli.engine.parquet_texts import (
    MARK,
    TEXTS,
    copied_name,
    copied_texts,
    decoded,
    footer,
    scan_copy,
)
from dpcli.engine.progress import silenced_stderr
from dpcli.engine.typed_cells import declared_text
from dpcli.errors import DataError, StoppedBySignal
from dpcli.light_dataclasses import dataclass

TEXTUAL = (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)

DECIMAL256 = "Decimal256"
"""The name of a type of decimals with more digits than can be read."""

UNITS = {"ms": 10**3, "us": 10**6, "ns": 10**9}

DAY = 86_400

LEAST_ROW_BYTES = 16
"""Bytes that a row takes at least in a shard of users."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a Parquet file: the first, their number, and the copy of columns of texts.

    With `are_valid`, all texts are UTF-8, or an error shows that some are not.
    """

    start: int
    count: int
    copy: BinaryIO | None
    are_valid: bool = True


def parquet_source(name: str, file: BinaryIO) -> Source:
    """A Parquet file with the names and types of its columns. Raises DataError `not-parquet`.

    `odd` columns cannot be read as texts. A type in `unfit_ids` may write one id as two texts, or
    two ids as one. The size is at least the number of rows, and a rough measure of their memory.
    """
    try:
        with silenced_stderr:
            frame = pl.scan_parquet(_footer(file), glob=False, hive_partitioning=False)
            schema = frame.collect_schema()
            rows: int = frame.select(pl.len()).collect(engine="streaming").item()
    except (KeyboardInterrupt, StoppedBySignal):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        raise DataError.about("not-parquet", file=name) from None
    if not schema:
        raise DataError.about("no-header.parquet", file=name)
    # A nested type may list categories, so only the name of the outer type is shown.
    names = {column: dtype.base_type().__name__ for column, dtype in schema.items()}
    odd = {name: kind for name, kind in names.items() if not _is_readable(schema[name])}
    odd |= {name: DECIMAL256 for name, dtype in schema.items() if _is_too_long(dtype)}
    unfit_ids = {
        name: kind
        for name, kind in names.items()
        if schema[name].is_float()
        or schema[name].is_decimal()
        or isinstance(schema[name], pl.Datetime)
    }
    size = max(os.fstat(file.fileno()).st_size, rows * LEAST_ROW_BYTES)
    return Source(name, file, size, tuple(schema), dialect=None, odd=odd, unfit_ids=unfit_ids)


def _is_readable(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or isinstance(dtype, (*TEXTUAL, pl.Date, pl.Datetime))


def _is_too_long(dtype: pl.DataType) -> bool:
    """Whether a type is a decimal of more digits than can be read."""
    return isinstance(dtype, pl.Decimal) and dtype.precision > DECIMAL_DIGITS


def scan_parquet_file(file: BinaryIO) -> pl.LazyFrame:
    """The table in a Parquet file; columns of decimals that are too long are null.

    The schema is given, so that the file is never mapped into memory: to touch a page of a mapped
    file that was cut off would end the process.
    """
    schema = pl.scan_parquet(_footer(file), glob=False, hive_partitioning=False).collect_schema()
    known = {name: dtype for name, dtype in schema.items() if not _is_too_long(dtype)}
    table = pl.scan_parquet(
        file,
        glob=False,
        hive_partitioning=False,
        use_statistics=False,
        schema=known,
        extra_columns="ignore" if len(known) < len(schema) else "raise",
    )
    if len(known) == len(schema):
        return table
    places = {name: place for place, name in enumerate(known)}
    return table.select(
        pl.nth(places[name]) if name in places else pl.lit(None, pl.Binary).alias(name)
        for name in schema
    )


@contextmanager
def parquet_rows(source: Source, wanted: Sequence[Column], most: int) -> Iterator[Iterator[Rows]]:
    """All rows in their order, a limited number at a time."""
    frame = scan_parquet_file(source.file)
    types = frame.collect_schema().dtypes()
    total: int = frame.select(pl.len()).collect(engine="streaming").item()
    places = [*map(source.place, wanted)]
    with copied_texts(source.name, source.file, types, places) as copy:
        starts = range(0, max(1, total), most)
        yield (Rows(start, min(most, total - start), copy) for start in starts)


def parquet_frame(
    source: Source, wanted: Sequence[Column], decimal: str, rows: Rows
) -> pl.LazyFrame:
    """The wanted columns as `t0` and so on; `odd_blank` is false, because a blank row is a row."""
    blank = pl.lit(value=False).alias("odd_blank")
    if not wanted:
        # A literal alone would be one row, and no column may be read that is not declared.
        return pl.select(pl.repeat(value=False, n=rows.count).alias("odd_blank")).lazy()
    table = scan_parquet_file(source.file)
    types = table.collect_schema().dtypes()
    read, copied = [], []
    for at, column in enumerate(wanted):
        place = source.place(column)
        if isinstance(types[place], TEXTS):
            text = decoded(pl.col(copied_name(place)), is_valid=rows.are_valid)
            copied.append(declared_text(text, column, decimal).alias(f"t{at}"))
            continue
        cell = column.whole_cells(pl.nth(place), types[place])
        if cell is None:
            cell = declared_text(_cell_text(place, types[place], column, decimal), column, decimal)
        read.append(cell.alias(f"t{at}"))
    frames = []
    if read:
        frames.append(table.slice(rows.start, rows.count).select(read))
    if copied:
        assert rows.copy is not None
        frames.append(scan_copy(rows.copy).slice(rows.start, rows.count).select(copied))
    texts = pl.concat(frames, how="horizontal") if len(frames) > 1 else frames[0]
    return texts.select(*(f"t{at}" for at in range(len(wanted))), blank)


def _cell_text(place: int, dtype: pl.DataType, column: Column, decimal: str) -> pl.Expr:
    """The column as texts; numbers and times are typed cells if it declares a form."""
    is_typed = dtype.is_numeric() or isinstance(dtype, (pl.Date, pl.Datetime))
    if not is_typed or not column.has_form:
        return column_text(place, dtype, decimal)
    return TYPED + column_text(place, dtype, ".")


def _footer(file: BinaryIO) -> io.BytesIO:
    """A Parquet file without its rows: only the footer, which describes the columns."""
    content = footer(file)
    return io.BytesIO(MARK + content + len(content).to_bytes(4, "little") + MARK)


def column_text(place: int, dtype: pl.DataType, decimal: str) -> pl.Expr:
    """The column at a place as texts, with `decimal` as decimal mark."""
    column = pl.nth(place)
    if isinstance(dtype, pl.Date):
        return within_calendar(column, dtype, 1).dt.to_string("%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        second = UNITS[dtype.time_unit]
        return within_calendar(column, dtype, DAY * second).dt.to_string("%Y-%m-%d %H:%M:%S")
    text = column.cast(pl.String)
    if decimal != "." and (dtype.is_float() or dtype.is_decimal()):
        return text.str.replace(".", decimal, literal=True)
    return text
