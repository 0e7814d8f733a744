"""Tables in memory: the types of columns decide what is refused, never the values in them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpcli.data.labels import CategoryColumn
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import MemoryTable, open_dataset
from dpcli.problems.errors import DataError
from tests.support.rules import mostly_extended

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

COLUMN = CategoryColumn("x", (("a", "a"),))


def read(table: object) -> list[str | None] | str:
    """The cells of column `x` as texts, or the code of the refusal."""
    try:
        with open_dataset((MemoryTable(table),)) as dataset:
            require_columns(dataset, [COLUMN])
            return [row[0] for frame in read_texts(dataset, [COLUMN]) for row in frame.rows()]
    except DataError as refusal:
        return refusal.problems[0].code


class Odd:
    """An object of a kind that no file has."""

    def __str__(self) -> str:
        raise AssertionError("no object is asked for its text")


class OddText(str):
    """A text that fails wherever it is asked for something."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise AssertionError("no text of a subclass is asked")


OBJECTS: list[tuple[object, str | None]] = [
    ("a", "a"),
    ("", ""),
    ("\ud800", "?"),
    (OddText("b"), "b"),
    (3, "3"),
    (np.int8(-3), "-3"),
    (2**70, str(2**70)),
    (10**5000, None),
    (1.5, "1.5"),
    (float("nan"), None),
    (float("-inf"), "-inf"),
    (np.float32(0.5), "0.5"),
    (Decimal("1.50"), "1.50"),
    (Decimal("sNaN"), None),
    (True, "true"),
    (np.bool_(0), "false"),
    (None, None),
    (pd.NA, None),
    (pd.NaT, None),
    (pd.Timestamp("2020-01-02 03:04:05.6", tz="Asia/Tokyo"), "2020-01-02 03:04:05"),
    (datetime.datetime(800, 1, 2, 3, 4, 5), "0800-01-02 03:04:05"),  # noqa: DTZ001
    (datetime.date(800, 1, 2), "0800-01-02"),
    (np.datetime64("2020-01-02"), "2020-01-02 00:00:00"),
    (np.datetime64("NaT"), None),
    (b"a", None),
    ([1], None),
    (Odd(), None),
    (1j, None),
]


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_each_object_is_a_value_or_missing(dtype: str) -> None:
    """A column of objects is read value by value, with any values next to each other."""
    values = [value for value, _ in OBJECTS if dtype == "object" or _is_category(value)]
    expected = [text for value, text in OBJECTS if dtype == "object" or _is_category(value)]
    column = pd.Series(pd.array(values, dtype=object), dtype=object)
    if dtype == "category":
        column = pd.Series(pd.Categorical(column, categories=pd.Index(values, dtype=object)))
    assert read(pd.DataFrame({"x": column})) == expected


def _is_category(value: object) -> bool:
    return isinstance(value, str | int | bytes) and not isinstance(value, bool)


@pytest.mark.parametrize("value", [value for value, _ in OBJECTS], ids=lambda one: str(type(one)))
@pytest.mark.parametrize(
    "others", mostly_extended([["a"], [1], [1.5], [None], []], ["a"], [1]), ids=str
)
def test_no_object_changes_how_others_are_read(value: object, others: list[object]) -> None:
    """With or without one odd object, the other cells of a column of objects are the same."""

    def table(values: list[object]) -> Any:
        column = pd.Series(pd.array(values, dtype=object), dtype=object)
        return pd.DataFrame({"x": column, "y": column})

    assert read(table([*others, value]))[: len(others)] == read(table(others))


@pytest.mark.parametrize("values", [["a", None], [], [None, None], ["a", "b", "a"]], ids=str)
@pytest.mark.parametrize("dtype", ["object", "str", "string", "string[python]", "category"])
def test_columns_of_texts_are_texts(dtype: str, values: list[str | None]) -> None:
    """Whatever holds the texts, with missing ones or none."""
    assert read(pd.DataFrame({"x": pd.Series(values, dtype=dtype)})) == values


