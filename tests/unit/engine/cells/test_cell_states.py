"""The states of cells, and columns that are read once, without limits, and then limited."""

from __future__ import annotations

import datetime
import gzip
import math
from fractions import Fraction
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.column import STATES, Column
from dpcli.data.date_forms import DateFormat, date_form
from dpcli.data.dates import DateColumn
from dpcli.data.derived.arithmetic import FirstNumber, Ratio
from dpcli.data.derived.cell_states import cell_state
from dpcli.data.formats import Dialect, NumberFormat
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn, ListedColumn, NumberColumn
from dpcli.data.number_options import ListedNumbers
from dpcli.engine.cells import Decoder
from dpcli.engine.files import pieces
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from tests.oracles import files
from tests.oracles.opened import cells_of, engine
from tests.support.options import options
from tests.support.rules import for_each

AGE = IntegerColumn("age", bounds=(0, 120))
PRICE = NumberColumn(
    "price", Fraction(1, 100), (0, 10**5), options=options(NumberFormat(thousands=","))
)
WEIGHT = NumberColumn("weight", Fraction(1, 2), (0, 20), missing=4)
SEX = CategoryColumn("sex", (("f", "female"), ("m", "male")))
COLOR = CategoryColumn("color", (("r", "red"), ("?", "unknown")), other="unknown")
PLACE = PrivatePartitionColumn("place")
LISTED = ListedColumn("n", Fraction(1), (1, 9), None, options=(ListedNumbers((1, 4, 9)),))
MARKED = IntegerColumn("k", bounds=(0, 9), options=options(na=("-9", "none")))
DAY = DateColumn("day", bounds=(19_000, 19_365))
UNBOUNDED = IntegerColumn("u")

KNOWN: list[tuple[Column, str, str]] = [
    *((AGE, cell, "readable") for cell in ("0", "120", " 7 ", "7.0", "1.2e2")),
    *((AGE, cell, "outside") for cell in ("-1", "121", "inf", "-Infinity", "1e400")),
    *((AGE, cell, "unreadable") for cell in ("7.5", "x", "1,200", "nan", "0x10", "NA")),
    *((AGE, cell, "blank") for cell in ("", " ", "\t", "\N{NO-BREAK SPACE}")),
    *((PRICE, cell, "readable") for cell in ("1,000", "1000.00", "1,000.004", "0")),
    *((PRICE, cell, "outside") for cell in ("1000.01", "-0.01", "12,500")),
    *((PRICE, cell, "unreadable") for cell in ("1,00", "ten")),
    *((WEIGHT, cell, "readable") for cell in ("10", "10.2", "-0.2")),
    *((WEIGHT, cell, "outside") for cell in ("10.3", "-0.3")),
    *((WEIGHT, cell, state) for cell, state in (("", "blank"), ("?", "unreadable"))),
    *((SEX, cell, "readable") for cell in ("f", " m")),
    *((SEX, cell, "unreadable") for cell in ("F", "female", "x")),
    (SEX, "", "blank"),
    *((COLOR, cell, "readable") for cell in ("r", "green", "?")),
    (COLOR, " ", "blank"),
    *((PLACE, cell, "readable") for cell in ("x", "1")),
    *((PLACE, cell, "unreadable") for cell in ("x" * 1001, "a\N{RIGHT-TO-LEFT OVERRIDE}")),
    (PLACE, "", "blank"),
    *((LISTED, cell, "readable") for cell in ("1", "4.0", "9")),
    *((LISTED, cell, "unreadable") for cell in ("2", "10", "inf")),
    *((MARKED, cell, "blank") for cell in ("-9", "-9.0", "none", "")),
    *((MARKED, cell, state) for cell, state in (("-8", "outside"), ("None", "unreadable"))),
    *((DAY, cell, "readable") for cell in ("2022-01-08", "2023-01-08T10:00")),
    *((DAY, cell, "outside") for cell in ("2022-01-07", "2023-01-09", "0001-01-01")),
    *((DAY, cell, "unreadable") for cell in ("2022-02-30", "8/1/2022", "19000")),
    *((UNBOUNDED, cell, "readable") for cell in ("7", "-1000000")),
]


