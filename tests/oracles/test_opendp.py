"""Thresholds and errors against OpenDP, which the extra `oracles` installs.

Its table API needs another extra, so the same measurements are built from its parts.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import pytest

from dpcli.mechanisms.partition_selection import threshold_for_delta
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.releasing.steps import aggregate_data
from dpcli.specification.load import read_central_spec
from tests.oracles.opened import cells_of, queries_of
from tests.oracles.plain import evaluate
from tests.support.estimates import estimates_of

dp: Any = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")

ROOT = Path(__file__).parents[2]
PEOPLE = ROOT / "sample_data" / "people.csv"
RELEASES = 800

COUNTS = Fraction(1, 10**5), Fraction(1, 10**9)


def counting(scale: float, threshold: int) -> Any:
    """The measurement of OpenDP that releases groups whose noisy count is large enough."""
    return dp.m.make_laplace_threshold(
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
        scale=scale,
        threshold=threshold,
    )


@pytest.mark.parametrize("groups", [1, 2, 10])
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("scale", [1, 2, 7, 40])
@pytest.mark.parametrize("delta", COUNTS)
def test_thresholds_exceed_those_of_opendp_by_one(
    groups: int, most: int, scale: int, delta: Fraction
) -> None:
    """Our threshold is the least that OpenDP accounts for, plus one.

    OpenDP 0.16 releases a count that equals the threshold, but accounts for larger counts only: see
    the next test.
    """
    alone = Sensitivity(l0=groups, l1=groups * most, l2_squared=groups * most**2, linf=most)
    ours = threshold_for_delta(DiscreteLaplace(Fraction(scale)), alone, delta).threshold

    def claimed(threshold: int) -> float:
        return float(counting(float(scale), threshold).map((groups, groups * most, most))[1])

    assert claimed(ours - 1) <= delta * (1 + Fraction(1, 10**6))
    assert claimed(ours - 2) > delta


def test_a_single_count_passes_opendp_as_often_as_our_tail_says() -> None:
    """The probability that a count of one reaches the threshold is ours, not the claimed one."""
    measurement, runs = counting(1.0, 4), 20_000
    # The noise of each group is independent.
    shown = len(measurement(dict.fromkeys(map(str, range(runs)), 1))) / runs
    ours = float(DiscreteLaplace(Fraction(1)).tail_bound(3))
    claimed = measurement.map((1, 1, 1))[1]

    assert ours == pytest.approx(exp(-3) / (1 + exp(-1)))
    assert abs(shown - ours) < 5 * sqrt(ours / runs)
    assert claimed < shown - 5 * sqrt(ours / runs)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("groups", [1, 3])
def test_thresholds_approach_those_of_continuous_noise(epsilon: Fraction, groups: int) -> None:
    """Our threshold is that of Google's formula, linf - scale ln(2 delta/l0), up to rounding.

    Rounded noise reaches half a step farther, and so does the threshold, which is then the next
    whole number.
    """
    delta, scale = Fraction(1, 10**6), groups / epsilon
    alone = Sensitivity(l0=groups, l1=groups, l2_squared=groups, linf=1)
    ours = threshold_for_delta(DiscreteLaplace(scale), alone, delta).threshold
    continuous = 1 - float(scale) * log(2 * delta / groups)

    assert 0 < ours - continuous <= 1.5


SPEC = """\
dpcli: 1
dataset: town
privacy:
  unit: {column: person_id, max_rows: 11}
  neighbors: add-remove
  budget: {epsilon: 100}
columns:
  person_id: {type: id}
  region:
    type: category
    values: [Old Town, "Harbour, East", "Harbour, West", Saint-Rémy, Hillside, Mill Islands]
  age: {type: integer, bounds: [0, 110]}
statistics:
  - {name: visits, statistic: count, column: age, by: [region], epsilon: 1}
  - {name: ages, statistic: sum, column: age, by: [region], epsilon: 1}
  - {name: mean_age, statistic: mean, column: age, by: [region], epsilon: 1}
"""


def plan_of(folder: Path) -> CentralPlan:
    """Three statistics of the sample, about people with at most eleven rows."""
    path = folder / "spec.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return make_plan(read_central_spec(path))


def released_by_opendp(
    counts: list[int], sums: list[int], rows: int, upper: int
) -> list[list[float]]:
    """Answers of OpenDP: counts, sums, and means with half of epsilon for each part."""

    def noisy(values: list[int], scale: float) -> list[float]:
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        released: list[float] = dp.m.make_laplace(*space, scale=scale)(values)
        return released

    over, under = noisy(sums, rows * upper * 2.0), noisy(counts, rows * 2.0)
    means = [min(max(a / max(b, 1), 0), upper) for a, b in zip(over, under, strict=True)]
    return [noisy(counts, float(rows)), noisy(sums, float(rows * upper)), means]


@pytest.mark.extended
def test_errors_are_no_larger_than_opendp_s_at_equal_epsilon(tmp_path: Path) -> None:
    """Root mean square errors over 800 releases of the sample, with the same bounds."""
    plan = plan_of(tmp_path)
    sealed = aggregate_data(plan, (str(PEOPLE),))
    counts, sums, _ = map(cells_of, evaluate(queries_of(plan), PEOPLE.read_bytes())[:3])
    means = [a / b for a, b in zip(sums, counts, strict=True)]
    truth = [[*map(float, counts)], [*map(float, sums)], means]
    ours: list[list[float]] = [[], [], []]
    for _ in range(RELEASES):
        for numbers, released in zip(ours, estimates_of(plan, sealed), strict=True):
            numbers += [float(estimate.value or 0) for estimate in released.estimates]
    theirs = released_by_opendp(counts * RELEASES, sums * RELEASES, 11, 110)
    ratios = [
        error(own, exact) / error(other, exact)
        for own, other, exact in zip(ours, theirs, truth, strict=True)
    ]
    # The fourth moment of Laplace noise is six times its squared variance. So the root of the
    # mean of n squares has a relative standard deviation of sqrt((6 - 1) / n) / 2, and a ratio of
    # two such roots one of sqrt(5 / (2 n)): 2.3% for n = 6 * 800. Equal noise stays below 1.1
    # by 4.4 standard deviations. The mean's noise is centered, and its ratio about 0.4.
    assert ratios[0] < 1.1
    assert ratios[1] < 1.1
    assert ratios[2] < 0.6


def error(numbers: list[float], exact: list[float]) -> float:
    """The root mean square error of repeated releases."""
    pairs = zip(numbers, exact * RELEASES, strict=True)
    return sqrt(sum((number - right) ** 2 for number, right in pairs) / len(numbers))
