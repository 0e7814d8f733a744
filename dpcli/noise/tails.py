"""Widths of sums of two or more noises, for confidence intervals.

Widths and margins are post-processing of public parameters, so floats are precise enough. Bounds
are rounded outwards.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, log, log10, pi, prod, sin, sqrt

from dpcli.noise.distribution import Noise, NoNoise, normal_quantile
from dpcli.numeric.arrays import np
from dpcli.numeric.search import bisect, search_min

BLOCKS_PER_SCALE = 12
"""Blocks per scale into which one of two noises is cut: more give a tighter bound."""

MAX_EXACT_VARIANCE = 400
"""The greatest variance of a sum whose distribution is computed, and not approximated."""

CIRCLE = 2048
"""How many whole numbers that distribution has: more than 50 standard deviations each way."""

MARGIN_PRECISION = 10**6
"""The search for a margin stops within one part in this number of the scale."""


def blended_half_width(fourth_cumulant: float, variance: float, confidence: Fraction) -> float:
    """About the z for which P[|blend| <= z] is `confidence`, in steps.

    The blend is a weighted sum of independent noises with this variance and fourth cumulant, from
    which the excess kurtosis follows (Cornish and Fisher 1938). That is an expansion for moderate
    kurtosis; no distribution needs more than Chebyshev's inequality gives.
    """
    outside = float(1 - confidence)
    normal = normal_quantile(outside)
    excess = fourth_cumulant / variance**2
    wide = normal + excess * (normal**3 - 3 * normal) / 24
    return sqrt(variance) * min(wide, 1 / sqrt(outside))


@lru_cache(maxsize=256)
def summed_half_width(noise: Noise, count: int, confidence: Fraction) -> int:
    """The least k that the sum of some noises exceeds rarely enough; about, if it is large."""
    if count == 1 or not noise.discrete_variance:
        return noise.half_width(confidence)
    variance = count * noise.discrete_variance
    if variance <= MAX_EXACT_VARIANCE:
        return _exact_half_width(noise, count, confidence)
    # A normal distribution from -k - 1/2 to k + 1/2 is that of whole numbers from -k to k.
    width = blended_half_width(count * noise.fourth_cumulant(1), variance, confidence)
    return max(0, ceil(width - 0.5))


def _exact_half_width(noise: Noise, count: int, confidence: Fraction) -> int:
    """The half-width of a small sum, by convolution of the probabilities of one noise."""
    values = np.arange(-CIRCLE // 2, CIRCLE // 2)
    tails = [noise.positive_tail(value) for value in range(1, CIRCLE // 2 + 2)]
    upper = -np.diff(np.array(tails))
    single = np.concatenate([upper[::-1], [1 - 2 * tails[0]], upper[:-1]])
    # Sums beyond the circle, which are far less likely than float precision, fold onto others.
    turned = np.fft.rfft(np.fft.ifftshift(single)) ** count
    summed = np.fft.fftshift(np.fft.irfft(turned, CIRCLE))
    within = np.bincount(abs(values), weights=summed).cumsum()
    return int((within < float(confidence)).sum())


@lru_cache(maxsize=256)
def one_sided_width(noise: Noise, outside: float) -> int:
    """The least k with P[X > k] <= `outside`, in steps."""
    if isinstance(noise, NoNoise):
        return 0
    return search_min(lambda width: noise.approximate_tail(width + 1) <= outside, -1, 1)


@lru_cache(maxsize=256)
def blended_margin(
    left: Noise, left_weight: Fraction, right: Noise, right_weight: Fraction, outside: float
) -> Fraction:
    """Nearly the least t with P[left_weight X + right_weight Y > t] <= `outside`.

    X and Y are independent noises, symmetric around zero. Weights are not negative. The
    probability is bounded by cutting X into blocks and taking the worst end of each.
    """
    if not left_weight or isinstance(left, NoNoise):
        return right_weight * one_sided_width(right, outside)
    if not right_weight or isinstance(right, NoNoise):
        return left_weight * one_sided_width(left, outside)
    blocks = _blocks(left, outside)
    first, second = float(left_weight), float(right_weight)
    # The last steps of the search need the tail at the same whole numbers again.
    far = cache(right.approximate_tail)

    def is_enough(t: float) -> bool:
        """Whether a bound on P[left_weight X + right_weight Y > t] is at most `outside`."""
        bound = 0.0
        for end, chance in blocks:
            bound += chance * (far(ceil((t - first * end) / second)) if end is not None else 1.0)
            if bound > outside:
                return False
        return True

    scale = first * float(left.scale) + second * float(right.scale)
    margin = search_min(
        is_enough, 0.0, scale, lambda low, high: high - low <= scale / MARGIN_PRECISION
    )
    return Fraction(margin)


def _blocks(noise: Noise, outside: float) -> list[tuple[int | None, float]]:
    """The greatest value of each block and its probability; None for the block without an end."""
    scale = float(noise.scale)
    width = max(1, int(scale / BLOCKS_PER_SCALE))
    last = ceil(scale * (log(1 / outside) + 10))
    blocks: list[tuple[int | None, float]] = [(None, noise.approximate_tail(last + 1))]
    start, before = last + 1, blocks[0][1]
    while start > -last:
        start -= width
        now = noise.approximate_tail(start)
        blocks.append((start + width - 1, now - before))
        before = now
    # Values below all blocks are counted at the end of the lowest block.
    blocks.append((start - 1, 1.0 - before))
    return blocks


MIN_TAIL = 1e-5
"""Down to this probability a series gives the width of a sum of Laplace noises."""

TERMS = 3000
"""The terms of that series: its error is below a tenth of `MIN_TAIL`."""


@lru_cache(maxsize=256)
def laplace_sum_width(scales: tuple[float, ...], outside: float) -> float:
    """About the t for which P[|sum| > t] is `outside`, for independent Laplace noises.

    The characteristic function of the sum is the product of 1/(1 + b^2 u^2) over the scales b, and
    P[|sum| <= t] an integral of it (Gil-Pelaez 1951), here by the trapezoidal rule. Its period is
    so long that what lies beyond does not count. Smaller tails are extended as exponential ones.
    """
    if outside < MIN_TAIL:
        near, far = (laplace_sum_width(scales, tail) for tail in (10 * MIN_TAIL, MIN_TAIL))
        return far + (far - near) * log10(MIN_TAIL / outside)
    # The density is log-concave, so P[|sum| > t] <= exp(1 - t/deviation).
    max_width = 16 * sqrt(2 * sum(scale**2 for scale in scales))
    step = 2 * pi / (2 * max_width + 60 * max(scales))
    factors = [
        1 / (term * prod(1 + (scale * term * step) ** 2 for scale in scales))
        for term in range(1, TERMS)
    ]

    def beyond(width: float) -> float:
        turn = width * step
        series = sum(factor * sin(turn * term) for term, factor in enumerate(factors, 1))
        return 1 - (turn + 2 * series) / pi

    precision = max_width / MARGIN_PRECISION
    return bisect(
        lambda width: beyond(width) <= outside,
        0.0,
        max_width,
        lambda low, high: high - low <= precision,
    )[1]
