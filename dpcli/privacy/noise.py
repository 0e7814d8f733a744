"""The distributions of noise, as public facts: what was added, how far it strays.

Half-widths are post-processing of public parameters and carry no guarantee, so
floats serve here; they say where the noise-free answer probably lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, erfc, exp, floor, log, sinh, sqrt
from typing import Literal

from dpcli.privacy.search import least_up


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise added to each whole number of an answer, in steps of its grid.

    `laplace`: P[k] proportional to exp(-|k|/scale). `gaussian`: P[k] proportional
    to exp(-k^2/(2 scale^2)). `none`: a constant that nobody can change. `choice`: no
    noise is added; a candidate that falls short of the best by g is chosen with a
    weight of exp(-g/scale).
    """

    kind: Literal["laplace", "gaussian", "choice", "none"]
    scale: Fraction

    @property
    def variance(self) -> Fraction:
        """About the variance, in squared steps: that of the continuous likeness."""
        return self.scale**2 * (2 if self.kind == "laplace" else 1)

    @property
    def discrete_variance(self) -> float:
        """The variance of the discrete noise, in squared steps, to float precision."""
        scale = float(self.scale)
        if self.kind == "laplace":
            # 2 q / (1 - q)^2 with q = exp(-1/scale)
            return 0.5 / sinh(0.5 / scale) ** 2 if 0.5 / scale < 300 else 0.0
        if self.kind == "gaussian" and scale < 10:
            weights = [exp(-(k * k) / (2 * scale * scale)) for k in range(1, 130)]
            squares = sum(k * k * weight for k, weight in enumerate(weights, 1))
            return 2 * squares / (1 + 2 * sum(weights))
        return scale * scale

    def half_width(self, confidence: Fraction) -> int:
        """The least k with P[|noise| <= k] >= `confidence`, in steps."""
        outside = float(1 - confidence)
        match self.kind:
            case "none":
                return 0
            case "laplace":
                scale = float(self.scale)
                ratio = exp(-1 / scale) if scale else 0.0
                # P[|X| > k] = 2 q^(k+1) / (1 + q)
                bound = scale * log(2 / ((1 + ratio) * outside)) - 1 if scale else 0.0
                return max(0, ceil(bound - 1e-9))
            case "gaussian":
                return _gaussian_half_width(float(self.scale), outside)
            case "choice":
                raise ValueError("a choice has a shortfall, no half-width")

    def shortfall(self, candidates: int, confidence: Fraction) -> int:
        """How far choices fall short of the best at most, with this `confidence`.

        Of m candidates one that falls short by t or more is chosen with a probability of
        at most m exp(-t/scale) (McSherry and Talwar 2007); permute-and-flip is never
        worse (McKenna and Sheldon 2020).
        """
        return floor(float(self.scale) * log(candidates / float(1 - confidence)))


PRECISION = 1e-9
"""Relative width at which a quantile is known well enough to be printed."""


def blended_half_width(noise: Noise, own: float, variance: float, confidence: Fraction) -> float:
    """z with P[|blend| <= z] about `confidence`, in steps.

    A blend of many independent noises has this `variance`; one of them stands out, a `noise`
    taken `own` times, and gives the blend its excess kurtosis (Cornish and Fisher 1938).
    """
    normal = normal_quantile(float(1 - confidence))
    fourth = 12 * (own * float(noise.scale)) ** 4 if noise.kind == "laplace" else 0.0
    excess = fourth / variance**2
    return sqrt(variance) * (normal + excess * (normal**3 - 3 * normal) / 24)


def normal_quantile(outside: float) -> float:
    """z with P[|N(0, 1)| > z] = `outside`."""
    return _solve(lambda z: erfc(z / sqrt(2)), outside, 8.0)


def _gaussian_half_width(sigma: float, outside: float) -> int:
    """The least k with P[|X| > k] <= `outside` for the discrete Gaussian."""
    if sigma > 50:
        return max(0, ceil(normal_quantile(outside) * sigma - 0.5))
    reach = ceil(sigma * 12) + 2
    weights = [exp(-(k * k) / (2 * sigma * sigma)) for k in range(reach + 1)]
    total = weights[0] + 2 * sum(weights[1:])
    beyond = total - weights[0]
    k = 0
    while beyond > outside * total and k < reach:
        k += 1
        beyond -= 2 * weights[k]
    return k


def _solve(decreasing: Callable[[float], float], target: float, high: float) -> float:
    """The point where a decreasing function passes `target`, by bisection."""
    return least_up(
        lambda point: decreasing(point) <= target,
        0.0,
        high,
        lambda low, high: high - low <= PRECISION * high,
    )
