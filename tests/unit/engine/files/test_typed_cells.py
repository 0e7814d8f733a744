"""Numbers and times that a file states as such are read as they are, whatever form texts have."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from dpcli.data.date_forms import DateForm, DateFormat
from dpcli.data.dates import DateColumn
from dpcli.data.formats import Dialect, NumberFormat
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import engine
from tests.support.options import options
from tests.support.refusals import refused
from tests.unit.engine.files.test_file_forms import texts, workbook

DAY = datetime.date
GERMAN = NumberFormat(decimal=",", thousands=".")
PRICE = NumberColumn("price", Fraction(1, 1000), (0, 10**7), options=options(GERMAN))
RATE = NumberColumn("rate", Fraction(1, 1000), (0, 10**7))
SCORE = IntegerColumn("score", Fraction(1), (-1000, 1000), options=options(na=("-99",)))
BORN = DateColumn("born", Fraction(1), (-1000, 30_000))
YEAR = CategoryColumn("year", (("2023", "2023"), ("2024", "2024")))
DIALECT = Dialect(delimiter=";", decimal=",")

HEADER = ("price", "rate", "score", "born", "year")
ROWS: list[tuple[float, float, int | None, datetime.date, int]] = [
    (1.234, 0.5, -99, DAY(2024, 3, 5), 2023),
    (1000.5, 2.25, 7, DAY(2024, 12, 1), 2024),
    (0.001, 1000, None, DAY(1969, 1, 2), 2024),
]
CSV = """\
price;rate;score;born;year
1,234;0,5;-99;05/03/2024;2023
1.000,5;2,25;7;01/12/2024;2024
0,001;1000;;02/01/1969;2024
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The same table as text with decimal commas, and in formats that state types."""
    paths = {kind: tmp_path / f"a.{kind}" for kind in ("csv", "xlsx", "jsonl", "parquet")}
    paths["csv"].write_text(CSV, encoding="utf-8")
    workbook(paths["xlsx"], HEADER, *ROWS)
    # JSON has no dates, so these are texts in the declared form.
    records = [
        dict(zip(HEADER, (*row[:3], f"{row[3]:%d/%m/%Y}", row[4]), strict=True)) for row in ROWS
    ]
    lines = "\n".join(map(json.dumps, records))
    paths["jsonl"].write_text(lines.replace(": 0.5,", ": 5E-1,"), encoding="utf-8")
    pl.DataFrame(ROWS, HEADER, orient="row").write_parquet(paths["parquet"])
    return paths


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "parquet"])
def test_every_format_gives_the_same_numbers(kind: str, files: dict[str, Path]) -> None:
    """Forms of numbers and dates are those of texts; marks and labels are those of all cells."""
    born = replace(BORN, options=options(DateFormat((DateForm("%d/%m/%Y"),))))
    queries = [LinearQuery(factors=(Factor(column),)) for column in (PRICE, RATE, SCORE, born)]
    by_year = LinearQuery(by=(Axis(YEAR),))
    days = sum((row[3] - DAY(1970, 1, 1)).days for row in ROWS)
    expected = [[1_000_500 + 1_234 + 1], [500 + 2_250 + 1_000_000], [7], [days], [1, 2]]

    assert engine([*queries, by_year], RowUnit(), files[kind], dialect=DIALECT) == expected


def test_texts_of_a_workbook_have_the_declared_form(tmp_path: Path) -> None:
    """A text cell `1.234` is a thousand, and a number 1.234 is not."""
    path = workbook(tmp_path / "a.xlsx", ["price"], ["1.234"], [1.234], ["1,5"], ["x"])
    (total,) = engine([LinearQuery(factors=(Factor(PRICE),))], RowUnit(), path, dialect=DIALECT)
    assert total == [1_234_000 + 1_234 + 1_500]


def test_a_date_that_the_form_cannot_hold_is_missing(tmp_path: Path) -> None:
    """Two digits of a year would be another year; nothing is read as what it is not."""
    column = replace(BORN, options=options(DateFormat((DateForm("%d/%m/%y"),))))
    path = workbook(tmp_path / "a.xlsx", ["born"], [DAY(2075, 1, 1)], ["02/01/70"])
    assert engine([LinearQuery(factors=(Factor(column),))], RowUnit(), path) == [[1]]


def test_a_cell_that_the_library_cannot_write_is_missing_alone(tmp_path: Path) -> None:
    """A time long before the calendar ends no release, and changes no other cell."""
    openpyxl = pytest.importorskip("openpyxl")
    path = workbook(tmp_path / "a.xlsx", [], ["age", "when"], *([age, age] for age in range(9)))
    book = openpyxl.load_workbook(path)
    for row in (3, 5, 11):
        cell = book.active.cell(row, 2, -1e12)
        cell.number_format = "yyyy-mm-dd"
    book.save(path)
    header, rows = texts(path)

    assert header == ("age", "when")
    assert [row[0] for row in rows] == [str(age) for age in range(9)]
    assert [row[1] for row in rows] == [None, "1", None, *map(str, range(3, 8)), None]


def test_blank_rows_of_one_column_are_rows_like_lines(tmp_path: Path) -> None:
    """A blank cell between others is a missing one; in wider tables such a row is a separator."""
    one = workbook(tmp_path / "a.xlsx", ["age"], [1], [None], [2])
    two = workbook(tmp_path / "b.xlsx", ["age", "sex"], [1, "F"], [None, None], [2, None])
    assert texts(one)[1] == [("1",), (None,), ("2",)]
    assert texts(two)[1] == [("1", "F"), ("2", None)]


def test_a_workbook_has_no_public_number_of_rows(files: dict[str, Path]) -> None:
    """Whether a record is blank would decide whether it counts."""
    with open_dataset((str(files["csv"]), str(files["jsonl"])), DIALECT) as dataset:
        require_columns(dataset, (), every_record=True)
    with open_dataset((str(files["xlsx"]),)) as dataset, refused("sheet-rows"):
        require_columns(dataset, (), every_record=True)
    with (
        open_dataset((str(files["csv"]),), Dialect(footer=("Total",))) as dataset,
        pytest.raises(ValueError, match="footer"),
    ):
        require_columns(dataset, (), every_record=True)
