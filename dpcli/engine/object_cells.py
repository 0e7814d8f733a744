"""Tables of pandas as columns of polars, by the types of their columns alone.

A column of Python objects has no type that its values share: one `"unknown"` among numbers makes
libraries refuse it. So its cells are written one by one, as in a text file: texts as they are,
truth values as words, numbers and times as typed cells. Any other object is missing.

A category lists its values, and those are written in the same way. Times in seconds are read as in
`arrow_stream`. A column of another type that
polars does not know becomes a column of bytes, which is refused if it is declared.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import polars as pl

from dpcli.engine.arrow_stream import times_of_seconds
from dpcli.engine.file_content import TYPED
from dpcli.engine.json_lines import WORDS
from dpcli.errors import StoppedBySignal
from dpcli.numeric.arrays import np

SECONDS = tuple(f"{name}[s{end}" for name in ("datetime64", "timestamp") for end in "],")
"""How names of types of times in seconds begin."""


def polars_frame(table: Any) -> pl.DataFrame:
    """The columns of a table of pandas, without its index."""
    return pl.DataFrame(
        [
            _column(table.iloc[:, [place]]).alias(str(name))
            for place, name in enumerate(table.columns)
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
        if str(column.dtype).startswith(SECONDS):
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
    """The text of a cell that holds an object; None for missing values, and for other kinds.

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
    """A number or a time as every program writes it."""
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
    return value.isoformat() if type(value) is datetime.date else None
