"""Half-widths of sums of noises."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb, exp

import numpy as np
import pytest
from scipy.signal import oaconvolve
from scipy.special import gammaincc

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.noise.sums import Terms, blended_half_width, summed_margin, weighted_margin
from dpcli.numeric.arrays import Floats
from tests.support.rules import mostly_extended

CONFIDENCE = Fraction(19, 20)

CONFIDENCES = [Fraction(part, 10_000) for part in (5000, 7000, 8000, 9000, 9500, 9900, 9990, 9999)]

ROUNDING = 1e-9
"""More than the error of the expected probabilities."""


def laplace(scale: str) -> DiscreteLaplace:
    """Laplace noise of this scale."""
    return DiscreteLaplace(Fraction(scale))


def chances(noise: Noise, weight: int = 1) -> Floats:
    """The probability of each whole number, for `weight` times the noise, zero in the middle."""
    reach = 40 * int(noise.scale + 1)
    tails = np.array([noise.positive_tail(value) for value in range(1, reach + 2)])
    upper = tails[:-1] - tails[1:]
    single = np.concatenate([upper[::-1], [1 - 2 * tails[0]], upper])
    spread = np.zeros(weight * (len(single) - 1) + 1)
    spread[::weight] = single
    return spread


def convolved(addends: Sequence[Floats]) -> Floats:
    """P[|sum| <= k] for each k from zero on."""
    total, *rest = addends
    for addend in rest:
        # Numbers that are too far away to matter would cost time and memory.
        if (cut := (len(total) - 200_001) // 2) > 0:
            total = total[cut:-cut]
        total = oaconvolve(total, addend)
    middle = len(total) // 2
    return np.array(total[middle] + 2 * np.concatenate([[0], np.cumsum(total[middle + 1 :])]))


def check(width: int, within: Floats, confidence: Fraction) -> None:
    """The width is the least one of this confidence."""
    assert within[width] >= float(confidence) - ROUNDING
    assert width == 0 or within[width - 1] < float(confidence) + ROUNDING


@pytest.mark.parametrize("count", [2, 3, 20, 500])
def test_sums_of_less_noise_never_have_wider_intervals(count: int) -> None:
    """From epsilon 0.2 to 40."""
    scales = [Fraction(100, tenths * 10) for tenths in range(2, 401, 2)]
    widths = [summed_margin(DiscreteLaplace(scale), count, CONFIDENCE).width for scale in scales]
    assert all(wide >= narrow for wide, narrow in pairwise(widths))
    assert widths[-1] == 0


@pytest.mark.parametrize("noise", [*map(laplace, ("3/10", "1", "9/2", "10", "40", "300"))])
@pytest.mark.parametrize("count", [2, 3, 7, 100])
def test_half_widths_of_sums_are_those_of_convolved_probabilities(noise: Noise, count: int) -> None:
    """The least one whose interval has the stated probability, at each confidence."""
    within = convolved([chances(noise)] * count)
    for confidence in CONFIDENCES:
        check(summed_margin(noise, count, confidence).width, within, confidence)


@pytest.mark.parametrize(
    "terms",
    [
        ((laplace("10"), 1, 1), (laplace("10"), 1, 1)),
        ((laplace("3"), 1, 1), (laplace("200"), 1, 1)),
        ((laplace("1/5"), 1, 1), (laplace("60"), 1, 1)),
        ((laplace("10"), 1, 2), (laplace("5"), 10, 1)),
        ((laplace("6"), 1, 1), (laplace("40"), 12, 2)),
        ((laplace("1/5"), 7, 2), (laplace("1/2"), 5, 3)),
        ((laplace("8"), 3, 4), (laplace("8"), 1, 12)),
        ((laplace("6"), 2, 2), (laplace("30"), 3, 1)),
        ((laplace("3"), 6, 2), (laplace("2"), 9, 3)),
        ((laplace("4"), 1, 1), (NO_NOISE, 2, 5)),
        ((laplace("2"), 1, 2), (DiscreteGaussian(Fraction(3)), 1, 1)),
        ((DiscreteGaussian(Fraction(2, 3)), 1, 3), (DiscreteGaussian(Fraction(30)), 2, 1)),
    ],
)
def test_half_widths_of_weighted_sums_are_those_of_convolved_probabilities(terms: Terms) -> None:
    """For one, two or more noises of each weight, whether the weights have a common factor or not.

    The width is a multiple of the factor.
    """
    addends = [chances(noise, weight) for noise, weight, number in terms for _ in range(number)]
    within = convolved(addends)
    for confidence in CONFIDENCES:
        check(weighted_margin(terms, confidence).width, within, confidence)


@pytest.mark.parametrize("count", mostly_extended([2, 3, 10, 30, 100], 2, 10))
@pytest.mark.parametrize("scale", mostly_extended([100, 1_000, 3_333, 10_000], 1_000, 10_000))
def test_half_widths_of_large_sums_are_those_of_continuous_noise(count: int, scale: int) -> None:
    """Up to a step and a ten-thousandth: the sum of Laplace noises is a mixture of Erlang numbers.

    Of two processes of events at the same rate, one has m of its n events when the other has its
    last one with the probability C(n + m - 1, m) / 2^(n + m). What is left is Erlang of n - m.
    """
    shapes = np.arange(count, 0, -1)
    parts = [comb(count + m - 1, m) / 2 ** (count + m) for m in range(count)]
    for confidence in CONFIDENCES:
        width = summed_margin(DiscreteLaplace(Fraction(scale)), count, confidence).width

        def outside(number: float) -> float:
            return float(2 * (parts * gammaincc(shapes, number / scale)).sum())

        assert outside(width + 1 + width / 10_000) <= float(1 - confidence)
        assert outside(width - 1 - width / 10_000) >= float(1 - confidence)


def test_two_equal_laplace_noises_have_the_tail_of_the_textbook() -> None:
    """P(|X + Y| > x) is (1 + x/2) exp(-x) at scale one: for 80%, 2.397 scales, and not 2.36."""
    width = summed_margin(laplace("100000"), 2, Fraction(4, 5)).width / 100_000
    assert (1 + width / 2) * exp(-width) == pytest.approx(0.2, abs=1e-5)


def test_normal_sums_have_the_width_of_their_deviation() -> None:
    """Four Gaussian noises need twice the width of one, up to a step."""
    noise, double = DiscreteGaussian(Fraction(5)), DiscreteGaussian(Fraction(10))
    assert abs(summed_margin(noise, 4, CONFIDENCE).width - double.half_width(CONFIDENCE)) <= 1


def test_no_width_exceeds_that_of_its_variance() -> None:
    """Where weights are so different that no other bound is computed, Chebyshev's holds."""
    terms = ((laplace("1000000"), 2, 1), (laplace("1"), 3, 1))
    margin = weighted_margin(terms, CONFIDENCE)
    assert margin.variance is not None
    alone = 2 * laplace("1000000").half_width(CONFIDENCE)
    assert alone <= margin.width <= (20 * margin.variance) ** 0.5


def test_no_blend_is_wider_than_its_variance_allows() -> None:
    """Where noise is hardly ever there, kurtosis is huge, and the inequality of Chebyshev holds."""
    noise = DiscreteLaplace(Fraction(1, 20))
    variance = 2 * noise.discrete_variance
    width = blended_half_width(2 * noise.fourth_cumulant(1), variance, CONFIDENCE)
    assert width <= (20 * variance) ** 0.5 < 0.01


@pytest.mark.parametrize("confidence", ["0.5", "0.7", "0.9"])
def test_no_blend_is_below_zero(confidence: str) -> None:
    """Where a small confidence meets noise that is hardly ever there, the half-width is zero."""
    noise = DiscreteLaplace(Fraction(1, 10))
    parts = np.array([1.0, 4.0]) * noise.fourth_cumulant(1), np.full(2, noise.discrete_variance)
    assert (blended_half_width(*parts, Fraction(confidence)) == 0).all()
