"""One entry at a given loss: sensitivities and calibrated noise of its queries.

And which entries are provably about disjoint rows, by conditions on a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Literal

from dpcli.composition.parallel import Branch
from dpcli.errors import SpecError
from dpcli.mechanisms.calibration import CannotCalibrate, Mechanism
from dpcli.plan.model import Part, PlannedEntry, counted
from dpcli.privacy.loss import NOTHING, Loss, add_up
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.privacy.sensitivity import Sensitivity, readability_sensitivity, sensitivity
from dpcli.privacy.threshold import selection
from dpcli.queries import LinearQuery, Query, ScoreQuery
from dpcli.spec.model import Entry, Privacy, Spec
from dpcli.statistics.base import Question
from dpcli.vector_queries import MinimiserQuery, ReadabilityQuery

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class EntryPlanner:
    """Plans the entries of a spec one by one; `branches` has the disjoint ones.

    Raises SpecError where an entry cannot be answered at a loss.
    """

    spec: Spec
    branches: Mapping[str, Branch]

    def at(self, entry: Entry, mechanism: Mechanism, target: Loss) -> PlannedEntry:
        """The entry at that loss by that mechanism; a delta that it cannot use is not charged."""
        if not mechanism.needs_delta and not entry.selects:
            target = replace(target, delta=Fraction(0))
        other: tuple[Part, ...] = ()
        try:
            parts = self._parts(entry, mechanism, target)
            if target.rho is not None:
                target = replace(add_up(part.loss for part in parts), rho=target.rho)
            if entry.other_bound:
                bounded = replace(entry, request=entry.other_bound, other_bound=None)
                other = self._parts(bounded, mechanism, target)
        except CannotCalibrate as refusal:
            facts = {"name": entry.request.name, "reason": refusal.reason, "hint": refusal.hint}
            raise SpecError.about("cannot-calibrate", **facts) from None
        branch = self.branches.get(entry.request.name)
        return PlannedEntry(entry, target, parts, other, branch)

    def most_accurate(self, entry: Entry, target: Loss) -> PlannedEntry:
        """The entry by that of its mechanisms which adds the least noise."""
        found = [self.at(entry, one, target) for one in self.usable(entry, target)]
        return min(found, key=self.noisiness)

    def usable(self, entry: Entry, target: Loss) -> list[Mechanism]:
        """The mechanisms that could be taken at that loss."""
        if len(entry.mechanisms) == 1:
            return list(entry.mechanisms)
        paid = target.delta > 0 or target.rho is not None
        return [one for one in entry.mechanisms if paid or not one.needs_delta]

    def noisiness(self, planned: PlannedEntry) -> float:
        """The errors of all parts, as a sum of logarithms."""
        errors = (part.error(self.spec.confidence) for part in planned.parts)
        return sum(log(error) for error in errors if error)

    def total(self, entries: Sequence[PlannedEntry]) -> Loss:
        """What these entries reveal together, by the composition of the spec."""
        privacy = self.spec.privacy
        return privacy.composition.total(counted(entries, self.spec), privacy.budget.delta)

    @property
    def measure(self) -> Literal["rho", "epsilon"]:
        """What sizes of losses are counted in."""
        return "rho" if self.spec.privacy.composition.takes_rho else "epsilon"

    def target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of that size in the measure that entries are solved in."""
        if self.measure == "rho":
            return Loss(Fraction(0), entry.price.delta, size)
        return Loss(size, entry.price.delta)

    def _parts(self, entry: Entry, mechanism: Mechanism, target: Loss) -> tuple[Part, ...]:
        """The parts of an entry, answered jointly, each with its share of the target."""
        privacy = self.spec.privacy
        questions = entry.statistic.questions(entry.request, privacy.relation)
        changes = [query_sensitivity(one.query, privacy, privacy.neighbors) for one in questions]
        if entry.selects:
            return (_selection(questions[0], changes[0], entry, mechanism, target, privacy),)
        shares = [question.share for question in questions]
        noises = mechanism.fit(changes, target, shares, entry.calibration)
        changed = [place for place, change in enumerate(changes) if change.l1]
        if target.rho is None:
            found = [Loss(target.epsilon * shares[at], target.delta * shares[at]) for at in changed]
        else:
            found = mechanism.losses_at(
                [noises[place] for place in changed],
                [changes[place] for place in changed],
                privacy.budget.delta,
            )
        losses = dict(zip(changed, found, strict=True))
        return tuple(
            Part(question, changes[place], mechanism, noises[place], losses.get(place, NOTHING))
            for place, question in enumerate(questions)
        )


