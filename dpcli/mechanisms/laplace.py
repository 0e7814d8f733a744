"""Discrete Laplace noise: pure epsilon from the L1 sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from dpcli.mechanisms.base import Perturbing
from dpcli.privacy.decimals import short_up
from dpcli.privacy.guarantee import Pair, cells_or_response
from dpcli.privacy.interval import Interval, exp, sqrt_up
from dpcli.privacy.loss import Loss
from dpcli.privacy.noise import Noise
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.sampling.laplace import discrete_laplace


class Laplace(Perturbing):
    """Adds discrete Laplace noise of scale L1 / epsilon to every cell.

    P[noise = k] is proportional to exp(-|k| / scale), over all whole numbers of
    steps. Epsilon, scale and sensitivity are exact rationals; delta is zero.

    Privacy: for neighbours whose answers differ by v, the probabilities of any
    output have the ratio exp((sum |z_i - v_i| - |z_i|) / scale), at most
    exp(|v|_1 / scale) = exp(epsilon) (Dwork, McSherry, Nissim and Smith 2006; on
    the whole numbers, Ghosh, Roughgarden and Sundararajan 2009). Draws are exact
    (Canonne, Kamath and Steinke 2020), so the ratio holds as computed.

    Under `composition: zcdp` its rho is its mean loss: for one cell that changes by v, with
    u = v/scale and x = 1/scale, u - (1 - exp(-u)) x/sinh(x) (Harrison and Manurangsi 2026).
    Why: around the middle of the two distributions the loss is symmetric, and its moments
    are the sum C cosh(v s) + cosh((v-2) s) + cosh((v-4) s) + ..., whose zeros are all imaginary
    since C >= 1; so their logarithm is concave in s^2, and lies below the tangent that the
    claim is. If m cells change, the sum of their rhos, which is concave in the squares of
    v, is at most m times that of v = L2/sqrt(m), and at most that of v = L1.
    """

    name = "laplace"
    kind = "laplace"

    def calibrate(
        self, sensitivity: Sensitivity, target: Loss, calibration: str = "exact"
    ) -> Noise:
        """Scale L1 / epsilon, exactly."""
        return Noise("laplace", Fraction(sensitivity.l1) / target.epsilon)

    def loss(self, noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> Loss:
        """Epsilon = L1 / scale, exactly, and delta zero."""
        return Loss(sensitivity.l1 / noise.scale)

    def rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """The mean loss, for the worst way of changing cells."""
        square = Fraction(sensitivity.l2_squared, sensitivity.l0)
        spread = sensitivity.l0 * _mean_loss(sqrt_up(square), noise.scale)
        return min(spread, _mean_loss(Fraction(sensitivity.l1), noise.scale))

    def pairs(self, noise: Noise, sensitivity: Sensitivity) -> tuple[Pair, ...]:
        """The noise, moved in every cell; by epsilon alone if cells share a bound."""
        return cells_or_response("laplace", noise, sensitivity)

    def perturb(self, noise: Noise, values: Sequence[int]) -> list[int]:
        """Each value plus its own discrete Laplace draw."""
        draws = discrete_laplace(noise.scale, len(values))
        return [value + draw for value, draw in zip(values, draws, strict=True)]


@lru_cache(maxsize=1024)
def _mean_loss(shift: Fraction, scale: Fraction) -> Fraction:
    """u - (1 - exp(-u)) x/sinh(x) for u = shift/scale and x = 1/scale, rounded up."""
    step = Interval.of(1 / scale)
    lattice = step * 2 / (exp(step) - exp(step * -1))
    loss = shift / scale
    return short_up(((exp(Interval.of(-loss)) - 1) * lattice + loss).high)