def states(column: Column, cells: pl.Series) -> list[str]:
    """The states of cells, which are texts or whole steps."""
    found = Decoder((cell_state(column),)).decode(cells.to_frame("t0"))
    return [STATES[state] for state in found["t0"]]


@pytest.mark.parametrize(
    ("column", "cell", "state"), KNOWN, ids=[f"{one.name}-{cell[:9]!r}" for one, cell, _ in KNOWN]
)
def test_a_cell_has_the_state_of_the_written_rules(column: Column, cell: str, state: str) -> None:
    """Rounding comes before bounds; marks are blank; a constant changes no state."""
    assert states(column, pl.Series([cell], dtype=pl.String)) == [state]


def test_a_derived_value_is_outside_or_blank_but_never_unreadable() -> None:
    """A ratio without a value is blank, and a number that replaces a missing one is readable."""
    above, below = IntegerColumn("a", bounds=(0, 9)), IntegerColumn("b", bounds=(0, 9))
    share = NumberColumn("r", Fraction(1), (0, 3), derivation=Ratio((above, below), Fraction(1)))
    known = NumberColumn(
        "f", Fraction(1), (0, 3), derivation=FirstNumber((above, below), Fraction(1))
    )
    cells = pl.DataFrame({"t0": ["3", "9", "x", "", "3"], "t1": ["1", "1", "3", "", "0"]})
    found = Decoder((cell_state(share), cell_state(known))).decode(cells)
    named = [[STATES[state] for state in column] for column in found.iter_columns()]

    assert named[0] == ["readable", "outside", "blank", "blank", "blank"]
    assert named[1] == ["readable", "outside", "readable", "blank", "readable"]


def random_column(random: Random) -> Column:
    """A column of any kind, also with years of two digits, hours, marks and forms of numbers."""
    kind = random.randrange(6)
    start = random.choice((-30_000, 0, 10_957, 20_000))
    if kind == 0:
        # Bounds of a century, or one day less: both ends may be written alike.
        years = random.choice((99, 100))
        first = datetime.date(1970, 1, 1) + datetime.timedelta(days=start)
        end = datetime.date(first.year + years, first.month, min(first.day, 28))
        bounds = (start, start + (end - first).days - random.choice((0, 1, 2)))
        days = DateFormat((date_form(random.choice(("%d/%m/%y", "%y%j", "%d/%m/%y %H:%M"))),))
        return DateColumn("x", bounds=bounds, missing=start, options=options(days))
    if kind == 1:
        form = random.choice(
            (NumberFormat(thousands=","), NumberFormat(thousands=" ", decimal=","))
        )
        step = random.choice(files.STEPS)
        marks = random.choice(((), ("-", "99")))
        missing = random.choice((None, 3))
        return NumberColumn("x", step, (0, 90), missing, options=options(form, marks))
    return files._column(random, "x")


def century_cells(random: Random) -> list[str]:
    """Days with years of two digits."""
    days = [datetime.date.fromordinal(random.randint(650_000, 800_000)) for _ in range(60)]
    forms = ("%d/%m/%y", "%y%j", "%d/%m/%y %H:%M")
    return [day.strftime(form) for day in days for form in forms]


@for_each(range(60))
def test_a_column_that_is_read_without_limits_has_the_values_of_a_direct_reading(seed: int) -> None:
    """For columns of all kinds, and cells that are odd, infinite, beyond bounds or blank."""
    random = Random(f"limits {seed}")
    column = random_column(random)
    cells = [files._cell(random, column, 0.4) for _ in range(300)]
    cells += [*century_cells(random), "1.234,5", "1,234.5", "99", "-", "inf", "-inf", "1e400"]
    if isinstance(column, DateColumn) and column.bounds and column.format:
        inside = range(DateColumn.widest[0], DateColumn.widest[1] + 1)
        ends = [end + change for end in column.bounds for change in (-1, 0, 1)]
        cells += [
            form.written(DateColumn("x").text(day), 0)
            for form in column.format.forms
            for day in ends
            if day in inside
        ]
    for frame in (pl.DataFrame({"t0": cells}), pl.DataFrame({"t0": [*range(-50, 150), None]})):
        if frame["t0"].dtype != pl.String and column.whole_cells(pl.first(), pl.Int64()) is None:
            continue
        (direct,) = Decoder((column,)).decode(frame).iter_columns()
        both = Decoder((cell_state(column), column))
        assert len(both.inputs) == 1
        limited = both.decode(frame)["t1"]

        assert limited.to_list() == direct.to_list(), column
        assert limited.dtype == direct.dtype