def _selection(
    question: Question,
    change: Sensitivity,
    entry: Entry,
    mechanism: Mechanism,
    target: Loss,
    privacy: Privacy,
) -> Part:
    """The noisy counts that select groups: half of delta for the noise if it needs any."""
    needs = mechanism.needs_delta and target.rho is None
    spent = target.delta / 2 if needs else Fraction(0)
    if target.delta - spent <= 0:
        raise SpecError.about("cannot-calibrate.no-delta", name=entry.request.name)
    available = replace(target, delta=spent)
    (noise,) = mechanism.fit([change], available, calibration=entry.calibration)
    alone = query_sensitivity(question.query, privacy, Neighbors.ADD_REMOVE)
    rule = selection(noise, alone, target.delta - spent)
    charged = target
    if target.rho is not None:
        (charged,) = mechanism.losses_at([noise], [change], privacy.budget.delta)
        charged = Loss(charged.epsilon, charged.delta + rule.delta)
    return Part(question, change, mechanism, noise, charged, rule)


def query_sensitivity(query: Query, privacy: Privacy, neighbors: Neighbors) -> Sensitivity:
    """How far one unit can change the answer to a query."""
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
    once = sensitivity(query.influence, neighbors, unit, query.cells)
    return once.repeated(query.picks) if isinstance(query, ScoreQuery) else once


def branches(spec: Spec) -> dict[str, Branch]:
    """The entries about disjoint rows; those about the same rows share a part.

    Every row has one value in a column, so conditions on it that no value satisfies
    together select disjoint rows. A unit is in one part only if it is a row, or a person
    with a single row in all; what people add up over all of their rows is left out.
    """
    unit = spec.privacy.unit
    if isinstance(unit, PersonUnit) and unit.rows > 1:
        return {}
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        if not _adds_up_rows(entry, spec):
            for condition in entry.request.where:
                named = columns.setdefault(condition.column.name, {})
                named[entry.request.name] = condition.ranges
    found: dict[str, Branch] = {}
    # Columns that separate more parts go first; an entry belongs to one column.
    for column in sorted(columns, key=lambda column: -len(_separate(columns[column]))):
        left = {name: ranges for name, ranges in columns[column].items() if name not in found}
        parts = _separate(left)
        if len(parts) > 1:
            for place, part in enumerate(parts):
                found |= dict.fromkeys(part, (column, place))
    return found


def _adds_up_rows(entry: Entry, spec: Spec) -> bool:
    """Whether a person adds up rows in an entry, whatever the limit on rows."""
    questions = entry.statistic.questions(entry.request, spec.privacy.relation)
    return any(
        isinstance(one.query, LinearQuery) and one.query.totals is not None for one in questions
    )


def _separate(conditioned: Mapping[str, Ranges]) -> list[list[str]]:
    """The entries in groups that share values with no other group, in spec order."""
    spans = sorted(
        (low, high, name) for name, ranges in conditioned.items() for low, high in ranges
    )
    part_of: dict[str, set[str]] = {name: {name} for name in conditioned}
    reached, holder = None, ""
    for low, high, name in spans:
        if reached is not None and low <= reached and part_of[name] is not part_of[holder]:
            merged = part_of[name] | part_of[holder]
            part_of |= dict.fromkeys(merged, merged)
        if reached is None or high > reached:
            reached, holder = high, name
    distinct = {id(part_of[name]): part_of[name] for name in conditioned}
    return [[name for name in conditioned if name in part] for part in distinct.values()]
