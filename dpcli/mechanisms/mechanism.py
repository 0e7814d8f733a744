"""What every mechanism states of itself: its noise, and what an answer reveals.

The author of a mechanism writes `calibrate`, `loss`, `losses_at_delta`, `zcdp_rho` and
`dominating_pairs`; for a `PureMechanism` only `zcdp_rho`. Calibration is not trusted:
`calibrate_and_verify` recomputes the loss and compares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, final

from dpcli.noise.distribution import NO_NOISE, Noise, Unchangeable
from dpcli.noise.selection import ChoiceNoise
from dpcli.numeric.arrays import Array, np, plus, whole
from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import sqrt_down, sqrt_up
from dpcli.numeric.search import least_scale
from dpcli.privacy.dominating_pairs import DominatingPair, RandomizedResponsePair
from dpcli.privacy.loss import ZERO_GUARANTEE, Guarantee, Loss
from dpcli.privacy.sensitivity import Sensitivity

SINGLE_ANSWER = (Fraction(1),)
"""The share of a single answer."""


class CalibrationError(Exception):
    """No noise of this mechanism meets the target; the message says why."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class Mechanism(Unchangeable, ABC):
    """A way to answer; one subclass of a kind below, one registry line.

    The docstring of a subclass carries its privacy argument and is what
    `dpcli explain` prints.
    """

    name: ClassVar[str]
    distribution: ClassVar[type[Noise]]
    needs_delta: ClassVar[bool] = False
    calibrations: ClassVar[tuple[str, ...]] = ("exact",)

    @abstractmethod
    def calibrate(
        self,
        changes: Sequence[Sensitivity],
        target: Loss,
        shares: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        """The least noises found with which answers about the same rows meet `target` together.

        Their shares sum to one. `CalibrationError` if none meet it.
        """

    @abstractmethod
    def loss(
        self, noises: Sequence[Noise], changes: Sequence[Sensitivity], epsilon: Fraction
    ) -> Loss:
        """A proven loss of all answers together, at or below `epsilon` if possible.

        Every epsilon or delta in it is rounded up.
        """

    @abstractmethod
    def losses_at_delta(
        self, noises: Sequence[Noise], changes: Sequence[Sensitivity], delta: Fraction
    ) -> list[Loss]:
        """Losses of noises chosen by rho, with this delta at most in all, rounded up."""

    @abstractmethod
    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """A proven zero-concentrated loss of answering with `noise`, rounded up."""

    @abstractmethod
    def dominating_pairs(
        self, noise: Noise, sensitivity: Sensitivity
    ) -> tuple[DominatingPair, ...]:
        """Pairs of distributions that together dominate an answer with `noise`."""

    @final
    def guarantee(
        self,
        noise: Noise,
        sensitivity: Sensitivity,
        loss: Loss,
        failure_delta: Fraction = Fraction(0),
    ) -> Guarantee:
        """What an answer reveals in every measure; `loss` is what it was given to spend."""
        if sensitivity.l1 == 0:
            return ZERO_GUARANTEE
        rho, pairs = self.zcdp_rho(noise, sensitivity), self.dominating_pairs(noise, sensitivity)
        return Guarantee(loss, rho, pairs, failure_delta)

    @final
    def calibrate_and_verify(
        self,
        changes: Sequence[Sensitivity],
        target: Loss,
        shares: Sequence[Fraction] = SINGLE_ANSWER,
        calibration: str = "exact",
    ) -> list[Noise]:
        """Noise for each answer; their recomputed loss together is within `target`.

        With a rho in the target, the rhos that they state are. Answers that no neighbor
        can change get none, and their shares of `target` are not used.
        """
        if target.rho is not None:
            each = zip(changes, shares, strict=True)
            return [self._of_rho(one, target.rho * share) for one, share in each]
        noises: list[Noise] = [NO_NOISE] * len(changes)
        places = [place for place, one in enumerate(changes) if one.l1]
        if places:
            changed, parts = [changes[at] for at in places], [shares[at] for at in places]
            whole = sum(parts, start=Fraction(0))
            target = Loss(target.epsilon * whole, target.delta * whole)
            parts = [part / whole for part in parts]
            found = self.calibrate(changed, target, parts, calibration)
            if not self.loss(found, changed, target.epsilon).within(target):
                raise CalibrationError(
                    f"`{self.name}` with `calibration: {calibration}` does not meet the target",
                    "use the exact calibration",
                )
            for place, noise in zip(places, found, strict=True):
                noises[place] = noise
        return noises

    def _of_rho(self, change: Sensitivity, rho: Fraction) -> Noise:
        """The least noise found whose stated rho is at most `rho`, a short rational."""
        if change.l1 == 0:
            return NO_NOISE
        # No mechanism has a smaller rho than Gaussian noise of four times this scale.
        start = sqrt_down(change.l2_squared / (2 * rho)) / 4
        added = self.distribution
        return added(least_scale(lambda scale: self.zcdp_rho(added(scale), change) > rho, start))


class Pure(Mechanism):
    """A mechanism whose loss is the L1 sensitivity over the scale of its noise, without delta.

    A change of one cell is dominated by the pair of its noise; a
    `RandomizedResponsePair` dominates every pure answer.
    """

    def calibrate(
        self,
        changes: Sequence[Sensitivity],
        target: Loss,
        shares: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        """Scale L1 over the share of epsilon, exactly."""
        each = zip(changes, shares, strict=True)
        return [self.distribution(one.l1 / (target.epsilon * share)) for one, share in each]

    def loss(
        self, noises: Sequence[Noise], changes: Sequence[Sensitivity], epsilon: Fraction
    ) -> Loss:
        """The sum of L1 / scale, exactly, and delta zero."""
        each = zip(noises, changes, strict=True)
        return Loss(sum((one.l1 / noise.scale for noise, one in each), start=Fraction(0)))

    def losses_at_delta(
        self, noises: Sequence[Noise], changes: Sequence[Sensitivity], delta: Fraction
    ) -> list[Loss]:
        """L1 / scale of each, rounded up."""
        each = zip(noises, changes, strict=True)
        return [Loss(short_up(one.l1 / noise.scale)) for noise, one in each]

    def dominating_pairs(
        self, noise: Noise, sensitivity: Sensitivity
    ) -> tuple[DominatingPair, ...]:
        """A pair for each cell, if all can change by the most at once; else the worst.

        For less than the most, a pair of the same kind is the more distinguishable the farther
        it is shifted. Where cells share a bound, what they do together is at least pure.
        """
        if sensitivity.l0 * sensitivity.linf == sensitivity.l1:
            return (noise.dominating_pair(noise.scale, sensitivity.linf, sensitivity.l0),)
        return (RandomizedResponsePair(noise.scale, sensitivity.l1),)


def worst_case_rho(change: Sensitivity, rho: Callable[[Fraction], Fraction]) -> Fraction:
    """The rho of all cells from that of one, if it is concave in the square of its change."""
    whole = rho(Fraction(change.l1))
    if change.l0 == 1:
        return whole
    return min(change.l0 * rho(sqrt_up(Fraction(change.l2_squared, change.l0))), whole)


class AdditiveMechanism(Mechanism):
    """A mechanism that adds noise to whole numbers."""

    @final
    def add_noise(self, noise: Noise, values: Array) -> Array:
        """Each value plus its own draw; the values themselves without noise."""
        if noise == NO_NOISE:
            return values
        draws = whole(noise.sample(len(values)))
        if len(draws) != len(values):
            raise ValueError("a mechanism must answer every cell")
        return plus(values, draws)


class SelectionMechanism(Mechanism):
    """A mechanism that chooses among candidates by their scores: better ones are more likely.

    A change of the data changes the distances of scores by at most the sensitivity, in L1
    over all groups and picks; the scale is that divided by epsilon. A candidate that
    falls short of the best by g gets a weight of exp(-g/scale).
    """

    @final
    def choose(self, noise: Noise, scores: Array, k: int) -> Array:
        """The places of k candidates in each row of scores, each chosen once.

        Without noise the first of the best is chosen.
        """
        left = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        chosen, every = [], np.arange(len(scores))
        for _ in range(k):
            gaps = scores.max(axis=1, keepdims=True) - scores
            if isinstance(noise, ChoiceNoise):
                places = noise.pick(gaps)
            elif noise == NO_NOISE:
                places = (gaps == 0).argmax(axis=1)
            else:
                raise TypeError("a choice needs the noise of choices")
            chosen.append(left[every, places])
            others = np.ones(scores.shape, np.bool_)
            others[every, places] = False
            rest = len(every), scores.shape[1] - 1
            scores, left = (each[others].reshape(rest) for each in (scores, left))
        return np.stack(chosen, axis=1).ravel()
