"""Rows of other days than those of the period do not exist for a release."""

from __future__ import annotations

import datetime
from pathlib import Path
from random import Random

import pytest

from dpcli.data.column import UNREADABLE
from dpcli.data.date_forms import date_form
from dpcli.data.date_options import CenturyFrom, Formats
from dpcli.data.dates import DateColumn
from dpcli.data.filters import InRanges
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.data.period_filter import period_filter
from dpcli.data.periods import parse_period
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.engine.sums.aggregate import QueryAggregator
from dpcli.engine.sums.partials import aggregate_partials, pack_partial
from dpcli.numeric.days import days_of
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.problems.errors import DataError
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.distinct import DistinctQuery
from dpcli.statistics.quality.faults import CellFault, FaultOrder
from tests.oracles.agreement import agreed
from tests.oracles.opened import bounded, engine, opened
from tests.oracles.plain import evaluate
from tests.support.rules import mostly_extended

DAY = DateColumn("day", bounds=(days_of("2024-01-01"), days_of("2024-12-31")))
SIZE = IntegerColumn("size", bounds=(-5, 100))
KIND = CategoryColumn("kind", (("a", "a"), ("b", "b")))

PERSON = PersonUnit("who", 50, 50, 50)
UNITS: list[Unit] = [RowUnit(), PERSON, PersonUnit("who", 50, 50, 50, singletons_without_id=True)]

TOTAL = LinearQuery(factors=(Factor(SIZE),))
QUERIES: list[Query] = [
    LinearQuery(),
    TOTAL,
    LinearQuery(by=(Axis(KIND),), factors=(Factor(SIZE),)),
    FaultOrder((CellFault(SIZE, UNREADABLE), CellFault(KIND, UNREADABLE))).query(RowUnit()),
    DistinctQuery(column=SIZE),
]
OF_PEOPLE: list[Query] = [LinearQuery(user_clamp=(0, 1)), RowsPerUserQuery(starts=(1, 2, 4))]


def row(random: Random) -> tuple[str, str, str, str]:
    """A row whose day is often outside the period, out of bounds, or cannot be read."""
    day = datetime.date(2023, 12, 25) + datetime.timedelta(days=random.randint(0, 380))
    odd = ("", "n/a", "2024-13-01", "0001-01-01", "9999-12-31", "2024-02-30")
    text = random.choice(odd) if random.random() < 0.2 else day.isoformat()
    return (
        random.choice(("1", "2", "3", "x", "")), text,
        random.choice(("7", "-3", "", "oops", "1000")), random.choice(("a", "b", "c", "")),
    )  # fmt: skip


def content(rows: list[tuple[str, str, str, str]]) -> str:
    """The file with these rows."""
    return "\n".join(["who,day,size,kind", *map(",".join, rows), ""])


def is_of(text: str, first: str, last: str) -> bool:
    """Whether a cell is a day from `first` to `last`; by texts, which sort like days."""
    try:
        return first <= datetime.date.fromisoformat(text).isoformat() <= last
    except ValueError:
        return False


