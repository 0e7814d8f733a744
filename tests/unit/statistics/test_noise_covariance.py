"""The stated covariance of numbers that share noisy answers is that of their noise."""

from __future__ import annotations

import pytest

from dpcli.noise.distribution import normal_quantile
from dpcli.numeric.arrays import Floats, np
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec
from dpcli.statistics import noise_covariance
from dpcli.statistics.design import NoiseOfNumbers
from dpcli.statistics.noise_covariance import covariance_of
from tests.support.rules import mostly_extended
from tests.support.streams import stream_named
from tests.support.surveys import CONFIDENCE
from tests.unit.statistics.test_precision import SPEC, estimated, floats

DRAWS = 10_000

same_noise = stream_named("covariance")

EACH_DAY = "{column: who, max_rows: 7, max_groups: 7, max_rows_per_group: 1}"

BOTH = "{column: who, max_rows: 2, max_groups: 2, max_rows_per_group: 1}"

SHARED = [
    ("selections, columns: [a, b, c], EPSILON, mechanism: laplace", "row"),
    ("selections, columns: [a, b, c, d, e], EPSILON, mechanism: laplace", "row"),
    ("selections, columns: [a, b, c, d, e], EPSILON, GAUSS", "row"),
    ("selections, columns: [a, b, c, d, e], by: [sex], EPSILON, GAUSS", "row"),
    ("count, by: [day], EPSILON, GAUSS", EACH_DAY),
    ("count, by: [day, sex], EPSILON, GAUSS", EACH_DAY),
    ("marginals, columns: [day, sex], ways: 1, EPSILON", "row"),
    ("marginals, columns: [day, sex], ways: [1, 2], EPSILON, GAUSS", "row"),
    ("marginals, columns: [day, sex], ways: [1, 2], by: [job], EPSILON, GAUSS", "row"),
    ("marginals, columns: [day, sex, job], ways: 2, EPSILON, GAUSS", "row"),
    ("count, by: [day], EPSILON, mechanism: laplace", EACH_DAY),
    ("count, by: [sex], EPSILON", BOTH),
    ("sum, column: x, by: [day], EPSILON", EACH_DAY),
]
"""Statistics whose numbers share noisy answers, and their unit."""

CASES = [(statistic, unit, epsilon) for statistic, unit in SHARED for epsilon in ("0.3", "2")]

SUMS = 20
"""Sums of numbers that are chosen at random."""

DEFAULT = [CASES[0], CASES[6], CASES[14], *CASES[-6::2]]


def planned_statistic(statistic: str, unit: str, epsilon: str) -> PlannedStatistic:
    """The plan of one statistic."""
    asked = statistic.replace("GAUSS", "mechanism: gaussian, delta: 1e-6")
    asked = asked.replace("EPSILON", f"epsilon: {epsilon}")
    text = SPEC.replace("STATISTIC", f"statistic: {asked}").replace("UNIT", unit)
    (planned,) = make_plan(parse_central_spec(text, "s")).statistics
    return planned


def stated(planned: PlannedStatistic, *, consistent: bool) -> Floats:
    """The covariance of a block of numbers."""
    assert planned.design.noise_of_numbers is NoiseOfNumbers.LINEAR
    found = covariance_of(planned.design, planned.noises, consistent=consistent)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("statistic", "unit", "epsilon"), mostly_extended(CASES, *DEFAULT, unpack=True)
)
def test_the_covariance_is_that_of_drawn_noise(statistic: str, unit: str, epsilon: str) -> None:
    """Of each two numbers of a block; numbers of different blocks are not correlated.

    So 95% of the sums of Gaussian numbers lie within the interval that follows from it.
    """
    planned, consistent = planned_statistic(statistic, unit, epsilon), "marginals" in statistic
    expected = stated(planned, consistent=consistent)
    estimates = estimated(planned, DRAWS, consistent=consistent)
    numbers = floats(estimates, estimates.value).reshape(DRAWS, -1)
    whole = np.kron(np.eye(numbers.shape[1] // len(expected)), expected)
    deviations = np.sqrt(np.diag(whole))
    found = numbers.T @ numbers / DRAWS

    # Large values of Laplace noise are rarer, and vary more.
    part = 0.06 if "GAUSS" in statistic else 0.1
    assert (abs(found - whole) <= part * np.outer(deviations, deviations)).all()
    if "GAUSS" in statistic:
        random = np.random.default_rng(1)
        for chosen in random.integers(0, 2, (SUMS, len(whole))).astype(np.float64):
            deviation = np.sqrt(chosen @ whole @ chosen)
            width = normal_quantile(float(1 - CONFIDENCE)) * deviation
            # Half a step for whole numbers, as in `dpcli.sums.sums`.
            held = abs(numbers @ chosen) <= width + 0.5
            assert 0.94 <= held.mean() <= (0.965 if deviation > 20 else 1)


def test_many_numbers_have_no_stated_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report stays small, and so does the work of making it."""
    planned = planned_statistic(SHARED[7][0], "row", "0.3")
    size = len(stated(planned, consistent=True))
    for name, most in (("MAX_NUMBERS", size - 1), ("MAX_CELLS", sum(planned.design.block) - 1)):
        with monkeypatch.context() as patched:
            patched.setattr(noise_covariance, name, most)
            assert not_stated(planned)
        assert not not_stated(planned)


def not_stated(planned: PlannedStatistic) -> bool:
    """Whether there are too many numbers or cells."""
    return covariance_of(planned.design, planned.noises, consistent=True) is None
