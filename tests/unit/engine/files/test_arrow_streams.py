"""Tables of Arrow and pandas: times far away are missing, and never become other times."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dpcli.data.labels import PrivatePartitionColumn
from dpcli.data.number_columns import NumberColumn
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import Input, MemoryTable, open_dataset
from dpcli.problems.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
FAR = [
    *(sign * 2**power for sign in (-1, 1) for power in (*range(30, 63, 4), 61, 62)),
    *(-(2**63), 2**63 - 1, 0, 86_400, -1),
    *(253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801),
]
"""Numbers of units since 1970; 2^61 seconds are a multiple of 2^64 milliseconds."""


def expected(number: int, unit: str) -> str | None:
    """The time as text, None outside the years 1 to 9999."""
    try:
        time = EPOCH + datetime.timedelta(seconds=number // PER_SECOND[unit])
    except OverflowError:
        return None
    return time.strftime("%Y-%m-%d %H:%M:%S").zfill(19)


def read(data: Input, column: str = "a") -> list[str | None]:
    """The cells of a column as texts."""
    with open_dataset((data,)) as dataset, dataset.redacted_errors():
        frames = list(read_texts(dataset, [PrivatePartitionColumn(column)]))
    return [row[0] for frame in frames for row in frame.rows()]


@pytest.mark.parametrize("unit", PER_SECOND)
@pytest.mark.parametrize("zone", [None, "UTC", "+00:00"])
@pytest.mark.parametrize("form", ["table", "stream", "pandas", "arrow in pandas", "dictionary"])
def test_no_time_wraps_around(form: str, zone: str | None, unit: str) -> None:
    """A time of any unit is read, or missing if no calendar has it."""
    numbers = [n for n in FAR if form != "pandas" or n != -(2**63)]
    times = pa.array([*numbers, None], pa.timestamp(unit, zone))
    texts = [*(expected(number, unit) for number in numbers), None]
    table: Any = pa.table({"a": times.dictionary_encode() if form == "dictionary" else times})
    if form == "pandas":
        dtype = f"datetime64[{unit}]" if zone is None else f"datetime64[{unit}, UTC]"
        stamps = pd.Series([*numbers, 0]).astype(f"datetime64[{unit}]")
        stamps = (stamps if zone is None else stamps.dt.tz_localize("UTC")).astype(dtype)
        stamps[len(numbers)] = pd.NaT
        table = pd.DataFrame({"a": stamps})
    elif form == "arrow in pandas":
        table = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.chunked_array([times]))})
    elif form == "stream":
        table = table.to_reader()

    assert read(MemoryTable(table)) == texts


def test_dates_in_milliseconds_are_dates() -> None:
    """A date64 far away is missing."""
    days = [0, 1, 2_932_896, 2_932_897, -719_162, -719_163, 10**9, -(10**10)]
    dates = pa.array([day * 86_400_000 for day in days], pa.int64()).view(pa.date64())
    texts = [expected(day * 86_400, "s") for day in days]
    assert read(MemoryTable(pa.table({"a": dates}))) == texts


@pytest.mark.parametrize("unit", PER_SECOND)
def test_durations_are_refused_by_their_type(unit: str, tmp_path: Path) -> None:
    """A span of time is neither a number nor a text."""
    table = pa.table({"a": pa.array([1, 2**62], pa.duration(unit))})
    path = tmp_path / "a.parquet"
    pl.DataFrame(table).write_parquet(path)
    for data in (MemoryTable(table), str(path)):
        with open_dataset((data,)) as dataset:
            assert dict(dataset.sources[0].odd) == {"a": "Duration"}


def test_seconds_without_the_package_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `pyarrow` no time in seconds is read, and other tables are."""
    seconds = pa.table({"a": pa.array([1], pa.timestamp("s"))})
    millis = pa.table({"a": pa.array([1], pa.timestamp("ms"))})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match="times in seconds"):
        MemoryTable(_Stream(seconds)).open()
    MemoryTable(_Stream(millis)).open().close()


class _Stream:
    """A table of a program that is not Arrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__()


def test_long_decimals_are_refused_by_their_type(tmp_path: Path) -> None:
    """A declared decimal256 is named, and one that is not declared changes nothing."""
    path = tmp_path / "a.parquet"
    long = pa.array([Decimal(1), Decimal(2)], pa.decimal256(50, 2))
    table = pa.table({"n": [3, 4], "a": long, "b": ["x", "y"]})
    pq.write_table(table, path)
    with open_dataset((str(path),)) as dataset:
        assert dict(dataset.sources[0].odd) == {"a": "Decimal256"}
    assert read(str(path), "n") == ["3", "4"]
    assert read(str(path), "b") == ["x", "y"]
    with pytest.raises(DataError, match="decimal256"):
        MemoryTable(table).open()


def test_decimals_of_another_size_are_read(tmp_path: Path) -> None:
    """A decimal of as many digits as are read is one, whatever its words are."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([Decimal("1.50")], pa.decimal256(38, 2))}), path)
    assert read(str(path)) == ["1.50"]
    column = NumberColumn("a", bounds=(0, 9))
    with open_dataset((str(path),)) as dataset:
        assert not dataset.sources[0].odd and dataset.sources[0].index_of(column) == 0
