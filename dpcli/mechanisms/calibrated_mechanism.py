"""The only place where something confidential becomes noisy.

Noise draws for itself; a mechanism adds it, or chooses by it. Randomizers have a rule of their own.
`CalibratedMechanism` and `LocalRandomizer` alone open what is sealed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Never, NoReturn, final

from dpcli.mechanisms.mechanism import (
    SINGLE_WEIGHT,
    AdditiveMechanism,
    Mechanism,
    SelectionMechanism,
)
from dpcli.mechanisms.partition_selection import PartitionSelection, threshold_for_delta
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Ints, integer_array, np
from dpcli.numeric.exact import require_exact
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups, Noisy
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import ZERO_LOSS, Guarantee, Loss
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.permit import NoisePermit
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries import Query
from dpcli.scores import ScoreQuery

Responses = tuple[Array, ...]
"""What records responded: for each column of the response an array of whole numbers."""


@final
@dataclass(frozen=True, slots=True, init=False)
class CalibratedMechanism:
    """The noise for one query and the loss of its answer; only this opens that answer.

    Only `calibrate` makes one. It computes the sensitivity of the query, lets a registered
    mechanism choose the noise, and recomputes the loss. An answer must be charged for `loss`,
    however large it is. An object opens only answers to its own query, about rows that were
    bounded for its own unit, and only with a permit.

    This holds against code that passes `mypy --strict`. It does not hold against reflection
    (private names, `object.__setattr__`, `vars`), functions that are replaced in their module,
    or a registered kind whose author states it wrongly, which law tests look for.
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
        raise TypeError("a calibrated mechanism has no other kinds")

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
        shares: Sequence[Fraction] = SINGLE_WEIGHT,
        calibration: str = "exact",
        *,
        selects_partitions: bool = False,
        delta: Fraction = Fraction(0),
    ) -> list[CalibratedMechanism]:
        """Mechanisms with the least noise found for which all answers together meet `target`.

        Each answer is charged its weight of the target; with a target in rho, its loss at `delta`.
        An answer that no neighbor can change gets no noise. With `selects_partitions`, a mechanism
        that needs a delta for its noise gets half of the delta of the target, and the threshold
        gets the rest. Raises CalibrationError if no noise meets the target.
        """
        from dpcli.mechanisms import MECHANISMS
        from dpcli.noise import NOISES

        if type(mechanism) not in map(type, MECHANISMS):
            raise TypeError("only a registered mechanism is calibrated")
        if type(target) is not Loss:
            raise TypeError("a target has no other kinds")
        if not {type(relation), type(relation.unit)} <= {Relation, RowUnit, PersonUnit}:
            raise TypeError("a relation and its unit have no other kinds")
        # What is read twice must be the same both times.
        queries, shares = tuple(queries), tuple(shares)
        require_exact(*shares, delta)
        changes = [query_sensitivity(query, relation) for query in queries]
        available = _for_noise(mechanism, target) if selects_partitions else target
        noises = mechanism.calibrate_and_verify(changes, available, shares, calibration)
        changed = [place for place, change in enumerate(changes) if change.l1]
        if target.rho is None:
            costs = [Loss(target.epsilon * shares[at], target.delta * shares[at]) for at in changed]
        else:
            each = [noises[place] for place in changed], [changes[place] for place in changed]
            costs = mechanism.losses_at_delta(*each, delta)
        losses = dict(zip(changed, costs, strict=True))
        fitted = []
        for place, (query, change, noise) in enumerate(zip(queries, changes, noises, strict=True)):
            registered = type(noise) in NOISES and type(noise) is mechanism.distribution
            if change.l1 and (not registered or noise.scale <= 0):
                raise ValueError("noise needs a positive scale where a neighbor can change answers")
            loss, rule = losses.get(place, ZERO_LOSS), None
            if selects_partitions:
                alone = query_sensitivity(query, Relation(relation.unit, Neighbors.ADD_REMOVE))
                rule = threshold_for_delta(noise, alone, target.delta - available.delta)
                loss = loss if target.rho is None else replace(loss, delta=loss.delta + rule.delta)
            calibrated = object.__new__(cls)
            values = (mechanism, query, relation, change, noise, loss, rule)
            for name, value in zip(cls.__slots__, values, strict=True):
                object.__setattr__(calibrated, name, value)
            fitted.append(calibrated)
        return fitted

    @property
    def guarantee(self) -> Guarantee:
        """What an answer reveals, in every measure."""
        failure_delta = self.partition_selection.delta if self.partition_selection else Fraction(0)
        return self.mechanism.guarantee(self.noise, self.sensitivity, self.loss, failure_delta)

    @property
    def event(self) -> MechanismEvent:
        """The answer as it is charged for; what names it is for the plan to add."""
        delta = self.partition_selection.delta if self.partition_selection else None
        noise = self.noise
        return MechanismEvent(
            "", "", noise.kind, self.loss, noise.scale, self.sensitivity, keys_delta=delta
        )

    def answer(self, exact: Confidential[Cells], permit: NoisePermit) -> Noisy[Cells]:
        """The sealed numbers with noise, or the candidates chosen by sealed scores.

        ValueError if they are not an answer to this query that the permit covers.
        """
        mechanism, query = self.mechanism, self.query
        self._require_own(exact, permit)
        values = integer_array(exact._Confidential__sealed)  # type: ignore[attr-defined]  # noqa: SLF001 - with noise
        if isinstance(mechanism, SelectionMechanism) and isinstance(query, ScoreQuery):
            scores = values.reshape(-1, query.cells_per_group)
            return Noisy(mechanism.choose(self.noise, scores, query.k))
        if not isinstance(mechanism, AdditiveMechanism):
            raise TypeError("numbers are answered by adding noise")
        return Noisy(mechanism.add_noise(self.noise, values))

    def select_partitions(
        self, exact: Confidential[Groups], permit: NoisePermit
    ) -> Noisy[dict[Group, int]]:
        """The groups whose noisy count reaches the threshold, with that count.

        Every group in the data gets its own noise; nothing is published about those that
        do not reach the threshold, nor how many they are.
        """
        if self.partition_selection is None or not self.sensitivity.l1:
            raise ValueError("groups are selected by noise and a threshold")
        if not isinstance(self.mechanism, AdditiveMechanism):
            raise TypeError("groups are selected by adding noise")
        self._require_own(exact, permit)
        groups: Groups = exact._Confidential__sealed  # type: ignore[attr-defined]  # noqa: SLF001 - with noise
        noisy = self.mechanism.add_noise(self.noise, groups.cells(groups.names))
        shown = np.flatnonzero(noisy >= self.partition_selection.threshold)
        return Noisy({groups.names[place]: int(noisy[place]) for place in shown})

    def _require_own(
        self, exact: Confidential[Cells] | Confidential[Groups], permit: NoisePermit
    ) -> None:
        if not exact.is_sealed_for(self.query, self.relation.unit):
            raise ValueError("the answer is to another query, or for another unit")
        if type(permit) is not NoisePermit:
            raise TypeError("a permit has no other kinds")
        permit.use(self.event, self.relation, exact)


