"""Intervals of ratios and totals in the population: how often they contain them."""

from __future__ import annotations

from itertools import product
from operator import itemgetter

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.queries.query import LinearQuery, Query
from dpcli.statistics.estimates import HAS_INTERVAL, UNBOUNDED
from tests.support.surveys import CONFIDENCE, planned_statistic, row_terms, with_noise

pytestmark = pytest.mark.usefixtures("stream")

SPEC = """
dpcli: 1
dataset: population
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 100, delta: 1e-5}}}}
columns:
  x: {{type: integer, bounds: [0, 100]}}
  y: {{type: integer, bounds: [0, 100]}}
  z: {{type: integer, bounds: [-100, 100]}}
  a: {{type: boolean}}
  b: {{type: boolean}}
  w: {{type: integer, bounds: [0, 3]}}
  g: {{type: category, values: [p, q]}}
sample: {{design: simple-random, population: {population}{size}}}
statistics: [{{name: s, {fields}}}]
"""

KINDS = 240
"""Different units of a population; each is there several times."""

RATIO = "statistic: ratio, numerator: {}, denominator: {}"
COMPARED = "statistic: comparison, between: {g: [p, q]}, of: "

ENTRIES = {
    "sums": RATIO.format("y", "x"),
    "sums gaussian": RATIO.format("y", "x") + ", mechanism: gaussian, delta: 1e-6",
    "kinds": RATIO.format("a", "b"),
    "sum over kind": RATIO.format("y", "a"),
    "mean": RATIO.format("y", "rows") + ", per: 10",
    "rows over kind": RATIO.format("rows", "a"),
    "compared sums": COMPARED + "sum, column: y",
    "compared ratios": COMPARED + RATIO.format("y", "x").replace("statistic: ", ""),
    "compared kinds": COMPARED + RATIO.format("a", "b").replace("statistic: ", ""),
}
"""Numbers whose intervals for the population follow from sums; of the mean, from squares too."""


def planned(
    fields: str, rows: int = 300, neighbors: str = "add-remove", *, sized: bool = True
) -> PlannedStatistic:
    """A statistic of a sample of a quarter of the population."""
    size = f", size: {rows}" if sized else ""
    return planned_statistic(
        SPEC.format(fields=fields, neighbors=neighbors, population=4 * rows, size=size)
    )


def units(shape: str) -> dict[str, Ints]:
    """The values of all kinds of units: even, skewed, or rarely far from a small value."""
    random = np.random.default_rng(1)
    chance = {"even": 0.5, "skewed": 0.3, "rare": 0.04}[shape]
    x, y = random.integers(0, 101, (2, KINDS))
    if shape == "skewed":
        x, y = (random.exponential(mean, KINDS).clip(1, 100).astype(np.int64) for mean in (12, 8))
    if shape == "rare":
        x, y = (np.where(random.random(KINDS) < 0.03, 100, few) for few in (2, 3))
    a, b, g = (random.random(KINDS) < part for part in (chance, 1.5 * chance, 0.4))
    named = {"x": x, "y": y, "a": a, "b": b, "g": g}
    return {name: np.asarray(one, np.int64) for name, one in named.items()}


def terms_by_cell(query: Query, values: dict[str, Ints]) -> Ints:
    """What each kind of units adds to each cell, shape (cells, kinds)."""
    own = np.prod(
        [values[one.columns[0].name] for one in query.where], axis=0, initial=1, dtype=int
    )
    own = own * np.ones(KINDS, np.int64)
    terms = row_terms(query, values)
    assert not isinstance(query, LinearQuery) or len(terms) == 1
    axes = [*query.by, *query.items]
    cells = []
    for labels in product(*map(range, map(len, axes))):
        inside = own
        for axis, label in zip(axes, labels, strict=True):
            inside = inside * (values[axis.column.name] == label)
        cells += [inside * term for term in terms]
    return np.array(cells)


def truth(entry: str, values: dict[str, Ints], copies: Ints) -> Floats:
    """The numbers of the population, with the difference and the ratio of two groups."""

    def total(name: str, group: Ints) -> float:
        return float((copies * group * values.get(name, 1)).sum())

    fields = dict(part.split(": ", 1) for part in entry.replace("{g: [p, q]}", "g").split(", "))
    groups = [values["g"] == 0, values["g"] == 1] if "between" in fields else [np.ones(KINDS, int)]
    above, below = fields.get("numerator", fields.get("column", "")), fields.get("denominator")
    numbers = [
        total(above, one) / (total(below, one) if below else 1) * int(fields.get("per", 1))
        for one in groups
    ]
    if len(groups) == 1:
        return np.array(numbers)
    first, other = numbers
    # The ratio of two totals is in percent.
    return np.array([first, other, other - first, other / first * (1 if below else 100)])


