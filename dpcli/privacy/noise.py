"""The distributions of noise, as public facts: what was added, how far it strays.

Half-widths are post-processing of public parameters and carry no guarantee, so
floats serve here; they say where the noise-free answer probably lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, erfc, exp, log, sqrt
from typing import Literal


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise added to each whole number of an answer, in steps of its grid.

    `laplace`: P[k] proportional to exp(-|k|/scale). `gaussian`: P[k] proportional
    to exp(-k^2/(2 scale^2)). `none`: a constant that nobody can change.
    """

    kind: Literal["laplace", "gaussian", "none"]
    scale: Fraction

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


PRECISION = 1e-9
"""Relative width at which a quantile is known well enough to be printed."""


def combined_half_width(first: Noise, second: Noise, weight: float, confidence: Fraction) -> float:
    """z with P[|first + weight * second| <= z] = `confidence`, in steps.

    Both are treated as continuous: exact enough once a scale exceeds a few steps.
    """
    outside = float(1 - confidence)
    a, b = float(first.scale), abs(weight) * float(second.scale)
    if first.kind == "none":
        return abs(weight) * second.half_width(confidence)
    if second.kind == "none" or not b:
        return float(first.half_width(confidence))
    if first.kind == "gaussian":
        return _normal_quantile(outside) * sqrt(a * a + b * b)
    return _solve(lambda z: _laplace_pair_outside(a, b, z), outside, (a + b) * 4)


def _laplace_pair_outside(a: float, b: float, z: float) -> float:
    """P[|A + B| > z] for independent Laplace variables of scales a and b."""
    if abs(a - b) < 1e-6 * (a + b):
        mean = (a + b) / 2
        return exp(-z / mean) * (1 + z / (2 * mean))
    return (a * a * exp(-z / a) - b * b * exp(-z / b)) / (a * a - b * b)


def _normal_quantile(outside: float) -> float:
    """z with P[|N(0, 1)| > z] = `outside`."""
    return _solve(lambda z: erfc(z / sqrt(2)), outside, 8.0)


def _gaussian_half_width(sigma: float, outside: float) -> int:
    """The least k with P[|X| > k] <= `outside` for the discrete Gaussian."""
    if sigma > 50:
        return max(0, ceil(_normal_quantile(outside) * sigma - 0.5))
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
    low = 0.0
    while decreasing(high) > target:
        low, high = high, high * 2
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > target else (low, middle)
    return high
