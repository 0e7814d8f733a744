"""Exact Bernoulli samples: probabilities that are rational, exp(-x) or logistic.

numpy is imported on first use only.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpcli.noise.entropy import random_bits, random_bytes, uniform_below
from dpcli.numeric.arrays import Bools, Floats, Ints, np
from dpcli.numeric.interval_arithmetic import Interval, exp

STEP = 64
"""Random bits that are added at a time while a comparison is undecided."""

BLOCK = 1 << 16
"""Samples made at a time, so that temporary arrays stay in the cache of a core."""

VECTORIZE_FROM = 4096
"""Number of samples from which arrays save more time than importing numpy takes."""

MARGIN = 2.0**-8
"""The error that a float probability may have, in units of 2^-32."""


def bernoulli_exp(numerator: int, denominator: int) -> bool:
    """True with probability exactly exp(-numerator/denominator).

    The ratio need not be in lowest terms. Raises ValueError if it is negative. Source: Canonne,
    Kamath and Steinke 2020, algorithm 1. For a ratio x in [0, 1], the first k at which a
    Bernoulli(x / k) fails is odd with probability 1 - x + x^2/2! - x^3/3! + ... = exp(-x). A larger
    ratio is a sum of ones and a remainder: one trial for each, and all of them must be true.
    """
    if numerator < 0:
        raise ValueError("exp(-exponent) is a probability only for exponents >= 0")
    ones, rest = divmod(numerator, denominator)
    for index in range(ones + 1):
        above, below = (1, 1) if index < ones else (rest, denominator)
        k = 1
        while uniform_below(below * k) < above:
            k += 1
        if k % 2 == 0:
            return False
    return True


class Threshold:
    """A probability p whose binary digits are computed on demand.

    The event U < p, for U uniform on [0, 1), has probability exactly p. The first binary digit
    in which U and p differ decides it. `enclose` maps a precision in bits to an interval
    around p.
    """

    __slots__ = ("_cache", "_enclose")

    def __init__(self, enclose: Callable[[int], Interval]) -> None:
        self._enclose = enclose
        self._cache: dict[int, int] = {}

    @classmethod
    def rational(cls, probability: Fraction) -> Threshold:
        """A rational p in [0, 1]; raises ValueError for another."""
        if not 0 <= probability <= 1:
            raise ValueError("a probability lies between 0 and 1")
        return cls(lambda bits: Interval(probability, probability, bits))

    @classmethod
    def exponential(cls, exponent: Fraction) -> Threshold:
        """p = exp(-exponent), for a rational exponent >= 0.

        For an exponent above zero p is irrational (Lindemann 1882), so each digit is certain at
        some finite precision. Raises ValueError for a negative exponent.
        """
        if exponent < 0:
            raise ValueError("exp(-exponent) is a probability only for exponents >= 0")
        return cls(lambda bits: exp(Interval.of(-exponent, bits)))

    @classmethod
    def logistic(cls, exponent: Fraction) -> Threshold:
        """p = 1 / (1 + exp(exponent)), for a rational exponent >= 0.

        It is computed from exp(-exponent), which cannot overflow. Raises ValueError for a
        negative exponent.
        """
        if exponent < 0:
            raise ValueError("this probability is meant for exponents >= 0")

        def enclose(bits: int) -> Interval:
            ratio = exp(Interval.of(-exponent, bits))
            # x / (1 + x) increases in x.
            return Interval(ratio.low / (1 + ratio.low), ratio.high / (1 + ratio.high), bits)

        return cls(enclose)

    def digits(self, length: int) -> int:
        """The first `length` binary digits of p: floor(p 2^length), certified."""
        cached = self._cache.get(length)
        if cached is not None:
            return cached
        bits = length + STEP
        while True:
            enclosure = self._enclose(bits)
            low, high = floor_at(enclosure.low, length), floor_at(enclosure.high, length)
            if low == high:
                self._cache[length] = low
                return low
            bits *= 2

    def exceeds(self, prefix: int, length: int) -> bool:
        """Whether U < p, if U has the `length` bits of `prefix`, followed by random bits."""
        while True:
            digits = self.digits(length)
            if prefix != digits:
                return prefix < digits
            prefix, length = prefix << STEP | random_bits(STEP), length + STEP


def floor_at(value: Fraction, length: int) -> int:
    """The first `length` binary digits of a number: floor(value 2^length)."""
    return (value.numerator << length) // value.denominator


def bernoulli_array(threshold: Threshold, count: int) -> Bools:
    """Independent samples, each true with exactly the probability of the threshold.

    Eight random bits decide 255 of 256 samples, 64 more bits decide nearly all others, and
    `Threshold.exceeds` decides the rest. Each step compares further binary digits of p.
    """
    first = np.frombuffer(random_bytes(count), np.uint8)
    digits = threshold.digits(8)
    if digits == 1 << 8:
        return np.ones(count, np.bool_)
    drawn: Bools = first < digits
    ties = np.flatnonzero(first == digits)
    if ties.size:
        drawn[ties] = _decide_ties(threshold, ties.size)
    return drawn


def _decide_ties(threshold: Threshold, count: int) -> Bools:
    """Samples of U < p, for uniform U whose first eight bits equal those of p."""
    more = np.frombuffer(random_bytes(8 * count), np.uint64)
    digits = np.uint64(threshold.digits(72) & (1 << 64) - 1)
    drawn: Bools = more < digits
    for tie in np.flatnonzero(more == digits):
        drawn[tie] = threshold.exceeds(threshold.digits(72), 72)
    return drawn


def exponential_coins(estimates: Floats, exponent: Callable[[int], Fraction]) -> Bools:
    """Independent coins, the i-th true with exact probability p = exp(-exponent(i)).

    `estimates` are floats near 2^32 p, with an error below `MARGIN`. The first 32 bits of a
    uniform U, read as the whole number u, place 2^32 U in [u, u + 1). If the estimate is farther
    than `MARGIN` from that interval, U < p is decided. Otherwise (about once in 2^32) more bits
    follow, and are compared with certified digits of p.
    """
    bits = np.frombuffer(random_bytes(4 * estimates.size), np.uint32).astype(np.float64)
    above = estimates - bits
    heads: Bools = above >= 1 + MARGIN
    for i in np.flatnonzero(~heads & (above > -MARGIN)):
        heads[i] = Threshold.exponential(exponent(int(i))).exceeds(int(bits[i]), 32)
    return heads


def sign_array(count: int) -> Bools:
    """`count` independent samples, each true with probability 1/2."""
    packed = np.frombuffer(random_bytes((count + 7) // 8), np.uint8)
    return np.unpackbits(packed, count=count).view(np.bool_)


def uniforms(limit: int | Ints, count: int) -> Ints:
    """`count` independent uniform integers below one limit, or each below its own.

    Limits are from 1 to 2^32; raises ValueError for others. Random 64-bit words beyond the last
    full multiple of the limit are drawn again, so that all remainders are equally likely.
    """
    limits = np.asarray(limit, dtype=np.uint64)
    if count and not 0 < limits.min() <= limits.max() <= 1 << 32:
        raise ValueError("a limit outside the range of the array path")
    last = np.uint64((1 << 64) - 1)
    max_word = np.broadcast_to(last - (last % limits + np.uint64(1)) % limits, count)
    words = np.frombuffer(random_bytes(8 * count), np.uint64)
    while (beyond := np.flatnonzero(words > max_word)).size:
        words = words.copy()
        words[beyond] = np.frombuffer(random_bytes(8 * beyond.size), np.uint64)
    return (words % limits).astype(np.int64)
