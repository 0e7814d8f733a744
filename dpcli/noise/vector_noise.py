"""Noise for vectors of whole numbers that falls off by a norm: exact samples."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import final

from dpcli.noise.bodies import Body, variance_of
from dpcli.noise.distribution import Margin, Noise, NoiseSamples
from dpcli.noise.tables import body_named
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.problems.light_dataclasses import dataclass


@final
@dataclass(frozen=True)
class VectorNoise(Noise):
    """P[x] proportional to exp(-norm(x) / scale), for vectors of whole numbers.

    It is the K-norm distribution (Hardt and Talwar 2010) on the integers. The norm is that of the
    `body`. Successive coordinates are one vector, and vectors are independent. Tails and widths are
    those of one coordinate; unless the body is of tables, they are the same for all.
    """

    size: int = 1
    body: str = "cube"

    kind = "k_norm"
    norm = "vector"
    title = "K-norm"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.size) is not int or self.size < 1:
            raise ValueError("a vector has a size")
        body_named(self.body)

    @property
    def shape(self) -> Body:
        """The body of the norm."""
        return body_named(self.body)

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:  # noqa: ARG002 - vectors are few
        """The coordinates of vectors; ValueError if the last one is not whole."""
        vectors, left = divmod(count, self.size)
        if left or self.scale <= 0:
            raise ValueError("the scale must be positive, and vectors have all their coordinates")
        drawn = self.shape.draw(self.scale, self.size, vectors).ravel()
        if drawn.dtype == object:
            return [int(number) for number in drawn]
        samples: Ints = drawn
        return samples

    def positive_tail(self, value: int) -> float:
        """P[a coordinate >= value], or more than that for large scales."""
        coarse, tails = _coarse_tails(self.shape, self.size, self.scale)
        return float(tails[value // coarse]) if value // coarse < len(tails) else 0.0

    @property
    def variance(self) -> Fraction:
        return self.scale**2 * Fraction(self.shape.variance(self.size))

    @property
    def discrete_variance(self) -> float:
        coarse, tails = _coarse_tails(self.shape, self.size, self.scale)
        return variance_of(tails) * coarse**2

    def covariance(self, count: int) -> Floats:
        coarse, tails = _coarse_tails(self.shape, self.size, self.scale)
        scaled = self.shape.covariance(self.scale / coarse, self.size, variance_of(tails))
        one = scaled * coarse**2
        return np.array(np.kron(np.eye(-(-count // self.size)), one)[:count, :count])

    def margins(self, confidence: Fraction) -> tuple[Margin, ...]:
        coarse, _ = _coarse_tails(self.shape, self.size, self.scale)
        outside = float(1 - confidence)
        return tuple(
            Margin(
                int(np.argmax(2 * tails <= outside)) * coarse - 1, variance_of(tails) * coarse**2
            )
            for tails in self.shape.tails_of_each(self.scale / coarse, self.size)
        )

    @property
    def resolution(self) -> int:
        coarse, _ = _coarse_tails(self.shape, self.size, self.scale)
        return coarse

    def fourth_cumulant(self, times: float) -> float:
        """That of Laplace noise with the same variance, which has heavier tails."""
        return 3 * (times * times * self.discrete_variance) ** 2

    def deviations_of_sum(self, outside: float) -> float:
        """A bound for every weighted sum of coordinates, whose density is log-concave.

        The bound of Gauss holds for every symmetric density with a single mode. Of log-concave ones
        with a given variance, those are extreme that are flat, then fall exponentially, and end.
        Over these, the quantile of 10% or less is at most 1.03 times the bound for sums of Laplace
        noises.
        """
        from dpcli.noise.laplace_sums import laplace_sum_quantile

        if outside > 1 / 3:
            return sqrt(3) * (1 - outside)
        gauss = 2 / (3 * sqrt(outside))
        return gauss if outside > 0.1 else min(gauss, 1.03 * laplace_sum_quantile(outside))

    def together(self, uniform: Callable[[int], Floats]) -> Floats:
        return self.shape.continuous(uniform, self.size)

    def margin_of_sum(self, count: int, confidence: Fraction) -> Margin:
        whole, rest = divmod(count, self.size)
        coarse, tails = _coarse_tails(self.shape, self.size, self.scale)
        scale, single = self.scale / coarse, variance_of(tails)
        parts = (
            times * self.shape.variance_of_sum(scale, self.size, part, single)
            for times, part in ((whole, self.size), (1, rest))
            if times and part
        )
        variance = sum(parts) * coarse**2
        far = self.deviations_of_sum(float(1 - confidence))
        return Margin(ceil(far * sqrt(variance)), variance)


@lru_cache(maxsize=64)
def _coarse_tails(body: Body, size: int, scale: Fraction) -> tuple[int, Floats]:
    """How many steps one of the tails counts, and the tails."""
    coarse = body.coarse(scale, size)
    return coarse, body.tails(scale / coarse, size)
