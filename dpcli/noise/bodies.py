"""Shapes of vector noise: the norms by which K-norm noise falls off.

A body is the set of vectors with a norm of at most one, and noise has P[x] proportional to
exp(-norm(x) / scale). `dpcli.privacy.norms` says how far one unit moves an answer in each norm.

To add a body, write its norm and a class here, and add both to their registries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, log, sqrt
from operator import mul
from typing import ClassVar, Final, final

from dpcli.noise.bernoulli import bernoulli_exp, uniforms
from dpcli.noise.discrete_laplace import DiscreteLaplace, discrete_laplace_scalar
from dpcli.noise.entropy import uniform_below
from dpcli.noise.radii import draw_radii, series_weights
from dpcli.numeric.arrays import Array, Floats, Ints, np
from dpcli.privacy.norms import ExchangeNorm, FixedSumNorm, LargestNorm, Norm, ZeroOneNorm

FINEST = 1000
"""Scale times size above which tails and variances are those of coarser noise.

The deviation of a coordinate grows with both.
"""

FAR = 60
"""Tails end about as many scales, and deviations, beyond the mean radius."""


class Body(ABC):
    """A norm on vectors of k = `size` whole numbers, and noise by this norm.

    All coordinates are symmetric. By default, they have the same distribution, and any two the
    same covariance.
    """

    norm: ClassVar[type[Norm]]

    @abstractmethod
    def draw(self, scale: Fraction, size: int, count: int) -> Array:
        """Independent vectors, exactly from the distribution, shape (count, size)."""

    def coarse(self, scale: Fraction, size: int) -> int:
        """How many steps of the noise one step of its tails stands for."""
        return max(1, ceil(scale * size / FINEST))

    @abstractmethod
    def tails(self, scale: Fraction, size: int) -> Floats:
        """P[a coordinate >= v] for v = 0, 1, 2, ..., until it is negligible.

        It is the coordinate with the widest noise.
        """

    def tails_of_each(self, scale: Fraction, size: int) -> Sequence[Floats]:
        """The tails of successive coordinates; one array if they are the same for all."""
        return (self.tails(scale, size),)

    def covariance(self, scale: Fraction, size: int, variance: float) -> Floats:  # noqa: ARG002 - of tables
        """The covariance of all coordinates, if a coordinate has this variance."""
        covariance = np.full((size, size), self.correlation(size) * variance)
        np.fill_diagonal(covariance, variance)
        return covariance

    def variance_of_sum(self, scale: Fraction, size: int, count: int, variance: float) -> float:  # noqa: ARG002 - of tables
        """The variance of the sum of the first `count` coordinates."""
        # Each coordinate has its own variance and its share in others'.
        return max(0.0, count * (1 + (count - 1) * self.correlation(size))) * variance

    @abstractmethod
    def correlation(self, size: int) -> float:
        """The correlation of two coordinates; of tables, a bound."""

    @abstractmethod
    def variance(self, size: int) -> float:
        """About the variance of a coordinate for scale one, if noise were continuous."""

    def continuous(self, uniform: Callable[[int], Floats], size: int) -> Floats:  # noqa: ARG002 - of others
        """Vectors of continuous noise of scale one, shape (size, draws).

        `uniform` gives as many rows of independent uniform numbers, shape (rows, draws). Raises
        TypeError for tables, of which nothing else is estimated.
        """
        raise TypeError("no continuous noise of this body is known")


class RadialBody(Body):
    """A body of which the points within a radius are uniform draws.

    A draw within the radius r is `dimension` numbers, each one of `stride` r + 1. So with
    q = exp(-1 / scale), r has a probability proportional to (stride r + 1)^dimension q^r.
    """

    stride: ClassVar[int]

    @abstractmethod
    def dimension(self, size: int) -> int:
        """How many independent numbers a draw has."""

    @abstractmethod
    def draw_within(self, radii: Array, size: int) -> Array:
        """A uniform draw within each radius, shape (radii, size)."""

    @abstractmethod
    def tails_within(self, chances: Floats, radii: Floats) -> Floats:
        """P[a coordinate >= v] for v = 0, 1, 2, ..., with the probabilities of all radii.

        The first one need not be right.
        """

    @final
    def draw(self, scale: Fraction, size: int, count: int) -> Array:
        degree = self.dimension(size)
        weights = series_weights(degree, self.stride)
        return self.draw_within(draw_radii(weights, degree + 1, scale, count), size)

    @final
    def tails(self, scale: Fraction, size: int) -> Floats:
        degree = self.dimension(size)
        last = ceil(float(scale) * (degree + FAR + sqrt(FAR * degree))) + degree
        radii = np.arange(last + 1, dtype=np.float64)
        logarithms = degree * np.log(self.stride * radii + 1) - radii / float(scale)
        chances = np.exp(logarithms - logarithms.max())
        chances /= chances.sum()
        tails = self.tails_within(chances, radii)
        # Symmetric around zero.
        tails[0] = 1 - tails[1]
        return tails


@final
class ZeroOneBody(RadialBody):
    """Norm max(0, x_i) - min(0, x_i) over all i, for zeros and ones.

    It is the least norm in which no vector of zeros and ones is larger than one: its unit ball is
    their convex hull, and that of their negatives (Hardt and Talwar 2010; Awan and Slavkovic 2021).

    A vector has norm h if and only if all x_i = u_i - u_0 for numbers u_0 to u_k from 0 to h, and
    not from 0 to less. So if these are k + 1 independent uniform numbers from 0 to r, and r has
    the probability (1 - q)^2 (r + 1)^(k+1) q^r / Z, each x has r - h + 1 draws within each r >= h,
    and the probability sum (r - h + 1) q^r (1 - q)^2 / Z = q^h / Z.
    """

    norm = ZeroOneNorm
    stride = 1

    def dimension(self, size: int) -> int:
        return size + 1

    def draw_within(self, radii: Array, size: int) -> Array:
        drawn = _uniform(np.repeat(radii + 1, size + 1)).reshape(-1, size + 1)
        vectors: Array = drawn[:, 1:] - drawn[:, :1]
        return vectors

    def tails_within(self, chances: Floats, radii: Floats) -> Floats:
        """Of radius r, it is (r - v + 1) (r - v + 2) / (2 (r + 1)^2)."""
        return _sums_from(chances / (radii + 1) ** 2, 3)

    def correlation(self, size: int) -> float:  # noqa: ARG002 - that of differences from u_0
        return 0.5

    def variance(self, size: int) -> float:
        return (size + 2) * (size + 3) / 6

    def continuous(self, uniform: Callable[[int], Floats], size: int) -> Floats:
        drawn = uniform(2 * size + 3)
        vectors: Floats = _gamma(drawn[size + 1 :]) * (drawn[1 : size + 1] - drawn[0])
        return vectors


@final
class CubeBody(RadialBody):
    """Norm max |x_i|, for vectors whose coordinates all change by at most one.

    Its unit ball is the cube (Hardt and Talwar 2010; Steinke and Ullman 2016). A vector of norm h
    has one draw within each radius r >= h, so it has the probability (1 - q) sum q^r / Z = q^h / Z.
    """

    norm = LargestNorm
    stride = 2

    def dimension(self, size: int) -> int:
        return size

    def draw_within(self, radii: Array, size: int) -> Array:
        each = np.repeat(radii, size)
        vectors: Array = (_uniform(2 * each + 1) - each).reshape(-1, size)
        return vectors

    def tails_within(self, chances: Floats, radii: Floats) -> Floats:
        """Of radius r, it is (r - v + 1) / (2 r + 1)."""
        return _sums_from(chances / (2 * radii + 1), 2)

    def correlation(self, size: int) -> float:  # noqa: ARG002 - signs are independent
        return 0.0

    def variance(self, size: int) -> float:
        return (size + 1) * (size + 2) / 3

    def continuous(self, uniform: Callable[[int], Floats], size: int) -> Floats:
        drawn = uniform(2 * size + 1)
        vectors: Floats = _gamma(drawn[size:]) * (2 * drawn[:size] - 1)
        return vectors


class ExchangeBody(Body):
    """Norm of what moves between numbers: the sum of increases, or of decreases.

    It is the larger of both.

    A vector that a unit leaves and one that it enters, each with a sum of at most one, differ by at
    most one. With one more coordinate that makes the sum zero, the norm is half the sum of all
    |x_i|. So noise is discrete Laplace noise of twice the scale on k + 1 coordinates, under the
    condition that their sum is zero. All but one are drawn, and the last one, which must be minus
    their sum, is accepted with the probability that it has relative to zero. The number of draws
    depends on no data; it is about the root of the number of coordinates.
    """

    norm: ClassVar[type[Norm]] = ExchangeNorm

    extra: ClassVar[int] = 1
    """How many coordinates are not published."""

    @final
    def draw(self, scale: Fraction, size: int, count: int) -> Array:
        vectors = np.empty((count, size), dtype=object)
        vectors[:] = [_with_sum_zero(2 * scale, size + self.extra)[:size] for _ in range(count)]
        return vectors

    @final
    def tails(self, scale: Fraction, size: int) -> Floats:
        return _tails_with_sum_zero(2 * scale, size + self.extra)

    @final
    def correlation(self, size: int) -> float:
        return -1 / (size + self.extra - 1)

    @final
    def variance(self, size: int) -> float:
        """By the number p of positive coordinates.

        Of continuous noise on K coordinates, the norm has the gamma distribution of shape K - 1.
        The p positive ones are uniform with the norm as their sum, and so are the others.
        """
        count, chances = size + self.extra, _chances_of_positive(size + self.extra)
        # Of p uniform numbers with sum one, the squares have the mean 2 / (p + 1) together.
        squares = (2 / (at + 1) + 2 / (count - at + 1) for at in range(1, count))
        mean: float = sum(map(mul, chances, squares))
        return (count - 1) * mean

    @final
    def continuous(self, uniform: Callable[[int], Floats], size: int) -> Floats:
        """Vectors by the number of positive coordinates, as for `variance`."""
        count = size + self.extra
        drawn = uniform(3 * count)
        positive = 1 + np.searchsorted(np.cumsum(_chances_of_positive(count))[:-1], drawn[-1])
        parts, is_positive = -np.log(drawn[:count]), np.arange(count)[:, None] < positive
        up, down = ((parts * some).sum(axis=0) for some in (is_positive, ~is_positive))
        parts = np.where(is_positive, parts / up, -parts / down)
        order = np.argsort(drawn[count : 2 * count], axis=0)
        vectors: Floats = np.take_along_axis(parts, order, axis=0)[:size]
        return _gamma(drawn[2 * count : -1]) * vectors


@final
class FixedSumBody(ExchangeBody):
    """Norm of half the sum of all |x_i|, for numbers whose sum is public.

    The noise has the sum zero: it is that of `ExchangeBody` for all numbers but one.
    """

    norm = FixedSumNorm
    extra = 0


BODIES: Final[dict[str, Body]] = {
    body.norm.name: body for body in (ZeroOneBody(), CubeBody(), ExchangeBody(), FixedSumBody())
}
"""Every body, by the name of its norm."""


@lru_cache(maxsize=64)
def _chances_of_positive(count: int) -> list[float]:
    """P[1, 2, ... of `count` continuous noises with the sum zero are positive]."""
    logarithms = [0.0]
    for at in range(1, count - 1):
        # The ways to choose these coordinates, and the dimensions of both parts.
        factor = (count - at) / (at + 1) * (count - 1 - at) / at
        logarithms.append(logarithms[-1] + log(factor))
    largest = max(logarithms)
    chances = [exp(one - largest) for one in logarithms]
    total = sum(chances)
    return [chance / total for chance in chances]


def _gamma(uniform: Floats) -> Floats:
    """Draws of a gamma distribution, whose shape is the number of rows."""
    drawn: Floats = -np.log(uniform).sum(axis=0)
    return drawn


WIDEST_ARRAY = 1 << 32
"""The greatest limit of uniform numbers that are drawn as an array."""


def _uniform(limits: Array) -> Array:
    """An independent uniform number below each limit."""
    if limits.size and int(limits.max()) <= WIDEST_ARRAY:
        narrow: Ints = limits.astype(np.int64)
        return uniforms(narrow, narrow.size)
    drawn = np.empty(limits.size, dtype=object)
    drawn[:] = [uniform_below(int(limit)) for limit in limits]
    return drawn


def _sums_from(numbers: Floats, times: int) -> Floats:
    """The sums over all places from each one on, and sums of these, `times` in all."""
    for _ in range(times):
        numbers = np.cumsum(numbers[::-1])[::-1]
    return numbers.copy()


def _with_sum_zero(scale: Fraction, count: int) -> list[int]:
    """Discrete Laplace noises under the condition that their sum is zero."""
    while True:
        drawn = [discrete_laplace_scalar(scale) for _ in range(count - 1)]
        last = -sum(drawn)
        if bernoulli_exp(abs(last) * scale.denominator, scale.numerator):
            return [*drawn, last]


@lru_cache(maxsize=64)
def _tails_with_sum_zero(scale: Fraction, count: int) -> Floats:
    """P[one of these noises >= v] for v = 0, 1, 2, ...

    A noise is v with a probability proportional to P[v] and to that of the sum -v of all others.
    """
    noise = DiscreteLaplace(scale)
    far = ceil(float(scale) * (FAR / 2 + 4 * sqrt(count))) + 1
    angles: Floats = np.arange(2 * far, dtype=np.float64) * (np.pi / far)
    of_others = np.fft.fft(noise.characteristic(angles) ** (count - 1)).real[:far]
    chances = np.maximum(of_others, 0) * np.exp(-np.arange(far) / float(scale))
    chances /= 2 * chances.sum() - chances[0]
    return np.cumsum(chances[::-1])[::-1].copy()


def variance_of(tails: Floats) -> float:
    """The variance of a symmetric whole number.

    It is the sum over v > 0 of 2 (2 v - 1) P[x >= v].
    """
    values = np.arange(1, len(tails))
    return float(2 * ((2 * values - 1) @ tails[1:]))
