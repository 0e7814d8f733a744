"""Random vectors of real numbers, whose digits are drawn on demand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp
from typing import final

from dpcli.noise.distribution import Noise, NoiseSamples
from dpcli.noise.entropy import random_bits
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.interval_arithmetic import Interval, log
from dpcli.numeric.search import search_min

DIGITS = 64
"""Random bits that are added to each number at a time."""

GUARD = 32
"""Bits of precision beyond those of the random numbers."""

RADII = 10_000
"""Radii whose probability is computed; quantiles between two are interpolated."""


@final
class KNormNoise(Noise):
    """A random vector b whose density is proportional to exp(-max |b_j| / scale).

    It is the K-norm distribution for a cube (Hardt and Talwar 2010). The vector is the random slope
    of an objective and is not added to numbers, so `sample` and tails raise ValueError.
    """

    kind = "objective"

    @property
    def name(self) -> str:
        return self.kind

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        """Raises ValueError: the vector is not added to numbers."""
        raise ValueError(f"a vector of scale {self.scale} is not added {count} times, {many}")

    def positive_tail(self, value: int) -> float:
        """Raises ValueError: the vector is not added to numbers."""
        raise ValueError(f"a vector of scale {self.scale} has no tail at {value}")

    def coordinate_width(self, size: int, confidence: Fraction) -> Fraction:
        """The w with P[|b_j| <= w] = `confidence` for one of k = `size` coordinates.

        Computed in floats. For scale one, |b_j| is r |u| for r with the gamma distribution of shape
        k + 1 and u uniform on [-1, 1]: P[r |u| > w] is Q(k + 1, w) - (w/k) Q(k, w), where Q is the
        regularized gamma function.
        """

        def tail(width: float) -> float:
            total, term = _gamma_tail(size, width)
            return total + term - width / size * total

        return _min_width(tail, size, confidence) * self.scale

    @staticmethod
    def vectors(levels: Floats) -> Floats:
        """Vectors of scale one, at these levels of uniform numbers.

        `levels` has the shape (k + 1, draws), the result (k, draws). The first number decides the
        radius, as its quantile; each other one decides a coordinate.
        """
        size = len(levels) - 1
        widths = np.linspace(0.0, 60.0 + 4 * size, RADII)
        term, within = np.exp(-widths), np.ones(RADII)
        for index in range(1, size + 2):
            within -= term
            term = term * widths / index
        radii: Floats = np.interp(levels[0], within, widths)
        vectors: Floats = radii * (2 * levels[1:] - 1)
        return vectors


def _gamma_tail(size: int, width: float) -> tuple[float, float]:
    """Q(k, w) and Q(k + 1, w) - Q(k, w), for the shape k = `size` and w = `width`."""
    term, total = exp(-width), 0.0
    for index in range(1, size + 1):
        total += term
        term *= width / index
    return total, term


def _min_width(tail: Callable[[float], float], size: int, confidence: Fraction) -> Fraction:
    outside = float(1 - confidence)
    width = search_min(
        lambda width: tail(width) <= outside,
        0.0,
        float(size),
        lambda low, high: high - low <= 1e-9 * high,
    )
    return Fraction(width)


class KNormVector:
    """One draw from the density of `KNormNoise` of scale one, known to some digits.

    It is R (u_1, ..., u_k) for u_j uniform on [-1, 1] and R with the gamma distribution of shape
    k + 1, the sum of the k + 1 numbers -log(v_i) for v_i uniform on [0, 1]. All uniform
    numbers have independent random bits without end, of which the first ones are drawn. So the
    vector has real coordinates, and every later enclosure lies within the earlier ones.
    """

    def __init__(self, size: int) -> None:
        self._coordinates, self._radii = [0] * size, [0] * (size + 1)
        self._length = 0
        self.refine()

    def refine(self) -> None:
        """Draw `DIGITS` more random bits of every uniform number."""
        for numbers in (self._coordinates, self._radii):
            numbers[:] = [number << DIGITS | random_bits(DIGITS) for number in numbers]
        self._length += DIGITS

    def enclosure(self) -> list[Interval]:
        """An interval around each coordinate."""
        while not all(self._radii):
            # The logarithm of a number that may be zero has no bound yet.
            self.refine()
        unit, bits = Fraction(1, 1 << self._length), self._length + GUARD
        product = Interval.of(1, bits)
        for number in self._radii:
            product = product * Interval(number * unit, (number + 1) * unit, bits)
        radius = log(product) * -1
        return [
            radius * Interval(2 * number * unit - 1, 2 * (number + 1) * unit - 1, bits)
            for number in self._coordinates
        ]
