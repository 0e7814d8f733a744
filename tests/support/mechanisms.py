"""Mechanisms as tests use them: one answer at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcli.mechanisms.mechanism import Mechanism
from dpcli.noise.distribution import Noise
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity

LOG_WEIGHT: dict[str, Callable[[Any, Any], Any]] = {
    "laplace": lambda scale, k: -abs(k) / scale,
    "k_norm": lambda scale, k: -abs(k) / scale,
    "gaussian": lambda scale, k: -(k * k) / (2 * scale * scale),
}
"""The logarithm of the probability of a draw, apart from a constant; by kind of noise.

Of a scale and a whole number it is exact; of an array of numbers it is an array.
"""


def fitted(
    mechanism: Mechanism, change: Sensitivity, target: Loss, calibration: str = "exact"
) -> tuple[Noise, Loss]:
    """Calibrated noise of a single answer, and its loss."""
    (noise,) = mechanism.calibrate_and_verify([change], target, calibration=calibration)
    return noise, mechanism.loss([(noise, change)], target.epsilon)
