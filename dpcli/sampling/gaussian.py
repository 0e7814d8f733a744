"""Exact draws of the discrete Gaussian: P[k] ~ exp(-k^2 / (2 sigma^2))."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.sampling.bernoulli import BLOCK, VECTORISE_FROM, bernoulli_exp_ratio, exponential_coins
from dpcli.sampling.laplace import discrete_laplace_array, discrete_laplace_scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDEST = Fraction(1 << 49)
"""Greatest sigma of the array path: its Laplace proposals must fit 64 bits."""

NARROWEST = Fraction(1, 1 << 64)
"""Least sigma of the array path: its square must not vanish as a float."""


def discrete_gaussian(sigma: Fraction, count: int) -> list[int]:
    """Independent draws with P[k] proportional to exp(-k^2 / (2 sigma^2)), exactly."""
    if sigma <= 0:
        raise ValueError("the scale of noise must be positive")
    if count < VECTORISE_FROM or not NARROWEST <= sigma <= WIDEST:
        return [discrete_gaussian_scalar(sigma) for _ in range(count)]
    draws: list[int] = discrete_gaussian_array(sigma, count).tolist()
    return draws


def discrete_gaussian_scalar(sigma: Fraction) -> int:
    """One draw, in whole numbers only (Canonne, Kamath and Steinke 2020, algorithm 3)."""
    scale = sigma.__floor__() + 1
    above, below = sigma.numerator**2, sigma.denominator**2
    while True:
        draw = discrete_laplace_scalar(Fraction(scale))
        # (|draw| - sigma^2/scale)^2 / (2 sigma^2), over one denominator.
        gap = abs(draw) * scale * below - above
        if bernoulli_exp_ratio(gap * gap, 2 * above * below * scale * scale):
            return draw


def discrete_gaussian_array(sigma: Fraction, count: int) -> NDArray[np.int64]:
    """Independent draws as an array, for sigma from `NARROWEST` to `WIDEST`.

    Discrete Laplace proposals y of scale t = floor(sigma) + 1, each accepted with
    probability exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)) (Canonne, Kamath and Steinke
    2020, algorithm 3).
    """
    import numpy as np

    if not NARROWEST <= sigma <= WIDEST:
        raise ValueError("a sigma outside the range of the array path")
    draws = np.empty(count, np.int64)
    filled = 0
    scale = Fraction(sigma.__floor__() + 1)
    while filled < count:
        proposed = discrete_laplace_array(scale, min(BLOCK, 2 * (count - filled) + 64))
        accepted = proposed[_accept(sigma, scale, proposed)][: count - filled]
        draws[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return draws


def _accept(sigma: Fraction, scale: Fraction, proposed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which proposals to keep, decided exactly by `exponential_coins`.

    `MARGIN` is 2^-40 of p. The estimate errs by far less: z = (|y| - s^2/t)/s
    comes from three correctly rounded numbers of size at most s (|z| + 2), so its
    error is under 2^-50 (|z| + 2), that of exp(-z^2/2) under
    2^-50 |z| (|z| + 3) exp(-z^2/2) < 2^-47, and numpy's exp is good to a few units
    in the last place, under 2^-49.
    """
    import numpy as np

    centre = sigma * sigma / scale
    estimate = np.abs(proposed).astype(np.float64)
    estimate -= float(centre)
    estimate *= float(1 / sigma)
    estimate *= estimate
    estimate *= -0.5
    np.exp(estimate, out=estimate)
    estimate *= 2.0**32
    return exponential_coins(
        estimate, lambda i: (abs(int(proposed[i])) - centre) ** 2 / (2 * sigma * sigma)
    )
