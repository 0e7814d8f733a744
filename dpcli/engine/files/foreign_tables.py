"""Tables of pandas and Arrow streams as tables of polars, by their types alone.

Polars has no times in seconds. It multiplies them by a thousand as it reads them, and a time far
away then wraps around to another one: 2^61 seconds become the first of January 1970. So they are
read as whole numbers, and those outside the years 1 to 9999 are null, as in Parquet. A decimal of
256 bits is refused by name. The types are those of the schema of the stream,
which the C data interface of Arrow exports before any row.
"""

from __future__ import annotations

import ctypes
import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from dpcli.engine.files.decoding import TYPED
from dpcli.engine.files.json_lines import WORDS
from dpcli.numeric.arrays import np
from dpcli.problems.errors import DataError, StoppedBySignal

CAPSULE = b"arrow_array_stream"
"""The name of capsules that hold a stream."""

SECONDS = b"tss:"
"""The start of the format of a time in seconds; the time zone follows."""

DECIMAL256 = re.compile(rb"d:.*,256")
"""Formats of decimals that polars does not read."""

FIRST = datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)


class _Schema(ctypes.Structure):
    """The schema of an Arrow stream in the C interface: type, name, children."""


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("count", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """A stream of tables in the C interface of Arrow; only its schema is used here."""


_Stream._fields_ = [
    (
        "get_schema",
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema)),
    ),
    ("get_next", ctypes.c_void_p),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private", ctypes.c_void_p),
]


@dataclass(frozen=True, slots=True)
class _Exported:
    """An exported stream as an object, from which another library reads it."""

    capsule: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.capsule


def arrow_frame(rows: Any) -> pl.DataFrame:
    """The table of an object with an Arrow stream, or of another that polars reads.

    Raises DataError `data-unreadable.decimal`, and `data-unreadable.seconds` if times in seconds
    cannot be read without the package `pyarrow`.
    """
    if not hasattr(rows, "__arrow_c_stream__"):
        return pl.DataFrame(rows)
    # Some tables cannot be exported twice at the same time, such as those of DuckDB.
    capsule = rows.__arrow_c_stream__()
    source = _Exported(capsule)
    formats = [*_formats(capsule)]
    if any(map(DECIMAL256.fullmatch, formats)):
        raise DataError.about("data-unreadable.decimal")
    if any(form.startswith(SECONDS) for form in formats):
        return _with_seconds(source)
    return pl.DataFrame(source)


def _formats(capsule: Any) -> Iterator[bytes]:
    """The format of each column of a stream; for categories, of their values."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = ctypes.cast(pointer(capsule, CAPSULE), ctypes.POINTER(_Stream))
    schema = _Schema()
    if stream.contents.get_schema(stream, ctypes.byref(schema)):
        # The library that reads the stream meets the same error.
        return
    try:
        for index in range(schema.count):
            column = schema.children[index].contents
            inner = column.dictionary.contents if column.dictionary else column
            yield bytes(inner.format or b"")
    finally:
        schema.release(ctypes.byref(schema))


def _with_seconds(source: Any) -> pl.DataFrame:
    """A table from a stream with times in seconds, by the package `pyarrow`."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError.about("data-unreadable.seconds") from None
    table = pa.RecordBatchReader.from_stream(source).read_all()
    indices = []
    for index, (name, kind) in enumerate(zip(table.schema.names, table.schema.types, strict=True)):
        column = table.column(index)
        if pa.types.is_dictionary(kind):
            kind, column = kind.value_type, column.cast(kind.value_type)  # noqa: PLW2901
        if pa.types.is_timestamp(kind) and kind.unit == "s":
            indices.append(index)
            table = table.set_column(index, pa.field(name, kind), column)
    types = pl.DataFrame(table.slice(0, 0)).dtypes
    for index in indices:
        numbers = table.column(index).cast(pa.int64())
        table = table.set_column(index, table.schema.names[index], numbers)
    return pl.DataFrame(table).with_columns(
        times_of_seconds(pl.nth(index), types[index]) for index in indices
    )


def times_of_seconds(seconds: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Whole seconds since 1970 as times in milliseconds; null outside the calendar."""
    first, last = (int((end - EPOCH).total_seconds()) for end in (FIRST, LAST))
    return (
        pl.when(seconds.is_between(first, last)).then(seconds.clip(first, last) * 1000).cast(dtype)
    )


PANDAS_SECONDS = tuple(f"{name}[s{end}" for name in ("datetime64", "timestamp") for end in "],")
"""The start of the name of a type for times in seconds, in pandas."""


def polars_frame(table: Any) -> pl.DataFrame:
    """The columns of a table of pandas, without its index."""
    return pl.DataFrame(
        [
            _column(table.iloc[:, [index]]).alias(str(name))
            for index, name in enumerate(table.columns)
        ]
    )


def _column(table: Any) -> pl.Series:
    column = table.iloc[:, 0]
    if column.dtype == "category":
        categories = cell_texts(column.cat.categories.tolist())
        codes = pl.Series(column.cat.codes.to_numpy(), dtype=pl.Int64, strict=False)
        return categories.gather(codes.set(codes < 0, None))
    is_text = column.dtype.kind == "O" and not hasattr(column.dtype, "pyarrow_dtype")
    has_objects = getattr(column.dtype, "storage", "python") == "python"
    is_object = column.dtype == object or column.dtype.name in ("str", "string")
    if is_text and has_objects and is_object:
        return cell_texts(column.tolist())
    try:
        if str(column.dtype).startswith(PANDAS_SECONDS):
            times = column.to_numpy(dtype="datetime64[s]", na_value=np.datetime64("NaT"))
            seconds = pl.Series(times.view(np.int64)).to_frame()
            dtype = pl.DataFrame(table.iloc[:0]).dtypes[0]
            return seconds.select(times_of_seconds(pl.nth(0), dtype)).to_series()
        return pl.DataFrame(table).to_series()
    except (KeyboardInterrupt, SystemExit, StoppedBySignal):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        return pl.Series([None], dtype=pl.Binary).new_from_index(0, len(column))


def cell_texts(values: Iterable[object]) -> pl.Series:
    """Each value by itself as the text of a cell; null for one that is missing."""
    return pl.Series(map(cell_text, values), dtype=pl.String)


def cell_text(value: object) -> str | None:
    """The text of a cell with an object; None for missing values and other kinds.

    >>> cell_text("3"), cell_text(True), cell_text(float("nan")), cell_text([3])
    ('3', 'true', None, None)
    """
    try:
        if isinstance(value, str):
            # Half a pair is no text.
            return str.encode(value, "utf-8", "replace").decode()
        if isinstance(value, bool | np.bool_):
            return WORDS[bool(value)]
        text = _typed_text(value)
    except Exception:  # noqa: BLE001 - whatever it is, it is missing
        return None
    return None if text is None else TYPED + text


def _typed_text(value: object) -> str | None:
    """A number or a time as every program writes it; None for all other objects."""
    if isinstance(value, int | np.integer):
        return int.__repr__(int(value))
    if isinstance(value, float | np.floating):
        return None if value != value else float.__repr__(float(value))  # noqa: PLR0124
    if isinstance(value, Decimal):
        return None if value.is_nan() else str(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    # A missing time of pandas is a time that equals no other.
    if isinstance(value, datetime.datetime) and value == value:  # noqa: PLR0124
        return value.replace(tzinfo=None).isoformat(" ", "seconds")
    if isinstance(value, datetime.time):
        return value.replace(tzinfo=None).isoformat("seconds")
    return value.isoformat() if type(value) is datetime.date else None
