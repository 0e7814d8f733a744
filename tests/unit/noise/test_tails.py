"""Half-widths of sums of noises."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import MAX_EXACT_VARIANCE, Noise, blended_half_width, summed_margin

CONFIDENCE = Fraction(19, 20)


@pytest.mark.parametrize("count", [2, 3, 20, 500])
def test_sums_of_less_noise_never_have_wider_intervals(count: int) -> None:
    """From epsilon 0.1 to 40, whether a distribution is computed or approximated."""
    scales = [Fraction(100, tenths * 10) for tenths in range(1, 401)]
    widths = [summed_margin(DiscreteLaplace(scale), count, CONFIDENCE).width for scale in scales]
    assert all(wide >= narrow for wide, narrow in pairwise(widths))
    assert widths[-1] == 0


@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(Fraction(scale)) for scale in ("1/4", "1", "9/2")]
)
@pytest.mark.parametrize("count", [2, 7])
def test_exact_half_widths_are_those_of_convolved_probabilities(noise: Noise, count: int) -> None:
    """The least one whose interval has the stated probability, by direct convolution."""
    assert count * noise.discrete_variance <= MAX_EXACT_VARIANCE
    ends = 400
    upper = np.array([noise.positive_tail(k) - noise.positive_tail(k + 1) for k in range(1, ends)])
    single = np.concatenate([upper[::-1], [1 - 2 * noise.positive_tail(1)], upper])
    summed = single
    for _ in range(count - 1):
        summed = np.convolve(summed, single)
    middle, width = len(summed) // 2, summed_margin(noise, count, CONFIDENCE).width
    inside = summed[middle - width : middle + width + 1].sum()
    assert inside >= float(CONFIDENCE) > inside - 2 * summed[middle + width]


def test_normal_sums_have_the_width_of_their_deviation() -> None:
    """Four Gaussian noises need twice the width of one, up to a step."""
    noise, double = DiscreteGaussian(Fraction(5)), DiscreteGaussian(Fraction(10))
    assert abs(summed_margin(noise, 4, CONFIDENCE).width - double.half_width(CONFIDENCE)) <= 1


def test_no_blend_is_wider_than_its_variance_allows() -> None:
    """Where noise is hardly ever there, kurtosis is huge, and the inequality of Chebyshev holds."""
    noise = DiscreteLaplace(Fraction(1, 20))
    variance = 2 * noise.discrete_variance
    width = blended_half_width(2 * noise.fourth_cumulant(1), variance, CONFIDENCE)
    assert width <= (20 * variance) ** 0.5 < 0.01
