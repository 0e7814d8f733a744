"""Proportions, ratios and comparisons: coverage, noise, and the same number by two ways."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, UNBOUNDED, Estimates
from dpcli.statistics.means.distances import SUM_WEIGHT
from tests.support import surveys
from tests.support.refusals import refused
from tests.support.surveys import (
    CONFIDENCE,
    assert_covers,
    few_and_many_runs,
    planned_statistic,
    with_noise,
)

SPEC = """
dpcli: 1
dataset: shares
{sample}
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 10, delta: 1e-5}}}}
columns:
  x: {{type: integer, bounds: [0, 100]}}
  y: {{type: number, bounds: [0, 20], step: 0.5}}
  flag: {{type: boolean}}
  sex: {{type: category, values: [f, m, x]}}
  known: {{type: boolean, missing: false}}
statistics: [{{name: s, {fields}}}]
"""

PROPORTION = "statistic: proportion, column: flag"
RATIO = "statistic: ratio, numerator: x, denominator: y"
COMPARISON = "statistic: comparison, between: {sex: [f, m]}"
GAUSSIAN = "mechanism: gaussian, epsilon: 0.5, delta: 1e-6"

FORMS: dict[str, tuple[str, list[int], Fraction]] = {
    "half": (f"{PROPORTION}, epsilon: 0.1", [500, 500], Fraction(1, 2)),
    "few": (f"{PROPORTION}, epsilon: 0.2", [970, 30], Fraction(3, 100)),
    "percent": (f"{PROPORTION}, per: 100, {GAUSSIAN}", [900, 100], Fraction(10)),
    "small": (f"{PROPORTION}, epsilon: 0.2", [200, 100], Fraction(1, 3)),
    # Of 1,000 rows, with sums of 40,000 and 15,000 steps, and of their products, 650,000.
    "sums": (
        f"{RATIO}, epsilon: 0.5",
        [1_550_000, 850_000, 950_000, 650_000],
        Fraction(40_000, 7_500),
    ),
    "sums-gaussian": (f"{RATIO}, {GAUSSIAN}", [40_000, 15_000], Fraction(40_000, 7_500)),
    "rate": (
        "statistic: ratio, numerator: x, denominator: rows, per: 1000, epsilon: 0.5",
        [70_000, 30_000],
        Fraction(30_000),
    ),
    "rate-gaussian": (
        f"statistic: ratio, numerator: x, denominator: rows, per: 1000, {GAUSSIAN}",
        [-20_000, 1000],
        Fraction(30_000),
    ),
    "counts": (
        "statistic: ratio, numerator: flag, denominator: known, epsilon: 0.5",
        [300, 200, 100, 400],
        Fraction(500, 600),
    ),
    "mixed": (
        "statistic: ratio, numerator: y, denominator: flag, epsilon: 0.5",
        [9000, 400],
        Fraction(45, 4),
    ),
}
"""For each form of a ratio, its spec, the exact answers, and the exact ratio."""

ENDS: dict[str, tuple[str, list[int], Fraction]] = {
    "none": (f"{PROPORTION}, epsilon: 0.1", [800, 0], Fraction(0)),
    "all": (f"{PROPORTION}, per: 100, epsilon: 0.5", [0, 300], Fraction(100)),
    "tiny": (f"{PROPORTION}, epsilon: 0.5", [6, 3], Fraction(1, 3)),
    "empty": (f"{PROPORTION}, epsilon: 0.5", [1, 0], Fraction(0)),
}
"""Proportions at the ends, or of a few rows: intervals contain them more often than stated."""

COMPARED: dict[str, tuple[str, list[int]]] = {
    "counts": (f"{COMPARISON}, epsilon: 0.1", [400, 500]),
    "gaussian": (f"{COMPARISON}, {GAUSSIAN}", [600, 200]),
    "sums": (f"{COMPARISON}, of: sum, column: x, epsilon: 0.5", [20_000, 50_000]),
}


pytestmark = pytest.mark.usefixtures("stream")


def planned(fields: str, neighbors: str = "add-remove", sample: str = "") -> PlannedStatistic:
    """The only statistic of a spec."""
    return planned_statistic(SPEC.format(fields=fields, neighbors=neighbors, sample=sample))


def released(fields: str, exact: Sequence[int], runs: int) -> Estimates:
    """The estimates of many releases of these numbers, one query after the other."""
    statistic = planned(fields)
    sizes = [query.weighted.query.cells or 1 for query in statistic.queries]
    assert sum(sizes) == len(exact)
    return surveys.released(statistic, np.split(np.array(exact), np.cumsum(sizes)[:-1]), runs)


@few_and_many_runs
@pytest.mark.parametrize("name", FORMS)
def test_intervals_of_ratios_cover_them(name: str, runs: int, least: float, most: float) -> None:
    """About 95% of the intervals contain the exact ratio."""
    fields, exact, truth = FORMS[name]
    assert_covers(released(fields, exact, runs), float(truth), least, most)


@few_and_many_runs
@pytest.mark.parametrize("name", COMPARED)
def test_intervals_of_comparisons_cover_them(
    name: str, runs: int, least: float, most: float
) -> None:
    """The same for both numbers, their difference and the index."""
    fields, (first, second) = COMPARED[name]
    truths = [first, second, second - first, 100 * second / first]
    assert_covers(released(fields, [first, second], runs), truths, least, most)


@pytest.mark.parametrize("name", ENDS)
def test_intervals_at_the_ends_cover_at_least_as_often_as_stated(name: str) -> None:
    """For shares of zero or one, and for a few rows, 95% of the intervals or more cover them."""
    fields, exact, truth = ENDS[name]
    assert_covers(released(fields, exact, 1000), float(truth), 0.95, 1)


@pytest.mark.parametrize("fields", [PROPORTION, "statistic: mean, column: flag"])
def test_intervals_of_the_population_cover_its_share(fields: str) -> None:
    """Over 1,000 samples of 600 of 6000 units, 93% to 97% contain the share of all of them."""
    sample = "sample: {design: simple-random, population: 6000, size: 600}"
    statistic = planned(f"{fields}, epsilon: 0.1", sample=sample)
    inside = np.random.default_rng(7).hypergeometric(1500, 4500, 600, 1000)
    answers = with_noise(statistic, [np.stack([600 - inside, inside], axis=1)])
    assert statistic.design.has_population
    assert_covers(statistic.design.population(answers, CONFIDENCE), 0.25)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_a_sum_over_rows_has_the_noise_of_the_mean(neighbors: str) -> None:
    """It is the mean, times a public number."""
    shared = "column: y, epsilon: 1", "numerator: y, denominator: rows, per: 1000, epsilon: 1"
    mean, rate = (
        planned(f"statistic: {kind}, {fields}", neighbors)
        for kind, fields in zip(("mean", "ratio"), shared, strict=True)
    )

    assert [query.weighted.query for query in rate.queries] == [
        query.weighted.query for query in mean.queries
    ]
    assert rate.noises == mean.noises


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_two_cells_are_better_than_a_centered_sum_and_a_count(neighbors: str) -> None:
    """At every proportion, the Laplace noise of two cells has the smaller variance."""
    (cells,) = planned(f"{PROPORTION}, epsilon: 1", neighbors).queries
    # As a centered sum of -1/2 and 1/2 and a count, which share epsilon as for a mean.
    change = 2 if neighbors == "change-one" else 1
    centered = Fraction(change, 2) / SUM_WEIGHT
    count = 1 / (1 - SUM_WEIGHT)
    for percent in range(101):
        p = Fraction(percent, 100)
        by_cells = cells.scale**2 * (p**2 + (1 - p) ** 2)
        by_sum = centered**2 + ((p - Fraction(1, 2)) * count) ** 2
        assert by_cells < by_sum


def test_two_cells_are_about_as_good_with_gaussian_noise() -> None:
    """Jointly protected, a centered sum and a count would have 0.83 to 1.05 times the variance."""
    for percent in range(101):
        p = Fraction(percent, 100)
        by_cells = p**2 + (1 - p) ** 2
        by_sum = Fraction(1, 4) / SUM_WEIGHT + (p - Fraction(1, 2)) ** 2 / (1 - SUM_WEIGHT)
        assert Fraction(83, 100) < by_sum / by_cells < Fraction(105, 100)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("column", ["flag", "known"])
def test_the_mean_of_a_boolean_is_its_proportion(column: str, neighbors: str) -> None:
    """The mean of a boolean column has the same queries and numbers as its proportion."""
    mean = planned(f"statistic: mean, column: {column}, epsilon: 1", neighbors)
    share = planned(f"statistic: proportion, column: {column}, epsilon: 1", neighbors)
    assert [query.weighted for query in mean.queries] == [query.weighted for query in share.queries]

    cells = [query.weighted.query.cells or 1 for query in mean.queries]
    answers = [
        NoisyAnswer(integer_array([7, 20][:size]), query.calibrated.noise)
        for size, query in zip(cells, mean.queries, strict=True)
    ]
    one, other = (list(kind.design.estimate(answers, CONFIDENCE)) for kind in (mean, share))
    assert one == other


def test_a_public_number_of_rows_leaves_epsilon_to_the_rows_inside() -> None:
    """Under change-one without skipped rows, only the rows inside are counted with noise."""
    inside, rows = planned("statistic: proportion, column: known, epsilon: 1", "change-one").queries
    assert [inside.l1, inside.weighted.weight, rows.l1] == [1, 1, 0]


def test_a_ratio_without_a_sure_denominator_has_no_interval() -> None:
    """Where noise may leave less than one step below, a ratio without limits is unbounded."""
    estimates = released(f"{RATIO}, epsilon: 0.1", [15_400, 4_600, 5_400, 4_600], 50)
    assert (estimates.status == UNBOUNDED).any()
    assert (estimates.value >= 0).all()

    share = released(f"{PROPORTION}, epsilon: 0.1", [1, 1], 50)
    assert (share.status == HAS_INTERVAL).all()
    assert (share.lower >= 0).all()
    assert (share.upper * share.step <= 1).all()


@pytest.mark.parametrize("fields", [PROPORTION, COMPARISON, "statistic: mean, column: flag", RATIO])
def test_an_error_cannot_be_asked_for(fields: str) -> None:
    """The error of a share depends on the answers, so no epsilon is found for a given one."""
    with refused("cannot-calibrate"):
        planned(f"{fields}, error: 25")
    assert planned(f"{fields}, epsilon: 1").error(CONFIDENCE) is None


def test_per_multiplies_the_ratio() -> None:
    """`per: 1000` gives a thousand times the ratio, with three decimals less."""
    exact, noiseless = [1_550_000, 850_000, 950_000, 650_000], "epsilon: 10"
    plain, rate = (planned(f"{RATIO}, {per}{noiseless}") for per in ("", "per: 1000, "))
    one, thousand = (
        next(
            iter(
                kind.design.estimate(
                    [NoisyAnswer(integer_array(exact), kind.queries[0].calibrated.noise)],
                    CONFIDENCE,
                )
            )
        )
        for kind in (plain, rate)
    )
    assert one.value is not None and thousand.value is not None
    assert float(one.value) == pytest.approx(40_000 / 7_500, abs=1e-6)
    assert float(thousand.value) == pytest.approx(40_000_000 / 7_500, abs=1e-6)
    assert one.decimals == thousand.decimals + 3


def test_an_index_above_a_first_number_of_zero_has_no_interval() -> None:
    """If the first number may be below one row, the index has no interval; the others have."""
    estimates = released(f"{COMPARISON}, epsilon: 0.5", [0, 50], 100)
    assert (estimates.status[3::4] == UNBOUNDED).mean() > 0.9
    for item in range(3):
        assert (estimates.status[item::4] == HAS_INTERVAL).all()