def counts(column: Column, path: Path) -> dict[str, int]:
    """The number of cells in each state, by the engine."""
    query = LinearQuery(items=(Axis(cell_state(column)),))
    (found,) = engine([query], RowUnit(), path)
    return dict(zip(STATES, cells_of(found), strict=True))


TABLE = {
    "age": [7, 130, None, 0, None],
    "sex": ["f", "x", None, "m", ""],
    "place": ["a", "b", None, "c", ""],
}
EXPECTED = {
    "age": {"readable": 2, "outside": 1, "unreadable": 0, "blank": 2},
    "sex": {"readable": 2, "outside": 0, "unreadable": 1, "blank": 2},
    "place": {"readable": 3, "outside": 0, "unreadable": 0, "blank": 2},
}


@pytest.mark.parametrize("form", ["csv", "in place", "gz", "parquet", "jsonl"])
@pytest.mark.parametrize("column", [AGE, SEX, PLACE], ids=lambda column: str(column.name))
def test_states_are_the_same_in_all_formats(
    column: Column, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of text and typed cells, in files that are read in place and in copies."""
    table, path = pl.DataFrame(TABLE), tmp_path / "t.csv"
    text = table.write_csv()
    if form == "in place":
        monkeypatch.setattr(pieces, "PIECE", 8)
    if form == "parquet":
        table.write_parquet(path := tmp_path / "t.parquet")
    elif form == "jsonl":
        table.write_ndjson(path := tmp_path / "t.jsonl")
    elif form == "gz":
        (path := tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")

    assert counts(column, path) == EXPECTED[column.name]


@pytest.mark.parametrize("other", [None, 7.0, 7.5, math.inf, 1e13, math.nan, 0.25])
@pytest.mark.parametrize("column", [AGE, WEIGHT], ids=lambda column: str(column.name))
def test_the_state_of_a_double_depends_on_no_other_cell(
    column: NumberColumn, other: float | None, tmp_path: Path
) -> None:
    """A fraction in a column of integers is unreadable, and a cell that is no number is blank.

    Some cells of a file make the engine read all cells as texts.
    """
    cells = [math.nan] * 5 + [1.5] * 7 + [None] * 11 + [3.0] * 13 + [500.0] * 2
    path, whole = tmp_path / "t.parquet", column is AGE
    pl.DataFrame({column.name: cells}, {column.name: pl.Float64}).write_parquet(path)
    before = counts(column, path)
    pl.DataFrame({column.name: [*cells, other]}, {column.name: pl.Float64}).write_parquet(path)
    after = counts(column, path)

    assert before == {
        "readable": 13 + 7 * (not whole),
        "outside": 2,
        "unreadable": 7 * whole,
        "blank": 16,
    }
    assert sorted(after[state] - before[state] for state in STATES) == [0, 0, 0, 1]


def test_a_decimal_comma_is_exchanged_before_a_state_is_known(tmp_path: Path) -> None:
    """With `decimal: ","`, a cell with a point is unreadable."""
    (path := tmp_path / "t.csv").write_text("weight;x\n1,5;\n1.5;\n12,5;\n;\n", encoding="utf-8")
    query = LinearQuery(items=(Axis(cell_state(WEIGHT)),))
    dialect = Dialect(delimiter=";", decimal=",")
    assert engine([query], RowUnit(), path, dialect=dialect) == [[1, 1, 1, 1]]


def test_the_words_of_a_boolean_are_readable() -> None:
    """Other words are not."""
    column = BooleanColumn("b", (("0", "false"), ("1", "true")))
    assert states(column, pl.Series(["0", "1", "yes", ""])) == [
        "readable",
        "readable",
        "unreadable",
        "blank",
    ]
