"""The discrete Gaussian distribution: exact samples, tails and widths."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, sqrt
from typing import final

from dpcli.noise.bernoulli import VECTORIZE_FROM, bernoulli_exp, exponential_coins
from dpcli.noise.discrete_laplace import discrete_laplace_array, discrete_laplace_scalar
from dpcli.noise.distribution import Noise, NoiseSamples, accepted_draws, normal_quantile
from dpcli.numeric.arrays import Bools, Floats, Ints, np
from dpcli.privacy import deltas
from dpcli.privacy.loss import GaussianPair

LARGEST_SUMMED = 50
"""Up to this scale, tails are sums of discrete probabilities, not approximations."""

WIDEST = Fraction(1 << 49)
"""Greatest sigma of the array path: the Laplace proposals must fit 64 bits."""

NARROWEST = Fraction(1, 1 << 64)
"""Least sigma of the array path: its square must not vanish as a float."""


@final
class DiscreteGaussian(Noise):
    """P[k] proportional to exp(-k^2 / (2 scale^2))."""

    kind = "gaussian"
    sum_is_known = True
    norm = "l2"
    dominating_pair = GaussianPair

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        if self.scale <= 0:
            raise ValueError("the scale of noise must be positive")
        few = count < VECTORIZE_FROM and not many
        if few or not NARROWEST <= self.scale <= WIDEST:
            return [discrete_gaussian_scalar(self.scale) for _ in range(count)]
        return discrete_gaussian_array(self.scale, count)

    def positive_tail(self, value: int) -> float:
        """P[noise >= value]: a sum, or a continuous tail for large scales.

        The continuous tail has a continuity correction.
        """
        scale = float(self.scale)
        if scale > LARGEST_SUMMED:
            return erfc((value - 0.5) / (scale * sqrt(2))) / 2
        beyond = _gaussian_tails(scale)
        return beyond[value] if value < len(beyond) else 0.0

    def tail_bound(self, value: int) -> Fraction:
        """A proven upper bound of P[noise >= value], by certified sums or integrals."""
        return deltas.tail_bound(self.scale, value)

    @property
    def discrete_variance(self) -> float:
        """The variance in squared steps: a sum, or scale^2 for large scales."""
        scale = float(self.scale)
        if scale >= 10:
            return scale * scale
        weights = [exp(-(k * k) / (2 * scale * scale)) for k in range(1, 130)]
        squares = sum(k * k * weight for k, weight in enumerate(weights, 1))
        return 2 * squares / (1 + 2 * sum(weights))

    def width(self, outside: float) -> int:
        """The least k with P[|noise| > k] <= `outside`, in steps.

        For large scales, it follows from the normal quantile.
        """
        if self.scale <= LARGEST_SUMMED:
            return super().width(outside)
        return max(0, ceil(normal_quantile(outside) * float(self.scale) - 0.5))

    def deviations_of_sum(self, outside: float) -> float:
        return normal_quantile(outside)

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """Quantiles of the standard normal distribution, at `levels` in (0, 1)."""
        from statistics import NormalDist

        return np.array([NormalDist().inv_cdf(float(level)) for level in levels])

    @classmethod
    def excess(cls, beyond: Floats, scales: Floats, risk: float) -> Floats:
        """`beyond` / deviation of the sum, minus the z with P[N(0, 1) > z] = `risk`."""
        wide = np.maximum(np.hypot.reduce(scales, axis=0), np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            return np.array(beyond / wide - normal_quantile(2 * risk))


@lru_cache(maxsize=64)
def _gaussian_tails(sigma: float) -> tuple[float, ...]:
    """P[X >= k] of discrete Gaussian noise X, for k = 0, 1, and so on."""
    last = ceil(sigma * 38) + 2
    weights = [exp(-(k * k) / (2 * sigma * sigma)) for k in range(last + 1)]
    total = weights[0] + 2 * sum(weights[1:])
    beyond, tails = 0.0, []
    for weight in reversed(weights):
        beyond += weight / total
        tails.append(beyond)
    return tuple(reversed(tails))


def discrete_gaussian_scalar(sigma: Fraction) -> int:
    """One sample, in integers (Canonne, Kamath and Steinke 2020, algorithm 3)."""
    scale = sigma.__floor__() + 1
    above, below = sigma.numerator**2, sigma.denominator**2
    while True:
        draw = discrete_laplace_scalar(Fraction(scale))
        # (|draw| - sigma^2/scale)^2 / (2 sigma^2), with one denominator.
        gap = abs(draw) * scale * below - above
        if bernoulli_exp(gap * gap, 2 * above * below * scale * scale):
            return draw


def discrete_gaussian_array(sigma: Fraction, count: int) -> Ints:
    """Independent samples as an int64 array, for sigma from `NARROWEST` to `WIDEST`.

    Discrete Laplace proposals y have scale t = floor(sigma) + 1; each is accepted with
    probability exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)) (Canonne, Kamath and Steinke
    2020, algorithm 3).
    """
    if not NARROWEST <= sigma <= WIDEST:
        raise ValueError("a sigma outside the range of the array path")
    scale = Fraction(sigma.__floor__() + 1)

    def block(many: int) -> Ints:
        proposed = discrete_laplace_array(scale, many)
        accepted: Ints = proposed[_accept(sigma, scale, proposed)]
        return accepted

    return accepted_draws(count, block)


def _accept(sigma: Fraction, scale: Fraction, proposed: Ints) -> Bools:
    """Which proposals y of Laplace noise of scale t to keep for sigma s, exactly.

    The `MARGIN` of `exponential_coins` is 2^-40 in p. The error is smaller: z = (|y| - s^2/t)/s
    comes from three correctly rounded numbers of size at most s (|z| + 2), so its
    error is under 2^-50 (|z| + 2), that of exp(-z^2/2) under
    2^-50 |z| (|z| + 3) exp(-z^2/2) < 2^-47, and numpy's exp is good to a few units
    in the last place, under 2^-49.
    """
    center = sigma * sigma / scale
    estimate = np.abs(proposed).astype(np.float64)
    estimate -= float(center)
    estimate *= float(1 / sigma)
    estimate *= estimate
    estimate *= -0.5
    np.exp(estimate, out=estimate)
    estimate *= 2.0**32
    return exponential_coins(
        estimate, lambda i: (abs(int(proposed[i])) - center) ** 2 / (2 * sigma * sigma)
    )
