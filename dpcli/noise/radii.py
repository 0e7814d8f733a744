"""Random radii of K-norm noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import ceil

from dpcli.noise.bernoulli import STEP, Threshold, floor_at
from dpcli.noise.discrete_laplace import WIDEST, geometric_array, geometric_scalar
from dpcli.noise.entropy import random_bits, random_bytes
from dpcli.numeric.arrays import Array, Ints, np
from dpcli.numeric.interval_arithmetic import Interval, exp


@lru_cache(maxsize=64)
def series_weights(degree: int, stride: int) -> tuple[int, ...]:
    """The h_j by which the series of (stride r + 1)^degree q^r is a fraction.

    The sum over r is the sum of h_j q^j over (1 - q)^(degree + 1). The h_j are positive whole
    numbers: Eulerian numbers, and those of type B for a stride of two (Stanley 1980).
    """
    weights = [1]
    for n in range(1, degree + 1):
        before = [0, *weights, 0]
        weights = [
            (stride * j + 1) * before[j + 1] + (stride * (n - j) + stride - 1) * before[j]
            for j in range(n + 1)
        ]
    while not weights[-1]:
        weights.pop()
    return tuple(weights)


def draw_radii(weights: tuple[int, ...], terms: int, scale: Fraction, count: int) -> Array:
    """Independent r, with the coefficients of sum h_j q^j / (1 - q)^terms as weights.

    Here q is exp(-1 / scale), and `weights` are the h_j, the last of them not zero. A radius is the
    sum of a number j, which has a probability proportional to h_j q^j, and of numbers whose
    probability is proportional to q^n: 1/(1 - q)^terms is the product of their series.
    """
    offsets = _offsets(_thresholds(weights, scale), count)
    if scale <= WIDEST / terms:
        far = geometric_array(scale, count * terms).reshape(count, terms).sum(axis=1)
        return np.array(offsets + far)
    drawn = np.empty(count, dtype=object)
    drawn[:] = [
        int(offset) + sum(geometric_scalar(scale) for _ in range(terms)) for offset in offsets
    ]
    return drawn


@lru_cache(maxsize=64)
def _thresholds(weights: tuple[int, ...], scale: Fraction) -> tuple[Threshold, ...]:
    """For each j but the last, the probability of a number j or less."""

    @cache
    def sums(bits: int) -> tuple[list[int], list[int], list[int]]:
        """The partial sums of h_j q^j, rounded down and up, and the next terms.

        These are rounded down. All are in units of 2^-precision.
        """
        precision = bits + STEP + ceil(2 * len(weights) / scale)
        ratio = exp(Interval.of(-1 / scale, precision + STEP))
        down, up = floor_at(ratio.low, precision), floor_at(ratio.high, precision) + 1
        low = high = 1 << precision
        lows, highs, terms = [0], [0], []
        for weight in weights:
            terms.append(weight * low)
            lows.append(lows[-1] + terms[-1])
            highs.append(highs[-1] + weight * high)
            low, high = low * down >> precision, (high * up >> precision) + 1
        return lows[1:], highs[1:], terms[1:]

    def enclose(place: int, bits: int) -> Interval:
        lows, highs, lasts = sums(bits)
        # Below one, however near: digits of what may be one would never be certain.
        most = min(Fraction(highs[place], lows[-1]), 1 - Fraction(lasts[place], highs[-1]))
        return Interval(Fraction(lows[place], highs[-1]), most, bits)

    return tuple(Threshold(partial(enclose, place)) for place in range(len(weights) - 1))


def _offsets(thresholds: Sequence[Threshold], count: int) -> Ints:
    """Independent numbers j, the first whose threshold is above a uniform number."""
    if not thresholds:  # There is a single number.
        return np.zeros(count, np.int64)
    digits = np.array([threshold.digits(STEP) for threshold in thresholds], np.uint64)
    words = np.frombuffer(random_bytes(count * STEP // 8), np.uint64)
    offsets: Ints = np.searchsorted(digits, words)
    for place in np.flatnonzero(digits[np.minimum(offsets, len(digits) - 1)] == words):
        offsets[place] = _offset_of(thresholds, int(words[place]), STEP)
    return offsets


def _offset_of(thresholds: Sequence[Threshold], prefix: int, length: int) -> int:
    """The number j of a uniform number with the `length` bits of `prefix`."""
    while True:
        digits = [threshold.digits(length) for threshold in thresholds]
        if prefix not in digits:
            return sum(below < prefix for below in digits)
        prefix, length = prefix << STEP | random_bits(STEP), length + STEP
