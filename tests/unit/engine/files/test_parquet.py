"""Parquet files are read as CSV would write them; only types decide what is refused."""

from __future__ import annotations

import datetime
import struct
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.formats import Dialect
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, IdColumn, LabeledColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.parquet import column_text, parquet_source, scan_parquet_file
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.problems.errors import DataError
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import engine

RANDOM = Random("parquet")
DAY = datetime.date


def texts(series: pl.Series, decimal: str = ".") -> list[str | None]:
    """The cells of a column, read back from a file."""
    with tempfile.TemporaryFile() as file:
        pl.DataFrame({"x": series}).write_parquet(file)
        file.seek(0)
        frame = scan_parquet_file(file)
        (dtype,) = frame.collect_schema().dtypes()
        return frame.select(column_text(0, dtype, decimal)).collect().to_series().to_list()


WORDS: tuple[tuple[pl.Series, list[str | None]], ...] = (
    (pl.Series([1, -2, None], dtype=pl.Int8), ["1", "-2", None]),
    (pl.Series([2**63 - 1, -(2**63)], dtype=pl.Int64), [str(2**63 - 1), str(-(2**63))]),
    (pl.Series([2**64 - 1], dtype=pl.UInt64), [str(2**64 - 1)]),
    (pl.Series([10**38], dtype=pl.Int128), [str(10**38)]),
    (pl.Series([True, None, False]), ["true", None, "false"]),
    (pl.Series(["a,b", "", " \n", None]), ["a,b", "", " \n", None]),
    (pl.Series(["a", None, "b"], dtype=pl.Categorical), ["a", None, "b"]),
    (pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])), ["a", None, "b"]),
    (pl.Series([None, None], dtype=pl.Null), [None, None]),
    (pl.Series([Decimal("1.50"), Decimal("-0.05")], dtype=pl.Decimal(38, 2)), ["1.50", "-0.05"]),
    (pl.Series([0.1, 1.0, -0.0], dtype=pl.Float32), ["0.1", "1.0", "-0.0"]),
    (pl.Series([DAY(1, 1, 1), DAY(9999, 12, 31), None]), ["0001-01-01", "9999-12-31", None]),
    (
        pl.Series([datetime.datetime(2020, 1, 2, 3, 4, 5, 999_999)]),  # noqa: DTZ001
        ["2020-01-02 03:04:05"],
    ),
    (pl.Series([0], dtype=pl.Int64).cast(pl.Datetime("ms", "Asia/Tokyo")), ["1970-01-01 09:00:00"]),
)


@pytest.mark.parametrize(("series", "expected"), WORDS, ids=lambda one: str(one)[:40])
def test_cells_are_written_as_csv_would(series: pl.Series, expected: list[str | None]) -> None:
    """Each type has one text form, and null is a blank cell."""
    assert texts(series) == expected


def test_floats_are_written_so_that_they_read_back() -> None:
    """The text of a float is the shortest text that reads back as this float."""
    numbers = [struct.unpack("d", RANDOM.randbytes(8))[0] for _ in range(5000)]
    numbers = [number for number in numbers if number == number]  # noqa: PLR0124
    for number, text in zip(numbers, texts(pl.Series(numbers)), strict=True):
        assert text is not None
        assert float(text) == number
        assert len(text.replace("+", "")) <= len(repr(number).replace("+", "")) + 1


@pytest.mark.parametrize("unit", ["ms", "us", "ns", "day"])
def test_days_outside_the_calendar_are_blank(unit: Any) -> None:
    """Days outside the years 1 to 9999 are blank cells and cause no error."""
    kind, size = (pl.Date(), 31) if unit == "day" else (pl.Datetime(unit, "Europe/Paris"), 63)
    ends = [2**size - 1, -(2**size), 0, None]
    series = pl.Series(ends, dtype=pl.Int32 if unit == "day" else pl.Int64).cast(kind)
    first, second, third, fourth = texts(series)

    assert (first is None) == (second is None) == (unit != "ns")
    assert third is not None and third.startswith("1970-01-01")
    assert fourth is None


def written(folder: Path, name: str = "t.parquet", **columns: Any) -> Path:
    """A Parquet file with these columns."""
    path = folder / name
    pl.DataFrame(columns).write_parquet(path)
    return path


AGE = IntegerColumn("age", Fraction(1), (0, 100))
INCOME = NumberColumn("income", Fraction(1, 2), (0, 1000))
HALVES = NumberColumn("halves", Fraction(1, 2), (-1000, 1000))
BIRTHDAY = DateColumn("born", Fraction(1), (-1000, 20_000))
SEX = CategoryColumn("sex", (("0", "male"), ("1", "female")))
MARRIED = BooleanColumn("married", (("false", "no"), ("true", "yes")))


