"""Intervals of quantiles from counts hold as often as they say, and hardly more often."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from tests.support.quantile_coverage import TWELVE, Coverage, Setting, coverage
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

INTERVALS, LEAST_RUNS = 10_000, 2_000
"""The intervals of a setting: enough of each quantile that its coverage is known."""

MOSTLY_EXACT = 2 / 3
"""From this share on, values themselves are the exact ones so often that intervals, which hold at
any rank within a class, hold more often than 97% over all ranks: none is narrower than one
candidate. If a class has five standard deviations of rows, intervals that hold in 92% for the
worst rank in it hold in 98.5% on average."""


def check(found: Coverage) -> None:
    """Pooled coverage is near 95%, and no quantile is far below."""
    pooled = found.held.mean()
    assert pooled >= 0.94
    assert pooled <= 0.97 or found.exact.mean() >= MOSTLY_EXACT
    assert found.held.min() >= 0.92


@pytest.mark.parametrize("setting", mostly_extended(TWELVE[:3], *TWELVE[:2]), ids=str)
def test_intervals_of_incomes_hold_in_94_to_97_percent(setting: Setting, stream: Stream) -> None:
    """Of 10,000 intervals or more for quartiles, deciles and percentiles."""
    found = coverage(setting, max(-(-INTERVALS // setting.quantiles), 1_000))
    assert found.exact.mean() < MOSTLY_EXACT
    check(found)


@pytest.mark.slow
@pytest.mark.parametrize("setting", TWELVE, ids=str)
def test_intervals_hold_in_94_to_97_percent(setting: Setting, stream: Stream) -> None:
    """Where values are not themselves exact; no quantile has a coverage below 92%."""
    check(coverage(setting, max(-(-INTERVALS // setting.quantiles), LEAST_RUNS)))


@pytest.mark.parametrize("percent", [50, 80, 90, 99])
@pytest.mark.parametrize(
    "setting", [Setting("two peaks", 3_000, 1), Setting("incomes", 3_000, 9)], ids=str
)
def test_intervals_hold_as_often_as_stated_at_any_confidence(
    setting: Setting, percent: int, stream: Stream
) -> None:
    """Where more misses are allowed, both ends miss, and margins are wider for that."""
    runs = 1_000
    error = 3 * (percent * (100 - percent) / runs) ** 0.5
    held = coverage(setting, runs, confidence=Fraction(percent, 100)).held.mean()
    assert held >= (percent - error) / 100


@pytest.mark.extended
@pytest.mark.parametrize(
    "confidence",
    mostly_extended([Fraction(9, 10), Fraction(19, 20), Fraction(99, 100)], Fraction(19, 20)),
)
@pytest.mark.parametrize(
    "kind", mostly_extended([DiscreteLaplace, DiscreteGaussian], DiscreteLaplace)
)
@pytest.mark.parametrize(
    "setting",
    [
        Setting("two values", 3_000, 1),
        Setting("two peaks", 3_000, 1),
        Setting("two peaks", 30, 1),
        Setting("two peaks", 100, 1, 101),
        Setting("tied", 100, 1),
        Setting("incomes", 300, 99, 101),
        Setting("even", 40, 3, 5),
    ],
    ids=str,
)
def test_intervals_hold_where_rows_are_few_or_far_apart(
    setting: Setting, kind: type[Noise], confidence: Fraction, stream: Stream
) -> None:
    """Single quantiles miss at most 1.6 times as often as stated, at any confidence and noise.

    With half of the rows on either side of an empty range, all classes between have the rank of
    the median.
    """
    runs = 1_500
    found = coverage(setting, runs, kind, confidence)
    outside = 1.6 * float(1 - confidence)
    # Five standard errors of the worst of many quantiles.
    tolerance = 5 * (outside * (1 - outside) / runs) ** 0.5 if setting.quantiles > 3 else 0.0
    assert found.held.min() >= 1 - outside - tolerance
    assert found.held.mean() >= 1 - outside
