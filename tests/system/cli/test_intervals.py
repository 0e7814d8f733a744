"""Intervals contain the noise-free value as often as they state."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.noise import entropy
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NoNoise
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.releasing.steps import aggregate_data
from dpcli.specification.load import read_central_spec
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import apply_steps
from tests.oracles.opened import cells_of, opened
from tests.support.cli import PEOPLE, ROOT
from tests.support.estimates import estimates_of
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

RELEASES = 200

MIN_COVERAGE = {200: 0.903, 80: 0.875}
"""Three standard errors below 95 %, for a statistic of one number, by number of releases."""

SPEC = """
dpcli: 1
dataset: intervals
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100, delta: 0.1}}
columns:
  sex: {type: category, values: {0: male, 1: female}}
  insured: {type: boolean, values: ["no", "yes"]}
  employment: {type: category, values: [employed, retired, in education, seeking work]}
  age: {type: integer, bounds: [0, 110]}
  hours: {type: integer, bounds: [0, 60]}
  income: {type: number, bounds: [0, 10000], step: 10}
derive:
  adult: {is: {age: {min: 18}}}
statistics:
  - {name: n, statistic: count, by: [sex], epsilon: 1}
  - {name: total, statistic: sum, column: hours, by: [sex], epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: distinct, statistic: count_distinct, column: age, by: [sex], epsilon: 1}
  - {name: mean, statistic: mean, column: income, by: [sex], epsilon: 1}
  - {name: smooth, statistic: mean, column: income, by: [sex], mechanism: gaussian,
     epsilon: 1, delta: 1e-6}
  - {name: share, statistic: proportion, column: insured, by: [sex], epsilon: 1}
  - {name: at_work, statistic: proportion, column: employment, values: [employed, retired],
     per: 100, mechanism: gaussian, epsilon: 1, delta: 1e-6}
  - {name: hourly, statistic: ratio, numerator: income, denominator: hours, by: [sex], epsilon: 1}
  - {name: per_person, statistic: ratio, numerator: hours, denominator: rows, per: 100, epsilon: 1}
  - {name: per_insured, statistic: ratio, numerator: income, denominator: insured, epsilon: 1}
  - {name: sexes, statistic: comparison, between: {sex: [male, female]}, by: [insured], epsilon: 1}
  - {name: earned, statistic: comparison, of: sum, column: income, between: {sex: [male, female]},
     epsilon: 1}
  - {name: marks, statistic: selections, columns: [insured, adult], by: [sex], epsilon: 1}
  - {name: gaps, statistic: count_missing, columns: [hours, income], epsilon: 1}
  - {name: spread, statistic: variance, column: income, by: [sex], epsilon: 1}
  - {name: described, statistic: describe, column: hours, by: [sex], epsilon: 1}
  - {name: unequal, statistic: inequality, column: hours, bins: 60, by: [sex], epsilon: 1}
  - {name: soft, statistic: variance, column: age, mechanism: gaussian, epsilon: 1, delta: 1e-6}
  - {name: root, statistic: std, column: age, by: [insured], epsilon: 1}
  - {name: covary, statistic: covariance, columns: [age, hours, income], epsilon: 1}
  - {name: correlate, statistic: correlation, columns: [age, hours, income], epsilon: 1}
  - {name: line, statistic: linear_regression, column: income, on: [hours], epsilon: 1}
  - {name: plane, statistic: linear_regression, column: income, on: [hours, age], epsilon: 1}
  - {name: ridged, statistic: linear_regression, column: income, on: [hours, age], ridge: 0.05,
     by: [sex], epsilon: 2}
  - {name: tables, statistic: marginals, columns: [sex, insured, employment], ways: 2, epsilon: 1}
  - {name: soft_tables, statistic: marginals, columns: [sex, insured, employment], ways: 2,
     mechanism: gaussian, epsilon: 1, delta: 1e-6}
"""

FIXED = """
dpcli: 1
dataset: fixed
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 100}}
columns:
  hours: {type: integer, bounds: [0, 60], missing: 0}
  income: {type: number, bounds: [0, 10000], step: 10, missing: 0}
  insured: {type: boolean, values: ["no", "yes"], missing: false}