def total(column: NumericColumn) -> LinearQuery:
    """The sum of a column."""
    return LinearQuery(factors=(Factor(column),))


def count(column: Column) -> LinearQuery:
    """The rows of each label."""
    assert isinstance(column, LabeledColumn)
    return LinearQuery(by=(Axis(column),))


def test_typed_columns_are_answered_like_texts(tmp_path: Path) -> None:
    """Categories match whole numbers, booleans are words, infinity is a bound, nan is missing."""
    path = written(
        tmp_path,
        income=[1.25, float("nan"), float("inf"), None, -float("inf")],
        sex=[0, 1, 1, None, 7],
        age=[2**62, 5, 7, None, -1],
        married=[True, False, None, True, True],
        unused=[[1], [2], None, [], [3]],
    )
    queries = [LinearQuery(), total(AGE), total(INCOME), count(SEX), count(MARRIED)]
    answers = engine(queries, RowUnit(), path)
    # Half a step rounds to the even step: 1.25 is two halves.
    assert answers == [[5], [112], [1000 + 2], [1, 2], [1, 3]]
    assert engine([LinearQuery()], RowUnit(), path) == [[5]]


WHOLE = [None, -129, -128, 0, 5, 99, 100, 101, 127, 128, 2**31, 2**62, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int32, pl.UInt64, pl.Int64, pl.Int128])
@pytest.mark.parametrize("column", [AGE, HALVES, BIRTHDAY], ids=lambda one: one.name)
def test_whole_numbers_stand_for_their_texts(
    dtype: type[pl.DataType], column: NumericColumn, tmp_path: Path
) -> None:
    """Integers of any width give the answers of their digits in CSV, alone and mixed."""
    cells = pl.Series(WHOLE, dtype=pl.Int128).cast(dtype, strict=False)
    columns: dict[str, Any] = {column.name: cells, "other": ["x"] * len(cells)}
    path = written(tmp_path, **columns)
    pl.read_parquet(path).write_csv(tmp_path / "t.csv")
    queries = [LinearQuery(), total(column), LinearQuery(present=(column,))]
    (rows,), (whole,), (known,) = engine(queries, RowUnit(), tmp_path / "t.csv")
    assert engine(queries, RowUnit(), path) == [[rows], [whole], [known]]
    both = engine(queries, RowUnit(), path, tmp_path / "t.csv")
    assert both == [[2 * rows], [2 * whole], [2 * known]]


def test_days_stand_for_their_texts(tmp_path: Path) -> None:
    """Days give the answers of their dates in CSV, also outside the calendar."""
    days = pl.Series([None, 0, 18_000, -719_162, 2_932_896, 2**31 - 1], dtype=pl.Int32)
    path = written(tmp_path, born=days.cast(pl.Date), other=["x"] * 6)
    queries = [total(BIRTHDAY), LinearQuery(present=(BIRTHDAY,))]
    assert engine(queries, RowUnit(), path) == [[0 + 18_000 - 1000 + 20_000], [4]]


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_decimal_comma_leaves_typed_numbers_alone(decimal: str, tmp_path: Path) -> None:
    """A number of a numeric type does not depend on the decimal mark of texts."""
    path = written(tmp_path, income=[1.5, 2.0])
    dialect = Dialect(";", decimal=decimal)
    assert engine([total(INCOME)], RowUnit(), path, dialect=dialect) == [[7]]
    path = written(tmp_path, income=["1.5", "2,0"])
    expected = 3 if decimal == "." else 4
    assert engine([total(INCOME)], RowUnit(), path, dialect=dialect) == [[expected]]


def test_a_row_of_nulls_is_a_row(tmp_path: Path) -> None:
    """As `,` is a row in CSV; only a line without any cell is no row."""
    path = written(tmp_path, age=[1, None], sex=["0", None])
    (tmp_path / "t.csv").write_text("age,sex\n1,0\n,\n\n", encoding="utf-8")
    assert engine([LinearQuery()], RowUnit(), path) == [[2]]
    assert engine([LinearQuery()], RowUnit(), tmp_path / "t.csv") == [[2]]


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    """Without rows, answers are zero."""
    path = written(tmp_path, age=pl.Series([], dtype=pl.Int64), sex=pl.Series([], dtype=pl.String))
    assert engine([LinearQuery(), total(AGE), count(SEX)], RowUnit(), path) == [[0], [0], [0, 0]]


