"""What every mechanism states of itself: its noise, and what an answer reveals.

A mechanism's author writes `calibrate`, `loss`, `rho` and `pairs`. Calibration is not
trusted: `fit` recomputes the loss of the noise and compares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, final

from dpcli.privacy.decimals import short_up
from dpcli.privacy.guarantee import PUBLIC, Guarantee, Pair
from dpcli.privacy.interval import sqrt_down
from dpcli.privacy.loss import NOTHING, Loss, add_up
from dpcli.privacy.noise import NONE, Distribution, Noise
from dpcli.privacy.search import least_scale
from dpcli.privacy.sensitivity import Sensitivity

UNCHANGEABLE = Noise(NONE, Fraction(0))
"""No noise, for an answer of sensitivity zero: no neighbour can change it."""


class CannotCalibrate(Exception):
    """No noise of this mechanism meets the target; the message says why."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class Mechanism(ABC):
    """A way to answer; one subclass of a kind in `base`, one file, one registry line.

    The docstring of a subclass carries its privacy argument and is what
    `dpcli explain` prints.
    """

    name: ClassVar[str]
    distribution: ClassVar[Distribution]
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

    def losses_at(
        self, noises: Sequence[Noise], moved: Sequence[Sensitivity], delta: Fraction
    ) -> list[Loss]:
        """Losses of noises chosen by rho, with this delta at most in all, rounded up."""
        zero = Fraction(0)
        losses = (self.loss(noise, one, zero) for noise, one in zip(noises, moved, strict=True))
        return [Loss(short_up(loss.epsilon)) for loss in losses]

    @abstractmethod
    def rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """A proven zero-concentrated loss of answering with `noise`, rounded up."""

    @abstractmethod
    def pairs(self, noise: Noise, sensitivity: Sensitivity) -> tuple[Pair, ...]:
        """Pairs of distributions that together dominate an answer with `noise`."""

    @final
    def guarantee(
        self, noise: Noise, sensitivity: Sensitivity, loss: Loss, slack: Fraction = Fraction(0)
    ) -> Guarantee:
        """What an answer reveals in every measure; `loss` is what it was given to spend."""
        if sensitivity.l1 == 0:
            return PUBLIC
        rho, pairs = self.rho(noise, sensitivity), self.pairs(noise, sensitivity)
        return Guarantee(loss, rho, pairs, slack)

    def calibrate_jointly(
        self,
        moved: Sequence[Sensitivity],
        shares: Sequence[Fraction],
        target: Loss,
        calibration: str = "exact",
    ) -> list[Noise]:
        """Noise for several answers about the same rows that meets `target` together.

        Their shares sum to one.
        """
        targets = (Loss(target.epsilon * share, target.delta * share) for share in shares)
        return [
            self.calibrate(one, part, calibration) for one, part in zip(moved, targets, strict=True)
        ]

    def joint_loss(
        self, noises: Sequence[Noise], moved: Sequence[Sensitivity], epsilon: Fraction
    ) -> Loss:
        """A proven loss of several answers together: their sum, if each is pure."""
        return add_up(
            self.loss(noise, one, epsilon) for noise, one in zip(noises, moved, strict=True)
        )

    @final
    def fit(
        self, sensitivity: Sensitivity, target: Loss, calibration: str = "exact"
    ) -> tuple[Noise, Loss]:
        """Calibrated noise with its recomputed loss, which is within `target`."""
        if sensitivity.l1 == 0:
            return UNCHANGEABLE, NOTHING
        noise = self.calibrate(sensitivity, target, calibration)
        loss = self.loss(noise, sensitivity, target.epsilon)
        self._require(loss, target, calibration)
        return noise, loss

    @final
    def fit_rho(self, sensitivity: Sensitivity, rho: Fraction) -> Noise:
        """The least noise found whose stated rho is at most `rho`, a short rational."""
        if sensitivity.l1 == 0:
            return UNCHANGEABLE
        # No mechanism has a smaller rho than Gaussian noise of four times this scale.
        start = sqrt_down(sensitivity.l2_squared / (2 * rho)) / 4
        added = self.distribution
        scale = least_scale(lambda scale: self.rho(Noise(added, scale), sensitivity) > rho, start)
        return Noise(added, scale)

    @final
    def fit_jointly(
        self,
        moved: Sequence[Sensitivity],
        shares: Sequence[Fraction],
        target: Loss,
        calibration: str = "exact",
    ) -> list[Noise]:
        """Noise for each answer; their recomputed joint loss is within `target`.

        With a rho in the target, the rhos that they state are. Answers that no neighbour
        can change get none, and their shares of `target` are not used.
        """
        if target.rho is not None:
            return [
                self.fit_rho(one, target.rho * share)
                for one, share in zip(moved, shares, strict=True)
            ]
        noises = [UNCHANGEABLE] * len(moved)
        places = [place for place, one in enumerate(moved) if one.l1]
        whole = sum((shares[place] for place in places), start=Fraction(0))
        target = Loss(target.epsilon * whole, target.delta * whole)
        if len(places) == 1:
            (place,) = places
            noises[place] = self.fit(moved[place], target, calibration)[0]
        elif places:
            changed, parts = zip(*((moved[at], shares[at] / whole) for at in places), strict=True)
            found = self.calibrate_jointly(changed, parts, target, calibration)
            self._require(self.joint_loss(found, changed, target.epsilon), target, calibration)
            for place, noise in zip(places, found, strict=True):
                noises[place] = noise
        return noises

    def _require(self, loss: Loss, target: Loss, calibration: str) -> None:
        if not loss.within(target):
            raise CannotCalibrate(
                f"`{self.name}` with `calibration: {calibration}` does not meet the target",
                "use the exact calibration",
            )
