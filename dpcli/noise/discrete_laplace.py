"""Discrete Laplace noise."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, log, sinh
from typing import final

from dpcli.noise.distribution import Noise
from dpcli.noise.sampling import Draws, discrete_laplace
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.directed import Interval
from dpcli.numeric.directed import exp as certified_exp
from dpcli.privacy.dominating_pairs import LaplacePair


@final
class DiscreteLaplace(Noise):
    """P[k] proportional to exp(-|k| / scale)."""

    kind = "laplace"
    pair = LaplacePair

    def sample(self, count: int, *, many: bool = False) -> Draws:
        """Sizes with a geometric distribution, and fair signs."""
        return discrete_laplace(self.scale, count, many=many)

    def tail(self, least: int) -> float:
        """q^least / (1 + q), for q = exp(-1 / scale)."""
        scale = float(self.scale)
        return exp(-least / scale) / (1 + exp(-1 / scale))

    def tail_up(self, least: int) -> Fraction:
        """exp(-least / scale) / (1 + exp(-1 / scale)), rounded up."""
        ratio = certified_exp(Interval.of(-1 / self.scale))
        return (certified_exp(Interval.of(-least / self.scale)) / (ratio + 1)).high

    @property
    def variance(self) -> Fraction:
        """2 scale^2."""
        return 2 * self.scale**2

    @property
    def discrete_variance(self) -> float:
        """2 q / (1 - q)^2 for q = exp(-1 / scale)."""
        half = 0.5 / float(self.scale)
        return 0.5 / sinh(half) ** 2 if half < 300 else 0.0

    def fourth_cumulant(self, times: float) -> float:
        """12 scale^4."""
        return 12 * (times * float(self.scale)) ** 4

    def width(self, outside: float) -> int:
        """From P[|X| > k] = 2 q^(k+1) / (1 + q)."""
        scale = float(self.scale)
        return max(0, ceil(scale * log(2 / ((1 + exp(-1 / scale)) * outside)) - 1 - 1e-9))

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """-sign(p - 1/2) log(1 - |2 p - 1|)."""
        return np.array(-np.sign(levels - 0.5) * np.log1p(-np.abs(2 * levels - 1)))