def _for_noise(mechanism: Mechanism, target: Loss) -> Loss:
    """The part of a target for the noise of counts that select groups."""
    needs = mechanism.needs_delta and target.rho is None
    return replace(target, delta=target.delta / 2 if needs else Fraction(0))


class LocalRandomizer(ABC):
    """A rule by which every record responds for itself, with noise of its own."""

    @property
    @abstractmethod
    def is_certified(self) -> bool:
        """Whether a response reveals no more than it states, recomputed from its parameters."""

    @abstractmethod
    def draw(self, cells: Ints) -> Responses:
        """A response for each cell, from that cell and fresh randomness alone.

        One array for each column of the response.
        """

    @final
    def respond(self, exact: Confidential[Ints]) -> Noisy[Responses]:
        """The responses of cells that were sealed for this randomizer.

        As for `CalibratedMechanism`, only a registered kind opens them, and its loss is recomputed.
        """
        from dpcli.mechanisms import local

        if type(self) not in local.CALIBRATED_RANDOMIZERS:
            raise TypeError("only a registered randomizer responds")
        if not self.is_certified:
            raise ValueError("the probabilities reveal more than is stated")
        if not exact.is_sealed_for(self):
            raise ValueError("the cells are for another randomizer")
        cells: Ints = exact._Confidential__sealed  # type: ignore[attr-defined]  # noqa: SLF001 - with noise
        drawn = self.draw(cells)
        if not drawn or any(len(column) != len(cells) for column in drawn):
            raise ValueError("every record must respond")
        return Noisy(drawn)