def test_people_of_both_formats_are_the_same_people(tmp_path: Path) -> None:
    """An integer id and the same digits in CSV are one person."""
    unit = PersonUnit("who", 1, 1, 1)
    path = written(tmp_path, who=[1, 2, 2, None], age=[5, 5, 5, 5])
    (tmp_path / "t.csv").write_text("age,who\n5,1\n5, 2\n5,3\n", encoding="utf-8")
    queries = [LinearQuery(), total(AGE)]
    assert engine(queries, unit, path, tmp_path / "t.csv") == [[3], [15]]


@pytest.mark.parametrize("dtype", [pl.Float64(), pl.Decimal(10, 1)])
def test_ids_with_decimals_are_refused(dtype: pl.DataType, tmp_path: Path) -> None:
    """As texts, 7.0 and 7 would be two people with separate limits."""
    path = written(tmp_path, who=pl.Series([7, None]).cast(dtype), age=[1.0, 2.0])
    with open_dataset((str(path),)) as dataset:
        require_columns(dataset, [AGE])
        with pytest.raises(DataError) as refusal:
            require_columns(dataset, [IdColumn("who")])
    assert refusal.value.problems[0].code == "column-type"


ODD = {
    "lists": pl.Series([["CANARY"]], dtype=pl.List(pl.Enum(["CANARY"]))),
    "structures": pl.Series([{"CANARY": 1}]),
    "bytes": pl.Series([b"CANARY"]),
    "durations": pl.Series([datetime.timedelta(1)]),
}


@pytest.mark.parametrize("kind", ODD)
def test_unreadable_types_are_refused_in_declared_columns(kind: str, tmp_path: Path) -> None:
    """The message names the column and its type, and no content."""
    path = written(tmp_path, age=ODD[kind], sex=["0"])
    with open_dataset((str(path),)) as dataset:
        require_columns(dataset, [SEX])
        with pytest.raises(DataError) as refusal:
            require_columns(dataset, [AGE])
    (problem,) = refusal.value.problems
    assert problem.code == "column-type"
    assert "`age`" in problem.message and "t.parquet" in problem.message
    assert "CANARY" not in problem.message


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "footer", "encrypted"])
def test_damaged_files_are_refused_in_one_sentence(damage: str, tmp_path: Path) -> None:
    """The message is the same for every kind of damage."""
    path = written(tmp_path, age=[1, 2, 3], sex=["CANARY"] * 3)
    good = path.read_bytes()
    path.write_bytes(
        {
            "text": b"age,sex\n1,CANARY\n",
            "empty": b"",
            "cut": good[:-20],
            "footer": good[:-8] + b"\xff\xff\xff\x7f" + good[-4:],
            "encrypted": b"PARE" + good[4:-4] + b"PARE",
        }[damage]
    )
    with pytest.raises(DataError) as refusal:
        open_dataset((str(path),))
    (problem,) = refusal.value.problems
    assert problem.code == "not-parquet"
    assert problem.message == (
        f"`{path}` is not a Parquet file that can be read: it is damaged, cut off or encrypted"
    )


def test_a_file_is_known_by_its_name_or_its_first_bytes(tmp_path: Path) -> None:
    """`.parquet`, `.pq`, or any name if a header line is expected."""
    path = written(tmp_path, age=[1, 2, 3])
    for name in ("a.pq", "a.PARQUET", "a.csv", "a"):
        (tmp_path / name).write_bytes(path.read_bytes())
        assert engine([total(AGE)], RowUnit(), tmp_path / name) == [[6]]


def test_without_a_header_line_the_first_bytes_are_a_record(tmp_path: Path) -> None:
    """Nothing in a record decides the format: `PAR1` may be a name."""
    dialect = Dialect(names=("sex", "age"))
    for word in ("PAR1", "BZh", "PK\x03\x04", "ARROW1", "x"):
        (tmp_path / "a.csv").write_text(f"{word},20\n0,30\n", encoding="utf-8")
        assert engine([total(AGE)], RowUnit(), tmp_path / "a.csv", dialect=dialect) == [[50]]


def test_sizes_bound_the_rows_of_compressed_files(tmp_path: Path) -> None:
    """Sums fit their types, although a row may take less than a byte."""
    path = written(tmp_path, age=[7] * 100_000)
    with path.open("rb") as file:
        assert parquet_source("t", file).size >= 100_000
    assert path.stat().st_size < 100_000
    wide = IntegerColumn("age", Fraction(1), (0, 2**62 - 1))
    query = LinearQuery(factors=(Factor(wide),))
    huge = written(tmp_path, age=[2**62 - 1] * 100_000)
    assert engine([query], RowUnit(), huge) == [[100_000 * (2**62 - 1)]]
