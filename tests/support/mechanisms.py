"""Mechanisms as the tests use them: one answer at a time."""

from __future__ import annotations

from dpcli.mechanisms.calibration import Mechanism
from dpcli.privacy.loss import Loss
from dpcli.privacy.noise import Noise
from dpcli.privacy.sensitivity import Sensitivity


def fitted(
    mechanism: Mechanism, change: Sensitivity, target: Loss, calibration: str = "exact"
) -> tuple[Noise, Loss]:
    """Calibrated noise of a single answer, and its loss."""
    (noise,) = mechanism.noises_for([change], target, calibration=calibration)
    return noise, mechanism.loss([noise], [change], target.epsilon)
