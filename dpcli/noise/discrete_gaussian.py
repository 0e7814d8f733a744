"""Discrete Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, sqrt
from typing import final

from dpcli.noise.distribution import Noise, normal_quantile
from dpcli.noise.sampling import Draws, discrete_gaussian
from dpcli.numeric.arrays import Floats, np
from dpcli.privacy import gaussian_delta
from dpcli.privacy.dominating_pairs import GaussianPair

SMALL = 50
"""Up to this scale the tail of the discrete Gaussian is added up, not approximated."""


@final
class DiscreteGaussian(Noise):
    """P[k] proportional to exp(-k^2 / (2 scale^2))."""

    kind = "gaussian"
    norm = "l2"
    pair = GaussianPair

    def sample(self, count: int, *, many: bool = False) -> Draws:
        """Discrete Laplace draws, of which some are rejected."""
        return discrete_gaussian(self.scale, count, many=many)

    def tail(self, least: int) -> float:
        """By summation; for large scales the continuous tail with a continuity correction."""
        scale = float(self.scale)
        if scale > SMALL:
            return erfc((least - 0.5) / (scale * sqrt(2))) / 2
        beyond = _gaussian_tails(scale)
        return beyond[least] if least < len(beyond) else 0.0

    def tail_up(self, least: int) -> Fraction:
        """By certified sums or integrals."""
        return gaussian_delta.tail_up(self.scale, least)

    @property
    def discrete_variance(self) -> float:
        """By summation; for large scales scale^2."""
        scale = float(self.scale)
        if scale >= 10:
            return scale * scale
        weights = [exp(-(k * k) / (2 * scale * scale)) for k in range(1, 130)]
        squares = sum(k * k * weight for k, weight in enumerate(weights, 1))
        return 2 * squares / (1 + 2 * sum(weights))

    def width(self, outside: float) -> int:
        """By summation; for large scales from the normal quantile."""
        if self.scale <= SMALL:
            return super().width(outside)
        return max(0, ceil(normal_quantile(outside) * float(self.scale) - 0.5))

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """Normal quantiles."""
        from statistics import NormalDist

        return np.array([NormalDist().inv_cdf(float(level)) for level in levels])


@lru_cache(maxsize=64)
def _gaussian_tails(sigma: float) -> tuple[float, ...]:
    """P[X >= k] of the discrete Gaussian for k = 0, 1, and so on."""
    reach = ceil(sigma * 38) + 2
    weights = [exp(-(k * k) / (2 * sigma * sigma)) for k in range(reach + 1)]
    total = weights[0] + 2 * sum(weights[1:])
    beyond, found = 0.0, []
    for weight in reversed(weights):
        beyond += weight / total
        found.append(beyond)
    return tuple(reversed(found))