def share_held(
    entry: str, shape: str, rows: int, epsilon: float, neighbors: str, runs: int
) -> Floats:
    """The share of samples of which the interval of each item holds, or says nothing."""
    random, values = np.random.default_rng(3), units(shape)
    copies = random.multinomial(4 * rows, np.full(KINDS, 1 / KINDS))
    statistic = planned(f"{entry}, epsilon: {epsilon}", rows, neighbors)
    drawn = random.multivariate_hypergeometric(copies, rows, method="marginals", size=runs)
    exact = [drawn @ terms_by_cell(part.weighted.query, values).T for part in statistic.queries]
    found = statistic.design.population(with_noise(statistic, exact), CONFIDENCE)
    number, step = truth(entry, values, copies), float(found.step)
    lower, upper = (
        ends.astype(float).reshape(runs, -1) * step for ends in (found.lower, found.upper)
    )
    holds = (lower <= number + 1e-9) & (number - 1e-9 <= upper)
    silent = found.status.reshape(runs, -1) != HAS_INTERVAL
    return np.asarray((holds | silent).mean(axis=0))


@pytest.mark.parametrize("name", ENTRIES)
def test_intervals_of_quotients_and_totals_cover_the_population(name: str) -> None:
    """Of 200 samples of 300 units, hardly fewer than stated."""
    held = share_held(ENTRIES[name], "skewed", 300, 2, "add-remove", 200)
    assert (held >= 0.88).all(), held


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("rows", [30, 300, 30_000])
@pytest.mark.parametrize("shape", ["even", "skewed", "rare"])
@pytest.mark.parametrize("name", [name for name in ENTRIES if name != "mean"])
def test_intervals_cover_the_population_in_thousands_of_samples(
    name: str, shape: str, rows: int, neighbors: str
) -> None:
    """They hold in 94.5% of 4,000 samples, less 4.5 standard errors, of few and many rows."""
    epsilon = {30: 4, 300: 2, 30_000: 0.5}[rows]
    held = share_held(ENTRIES[name], shape, rows, epsilon, neighbors, 4000)
    assert (held >= 0.945 - 4.5 * np.sqrt(0.945 * 0.055 / 4000)).all(), held


@pytest.mark.parametrize(
    ("fields", "sized", "is_known"),
    [
        (ENTRIES["sums"], False, True),
        (ENTRIES["kinds"], False, True),
        (ENTRIES["mean"], False, True),
        (RATIO.format("z", "x"), False, True),
        (RATIO.format("z", "x") + ", mechanism: gaussian, delta: 1e-6", False, False),
        (RATIO.format("z", "a"), False, False),
        (ENTRIES["compared ratios"], False, True),
        (ENTRIES["compared sums"], True, True),
        (ENTRIES["compared sums"], False, False),
    ],
)
def test_which_quotients_have_a_line_for_the_population(
    fields: str, sized: bool, is_known: bool
) -> None:
    """Two sums apart say nothing if one may be negative, and totals need a public size."""
    assert planned(f"{fields}, epsilon: 1", sized=sized).design.has_population is is_known


@pytest.mark.parametrize("name", ENTRIES)
def test_a_group_without_rows_allows_any_number_of_the_population(name: str) -> None:
    """Noisy answers of zero leave no interval of a ratio, or all that is possible."""
    statistic = planned(f"{ENTRIES[name]}, epsilon: 1")
    cells = [np.zeros(part.weighted.query.cells or 0, np.int64) for part in statistic.queries]
    found = statistic.design.population(with_noise(statistic, cells), CONFIDENCE)
    last = found.map_numbers(itemgetter(slice(-1, None)))
    assert found.status[-1] == UNBOUNDED or last.covers_all.all()


def test_the_mean_as_a_ratio_has_the_squares_of_a_mean() -> None:
    """A sum over rows is the mean, also of the population, and is printed per as many."""
    ratio, mean = (
        planned(f"{fields}, epsilon: 1")
        for fields in (ENTRIES["mean"], "statistic: mean, column: y")
    )
    assert ratio.design.queries == mean.design.queries
    exact = [np.array([40_000, 60_000, 20_000]) * 10]
    answers = with_noise(ratio, exact)
    found = [one.design.population(answers, CONFIDENCE) for one in (ratio, mean)]
    numbers = [float(one.value[0] * one.step) for one in found]
    assert numbers[0] == pytest.approx(10 * numbers[1])
