"""Widths of sums of Laplace noises hold for all scales, and a bound on them is nearly reached."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, factorial, sqrt

import numpy as np
import pytest

from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import normal_quantile
from dpcli.noise.laplace_sums import laplace_sum_quantile, laplace_sum_width
from dpcli.numeric.arrays import Floats

RISKS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.01, 1e-3, 1e-6)


def equal_tail(count: int, beyond: float) -> float:
    """P[|sum| > x] of equal Laplace variables of scale one.

    Of n, the sum is the difference of two gamma variables: given that k of the signs agree with its
    own, a polynomial times exp(-x).
    """
    total = 0.0
    for power in range(count):
        # The density is exp(-x) sum_j c_j x^j, with c_j from the partial fractions of
        # (1 - s^2)^-n at s = 1.
        weight = comb(2 * count - 2 - power, count - 1) / 2 ** (2 * count - 1 - power)
        terms = sum(beyond**step / factorial(step) for step in range(power + 1))
        total += 2 * weight * exp(-beyond) * terms
    return total


def unequal_tail(scales: Floats, beyond: float) -> float:
    """P[|sum| > x] of Laplace variables of different scales, by partial fractions."""
    squares = scales**2
    weights = [
        np.prod([square / (square - other) for other in squares if other != square])
        for square in squares
    ]
    return float(sum(np.array(weights) * np.exp(-beyond / scales)))


def test_tails_of_equal_variables_are_known() -> None:
    """Of one and two variables: exp(-x) and (1 + x/2) exp(-x)."""
    assert equal_tail(1, 1.5) == pytest.approx(exp(-1.5))
    assert equal_tail(2, 1.5) == pytest.approx(1.75 * exp(-1.5))
    near = unequal_tail(np.array([1.0, 1.0001]), 1.5)
    assert near == pytest.approx(1.75 * exp(-1.5), rel=1e-3)


@pytest.mark.parametrize("risk", RISKS)
def test_no_weighted_sum_exceeds_the_bound_more_often(risk: float) -> None:
    """Equal variables from one to sixty, and three hundred choices of different scales."""
    bound, random = laplace_sum_quantile(risk), np.random.default_rng(5)
    tails = [equal_tail(count, bound * sqrt(2 * count)) for count in (*range(1, 20), 60)]
    for _ in range(300):
        scales = random.uniform(0.02, 1, random.integers(2, 6)) ** random.integers(1, 4)
        tails.append(unequal_tail(scales, bound * sqrt(2 * (scales**2).sum())))

    assert max(tails) <= risk
    assert normal_quantile(risk) <= bound


@pytest.mark.parametrize(("risk", "more"), [(0.1, 1.04), (0.05, 1.02), (0.01, 1.002)])
def test_the_bound_is_near_the_worst_sum(risk: float, more: float) -> None:
    """A single Laplace variable, or a normal one, is exceeded as often at a bound a bit smaller."""
    worst = max(-np.log(risk) / sqrt(2), normal_quantile(risk))

    assert laplace_sum_quantile(risk) <= more * worst


@pytest.mark.parametrize("risk", RISKS)
def test_widths_of_known_scales_are_exceeded_as_often_as_stated(risk: float) -> None:
    """By the formulas of equal and of different scales; far out, it is an extrapolation."""
    near = 1e-3 if risk >= 1e-3 else 0.1
    for count in (1, 2, 5):
        width = laplace_sum_width((3.0,) * count, risk)
        assert equal_tail(count, width / 3) == pytest.approx(risk, rel=near)
    scales = np.array([0.5, 1.0, 4.0])
    width = laplace_sum_width(tuple(scales.tolist()), risk)
    assert unequal_tail(scales, width) == pytest.approx(risk, rel=near)


def distribution(scale: float, weights: list[int]) -> Floats:
    """P[sum = k] for k from -8,000 to 8,000, of weighted discrete noises of one scale."""
    size = 16_001
    places = np.arange(size) - size // 2
    summed = np.zeros(size)
    summed[size // 2] = 1.0
    for weight in weights:
        chance = np.where(places % weight == 0, np.exp(-abs(places // weight) / scale), 0.0)
        transform = np.fft.rfft(np.fft.ifftshift(chance / chance.sum()))
        summed = np.fft.irfft(np.fft.rfft(summed) * transform, size)
    return summed


@pytest.mark.extended
@pytest.mark.parametrize("scale", [0.15, 0.4, 1.0, 2.3, 3.0, 4.5, 20.0])
def test_discrete_sums_are_beyond_the_bound_as_rarely(scale: float) -> None:
    """Half a step is added; weights of one noise may lead 1.05 times as often beyond it."""
    random, places = np.random.default_rng(6), np.arange(16_001) - 8_000
    noise = DiscreteLaplace(Fraction(scale))
    shapes = [[1], [7], [8], [2, 1], [1, 1], [4, 4, 4, 1], [1] * 9, [3, 2, 2], [8] + [1] * 8]
    shapes += [random.integers(1, 9, random.integers(1, 8)).tolist() for _ in range(20)]
    for weights in shapes:
        summed = distribution(scale, weights)
        deviation = sqrt(noise.discrete_variance * sum(weight**2 for weight in weights))
        for risk in (0.3, 0.1, 0.05, 0.01, 0.001):
            width = noise.deviations_of_sum(risk) * deviation + 0.5
            beyond = summed[abs(places) > width + 1e-9].sum()

            assert beyond <= 1.05 * risk + 1e-12, (weights, risk)