PERIODS = {
    "2024-03": ("2024-03-01", "2024-03-31"),
    "2024": ("2024-01-01", "2024-12-31"),
    "2024-12-31": ("2024-12-31", "2024-12-31"),
    "2023-12/2024-02": ("2023-12-01", "2024-02-29"),
    "1999": ("1999-01-01", "1999-12-31"),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("text", mostly_extended(list(PERIODS), *list(PERIODS)[:2]))
def test_a_release_is_that_of_a_file_without_the_other_rows(
    text: str, unit: Unit, tmp_path: Path
) -> None:
    """All answers, also of a check and of people by their rows, are those of the rows left."""
    random = Random(f"{text} {unit}")
    queries = QUERIES if isinstance(unit, RowUnit) else [*QUERIES, *OF_PEOPLE]
    for missing in (None, days_of("2024-03-05")):
        column = DateColumn("day", bounds=DAY.bounds, missing=missing)
        only = period_filter(column, parse_period(text))
        for _ in range(6):
            rows = [row(random) for _ in range(random.randint(0, 60))]
            kept = [one for one in rows if is_of(one[1], *PERIODS[text])]
            found = agreed(queries, content(rows), tmp_path, unit, only=only)
            assert found == evaluate(queries, content(kept).encode(), unit), text


def test_a_row_of_another_day_takes_no_place_of_a_person(tmp_path: Path) -> None:
    """With a limit of one row, the one row of the period is kept, whatever other rows there are."""
    unit = PersonUnit("who", 1, 1, 1)
    rows = [(str(who % 9), "2024-05-01", "1", "a") for who in range(900)]
    rows += [(str(who), "2024-03-01", "100", "b") for who in range(9)]
    only = period_filter(DAY, parse_period("2024-03"))
    path = tmp_path / "data.csv"
    path.write_text(content(rows), encoding="utf-8")
    for _ in range(5):
        assert engine([TOTAL, LinearQuery()], unit, path, only=only) == [[900], [9]]


@pytest.mark.parametrize("unit", UNITS)
def test_parts_hold_rows_of_the_period_only(unit: Unit, tmp_path: Path) -> None:
    """Merged parts give the answers of one scan; a part of another period is refused."""
    random, only = Random("parts"), period_filter(DAY, parse_period("2024-03"))
    queries = QUERIES if isinstance(unit, RowUnit) else [*QUERIES, *OF_PEOPLE]
    files, asked = [[row(random) for _ in range(40)] for _ in range(3)], bounded(queries, unit)
    names = []
    for index, rows in enumerate(files):
        path = tmp_path / f"{index}.csv"
        path.write_text(content(rows), encoding="utf-8")
        with open_dataset([str(path)]) as dataset:
            frames = QueryAggregator(asked, only).mergeable_partial(dataset, Progress())
        names.append(str(path.with_suffix(".sealed")))
        Path(names[-1]).write_bytes(pack_partial("d", frames, "2024-03"))
    merged = opened(aggregate_partials(asked, "d", names, "2024-03"))
    kept = [one for rows in files for one in rows if one[1][:7] == "2024-03"]
    assert merged == evaluate(queries, content(kept).encode(), unit)
    for other in ("2024-04", ""):
        with pytest.raises(DataError, match="the period"):
            aggregate_partials(asked, "d", names, other)


def formatted(text: str, *, century: int | None, bounds: tuple[str, str] | None) -> DateColumn:
    """Days with years of two digits."""
    limits = None if bounds is None else (days_of(bounds[0]), days_of(bounds[1]))
    more = () if century is None else (CenturyFrom(century),)
    return DateColumn("day", bounds=limits, options=(Formats((date_form(text),)), *more))


@pytest.mark.parametrize(
    ("column", "period", "cells", "kept"),
    [
        (formatted("%d.%m.%y", century=None, bounds=("1930-01-01", "2010-12-31")), "1999",
         ("31.12.99", "01.01.00", "31.12.98", ""), 1),
        # In a period after the bounds, 20 still means 1920.
        (formatted("%d.%m.%y", century=None, bounds=("1900-01-01", "1960-12-31")), "2020",
         ("01.06.20", "31.12.20"), 0),
        (formatted("%d.%m.%y", century=None, bounds=("1900-01-01", "1960-12-31")), "1920",
         ("01.06.20", "31.12.20"), 2),
        (formatted("%d.%m.%y", century=None, bounds=None), "2020", ("01.06.20", "01.06.19"), 1),
        (formatted("%d.%m.%y", century=1900, bounds=None), "1920", ("01.06.20", "01.06.19"), 1),
        (DateColumn("day"), "2024-02", ("2024-02-29", "2024-03-01", "2024-02-01T10:00"), 2),
    ],
)  # fmt: skip
def test_days_are_read_as_their_column_reads_them(
    column: DateColumn, period: str, cells: tuple[str, ...], kept: int, tmp_path: Path
) -> None:
    """Formats and centuries stay those of the declaration, with bounds and without."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["day,size", *(f"{cell},1" for cell in cells), ""]), encoding="utf-8")
    only = period_filter(column, parse_period(period))
    assert engine([TOTAL], RowUnit(), path, only=only) == [[kept]]


def test_a_filter_of_another_kind_is_refused() -> None:
    """A subclass could look at several rows."""

    class Other(InRanges):
        __slots__ = ()

    with pytest.raises(TypeError, match="subclassed"):
        QueryAggregator(bounded([TOTAL], RowUnit()), Other(DAY, ((0, 1),)))
