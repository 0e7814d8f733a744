"""The only module in which a confidential value becomes a noisy one.

`CalibratedMechanism` opens answers of the central model, `respond` cells of the local model.
Nothing else opens a `Confidential` of real data.

Partition selection: a group with a private key and a single person must not be published, except
with a probability that is part of delta (Korolova, Kenthapadi, Mishra and Ntoulas 2009; on the
whole numbers, Desfontaines, Voss, Gipson and Mandayam 2022). `PartitionSelection` has the threshold
that a noisy count must reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Never, NoReturn, final

from dpcli.mechanisms.mechanism import SINGLE_WEIGHT, AdditiveMechanism, Answers, Mechanism
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Ints, integer_array, np
from dpcli.numeric.exact import require_exact
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups, NoisePermit, Noisy
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import ZERO_LOSS, Guarantee, Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.query import Query

if TYPE_CHECKING:
    from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, Responses
    from dpcli.mechanisms.partition_selection import PartitionSelection


@final
@dataclass(frozen=True, slots=True, init=False)
class CalibratedMechanism:
    """The noise for one query and the loss of its answer, which no other class opens.

    Only `calibrate` makes one. It computes the sensitivity of the query, lets a registered
    mechanism choose the noise, and recomputes the loss. An answer must be charged for `loss`,
    however large it is. An object opens only answers to its own query, about rows that were
    bounded for its own unit, and only with a permit.

    This holds against code that passes `mypy --strict`. It does not hold against reflection
    (private names, `object.__setattr__`, `vars`), functions that are replaced in their module,
    or a registered kind of query, mechanism or noise that is stated wrongly, which law tests look
    for.
    """

    mechanism: Mechanism
    query: Query
    relation: Relation
    sensitivity: Sensitivity
    noise: Noise
    loss: Loss
    partition_selection: PartitionSelection | None

    def __init__(self, _made_by_calibrate: Never) -> None:
        raise TypeError("only `calibrate` calibrates a mechanism")

    def __init_subclass__(cls) -> None:
        raise TypeError("a calibrated mechanism cannot be subclassed")

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a calibrated mechanism is not copied or stored")

    __reduce_ex__ = __getstate__ = __setstate__ = _refuse

    @classmethod
    def calibrate(
        cls,
        mechanism: Mechanism,
        queries: Sequence[Query],
        relation: Relation,
        target: Loss,
        weights: Sequence[Fraction] = SINGLE_WEIGHT,
        calibration: str = "exact",
        *,
        selects_partitions: bool = False,
        delta: Fraction = Fraction(0),
    ) -> list[CalibratedMechanism]:
        """Mechanisms of the least noise found for all answers together to meet `target`.

        Each answer is charged its weight of the target; with a target in rho, its loss at `delta`.
        Weights sum to at most one: what they leave is for answers of another mechanism. An answer
        that no neighbor can change gets no noise. With `selects_partitions`, a mechanism
        that needs a delta for its noise gets half of the delta of the target, and the threshold
        gets the rest.

        Raises CalibrationError if no noise meets the target, TypeError for kinds that are not
        registered, and ValueError if a query has no proven sensitivity.
        """
        from dpcli.mechanisms import MECHANISMS
        from dpcli.noise import NOISES

        if type(mechanism) not in MECHANISMS.classes:
            raise TypeError("only a registered mechanism is calibrated")
        if type(target) is not Loss:
            raise TypeError("a target cannot be subclassed")
        if not {type(relation), type(relation.unit)} <= {Relation, RowUnit, PersonUnit}:
            raise TypeError("a relation and its unit cannot be subclassed")
        # Sequences are read once: another kind could change between two readings.
        queries, weights = tuple(queries), tuple(weights)
        require_exact(*weights, delta)
        sensitivities = [query_sensitivity(query, relation) for query in queries]
        if not all(mechanism.answers(query) for query in queries):
            raise TypeError("a mechanism is calibrated for the queries that it answers")
        noise_target = _target_for_noise(mechanism, target) if selects_partitions else target
        noises = mechanism.calibrate_and_verify(sensitivities, noise_target, weights, calibration)
        noises = [*map(mechanism.shaped, noises, queries)]
        answers = [*zip(noises, sensitivities, strict=True)]
        losses = _charged_losses(mechanism, answers, weights, target, delta)
        calibrated = []
        for query, (noise, sensitivity), loss in zip(queries, answers, losses, strict=True):
            registered = type(noise) in NOISES and type(noise) is mechanism.distribution
            if sensitivity.l1 and (not registered or noise.scale <= 0):
                raise ValueError("noise needs a positive scale where a neighbor can change answers")
            charged, selection = loss, None
            if selects_partitions:
                from dpcli.mechanisms.partition_selection import threshold_for_delta

                add_remove = query_sensitivity(query, Relation(relation.unit, Neighbors.ADD_REMOVE))
                remaining = target.delta - noise_target.delta
                selection = threshold_for_delta(noise, add_remove, remaining)
                if target.rho is not None:
                    charged = replace(loss, delta=loss.delta + selection.delta)
            instance = object.__new__(cls)
            values = (mechanism, query, relation, sensitivity, noise, charged, selection)
            for name, value in zip(cls.__slots__, values, strict=True):
                object.__setattr__(instance, name, value)
            calibrated.append(instance)
        return calibrated

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of an answer, in every measure."""
        failure_delta = self.partition_selection.delta if self.partition_selection else Fraction(0)
        return self.mechanism.guarantee(self.noise, self.sensitivity, self.loss, failure_delta)

    @property
    def add_remove_sensitivity(self) -> Sensitivity | None:
        """The sensitivity under add-remove, for parallel composition under change-one.

        None under add-remove, and for queries that have no add-remove bound.
        """
        return self.query.add_remove_sensitivity(self.relation)

    @property
    def add_remove_guarantee(self) -> Guarantee:
        """The guarantee of an answer under add-remove; at most `guarantee`."""
        sensitivity, selection = self.add_remove_sensitivity, self.partition_selection
        if sensitivity is None or not self.sensitivity.l1:
            return self.guarantee
        failure_delta = selection.delta if selection else Fraction(0)
        return self.mechanism.add_remove_guarantee(
            self.noise, sensitivity, self.loss, failure_delta
        )

    @property
    def event(self) -> MechanismEvent:
        """The event that the ledger charges; the plan adds names of statistic and query."""
        delta = self.partition_selection.delta if self.partition_selection else None
        noise = self.noise
        return MechanismEvent(
            "", "", noise.kind, self.loss, noise.scale, self.sensitivity,
            keys_delta=delta, add_remove_sensitivity=self.add_remove_sensitivity,
        )  # fmt: skip

    def answer(
        self, exact: Confidential[Cells], permit: NoisePermit, earlier: Sequence[Array] = ()
    ) -> Noisy[Cells]:
        """The noisy answer: numbers with noise, chosen candidates, or a minimizer.

        A query may depend on noisy answers before it, the `earlier` ones.

        Privacy: the answer reveals no more than `guarantee`. Raises ValueError unless `exact` is an
        answer to this query, for this unit, and the permit covers it.
        """
        self._require_own(exact, permit)
        values = integer_array(exact._Confidential__value)  # type: ignore[attr-defined]  # noqa: SLF001 - with noise
        values = self.query.narrowed(values, earlier)
        return Noisy(self.mechanism.respond(self.noise, self.query, values))

    def select_partitions(
        self, exact: Confidential[Groups], permit: NoisePermit
    ) -> Noisy[dict[Group, int]]:
        """The groups whose noisy count reaches the threshold, with that count.

        Every group in the data gets its own noise. Neither the groups below the threshold nor their
        number is published. Raises ValueError as `answer` does, and if the mechanism does not
        select groups.
        """
        if self.partition_selection is None or not self.sensitivity.l1:
            raise ValueError("this mechanism does not select groups")
        if not isinstance(self.mechanism, AdditiveMechanism):
            raise TypeError("only an additive mechanism selects groups")
        self._require_own(exact, permit)
        groups: Groups = exact._Confidential__value  # type: ignore[attr-defined]  # noqa: SLF001 - with noise
        noisy = self.mechanism.add_noise(self.noise, groups.cells(groups.names))
        shown = np.flatnonzero(noisy >= self.partition_selection.threshold)
        return Noisy({groups.names[index]: int(noisy[index]) for index in shown})

    def _require_own(
        self, exact: Confidential[Cells] | Confidential[Groups], permit: NoisePermit
    ) -> None:
        if not exact.is_for(self.query, self.relation.unit):
            raise ValueError("the answer is to another query, or for another unit")
        if type(permit) is not NoisePermit:
            raise TypeError("a permit cannot be subclassed")
        permit.use(self.event, self.relation, exact)


