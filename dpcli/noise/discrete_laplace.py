"""The discrete Laplace distribution: exact samples, tails and widths."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, log, sinh, sqrt
from typing import final

from dpcli.noise.bernoulli import (
    VECTORIZE_FROM,
    Threshold,
    bernoulli_array,
    bernoulli_exp,
    sign_array,
)
from dpcli.noise.distribution import Noise, NoiseSamples, accepted_draws
from dpcli.noise.entropy import random_bits, uniform_below
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.numeric.interval_arithmetic import Interval
from dpcli.numeric.interval_arithmetic import exp as certified_exp
from dpcli.privacy.loss import LaplacePair

WIDEST = Fraction(1 << 50)
"""Greatest scale of the array path: samples of larger scales may not fit 64 bits."""

DIGITS_COVER = 28
"""Scales that binary digits cover: beyond, the probability is exp(-28) < 2^-40."""

MAX_TAIL_EVENTS = 32
"""Tail events in a row that fit 64 bits; one more has probability below 2^-1280."""


@final
class DiscreteLaplace(Noise):
    """P[k] proportional to exp(-|k| / scale)."""

    kind = "laplace"
    dominating_pair = LaplacePair
    sum_is_known = True

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        if self.scale <= 0:
            raise ValueError("the scale of noise must be positive")
        few = count < VECTORIZE_FROM and not many
        if few or self.scale > WIDEST:
            return [discrete_laplace_scalar(self.scale) for _ in range(count)]
        return discrete_laplace_array(self.scale, count)

    def positive_tail(self, value: int) -> float:
        """P[noise >= value] = q^value / (1 + q), for q = exp(-1 / scale)."""
        scale = float(self.scale)
        return exp(-value / scale) / (1 + exp(-1 / scale))

    def tail_bound(self, value: int) -> Fraction:
        """P[noise >= value] = exp(-value / scale) / (1 + exp(-1 / scale)), rounded up."""
        ratio = certified_exp(Interval.of(-1 / self.scale))
        return (certified_exp(Interval.of(-value / self.scale)) / (ratio + 1)).high

    @property
    def variance(self) -> Fraction:
        """The variance of the continuous distribution, 2 scale^2, in squared steps."""
        return 2 * self.scale**2

    @property
    def discrete_variance(self) -> float:
        """The variance in squared steps: 2 q / (1 - q)^2 for q = exp(-1 / scale)."""
        half = 0.5 / float(self.scale)
        return 0.5 / sinh(half) ** 2 if half < 300 else 0.0

    def fourth_cumulant(self, times: float) -> float:
        """times^4 (3 v^2 + v) for the variance v of the noise.

        The noise is the difference of two geometric numbers with q = exp(-1 / scale). Each has
        the fourth cumulant q (1 + 4 q + q^2) / (1 - q)^4 and the variance q / (1 - q)^2.
        """
        variance = self.discrete_variance
        return times**4 * (3 * variance**2 + variance)

    def characteristic(self, angles: Floats) -> Floats:
        """(1 - q)^2 / (1 - 2 q cos(angle) + q^2) for q = exp(-1 / scale)."""
        return np.array(1 / (1 + 2 * self.discrete_variance * np.sin(angles / 2) ** 2))

    def width(self, outside: float) -> int:
        """The least k with P[|noise| > k] = 2 q^(k+1) / (1 + q) <= `outside`."""
        scale = float(self.scale)
        return max(0, ceil(scale * log(2 / ((1 + exp(-1 / scale)) * outside)) - 1 - 1e-9))

    def deviations_of_sum(self, outside: float) -> float:
        """A bound for continuous noise, with more variance because the noise is rounded.

        Sums in which noise of a scale below ten has most of the variance and a weight of several
        steps exceed it up to 1.05 times as often. For small scales, of noise that is mostly zero,
        it is the bound of Chebyshev's inequality.
        """
        from dpcli.noise.laplace_sums import laplace_sum_quantile

        rounded = float(self.variance) + min(float(self.scale) ** 2, 0.5)
        most = 1 / sqrt(outside)
        if rounded > most**2 * self.discrete_variance:
            return most
        return min(most, laplace_sum_quantile(outside) * sqrt(rounded / self.discrete_variance))

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """The quantile at each level p for scale one: -sign(p - 1/2) log(1 - |2 p - 1|)."""
        return np.array(-np.sign(levels - 0.5) * np.log1p(-np.abs(2 * levels - 1)))

    @classmethod
    def excess(cls, beyond: Floats, scales: Floats, risk: float) -> Floats:
        """The logarithm of `risk` / P[sum > t] for t = `beyond`.

        For t >= 0 and scales s > r,
        P[sum > t] is (s^2 exp(-t / s) - r^2 exp(-t / r)) / (2 s^2 - 2 r^2).
        """
        # A sum without noise has a tail of zero.
        wide = np.maximum(scales.max(axis=0), np.finfo(float).tiny)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            # Equal scales would divide by zero.
            ratio = np.minimum((scales.sum(axis=0) - scales.max(axis=0)) / wide, 1 - 1e-6)
            size = abs(beyond) / wide
            tail = np.exp(-size) - np.where(ratio > 0, ratio**2 * np.exp(-size / ratio), 0)
            tail /= 2 * (1 - ratio**2)
            return np.array(np.log(risk / np.where(beyond < 0, 1 - tail, tail)))


def discrete_laplace_scalar(scale: Fraction) -> int:
    """One sample, in integers (Canonne, Kamath and Steinke 2020, algorithm 2)."""
    while True:
        size = geometric_scalar(scale)
        negative = random_bits(1)
        # Zero has two signs. One is rejected, so that zero does not count twice.
        if size or not negative:
            return -size if negative else size


def geometric_scalar(scale: Fraction) -> int:
    """One sample with P[g] proportional to exp(-g / scale), g >= 0."""
    width, thinning = scale.numerator, scale.denominator
    while not bernoulli_exp(low := uniform_below(width), width):
        pass
    high = 0
    while bernoulli_exp(1, 1):
        high += 1
    return (low + width * high) // thinning


def discrete_laplace_array(scale: Fraction, count: int) -> Ints:
    """Independent samples as an array of int64, for scales up to `WIDEST`.

    A geometric variable of ratio exp(-1/scale) gets a fair sign; a negative zero is rejected.
    """
    if not 0 < scale <= WIDEST:
        raise ValueError("a scale outside the range of the array path")

    def block(many: int) -> Ints:
        size = geometric_array(scale, many)
        negative = sign_array(size.size)
        accepted = ~(negative & (size == 0))
        # -n = (n xor -1) + 1, without a branch for each sample.
        flip = negative.astype(np.int64)
        signed: Ints = ((size ^ -flip) + flip)[accepted]
        return signed

    return accepted_draws(count, block)


@lru_cache(maxsize=16)
def _digit_thresholds(scale: Fraction) -> tuple[tuple[Threshold, ...], Threshold]:
    """The probability of each binary digit to be one, and of a number beyond all."""
    digits = 0
    while (1 << digits) < DIGITS_COVER * scale:
        digits += 1
    thresholds = tuple(Threshold.logistic((1 << i) / scale) for i in range(digits))
    return thresholds, Threshold.exponential((1 << digits) / scale)


def geometric_array(scale: Fraction, count: int) -> Ints:
    """Independent samples with P[g] proportional to exp(-g / scale), g >= 0.

    exp(-g/scale) is a product over the binary digits of g. So below 2^m the digits are
    independent, and digit i is one with probability 1/(1 + exp(2^i/scale)). The event g >= 2^m
    has probability exp(-2^m/scale); given that event, g - 2^m is geometric again.
    """
    thresholds, beyond = _digit_thresholds(scale)
    # Digits are collected in bytes, because a byte is cheaper to shift than a word.
    planes = np.zeros((8, count), np.uint8)
    for i, threshold in enumerate(thresholds):
        digit = bernoulli_array(threshold, count).view(np.uint8)
        planes[i // 8] |= digit << np.uint8(i % 8)
    words = np.zeros(count, np.int64)
    for plane in range((len(thresholds) + 7) // 8):
        words |= planes[plane].astype(np.int64) << np.int64(8 * plane)
    tails = np.flatnonzero(bernoulli_array(beyond, count))
    rounds = 0
    while tails.size:
        rounds += 1
        if rounds > MAX_TAIL_EVENTS:
            raise OverflowError("a sample does not fit 64 bits")
        # The digits are independent of the event, and become those of the remainder.
        words[tails] += 1 << len(thresholds)
        tails = tails[bernoulli_array(beyond, tails.size)]
    return words