statistics:
  - {name: output, statistic: linear_regression, column: income, on: [hours], method: output,
     ridge: 0.5, rows: 3000, epsilon: 1}
  - {name: share, statistic: proportion, column: insured, epsilon: 1}
  - {name: rate, statistic: ratio, numerator: income, denominator: rows, epsilon: 1}
  - {name: moments, statistic: linear_regression, column: income, on: [hours], epsilon: 1}
  - {name: spread, statistic: variance, column: income, epsilon: 1}
"""


def truth(planned: PlannedStatistic, exact: Sequence[list[int]]) -> Estimates:
    """The noise-free published numbers of a statistic, from the integers of the oracle."""
    design, sure = planned.design, Fraction(19, 20)
    nothing = NoNoise(Fraction(0))
    answers = [NoisyAnswer(integer_array(values), nothing) for values in exact]
    estimates = design.estimate(answers, sure)
    noise = DiscreteLaplace(Fraction(1))
    loud = [NoisyAnswer(integer_array(values), noise) for values in exact]
    return apply_steps(
        planned.entry.post, estimates, lambda e, _: design.make_consistent(loud, e, sure)
    )


def coverage(plan: CentralPlan, releases: int) -> dict[str, float]:
    """How often the intervals of each statistic contain the noise-free published value."""
    sealed = aggregate_data(plan, (str(PEOPLE),))
    exact = [cells_of(answer) for answer in opened(sealed)]
    parts = iter(exact[len(plan.quality.queries) if plan.quality else 0 :])
    expected = [
        truth(planned, [next(parts) for _ in planned.queries]) for planned in plan.statistics
    ]
    held = dict.fromkeys((planned.entry.inputs.name for planned in plan.statistics), 0)
    for _ in range(releases):
        for released, values in zip(estimates_of(plan, sealed), expected, strict=True):
            for estimate, value in zip(released.estimates, values, strict=True):
                assert value.value is not None
                assert estimate.lower is not None
                assert estimate.upper is not None
                name = released.planned.entry.inputs.name
                held[name] += estimate.lower <= value.value <= estimate.upper
    return {
        planned.entry.inputs.name: held[planned.entry.inputs.name] / releases / len(values)
        for planned, values in zip(plan.statistics, expected, strict=True)
    }


def of(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, releases: int
) -> dict[str, float]:
    """The coverage of every statistic of a spec, in releases of the sample."""
    monkeypatch.setattr(entropy, "source", Stream("intervals"))
    spec = tmp_path / "spec.yaml"
    spec.write_text(text, encoding="utf-8")
    return coverage(make_plan(read_central_spec(spec)), releases)


def require_stated(shares: dict[str, float], releases: int) -> None:
    """Fail if some coverage is not the stated one."""
    max_share = 0.99 if releases == RELEASES else 1
    min_share = MIN_COVERAGE[releases]
    assert all(min_share <= share <= max_share for share in shares.values()), shares


@pytest.mark.extended
@pytest.mark.parametrize("releases", [RELEASES])
def test_intervals_have_their_stated_coverage(
    releases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In many releases of the sample, 95% intervals contain the true value about as often."""
    shares = of(SPEC, tmp_path, monkeypatch, releases)
    require_stated(shares, releases)


@pytest.mark.parametrize("releases", mostly_extended(MIN_COVERAGE, 80))
def test_intervals_under_change_one_have_their_coverage(
    releases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the number of rows is public, and for outputs."""
    require_stated(of(FIXED, tmp_path, monkeypatch, releases), releases)


def test_every_statistic_with_an_interval_is_tried() -> None:
    """The specs above ask for each statistic that gives intervals."""
    for statistic in STATISTICS:
        without = statistic.chooses or "slope" in statistic.families
        assert without or f"statistic: {statistic.name}," in SPEC


@pytest.mark.extended
def test_the_intervals_of_the_first_example_have_their_coverage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is about people, whose rows are all used: so each release counts the same."""
    text = (ROOT / "specs" / "town.yaml").read_text(encoding="utf-8")
    require_stated(of(text, tmp_path, monkeypatch, RELEASES), RELEASES)
