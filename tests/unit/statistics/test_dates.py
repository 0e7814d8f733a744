"""Quantiles and means of dates: rounding, flags and coverage."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from random import Random

import pytest

from dpcli.data.dates import DateColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.distribution import NO_NOISE, Margin
from dpcli.numeric.arrays import integer_array
from dpcli.numeric.days import EPOCH
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.query import Query
from dpcli.queries.scores import ScoreQuery
from dpcli.report.numbers import number_of, number_texts
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.means.mean import Mean
from dpcli.statistics.means.spread import Variance
from dpcli.statistics.postprocessing import FLAGS, Flag, flags
from dpcli.statistics.quantiles.quantile import Median, Minimum
from dpcli.statistics.statistic import Statistic
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate
from tests.support.objectives import ADDED
from tests.support.surveys import planned_statistic, with_noise

SURE = Fraction(19, 20)

SPEC = """
dpcli: 1
dataset: dates
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
columns:
  born: {type: date, bounds: [1930-01-01, 2009-12-31]}
statistics:
  - {name: mean, statistic: mean, column: born, epsilon: 0.5}
"""


def day(text: str) -> int:
    """The days since 1970-01-01."""
    return (datetime.date.fromisoformat(text) - EPOCH).days


def days_apart(lower: int, upper: int, days: int) -> Estimates:
    """One date with an interval, of a column with that many days between its bounds."""
    value = integer_array([(lower + upper) // 2])
    dates = Estimates.around(value, Margin(0), Fraction(1))
    low, high = integer_array([lower]), integer_array([upper])
    return replace(dates, date_range=days, lower=low, upper=high)


def mean_of(total: int, count: int, bounds: tuple[str, str]) -> Estimates:
    """The mean of dates from a noiseless sum of distances from the middle, and a count."""
    column = DateColumn("d", Fraction(1), (day(bounds[0]), day(bounds[1])))
    answers = [NoisyAnswer(integer_array([number]), NO_NOISE) for number in (total, count)]
    design, *_ = Mean().designs(Inputs("m", column), ADDED)
    return design.estimate(answers, SURE)


def texts(estimates: Estimates) -> tuple[str, str, str]:
    """The published value and the ends of its interval."""
    value, lower, upper = (
        number_texts(estimates, numbers).item()
        for numbers in (estimates.value, estimates.lower, estimates.upper)
    )
    return value, lower, upper


def test_the_mean_is_rounded_and_its_interval_outwards() -> None:
    """A mean of a third of a day after the middle is that day, in an interval of two days."""
    bounds = ("2024-01-01", "2024-01-31")

    assert texts(mean_of(1, 3, bounds)) == ("2024-01-16", "2024-01-16", "2024-01-17")
    assert texts(mean_of(-1, 3, bounds)) == ("2024-01-16", "2024-01-15", "2024-01-16")
    assert texts(mean_of(2, 3, bounds)) == ("2024-01-17", "2024-01-16", "2024-01-17")


def test_the_mean_stays_within_the_bounds() -> None:
    """However large the noise of the sum is, the mean is a date that the column can have."""
    bounds = ("0001-01-01", "9999-12-31")

    assert texts(mean_of(10**12, 1, bounds)) == ("9999-12-31",) * 3
    assert texts(mean_of(-(10**12), 1, bounds)) == ("0001-01-01",) * 3


def test_the_median_is_a_date_before_and_after_1970() -> None:
    """A chosen candidate is published as its date."""
    points = (day("1969-12-31"), day("1970-01-01"), day("2024-02-29"))
    column = DateColumn("d", Fraction(1), (points[0], points[-1]))
    inputs = Inputs("m", column, candidates=points)
    limited = Relation(PersonUnit("who", 1, 1, 2), Neighbors.ADD_REMOVE)
    *_, design = Median().designs(inputs, limited)
    given = [NoisyAnswer(integer_array(numbers), NO_NOISE) for numbers in ([0, 1, 2], [9, 9, 9])]
    chosen = design.estimate(given, SURE)

    assert number_texts(chosen, chosen.value).to_list() == [
        "1969-12-31",
        "1970-01-01",
        "2024-02-29",
    ]


@pytest.mark.parametrize("text", ["1969-07-20", "2024-02-29", "0001-01-01", "9999-12-31"])
def test_a_published_date_is_drawn_at_its_day(text: str) -> None:
    """Charts place dates by their days, and numbers as before."""
    assert number_of(text) == day(text)


@pytest.mark.parametrize(
    ("text", "number"), [("-12", -12), ("0.5", Fraction(1, 2)), ("2024", 2024)]
)
def test_a_published_number_is_no_date(text: str, number: Fraction) -> None:
    """A number stays what it is."""
    assert number_of(text) == number


@pytest.mark.parametrize(("width", "flag"), [(6, Flag.NONE), (7, Flag.UNRELIABLE)])
def test_a_date_is_unreliable_if_the_interval_is_wider_than_a_fifth(width: int, flag: Flag) -> None:
    """The share is one of a fifth of the days between the bounds, not of the days since 1970."""
    dates = days_apart(20_000, 20_000 + width, 30)

    assert dates.status[0] == HAS_INTERVAL
    assert FLAGS[flags(dates)[0]] is flag


@pytest.mark.parametrize(("share", "wide"), [(Fraction(1, 3), False), (Fraction(3, 10), True)])
def test_wide_intervals_of_dates_are_withheld(share: Fraction, wide: bool) -> None:
    """`withhold` compares half the width with a share of a fifth of the days between the bounds."""
    assert days_apart(20_000, 20_004, 30).wider_than(share).tolist() == [wide]


@pytest.mark.parametrize("statistic", [Mean(), Median(), Variance(), Minimum()])
@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_neighbor_exceeds_the_sensitivity(statistic: Statistic, neighbors: Neighbors) -> None:
    """Over all neighbors of small files of dates, by the oracle; sums reach what is stated."""
    bounds = day("1969-12-30"), day("1970-01-02")
    column = DateColumn("d", Fraction(1), bounds)
    inputs = Inputs("m", column, candidates=range(bounds[0], bounds[1] + 1))
    relation = Relation(RowUnit(), neighbors)
    queries = [weighted.query for weighted in statistic.designs(inputs, relation)[0].queries]
    cells = ["1960-01-01", "1969-12-30", "1969-12-31", "1970-01-01", "1970-01-02 23:59", "", "x"]
    files = [files for size in range(4) for files in combinations_with_replacement(cells, size)]
    known = {tuple(sorted(rows)): answers(queries, rows) for rows in files}
    worst = [0] * len(queries)
    for rows, here in known.items():
        for other in near(rows, cells, neighbors):
            there = known.get(tuple(sorted(other)))
            for place in range(len(queries) if there else 0):
                changes = [a - b for a, b in zip(here[place], there[place], strict=True)]  # type: ignore[index]
                is_score = isinstance(queries[place], ScoreQuery)
                change = max(changes) - min(changes) if is_score else sum(map(abs, changes))
                worst[place] = max(worst[place], change)

    stated = [query_sensitivity(query, relation).l1 for query in queries]
    assert all(found <= most for found, most in zip(worst, stated, strict=True))
    if not statistic.chooses:
        assert worst == stated


def answers(queries: Sequence[Query], rows: Sequence[str]) -> list[list[int]]:
    """The exact answers about a file of these cells, by the oracle."""
    return list(
        map(cells_of, evaluate(queries, ("d\n" + "".join(f'"{row}"\n' for row in rows)).encode()))
    )


def near(
    rows: Sequence[str], cells: Sequence[str], neighbors: Neighbors
) -> Iterator[tuple[str, ...]]:
    """The files with one row more, or with another row in place of one."""
    for cell in cells:
        if neighbors is Neighbors.ADD_REMOVE:
            yield (*rows, cell)
        else:
            yield from ((*rows[:at], cell, *rows[at + 1 :]) for at in range(len(rows)))


@pytest.mark.usefixtures("stream")
def test_means_of_dates_have_the_coverage_that_they_state() -> None:
    """In 2,000 runs, 93% to 97% of the intervals, in whole days, contain the exact mean."""
    random, low = Random(1), day("1930-01-01")
    days = [low + random.randrange(29_000) for _ in range(400)]
    planned = planned_statistic(SPEC)
    rows = "".join(f"{EPOCH + datetime.timedelta(days=one)}\n" for one in days)
    queries = [part.weighted.query for part in planned.queries]
    exact = list(map(cells_of, evaluate(queries, f"born\n{rows}".encode())))
    estimates = planned.entry.statistic.possible_estimate(
        planned.design, with_noise(planned, exact, 2_000), SURE
    )
    mean = Fraction(sum(days), len(days))
    ends = [(one.lower or Fraction(), one.upper or Fraction()) for one in estimates]

    assert all(lower.denominator == upper.denominator == 1 for lower, upper in ends)
    assert 0.93 <= sum(lower <= mean <= upper for lower, upper in ends) / len(ends) <= 0.97
