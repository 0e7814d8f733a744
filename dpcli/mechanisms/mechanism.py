"""`Mechanism`: what every mechanism states about its noise and its privacy loss.

The author of a mechanism writes `calibrate`, `loss`, `losses_at_delta`, `zcdp_rho` and
`dominating_pairs`; for a `PureMechanism` only `zcdp_rho`. Calibration is not trusted:
`calibrate_and_verify` recomputes the loss and compares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from dpcli.noise.distribution import NO_NOISE, Family, Noise, Unchangeable
from dpcli.noise.sums import summed_margin
from dpcli.numeric.arrays import Array, add_exact, integer_array, np
from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import sqrt_down
from dpcli.numeric.search import min_scale
from dpcli.privacy.loss import (
    ZERO_GUARANTEE,
    DominatingPair,
    Guarantee,
    Loss,
    RandomizedResponsePair,
)
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.queries.query import Query

if TYPE_CHECKING:
    from dpcli.queries.scores import SelectionQuery

SINGLE_WEIGHT = (Fraction(1),)
"""The weight of a single answer."""

Answers = Sequence[tuple[Noise, Sensitivity]]
"""The noise of each answer, and its sensitivity."""

DominatingPairs = tuple[DominatingPair, ...]


class CalibrationError(Exception):
    """No noise of a mechanism meets the target; `reason` says why, `hint` what to do."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class Mechanism(Unchangeable, ABC):
    """A way to make an answer noisy: `AdditiveMechanism` or `SelectionMechanism`.

    A new mechanism is one subclass and one line in `MECHANISMS`. Its docstring has the privacy
    argument, and `dpcli explain` prints it. `name` is its name in specs, `distribution` the noise
    that it may use, `needs_delta` whether its loss has a delta, and `calibrations` the values of
    `calibration:` that it accepts.

    In all methods, sequences have one element for each answer, in one order.
    """

    name: ClassVar[str]
    distribution: ClassVar[type[Noise]]
    needs_delta: ClassVar[bool] = False
    calibrations: ClassVar[tuple[str, ...]] = ("exact",)

    @property
    @abstractmethod
    def family(self) -> Family:
        """The family of its noise, for which statistics design their queries."""

    @abstractmethod
    def calibrate(
        self,
        sensitivities: Sequence[Sensitivity],
        target: Loss,
        weights: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        """The least noise found for each answer, so that all together meet `target`.

        Weights sum to one. Raises CalibrationError if no noise meets the target.
        """

    @abstractmethod
    def loss(self, answers: Answers, epsilon: Fraction) -> Loss:
        """A proven upper bound of the loss of all answers together.

        If the mechanism has a delta, the result has this `epsilon`, and the delta at `epsilon`.
        """

    @abstractmethod
    def losses_at_delta(self, answers: Answers, delta: Fraction) -> list[Loss]:
        """The loss of each answer, rounded up; their deltas add up to at most `delta`."""

    def least_loss(self, noise: Noise, sensitivity: Sensitivity, delta: Fraction) -> Loss:
        """The loss of an answer at `delta`, rounded up: nearly the least that is proven."""
        (loss,) = self.losses_at_delta([(noise, sensitivity)], delta)
        return loss

    @abstractmethod
    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """A proven zero-concentrated loss of an answer with `noise`, rounded up."""

    @abstractmethod
    def dominating_pairs(self, noise: Noise, sensitivity: Sensitivity) -> DominatingPairs:
        """Pairs of distributions whose product dominates an answer with `noise`."""

    @abstractmethod
    def answers(self, query: Query) -> bool:
        """Whether the mechanism can answer queries of this kind."""

    def shaped(self, noise: Noise, query: Query) -> Noise:
        """The noise for the numbers of a query; its scale and kind stay as they are."""
        return noise

    @abstractmethod
    def respond(self, noise: Noise, query: Query, exact: Array) -> Array:
        """The noisy answer, from the exact one; TypeError for a query of another kind."""

    def respond_without_noise(self, noise: Noise, query: Query, exact: Array) -> Array:
        """The answer without noise, a reference in trials; by default the exact answer."""
        return exact

    @abstractmethod
    def expected_error(
        self, noise: Noise, query: Query, confidence: Fraction, summed: int = 1
    ) -> Fraction | int:
        """A bound, at `confidence`, of the error of an answer or a sum of `summed` ones."""

    @final
    def guarantee(
        self,
        noise: Noise,
        sensitivity: Sensitivity,
        loss: Loss,
        failure_delta: Fraction = Fraction(0),
    ) -> Guarantee:
        """The guarantee of an answer in every measure; `loss` is what it is charged for."""
        if sensitivity.l1 == 0:
            return ZERO_GUARANTEE
        rho = self.zcdp_rho(noise, sensitivity)
        return Guarantee(loss, rho, self.dominating_pairs(noise, sensitivity), failure_delta)

    @final
    def add_remove_guarantee(
        self,
        noise: Noise,
        sensitivity: Sensitivity,
        loss: Loss,
        failure_delta: Fraction = Fraction(0),
    ) -> Guarantee:
        """The guarantee under add-remove of an answer that is charged for `loss`.

        If the mechanism has no delta, epsilon is recomputed from `sensitivity`, which is that under
        add-remove, and is at most the epsilon of `loss`. Otherwise it is the epsilon of `loss`.
        """
        if not self.needs_delta and sensitivity.l1:
            epsilon = self.loss([(noise, sensitivity)], loss.epsilon).epsilon
            loss = Loss(min(loss.epsilon, epsilon), loss.delta)
        return self.guarantee(noise, sensitivity, loss, failure_delta)

    @final
    def calibrate_and_verify(
        self,
        sensitivities: Sequence[Sensitivity],
        target: Loss,
        weights: Sequence[Fraction] = SINGLE_WEIGHT,
        calibration: str = "exact",
    ) -> list[Noise]:
        """Noise for each answer, whose loss was recomputed and compared with the target.

        The loss of all answers together is within the sum of their weights times `target`. If the
        target has a rho, the rho of each answer is within its weight of that rho. An answer that
        no neighbor can change gets no noise, and its weight of the target is not used.
        Raises CalibrationError if no noise meets the target.
        """
        if target.rho is not None:
            weighted = zip(sensitivities, weights, strict=True)
            return [
                self._noise_for_rho(sensitivity, target.rho * weight)
                for sensitivity, weight in weighted
            ]
        noises: list[Noise] = [NO_NOISE] * len(sensitivities)
        noisy = [index for index, sensitivity in enumerate(sensitivities) if sensitivity.l1]
        if noisy:
            changed = [sensitivities[index] for index in noisy]
            used = sum((weights[index] for index in noisy), start=Fraction(0))
            target = Loss(target.epsilon * used, target.delta * used)
            relative = [weights[index] / used for index in noisy]
            calibrated = self.calibrate(changed, target, relative, calibration)
            answers = [*zip(calibrated, changed, strict=True)]
            if not self.loss(answers, target.epsilon).within(target):
                raise CalibrationError(
                    f"`{self.name}` with `calibration: {calibration}` does not meet the target",
                    "use the exact calibration",
                )
            for index, noise in zip(noisy, calibrated, strict=True):
                noises[index] = noise
        return noises

    def _noise_for_rho(self, sensitivity: Sensitivity, rho: Fraction) -> Noise:
        """The least noise found of zCDP loss up to `rho`; its scale is a short rational."""
        if sensitivity.l1 == 0:
            return NO_NOISE
        # No mechanism has a smaller rho than Gaussian noise of four times this scale.
        start = sqrt_down(sensitivity.l2_squared / (2 * rho)) / 4

        def too_little(scale: Fraction) -> bool:
            return self.zcdp_rho(self.distribution(scale), sensitivity) > rho

        return self.distribution(min_scale(too_little, start))


class PureMechanism(Mechanism):
    """A mechanism with delta zero whose epsilon is the L1 sensitivity over the scale.

    The dominating pair of the noise dominates an answer in which one cell changes. A
    `RandomizedResponsePair` dominates every pure answer.
    """

    def calibrate(
        self,
        sensitivities: Sequence[Sensitivity],
        target: Loss,
        weights: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        weighted = zip(sensitivities, weights, strict=True)
        return [
            self.distribution(sensitivity.l1 / (target.epsilon * weight))
            for sensitivity, weight in weighted
        ]

    def loss(self, answers: Answers, epsilon: Fraction) -> Loss:
        """The exact sum of L1 / scale, with delta zero."""
        epsilons = (sensitivity.l1 / noise.scale for noise, sensitivity in answers)
        return Loss(sum(epsilons, start=Fraction(0)))

    def losses_at_delta(self, answers: Answers, delta: Fraction) -> list[Loss]:
        """L1 / scale of each answer, rounded up, with delta zero."""
        return [Loss(short_up(sensitivity.l1 / noise.scale)) for noise, sensitivity in answers]

    def dominating_pairs(self, noise: Noise, sensitivity: Sensitivity) -> DominatingPairs:
        """The dominating pair of the noise for each cell, or randomized response.

        The pairs of the noise are used if L1 is `l0` times `linf`: all changed cells can change by
        `linf` at once, and a smaller shift is less distinguishable. Otherwise the answer is at
        least pure, with epsilon L1 / scale, and a `RandomizedResponsePair` dominates it.
        """
        if sensitivity.l0 * sensitivity.linf == sensitivity.l1:
            return (noise.dominating_pair(noise.scale, sensitivity.linf, sensitivity.l0),)
        return (RandomizedResponsePair(noise.scale, sensitivity.l1),)


class AdditiveMechanism(Mechanism):
    """A mechanism that adds noise to whole numbers."""

    @final
    @property
    def family(self) -> Family:
        return self.distribution.norm

    @final
    def answers(self, query: Query) -> bool:
        if query.chooses or query.minimizes:
            return False
        return bool(query.vectors) == (self.distribution.norm == "vector")

    @final
    def respond(self, noise: Noise, query: Query, exact: Array) -> Array:
        if not self.answers(query):
            raise TypeError("noise is added to numbers, not to choices or minimizers")
        return self.add_noise(noise, exact)

    @final
    def expected_error(
        self, noise: Noise, query: Query, confidence: Fraction, summed: int = 1
    ) -> int:
        return summed_margin(noise, summed, confidence).width

    @final
    def add_noise(self, noise: Noise, values: Array) -> Array:
        """Each value plus its own noise; the values themselves for `NO_NOISE`."""
        if noise == NO_NOISE:
            return values
        samples = integer_array(noise.sample(len(values)))
        if len(samples) != len(values):
            raise ValueError("a mechanism must answer every cell")
        return add_exact(values, samples)


class SelectionMechanism(Mechanism):
    """A mechanism that chooses candidates by scores: better ones are more likely.

    Neighbors change the differences of scores by at most the L1 sensitivity, summed over all
    groups and choices. The scale is the L1 sensitivity divided by epsilon. A candidate whose score
    is g below the best has the weight exp(-g/scale).
    """

    family: ClassVar[Family] = "choice"

    @final
    def answers(self, query: Query) -> bool:
        return query.chooses

    @final
    def respond(self, noise: Noise, query: Query, exact: Array) -> Array:
        selection = _selection(query)
        by_group = exact.reshape(-1, selection.cells_per_group)
        return selection.choose(self.choose, noise, by_group)

    @final
    def expected_error(
        self, noise: Noise, query: Query, confidence: Fraction, summed: int = 1
    ) -> Fraction:
        return _selection(query).expected_error(noise, confidence)

    @final
    def choose(self, noise: Noise, scores: Array, k: int) -> Array:
        """Indexes of k different candidates in each row of `scores`, as one int64 array.

        With `NO_NOISE`, the first of the best candidates is chosen.
        """
        from dpcli.noise.candidate_choice import ChoiceNoise

        left = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        chosen, rows = [], np.arange(len(scores))
        for _ in range(k):
            gaps = scores.max(axis=1, keepdims=True) - scores
            if isinstance(noise, ChoiceNoise):
                picked = noise.pick(gaps)
            elif noise == NO_NOISE:
                picked = (gaps == 0).argmax(axis=1)
            else:
                raise TypeError("a choice needs the noise of choices")
            chosen.append(left[rows, picked])
            is_left = np.ones(scores.shape, np.bool_)
            is_left[rows, picked] = False
            shape = len(rows), scores.shape[1] - 1
            scores, left = scores[is_left].reshape(shape), left[is_left].reshape(shape)
        return np.stack(chosen, axis=1).ravel()


def _selection(query: Query) -> SelectionQuery:
    from dpcli.queries.scores import SelectionQuery

    if not isinstance(query, SelectionQuery):
        raise TypeError("only selections have candidates to choose from")
    return query
