"""Discrete Laplace noise: pure epsilon from the L1 sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.mechanisms.base import Perturbing
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
    """

    name = "laplace"

    def calibrate(
        self, sensitivity: Sensitivity, target: Loss, calibration: str = "exact"
    ) -> Noise:
        """Scale L1 / epsilon, exactly."""
        return Noise("laplace", Fraction(sensitivity.l1) / target.epsilon)

    def loss(self, noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> Loss:
        """Epsilon = L1 / scale, exactly, and delta zero."""
        return Loss(sensitivity.l1 / noise.scale)

    def perturb(self, noise: Noise, values: Sequence[int]) -> list[int]:
        """Each value plus its own discrete Laplace draw."""
        draws = discrete_laplace(noise.scale, len(values))
        return [value + draw for value, draw in zip(values, draws, strict=True)]
