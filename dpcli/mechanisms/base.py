"""The one door: the only place where something confidential becomes noisy.

A mechanism's author writes `calibrate`, `loss` and `perturb`. `answer` alone
unseals, perturbs and wraps. Calibration is not believed: `fit` recomputes the
loss of the noise that was chosen and compares it with what was asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, final

from dpcli.privacy.confidential import Cells, Confidential, Group, Groups, Noisy
from dpcli.privacy.key import unseal
from dpcli.privacy.loss import NOTHING, Loss
from dpcli.privacy.noise import Noise
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.threshold import Selection

UNCHANGEABLE = Noise("none", Fraction(0))
"""No noise, for an answer of sensitivity zero: no neighbour can change it."""


class CannotCalibrate(Exception):
    """No noise of this mechanism meets the target; the message says why."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class Mechanism(ABC):
    """A way to answer with whole numbers; one subclass, one file, one registry line.

    The docstring of a subclass carries its privacy argument and is what
    `dpcli explain` prints.
    """

    name: ClassVar[str]
    needs_delta: ClassVar[bool] = False
    calibrations: ClassVar[tuple[str, ...]] = ("exact",)

    @abstractmethod
    def calibrate(
        self, sensitivity: Sensitivity, target: Loss, calibration: str = "exact"
    ) -> Noise:
        """The least noise found that meets `target`; `CannotCalibrate` if none does."""

    @abstractmethod
    def loss(self, noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> Loss:
        """A proven loss of answering with `noise`, at or below `epsilon` if possible.

        Every epsilon or delta in it is rounded up.
        """

    @abstractmethod
    def perturb(self, noise: Noise, values: Sequence[int]) -> list[int]:
        """Each value plus its own fresh and independent draw of `noise`."""

    @final
    def fit(
        self, sensitivity: Sensitivity, target: Loss, calibration: str = "exact"
    ) -> tuple[Noise, Loss]:
        """Calibrated noise with its recomputed loss, which is within `target`."""
        if sensitivity.l1 == 0:
            return UNCHANGEABLE, NOTHING
        noise = self.calibrate(sensitivity, target, calibration)
        loss = self.loss(noise, sensitivity, target.epsilon)
        if not loss.within(target):
            raise CannotCalibrate(
                f"`{self.name}` with `calibration: {calibration}` does not meet the target",
                "use the exact calibration",
            )
        return noise, loss

    @final
    def answer(
        self, noise: Noise, sensitivity: Sensitivity, exact: Confidential[Cells]
    ) -> Noisy[Cells]:
        """The sealed numbers with noise added; nothing else ever unseals them.

        Refuses noise without scale unless the sensitivity is zero.
        """
        values = unseal(exact)
        if sensitivity.l1 == 0 and noise == UNCHANGEABLE:
            return Noisy(tuple(values))
        if noise.scale <= 0 or noise.kind == "none":
            raise ValueError("an answer that somebody can change needs noise")
        noisy = self.perturb(noise, values)
        if len(noisy) != len(values):
            raise ValueError("a mechanism must answer every cell")
        return Noisy(tuple(noisy))

    @final
    def select(
        self, noise: Noise, rule: Selection, exact: Confidential[Groups]
    ) -> Noisy[dict[Group, int]]:
        """The groups whose noisy count reaches the threshold, with that count.

        Every group in the data gets noise of its own; nothing tells of those that
        do not reach the threshold, nor how many they are.
        """
        if noise.scale <= 0 or noise.kind == "none":
            raise ValueError("groups that somebody can change need noise")
        groups = unseal(exact)
        keys = sorted(groups)
        noisy = self.perturb(noise, [groups[key][0] for key in keys])
        counts = zip(keys, noisy, strict=True)
        return Noisy({key: count for key, count in counts if count >= rule.threshold})


def in_groups(
    exact: Confidential[Groups], groups: Sequence[Group], width: int
) -> Confidential[Cells]:
    """The cells of groups that were selected, still sealed; zeros for one without rows.

    Which groups, and in which order, is public by now.
    """
    found, nothing = unseal(exact), (0,) * width
    return Confidential(tuple(cell for key in groups for cell in found.get(key, nothing)))
