"""Widths of sums of noises: how far such a sum lies from zero.

They are post-processing of public parameters, carry no guarantee, and floats are precise enough for
them, as for the widths of one noise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, gcd, log, pi, prod, sqrt
from typing import TypeVar

from dpcli.noise.distribution import Margin, Noise, normal_quantile, one_sided_width
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.search import search_min

BLOCKS_PER_SCALE = 12
"""Blocks per scale in the bound of `blended_margin`: more give a tighter bound."""

CIRCLE_DEVIATIONS = 35
"""A sum is this number of deviations from zero with a probability below 1e-14."""

MIN_CIRCLE = 64
"""The least length of the circle over the greatest weight, for rare noise."""

START_ANGLES = 64
"""`sum_tail` doubles this number of angles until it may omit the others."""

NEGLIGIBLE = 1e-9
"""`sum_tail` omits angles if the bound on what they add is at most this."""

MANY_ANGLES = 1 << 15
"""From this number on, what is omitted may be 1/1,000 of the probability."""

MAX_ANGLES = 1 << 20
"""The greatest number of angles of `sum_tail`, whatever the bound is."""

FLOAT_ERROR = 1e-12
"""More than the error of `sum_tail` by floats and by sums beyond the circle."""

MARGIN_PRECISION = 10**6
"""The search for a margin stops at an error of the scale divided by this number."""


Numbers = TypeVar("Numbers", float, Floats)


def blended_half_width(
    fourth_cumulant: Numbers, variance: Numbers, confidence: Fraction
) -> Numbers:
    """About the z for which P[|sum| <= z] is `confidence`, for a sum of noises.

    The weighted sum of independent noises has this variance and fourth cumulant, and so a known
    excess kurtosis. The expansion in the kurtosis (Cornish and Fisher 1938) is accurate if it is
    moderate; the bound of Chebyshev's inequality is used where it is smaller. Noise that is hardly
    ever there has a huge kurtosis, and zero is used where the expansion is below it.
    """
    outside = float(1 - confidence)
    normal = normal_quantile(outside)
    excess = fourth_cumulant / variance**2
    wide, limit = normal + excess * (normal**3 - 3 * normal) / 24, 1 / sqrt(outside)
    # The smaller one, and at least zero, for a number and for an array.
    smaller = (wide + limit - abs(wide - limit)) / 2
    width: Numbers = variance**0.5 * ((smaller + abs(smaller)) / 2)
    return width


Terms = tuple[tuple[Noise, int, int], ...]
"""Noises, each with a weight, and how many of them have this weight."""


@lru_cache(maxsize=1024)
def summed_margin(noise: Noise, count: int, confidence: Fraction) -> Margin:
    """The margin of a sum of `count` successive noises, as in `weighted_margin`."""
    if count == 1:
        return noise.margin(confidence)
    shared = noise.margin_of_sum(count, confidence)
    return shared or weighted_margin(((noise, 1, count),), confidence)


@lru_cache(maxsize=1024)
def weighted_margin(terms: Terms, confidence: Fraction) -> Margin:
    """The margin of a weighted sum of noises.

    The width is the least k, in steps, for which P[|sum| <= k] is at least `confidence` by the
    bound in `sum_tail`, or by Chebyshev's inequality if that is smaller.
    """
    variance = sum(number * weight**2 * noise.discrete_variance for noise, weight, number in terms)
    if not variance:
        return Margin(0, variance)
    step, outside = gcd(*(weight for _, weight, _ in terms)), float(1 - confidence)
    units = tuple((noise, weight // step, number) for noise, weight, number in terms)
    deviation = sqrt(variance) / step
    tail = sum_tail(units, deviation, outside)
    width = search_min(
        lambda width: tail(width) <= outside or deviation <= sqrt(outside) * (width + 1),
        -1,
        ceil(deviation),
    )
    return Margin(step * width, variance)


def sum_tail(terms: Terms, deviation: float, outside: float) -> Callable[[int], float]:
    """A bound on P[|sum| > k] for whole k, hardly above it.

    `deviation` is the standard deviation of the sum. The bound is close where it is about
    `outside`. A sum of Laplace or Gaussian noises is beyond t
    deviations with a probability of at most about 2 exp(1 - t). So it may be taken on a circle of N
    whole numbers, where N P[|sum| <= k] is 2 k + 1 plus twice the sum over the angles 2 pi j / N,
    for 0 < j < N/2, of E[cos(angle * sum)] sin((k + 1/2) angle) / sin(angle / 2).

    Large angles are omitted. Of noises with the weight 1, the expectations fall faster
    than the inverse angle, and sin(x) >= 2 x / pi. So what is omitted is at most the product of
    these expectations at 2/pi times the last angle.
    """
    deviations = CIRCLE_DEVIATIONS + log(1 / outside)
    max_weight = max(weight for _, weight, _ in terms)
    circle = 2 * ceil(max(deviations * deviation, MIN_CIRCLE * max_weight) / 2) + 1

    def expected(angles: Floats, some: Terms) -> Floats:
        parts = (noise.characteristic(weight * angles) ** number for noise, weight, number in some)
        return np.array(prod(parts, start=np.ones(len(angles))))

    ones = tuple(term for term in terms if term[1] == 1)
    count, omitted, enough = START_ANGLES, 1.0, NEGLIGIBLE
    while omitted > enough and count < MAX_ANGLES and 2 * count < circle:
        count *= 2
        enough = NEGLIGIBLE if count < MANY_ANGLES else outside / 1000
        omitted = float(expected(np.array([4 * count / circle]), ones)[0])
    if 2 * count >= circle:
        count, omitted = circle // 2, 0.0
    angles = np.arange(1, count + 1, dtype=np.float64) * (2 * pi / circle)
    factors = 2 * expected(angles, terms) / np.sin(angles / 2)

    def tail(width: int) -> float:
        within = 2 * width + 1 + factors @ np.sin((width + 0.5) * angles)
        return float(1 - within / circle + omitted + FLOAT_ERROR)

    return tail


@lru_cache(maxsize=256)
def blended_margin(
    left: Noise, left_weight: Fraction, right: Noise, right_weight: Fraction, outside: float
) -> Fraction:
    """Nearly the least t with P[left_weight X + right_weight Y > t] <= `outside`.

    X and Y are independent noises, symmetric around zero. Weights are not negative. The
    probability is bounded by cutting X into blocks and taking the worst end of each, so t is 1% or
    2% above the least. For whole weights, `weighted_margin` has the least width.
    """
    if not left_weight * left.scale:
        return right_weight * one_sided_width(right, outside)
    if not right_weight * right.scale:
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
    """Blocks of values: the last value of each (None if unbounded), its probability."""
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


RANGE_STEPS = 100
"""Steps of the scale in which the range of noises is computed, and rounded up."""

CERTAIN_WITHIN = 1e-9
"""The probability of noises outside of those that are considered for a range."""


@lru_cache(maxsize=256)
def range_width(noise: Noise, count: int, confidence: Fraction) -> int:
    """A width that holds `count` independent noises with at least this confidence.

    The probability that the least lies in a cell [x, x + h) and all others below x + w is
    (F(x + w) - F(x))^n - (F(x + w) - F(x + h))^n. Its sum over cells is at most that of a range
    below w, and nearly that for small h.
    """
    if not noise.scale:
        return 0
    step = max(1, int(noise.scale / RANGE_STEPS))
    end = noise.width(CERTAIN_WITHIN / count) // step + 2
    below = np.array([1 - noise.approximate_tail(place * step) for place in range(-end, end + 1)])

    def is_enough(cells: int) -> bool:
        far = np.append(below[cells:], np.ones(min(cells, len(below))))
        within = (far[:-1] - below[:-1]) ** count - np.maximum(far[:-1] - below[1:], 0) ** count
        return float(within.sum()) >= confidence

    return search_min(is_enough, 0, 1) * step - 1
