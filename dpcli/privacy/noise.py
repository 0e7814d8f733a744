"""The distributions of noise, as public facts: how widely noise spreads.

Widths and tails are post-processing of public parameters and carry no guarantee, so
floats serve; they say where the noise-free answer probably lies, and bounds are rounded
outwards. `tail_up` alone is part of a guarantee, and certified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, floor, log, sinh, sqrt
from typing import ClassVar, Literal

from dpcli.arrays import Floats, np
from dpcli.privacy import gaussian_delta
from dpcli.privacy.interval import Interval
from dpcli.privacy.interval import exp as certified_exp
from dpcli.privacy.search import least_up

SMALL = 50
"""Up to this scale the tail of the discrete Gaussian is added up, not approximated."""

PRECISION = 1e-9
"""Relative width at which a quantile is known well enough to be printed."""


@dataclass(frozen=True)
class Noise(ABC):
    """Noise added to each whole number of an answer: symmetric around zero, with a scale in steps.

    A new distribution states its tail and its variance; the rest follows. Its samples are drawn
    by the mechanisms that add it. `kind` is its name in ledgers and reports, `norm` the
    sensitivity that its scale is in proportion to, for a given loss.
    """

    scale: Fraction

    kind: ClassVar[str]
    norm: ClassVar[Literal["l1", "l2"]] = "l1"

    @property
    def title(self) -> str:
        """Its name in a sentence, as in "discrete Laplace noise"."""
        return self.kind.replace("_", " ").title()

    @abstractmethod
    def tail(self, least: int) -> float:
        """P[noise >= least], for `least` above zero."""

    def tail_up(self, least: int) -> Fraction:
        """P[noise >= least] for `least` above zero, rounded up, with a proof."""
        raise ValueError(f"no proof of how far {self.kind} noise spreads, at {self.scale}, {least}")

    @property
    def variance(self) -> Fraction:
        """About the variance, in squared steps: that of the continuous likeness."""
        return self.scale**2

    @property
    def discrete_variance(self) -> float:
        """The variance of the discrete noise, in squared steps, to float precision."""
        return float(self.variance)

    def fourth_cumulant(self, times: float) -> float:  # noqa: ARG002 - that of few is not zero
        """How much heavier than normal the tails of `times` the noise are; zero of the normal."""
        return 0.0

    def half_width(self, confidence: Fraction) -> int:
        """The least k with P[|noise| <= k] >= `confidence`, in steps."""
        return self.width(float(1 - confidence))

    def width(self, outside: float) -> int:
        """The least k with P[|noise| > k] <= `outside`, in steps."""
        return least_up(lambda width: 2 * self.tail(width + 1) <= outside, -1, 1)

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """Quantiles of the continuous likeness, of scale one."""
        fine = 1000
        outside = 2 * np.minimum(levels, 1 - levels)
        widths = [cls(Fraction(fine)).width(float(share)) / fine for share in outside]
        return np.array(np.copysign(widths, levels - 0.5))

    def shortfall(self, candidates: int, confidence: Fraction) -> int:
        """How far choices fall short of the best at most, with this `confidence`.

        Of m candidates one that falls short by t or more is chosen with a probability of
        at most m exp(-t/scale) (McSherry and Talwar 2007); permute-and-flip is never
        worse (McKenna and Sheldon 2020).
        """
        return floor(float(self.scale) * log(candidates / float(1 - confidence)))


class DiscreteLaplace(Noise):
    """P[k] proportional to exp(-|k| / scale)."""

    kind = "laplace"

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


class DiscreteGaussian(Noise):
    """P[k] proportional to exp(-k^2 / (2 scale^2))."""

    kind = "gaussian"
    norm = "l2"

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


class NoNoise(Noise):
    """Always zero, of scale zero: for a constant that no neighbor can change."""

    kind = "none"

    def tail(self, least: int) -> float:  # noqa: ARG002 - there is none
        """Zero."""
        return 0.0


class ChoiceNoise(Noise):
    """No noise: a candidate that falls short of the best by g has a weight of exp(-g / scale)."""

    kind = "choice"

    def tail(self, least: int) -> float:
        """Nothing is added, so there is none."""
        raise ValueError(f"a choice of scale {self.scale} has no tail at {least}")


def normal_quantile(outside: float) -> float:
    """z with P[|N(0, 1)| > z] = `outside`."""
    return least_up(
        lambda z: erfc(z / sqrt(2)) <= outside,
        0.0,
        8.0,
        lambda low, high: high - low <= PRECISION * high,
    )


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
