"""Derived columns: the engine agrees with the plain evaluator."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from dpcli.data.column import Column, Derivation
from dpcli.data.date_forms import DateFormat
from dpcli.data.dates import DateColumn
from dpcli.data.derived import DERIVED, UNDECLARED
from dpcli.data.derived.arithmetic import (
    Arithmetic,
    Difference,
    FirstNumber,
    Product,
    Ratio,
    Sum,
    common_step,
)
from dpcli.data.derived.calendar import TIME_PARTS, Age, DatePart, PartName
from dpcli.data.derived.cell_states import CellState
from dpcli.data.derived.declared import Term
from dpcli.data.derived.joined_ids import JoinedIds
from dpcli.data.derived.labels import Bands, FirstLabel, Satisfies
from dpcli.data.derived.positions import FirstTrue, NumberOfLabels, PositionAmong
from dpcli.data.filters import Compared
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, LabeledColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.data.people.counts import RowsThatCount
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import engine
from tests.oracles.plain import derived, evaluate
from tests.support.options import options
from tests.support.rules import for_each

MAGNITUDE = 1 << 125
"""The limit of the readers of specs."""

STEPS = (Fraction(1), Fraction(1, 2), Fraction(3), Fraction(7, 10), Fraction(1, 1000))
MOST = (1, 5, 1000, 1 << 31, (1 << 62) - 1)
FIRST_DAY = datetime.date(1, 1, 1).toordinal() - 719_163
LAST_DAY = datetime.date(9999, 12, 31).toordinal() - 719_163


def number(name: str, rng: random.Random) -> NumericColumn:
    """A column with random bounds and a random step."""
    most = rng.choice(MOST)
    low, high = sorted(rng.sample(range(-most, most + 1), 2))
    return NumberColumn(name, rng.choice(STEPS), (low, high))


def derive(name: str, derivation: Arithmetic, rng: random.Random) -> NumericColumn:
    """The column of a derivation, with its own bounds or narrower ones."""
    low, high = (min(max(end, -(1 << 62)), 1 << 62) for end in derivation.limits)
    if high - low > 2 and rng.random() < 0.5:
        low, high = low + (high - low) // 3, high - (high - low) // 3
    return NumberColumn(name, derivation.step, (low, high), derivation=derivation)


def random_derivation(columns: list[NumericColumn], rng: random.Random) -> Arithmetic:
    """Any kind of number, from random columns and constants."""

    def term() -> Term:
        constant = Fraction(rng.randint(-20, 20), rng.choice((1, 2, 3, 8)))
        return constant if rng.random() < 0.2 else rng.choice(columns)

    step = rng.choice(STEPS)
    first = rng.choice(columns)
    match rng.randrange(5):
        case 0:
            terms = (first, *(term() for _ in range(rng.randint(1, 3))))
            return Sum(terms, rng.choice((step, common_step(terms))))
        case 1:
            return Difference(rng.choice(((first, term()), (term(), first))), step)
        case 2:
            product = Product((first, *(term() for _ in range(rng.randint(1, 2)))), step)
            return Product(product.terms, rng.choice((step, product.grid)))
        case 3:
            return Ratio((term(), first), step)
        case _:
            return FirstNumber((first, *rng.choices(columns, k=rng.randint(1, 3))), step)


def values_of(column: Column, rows: pl.DataFrame) -> list[int | None]:
    """The values that the engine gives to decoded rows."""
    names = {part: part.name for part in column.derivation.inputs} if column.derivation else {}
    assert column.derivation is not None
    value = column.derivation.value(names)
    if isinstance(column, NumericColumn):
        value = value.clip(*column.limits)
    result = rows.lazy().select(value.alias("value")).collect(engine="streaming")
    return result.to_series().to_list()


def cells(column: NumericColumn, count: int, rng: random.Random) -> list[int | None]:
    """Random cells of a column: ends, values next to zero, and missing ones."""
    low, high = column.limits
    near = [value for value in (-2, -1, 0, 1, 2) if low <= value <= high]
    return [
        rng.choice([low, high, None, rng.randint(low, high), *near[:3], *near[-1:]])
        for _ in range(count)
    ]


@for_each(range(150))
def test_numbers_are_those_of_exact_fractions(seed: int) -> None:
    """For random terms, steps and bounds, also of 125 bits; no value leaves its limits."""
    rng = random.Random(seed)
    columns = [number(f"x{place}", rng) for place in range(3)]
    derivation = random_derivation(columns, rng)
    while derivation.magnitude >= MAGNITUDE:
        # Readers of specs refuse it.
        derivation = random_derivation(columns, rng)
    rows = pl.DataFrame(
        {column.name: cells(column, 40, rng) for column in columns},
        schema={column.name: pl.Int64 for column in columns},
    )
    column = derive("y", derivation, rng)
    expected = [
        derived(column, {part: row[part.name] for part in columns})
        for row in rows.iter_rows(named=True)
    ]
    assert values_of(column, rows) == expected
    whole = NumberColumn("y", derivation.step, (-(1 << 124), 1 << 124), None, None)
    object.__setattr__(whole, "derivation", derivation)
    low, high = derivation.limits
    for row in rows.iter_rows(named=True):
        exact = derived(whole, {part: row[part.name] for part in columns})
        assert exact is None or low <= exact <= high


DAYS = sorted(
    {
        day
        for year in (1, 4, 99, 100, 400, 1582, 1900, 1969, 1970, 1972, 2000, 2020, 2021, 2026, 9999)
        for month, first, last in ((1, 1, 7), (2, 27, 29), (3, 1, 2), (6, 30, 30), (12, 25, 31))
        for number in range(first, last + 1)
        if month != 2 or number < 29 or (year % 4 == 0 and (year % 100 or year % 400 == 0))
        for day in [datetime.date(year, month, number).toordinal() - 719_163]
    }
)


@pytest.mark.parametrize("part", sorted({*get_args(PartName)} - {*TIME_PARTS}))
def test_parts_of_dates_are_those_of_the_standard_library(part: PartName) -> None:
    """From year 1 to year 9999, with leap years, week 53, and dates before 1970."""
    for place in range(0, len(DAYS), 15):
        days = DAYS[place : place + 15]
        date = DateColumn("day", bounds=(days[0], min(days[-1], days[0] + 800)))
        days = [day for day in days if day <= date.upper]
        derivation = DatePart(date, part)
        pairs = tuple((label, label) for label in derivation.labels)
        column = CategoryColumn("y", pairs, derivation=derivation)
        rows = pl.DataFrame({"day": [*days, None]}, schema={"day": pl.Int32})
        expected = [derived(column, {date: day}) for day in (*days, None)]
        assert values_of(column, rows) == expected


@pytest.mark.parametrize("kind", ["csv", "parquet", "users"])
def test_hours_are_those_of_the_cells_of_a_date(tmp_path: Path, kind: str) -> None:
    """A cell without a time has no hour, whatever day replaces missing ones or bounds allow."""
    on = DateColumn("day", bounds=(0, 9), missing=3, source=2, options=options(na=("-",)))
    hour = DatePart(on, "hour")
    pairs = tuple((label, label) for label in hour.labels)
    hours = CategoryColumn("h", pairs, derivation=hour)
    days = CategoryColumn(
        "w",
        tuple((label, label) for label in DatePart(on, "weekday").labels),
        derivation=DatePart(on, "weekday"),
    )
    cells_ = ["2024-03-05T23:59Z", "2024-03-05 00:00:00", "2024-03-05", "-", "2024-02-30 10:00"]
    text = "who,day\n" + "".join(f"{at},{cell}\n" for at, cell in enumerate(cells_ * 3))
    queries = [LinearQuery(by=(Axis(hours),)), LinearQuery(by=(Axis(days),))]
    unit = PersonUnit("who", 9, 9, 9) if kind == "users" else RowUnit()
    path = tmp_path / f"d.{kind.replace('users', 'csv')}"
    path.write_text(text, "utf-8")
    if kind == "parquet":
        pl.read_csv(text.encode(), infer_schema=False).write_parquet(path)
    expected = evaluate(queries, text.encode(), unit)
    assert expected[0] == [3, *[0] * 22, 3]
    assert engine(queries, unit, path) == expected


@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_times_of_parquet_are_by_the_clock_of_their_type(tmp_path: Path, zone: str | None) -> None:
    """A zone of the spec changes nothing there, and a column of days has no hours."""
    cells_ = [datetime.datetime(2024, 3, 5, 23, 45, tzinfo=datetime.UTC), None]
    path = tmp_path / "d.parquet"
    times = pl.Series("time", cells_, dtype=pl.Datetime("ms", "UTC"))
    rome = times.dt.convert_time_zone("Europe/Rome")
    pl.DataFrame({"time": times, "rome": rome, "day": times.dt.date()}).write_parquet(path)
    counts = []
    for name in ("time", "rome", "day"):
        date = DateColumn(name, bounds=(0, 30_000), options=options(DateFormat(zone=zone)))
        derivation = DatePart(date, "hour")
        pairs = tuple((label, label) for label in derivation.labels)
        hours = CategoryColumn("h", pairs, derivation=derivation)
        queries = [LinearQuery(factors=(Factor(date),)), LinearQuery(by=(Axis(hours),))]
        counts.append(engine(queries, RowUnit(), path))
    assert counts[0] == [[19787], [*[0] * 23, 1]]
    assert counts[1] == [[19788], [1, *[0] * 23]]
    assert counts[2] == [[19787], [0] * 24]


def test_ages_change_on_birthdays() -> None:
    """A person of 29 February is a year older from 1 March on; negative ages are floors."""
    birth = DateColumn("birth", bounds=(FIRST_DAY, LAST_DAY))
    at = DateColumn("at", bounds=(FIRST_DAY, LAST_DAY))
    column = IntegerColumn("y", bounds=(-9999, 9999), derivation=Age((birth, at), Fraction(1)))
    pairs = [(first, last) for first in DAYS[::4] for last in DAYS[::3]]
    rows = pl.DataFrame(pairs, schema={"birth": pl.Int32, "at": pl.Int32}, orient="row")
    assert values_of(column, rows) == [
        derived(column, {birth: first, at: last}) for first, last in pairs
    ]
    fixed = IntegerColumn(
        "y", bounds=(-9999, 9999), derivation=Age((birth, Fraction(20_000)), Fraction(1))
    )
    assert values_of(fixed, rows) == [derived(fixed, {birth: first}) for first, _ in pairs]


def chained(rng: random.Random) -> tuple[list[NumericColumn | LabeledColumn], str]:
    """Columns derived from columns of a file and from each other, and a file."""
    x = IntegerColumn("x", bounds=(-9, 9))
    y = NumberColumn("y", Fraction(1, 4), (0, 40), missing=rng.choice((None, 3)))
    day = DateColumn("day", bounds=(-400, 400))
    sex = CategoryColumn("sex", (("m", "male"), ("f", "female")))
    old = CategoryColumn("old", (("M", "male"), ("?", "unknown")))
    total = derive("total", Sum((x, y), Fraction(1, 2)), rng)
    ratio = derive("ratio", Ratio((total, x), Fraction(1, 100)), rng)
    bands = CategoryColumn(
        "bands",
        tuple((label, label) for label in "abc"),
        derivation=Bands(total, (total.lower, total.lower + 2, total.upper - 2)),
    )
    label = FirstLabel((sex, old))
    either = CategoryColumn("either", tuple((x, x) for x in label.labels), 0, derivation=label)
    week = DatePart(day, "year-week")
    weeks = CategoryColumn("w", tuple((x, x) for x in week.labels), derivation=week)
    high = BooleanColumn(
        "high",
        (("false", "false"), ("true", "true")),
        derivation=Satisfies(Compared(ratio, ">", y)),
    )
    lines = ["x,y,day,sex,old"]
    for _ in range(60):
        on = datetime.date(1970, 1, 1) + datetime.timedelta(rng.randint(-500, 500))
        drawn = (rng.randint(-12, 12), rng.randint(-4, 99) / 8, on, *rng.choice(("mM", "f?", "xx")))
        lines.append(",".join(str(cell) if rng.random() < 0.8 else "" for cell in drawn))
    return [total, ratio, bands, either, weeks, high], "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(5))
def test_queries_over_derived_columns(tmp_path: Path, seed: int) -> None:
    """Columns derived from derived ones, in sums, groups and files of both kinds."""
    columns, text = chained(random.Random(seed))
    queries = [
        LinearQuery(factors=(Factor(column),))
        if isinstance(column, NumericColumn)
        else LinearQuery(by=(Axis(column),))
        for column in columns
    ]
    plain, parquet = tmp_path / "d.csv", tmp_path / "d.parquet"
    plain.write_text(text, "utf-8")
    pl.read_csv(plain, infer_schema=False).write_parquet(parquet)
    expected = evaluate(queries, text.encode())
    assert engine(queries, RowUnit(), plain) == expected
    assert engine(queries, RowUnit(), parquet) == expected


def test_every_kind_of_derivation_is_compared() -> None:
    """The kinds that these tests name are all kinds."""
    used: set[type[Derivation]] = {
        Sum,
        Difference,
        Product,
        Ratio,
        FirstNumber,
        Age,
        DatePart,
        Bands,
    }
    # Texts of private categories are compared in `test_filters.py`, states of cells in
    # `test_cell_states.py`, ids of several columns in `test_joined_ids.py`, numbers of rows of a
    # person in `test_values_of_people.py`, and weights of strata by random specs.
    others = {FirstLabel, FirstTrue, Satisfies, PositionAmong, CellState, JoinedIds, RowsThatCount}
    others |= {NumberOfLabels}
    assert {*DERIVED, *UNDECLARED} == used | others