def _target_for_noise(mechanism: Mechanism, target: Loss) -> Loss:
    """The part of `target` for noise of group counts; the threshold gets the rest."""
    needs_delta = mechanism.needs_delta and target.rho is None
    return replace(target, delta=target.delta / 2 if needs_delta else Fraction(0))


def _charged_losses(
    mechanism: Mechanism,
    answers: Answers,
    weights: Sequence[Fraction],
    target: Loss,
    delta: Fraction,
) -> list[Loss]:
    """What each answer is charged for; zero if no neighbor can change the answer.

    It is the weight of the target, or for a target in rho, the loss at `delta`.
    """
    losses = [ZERO_LOSS] * len(answers)
    changed = [index for index, (_, sensitivity) in enumerate(answers) if sensitivity.l1]
    if target.rho is None:
        for index in changed:
            losses[index] = Loss(target.epsilon * weights[index], target.delta * weights[index])
        return losses
    charged = mechanism.losses_at_delta([answers[index] for index in changed], delta)
    for index, loss in zip(changed, charged, strict=True):
        losses[index] = loss
    return losses


def respond(randomizer: CalibratedRandomizer, exact: Confidential[Ints]) -> Noisy[Responses]:
    """The responses of a randomizer to cells that were read for it.

    Privacy: only a registered kind of randomizer opens cells, after its loss is recomputed. Raises
    TypeError for another kind, and ValueError if the recomputed loss exceeds the stated loss or the
    cells are for another randomizer.
    """
    from dpcli.mechanisms import local

    if type(randomizer) not in local.CALIBRATED_RANDOMIZERS:
        raise TypeError("only a registered randomizer responds")
    if not randomizer.is_certified:
        raise ValueError("the probabilities reveal more than is stated")
    if not exact.is_for(randomizer):
        raise ValueError("the cells are for another randomizer")
    cells: Ints = exact._Confidential__value  # type: ignore[attr-defined]  # noqa: SLF001 - with noise
    responses = randomizer.draw(cells)
    if not responses or any(len(column) != len(cells) for column in responses):
        raise ValueError("every record must respond")
    return Noisy(responses)
