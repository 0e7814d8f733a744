"""The one door: the only place where something confidential becomes noisy.

A mechanism's author writes `calibrate`, `loss`, `rho`, `pairs` and `perturb`, or for choices
`rho`, `pairs` and `pick`. `answer`, `select` and `choose` alone unseal, perturb and wrap.
Calibration is not believed: `fit` recomputes the loss of the noise and compares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal, final

from dpcli.mechanisms.search import least_scale
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups, Noisy
from dpcli.privacy.decimals import short_up
from dpcli.privacy.guarantee import PUBLIC, Guarantee, Pair
from dpcli.privacy.interval import sqrt_down
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
    """A way to answer; one subclass of a kind below, one file, one registry line.

    The docstring of a subclass carries its privacy argument and is what
    `dpcli explain` prints.
    """

    name: ClassVar[str]
    kind: ClassVar[Literal["laplace", "gaussian", "choice"]]
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
        self,
        noise: Noise,
        sensitivity: Sensitivity,
        loss: Loss,
        slack: Fraction = Fraction(0),
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
        losses = [self.loss(noise, one, epsilon) for noise, one in zip(noises, moved, strict=True)]
        return Loss(
            sum((loss.epsilon for loss in losses), start=Fraction(0)),
            sum((loss.delta for loss in losses), start=Fraction(0)),
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
        return Noise(
            self.kind,
            least_scale(lambda scale: self.rho(Noise(self.kind, scale), sensitivity) > rho, start),
        )

    @final
    def fit_jointly(
        self,
        moved: Sequence[Sensitivity],
        shares: Sequence[Fraction],
        target: Loss,
        calibration: str = "exact",
    ) -> list[Noise]:
        """Noise for each answer; their recomputed joint loss is within `target`.

        With a rho in the target, the rhos that they state are. Answers that nobody can change
        get none, and their shares of `target` go to nobody.
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
        """Refuse noise whose recomputed loss exceeds what was asked."""
        if not loss.within(target):
            raise CannotCalibrate(
                f"`{self.name}` with `calibration: {calibration}` does not meet the target",
                "use the exact calibration",
            )


class Perturbing(Mechanism):
    """A mechanism that adds noise to whole numbers."""

    @abstractmethod
    def perturb(self, noise: Noise, values: Sequence[int]) -> list[int]:
        """Each value plus its own fresh and independent draw of `noise`."""

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


class Choosing(Mechanism):
    """A mechanism that chooses among candidates by their scores, the better the likelier.

    A change of the data moves the distances of scores by at most the sensitivity, in L1
    over all groups and picks; the scale is that divided by epsilon. A candidate that
    falls short of the best by g gets a weight of exp(-g/scale).
    """

    kind = "choice"

    @final
    def calibrate(
        self, sensitivity: Sensitivity, target: Loss, calibration: str = "exact"
    ) -> Noise:
        """Scale L1 / epsilon, exactly."""
        return Noise("choice", Fraction(sensitivity.l1) / target.epsilon)

    @final
    def loss(self, noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> Loss:
        """Epsilon = L1 / scale, exactly, and delta zero."""
        return Loss(sensitivity.l1 / noise.scale)

    @abstractmethod
    def pick(self, noise: Noise, gaps: Sequence[int]) -> int:
        """The place of the chosen candidate; each falls short of the best by its gap."""

    @final
    def choose(
        self,
        noise: Noise,
        sensitivity: Sensitivity,
        exact: Confidential[Cells],
        shape: tuple[int, int],
    ) -> Noisy[Cells]:
        """For each group the places of the chosen candidates, each chosen once.

        `shape` says how many candidates a group has, and how many are chosen there. The
        sealed scores stand group by group; nothing else ever unseals them.
        """
        scores, (width, picks) = unseal(exact), shape
        if sensitivity.l1 and (noise.scale <= 0 or noise.kind != "choice"):
            raise ValueError("a choice that somebody can change needs noise")
        chosen: list[int] = []
        for start in range(0, len(scores), width):
            left, candidates = scores[start : start + width], tuple(range(width))
            for _ in range(picks):
                best = max(left)
                gaps = [best - score for score in left]
                place = self.pick(noise, gaps) if sensitivity.l1 else gaps.index(0)
                chosen.append(candidates[place])
                left = left[:place] + left[place + 1 :]
                candidates = candidates[:place] + candidates[place + 1 :]
        return Noisy(tuple(chosen))


def in_groups(
    exact: Confidential[Groups], groups: Sequence[Group], width: int
) -> Confidential[Cells]:
    """The cells of groups that were selected, still sealed; zeros for one without rows.

    Which groups, and in which order, is public by now.
    """
    found, nothing = unseal(exact), (0,) * width
    return Confidential(tuple(cell for key in groups for cell in found.get(key, nothing)))
