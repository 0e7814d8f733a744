"""One entry at a given loss: sensitivities and calibrated noise of its queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

from dpcli.mechanisms.calibration import CannotCalibrate, Mechanism
from dpcli.plan.model import Part, PlannedEntry
from dpcli.privacy.loss import NOTHING, Loss
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.privacy.sensitivity import Sensitivity, readability_sensitivity, sensitivity
from dpcli.privacy.threshold import selection
from dpcli.queries import LinearQuery, Query, ScoreQuery
from dpcli.spec.model import Entry, Privacy, Spec
from dpcli.statistics.base import Question
from dpcli.vector_queries import MinimiserQuery, ReadabilityQuery


@dataclass(frozen=True, slots=True)
class EntryPlanner:
    """Plans the entries of a spec one by one; `branches` has the disjoint ones.

    Raises CannotCalibrate where an entry cannot be answered at a loss.
    """

    spec: Spec
    branches: Mapping[str, tuple[str, int]]

    def at(self, entry: Entry, mechanism: Mechanism, target: Loss) -> PlannedEntry:
        """The entry at that loss by that mechanism; a delta that it cannot use is not charged."""
        if not mechanism.needs_delta and not entry.selects:
            target = replace(target, delta=Fraction(0))
        parts = _parts(entry, mechanism, target, self.spec.privacy)
        if target.rho is not None:
            epsilon = sum((part.loss.epsilon for part in parts), start=Fraction(0))
            delta = sum((part.loss.delta for part in parts), start=Fraction(0))
            target = Loss(epsilon, delta, target.rho)
        other: tuple[Part, ...] = ()
        if entry.other_bound:
            bounded = replace(entry, request=entry.other_bound, other_bound=None)
            other = _parts(bounded, mechanism, target, self.spec.privacy)
        branch = self.branches.get(entry.request.name)
        return PlannedEntry(entry, target, parts, other, branch)

    def most_accurate(self, entry: Entry, target: Loss) -> PlannedEntry:
        """The entry by that of its mechanisms which adds the least noise."""
        found = [self.at(entry, one, target) for one in self.able(entry, target)]
        return min(found, key=self.roughness)

    def able(self, entry: Entry, target: Loss) -> list[Mechanism]:
        """The mechanisms that could be taken at that loss."""
        if len(entry.mechanisms) == 1:
            return list(entry.mechanisms)
        paid = target.delta > 0 or target.rho is not None
        return [one for one in entry.mechanisms if paid or not one.needs_delta]

    def roughness(self, planned: PlannedEntry) -> float:
        """The errors of all parts, as a sum of logarithms."""
        errors = (part.error(self.spec.confidence) for part in planned.parts)
        return sum(log(error) for error in errors if error)

    def target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of that size in the measure that entries are solved in."""
        if self.spec.privacy.composition.takes_rho:
            return Loss(Fraction(0), entry.price.delta, size)
        return Loss(size, entry.price.delta)


def _parts(entry: Entry, mechanism: Mechanism, target: Loss, privacy: Privacy) -> tuple[Part, ...]:
    """The parts of an entry, answered jointly, each with its share of the target."""
    questions = entry.statistic.questions(entry.request, privacy.relation)
    if entry.selects:
        (question,) = questions
        return (_selection(question, entry, mechanism, target, privacy),)
    moved = [query_sensitivity(one.query, privacy, privacy.neighbors) for one in questions]
    shares = [question.share for question in questions]
    noises = mechanism.fit_jointly(moved, shares, target, entry.calibration)
    changed = [place for place, change in enumerate(moved) if change.l1]
    if target.rho is None:
        found = [Loss(target.epsilon * shares[at], target.delta * shares[at]) for at in changed]
    else:
        found = mechanism.losses_at(
            [noises[place] for place in changed],
            [moved[place] for place in changed],
            privacy.budget.delta,
        )
    losses = dict(zip(changed, found, strict=True))
    return tuple(
        Part(question, moved[place], mechanism, noises[place], losses.get(place, NOTHING))
        for place, question in enumerate(questions)
    )


def _selection(
    question: Question, entry: Entry, mechanism: Mechanism, target: Loss, privacy: Privacy
) -> Part:
    """The noisy counts that select groups: half of delta for the noise if it needs any."""
    needs = mechanism.needs_delta and target.rho is None
    spent = target.delta / 2 if needs else Fraction(0)
    if target.delta - spent <= 0:
        raise CannotCalibrate(
            "private keys need a delta above zero",
            "add `delta: 1e-7` or so, or allow more under `privacy: budget:`",
        )
    change = query_sensitivity(question.query, privacy, privacy.neighbors)
    alone = query_sensitivity(question.query, privacy, Neighbors.ADD_REMOVE)
    (noise,) = mechanism.fit_jointly(
        [change], [Fraction(1)], replace(target, delta=spent), entry.calibration
    )
    rule = selection(noise, alone, target.delta - spent)
    charged = target
    if target.rho is not None:
        (charged,) = mechanism.losses_at([noise], [change], privacy.budget.delta)
        charged = Loss(charged.epsilon, charged.delta + rule.delta)
    return Part(question, change, mechanism, noise, charged, rule)


def query_sensitivity(query: Query, privacy: Privacy, neighbors: Neighbors) -> Sensitivity:
    """How far one unit can move the answer to a query."""
    if isinstance(query, MinimiserQuery):
        return query.sensitivity
    unit = privacy.unit
    if isinstance(query, ReadabilityQuery):
        count = len(query.checked)
        return readability_sensitivity(count, neighbors, unit, with_rows=query.with_rows)
    if isinstance(unit, PersonUnit):
        if isinstance(query, LinearQuery) and query.totals is not None:
            unit = unit.in_totals
        elif not query.axes:
            unit = unit.ungrouped
    moved = sensitivity(query.influence, neighbors, unit, query.cells)
    return moved.repeated(query.picks) if isinstance(query, ScoreQuery) else moved