@pytest.mark.parametrize("value", ["a", "\ud800", ""])
def test_half_a_pair_is_no_reason_to_refuse(value: str) -> None:
    """A text that no file can hold is one with a mark in its place."""
    for dtype in ("object", "string[python]", pd.StringDtype("python", na_value=np.nan)):
        table = pd.DataFrame({"x": pd.Series(["a", value], dtype=dtype)})
        assert read(table) == ["a", value.encode("utf-8", "replace").decode()]


NUMBERS = {
    "int8": "1", "uint64": "1", "Int64": "1", "float32": "1.0", "Float64": "1.0", "bool": "true",
    "boolean": "true", "int64[pyarrow]": "1",
}  # fmt: skip


@pytest.mark.parametrize("dtype", NUMBERS)
def test_columns_of_numbers_keep_their_type(dtype: str) -> None:
    """Types of numbers are read as polars reads them."""
    assert read(pd.DataFrame({"x": pd.Series([1, 1], dtype=dtype)})) == [NUMBERS[dtype]] * 2


REFUSED: dict[str, Callable[[], object]] = {
    "complex": lambda: pd.DataFrame({"x": [1j, 2]}),
    "sparse": lambda: pd.DataFrame({"x": pd.arrays.SparseArray([0, 1])}),
    "period": lambda: pd.DataFrame({"x": pd.period_range("2020", periods=2)}),
    "interval": lambda: pd.DataFrame({"x": pd.interval_range(0, 2)}),
    "duration": lambda: pd.DataFrame({"x": pd.to_timedelta([1, 2])}),
    "bytes": lambda: pa.table({"x": [b"a"]}),
    "list": lambda: pa.table({"x": [["a"]]}),
    "uuid": lambda: pa.table({"x": pa.array([b"x" * 16], pa.binary(16)).cast(pa.uuid())}),
    "polars objects": lambda: pl.DataFrame({"x": pl.Series([Odd(), 3], dtype=pl.Object)}),
    "lazy objects": lambda: pl.DataFrame({"x": pl.Series(["a"], dtype=pl.Object)}).lazy(),
}
"""Tables with a type that is refused."""


@pytest.mark.parametrize("kind", REFUSED)
def test_other_types_are_refused_by_their_names(kind: str) -> None:
    """A type that has no text is refused where it is declared, and no matter where it is not."""
    table: Any = REFUSED[kind]()
    assert read(table) == "column-type"
    if isinstance(table, pd.DataFrame):
        rows = len(table)
        assert read(table.rename(columns={"x": "y"}).assign(x=["a"] * rows)) == ["a"] * rows


@pytest.mark.parametrize("value", [b"a", b"\xff", b"\xed\xa0\x80", None])
@pytest.mark.parametrize("kind", ["texts", "large", "dictionary", "view"])
def test_texts_of_arrow_need_not_be_utf_8(kind: str, value: bytes | None) -> None:
    """What another program put into a column of texts is read as in a file."""
    content = pa.array([value, b"b"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 2, content.buffers(), content.null_count)
    if kind == "dictionary":
        texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]).slice(0, 2), texts)
    elif kind == "large":
        texts = content.cast(pa.large_binary()).view(pa.large_string())
    elif kind == "view":
        texts = content.cast(pa.binary_view()).view(pa.string_view())
    expected = None if value is None else value.decode("utf-8", "replace")
    assert read(pa.table({"x": texts})) == [expected, "b"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63) + 1, 0, 253_402_300_799])
def test_no_time_is_a_reason_to_refuse(value: int, unit: str) -> None:
    """Times outside the calendar are cells like others, in tables of pandas and of Arrow."""
    times = np.array([value, 0], dtype="int64")
    for zone in (None, "Asia/Tokyo", "America/New_York"):
        arrow = pa.table({"x": pa.array(times).view(pa.timestamp(unit, tz=zone))})
        assert len(read(arrow)) == 2
    assert read(pd.DataFrame({"x": times.view(f"datetime64[{unit}]")}))[1] == "1970-01-01 00:00:00"
