"""Probabilities whose binary digits are certified, to compare random bits with."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpcli.privacy.interval import Interval, exp
from dpcli.sampling.entropy import random_bits

STEP = 64
"""Random bits drawn at a time while a comparison is undecided."""


class Threshold:
    """A probability p, known to as many binary digits as are asked for.

    The event U < p, for U uniform on [0, 1), has probability exactly p. Comparing
    the digits of U with those of p, first to last, decides it at the first digit
    that differs. `enclose` maps a precision in bits to an interval around p.
    """

    __slots__ = ("_enclose", "_known")

    def __init__(self, enclose: Callable[[int], Interval]) -> None:
        self._enclose = enclose
        self._known: dict[int, int] = {}

    @classmethod
    def rational(cls, probability: Fraction) -> Threshold:
        """p itself, in [0, 1]; all its digits are certain."""
        if not 0 <= probability <= 1:
            raise ValueError("a probability lies between 0 and 1")
        return cls(lambda bits: Interval(probability, probability, bits))

    @classmethod
    def exponential(cls, exponent: Fraction) -> Threshold:
        """p = exp(-exponent), for a rational exponent >= 0.

        Zero apart, p is irrational (Lindemann 1882), so its digits become certain
        at some finite precision.
        """
        if exponent < 0:
            raise ValueError("exp(-exponent) is a probability only for exponents >= 0")
        return cls(lambda bits: exp(Interval.of(-exponent, bits)))

    @classmethod
    def logistic(cls, exponent: Fraction) -> Threshold:
        """p = 1 / (1 + exp(exponent)), for a rational exponent >= 0.

        Written with exp(-exponent), which cannot overflow.
        """
        if exponent < 0:
            raise ValueError("this probability is meant for exponents >= 0")

        def enclose(bits: int) -> Interval:
            ratio = exp(Interval.of(-exponent, bits))
            # x / (1 + x) increases in x.
            return Interval(ratio.low / (1 + ratio.low), ratio.high / (1 + ratio.high), bits)

        return cls(enclose)

    def digits(self, length: int) -> int:
        """The first `length` binary digits: floor(p 2^length), certified."""
        known = self._known.get(length)
        if known is not None:
            return known
        bits = length + STEP
        while True:
            enclosure = self._enclose(bits)
            low, high = floor_at(enclosure.low, length), floor_at(enclosure.high, length)
            if low == high:
                self._known[length] = low
                return low
            bits *= 2

    def exceeds(self, prefix: int, length: int) -> bool:
        """Whether U < p for a U that begins with these bits and goes on at random."""
        while True:
            digits = self.digits(length)
            if prefix != digits:
                return prefix < digits
            prefix, length = prefix << STEP | random_bits(STEP), length + STEP


def floor_at(value: Fraction, length: int) -> int:
    """The first `length` binary digits of a number: floor(value 2^length)."""
    return (value.numerator << length) // value.denominator
