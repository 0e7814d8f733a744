"""Tables with an Arrow stream as tables of polars, by their declared types alone.

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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from dpcli.errors import DataError

CAPSULE = b"arrow_array_stream"
"""The name of capsules that hold a stream."""

SECONDS = b"tss:"
"""How formats of times in seconds begin; their zone follows."""

DECIMAL256 = re.compile(rb"d:.*,256")
"""Formats of decimals that polars does not read."""

FIRST = datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)


class _Schema(ctypes.Structure):
    """A type of Arrow with its name, and the types within it."""


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
    """A stream of tables of one type; only its type is used here."""


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
    """A stream that was exported once, for the library that reads it."""

    capsule: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.capsule


def arrow_frame(rows: Any) -> pl.DataFrame:
    """The table of an object with an Arrow stream, or of another one that polars reads.

    Raises DataError `data-unreadable.decimal`, and `data-unreadable.seconds` if times in seconds
    cannot be read without the package `pyarrow`.
    """
    if not hasattr(rows, "__arrow_c_stream__"):
        return pl.DataFrame(rows)
    capsule = rows.__arrow_c_stream__()
    # What has a length can be exported again.
    source = rows if hasattr(rows, "__len__") else _Exported(capsule)
    formats = [*_formats(capsule)]
    if any(map(DECIMAL256.fullmatch, formats)):
        raise DataError.about("data-unreadable.decimal")
    if any(one.startswith(SECONDS) for one in formats):
        return _with_seconds(source)
    return pl.DataFrame(source)


def _formats(capsule: Any) -> Iterator[bytes]:
    """The formats of the columns of a stream, and of the values of categories."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = ctypes.cast(pointer(capsule, CAPSULE), ctypes.POINTER(_Stream))
    schema = _Schema()
    if stream.contents.get_schema(stream, ctypes.byref(schema)):
        # The library that reads the stream meets the same error.
        return
    try:
        for place in range(schema.count):
            column = schema.children[place].contents
            inner = column.dictionary.contents if column.dictionary else column
            yield bytes(inner.format or b"")
    finally:
        schema.release(ctypes.byref(schema))


def _with_seconds(source: Any) -> pl.DataFrame:
    """A table with times in seconds."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError.about("data-unreadable.seconds") from None
    table = pa.RecordBatchReader.from_stream(source).read_all()
    places = []
    for place, (name, kind) in enumerate(zip(table.schema.names, table.schema.types, strict=True)):
        column = table.column(place)
        if pa.types.is_dictionary(kind):
            kind, column = kind.value_type, column.cast(kind.value_type)  # noqa: PLW2901
        if pa.types.is_timestamp(kind) and kind.unit == "s":
            places.append(place)
            table = table.set_column(place, pa.field(name, kind), column)
    types = pl.DataFrame(table.slice(0, 0)).dtypes
    for place in places:
        numbers = table.column(place).cast(pa.int64())
        table = table.set_column(place, table.schema.names[place], numbers)
    return pl.DataFrame(table).with_columns(
        times_of_seconds(pl.nth(place), types[place]) for place in places
    )


def times_of_seconds(seconds: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Whole seconds since 1970 as times of a type in milliseconds; null outside the calendar."""
    first, last = (int((end - EPOCH).total_seconds()) for end in (FIRST, LAST))
    return (
        pl.when(seconds.is_between(first, last)).then(seconds.clip(first, last) * 1000).cast(dtype)
    )
