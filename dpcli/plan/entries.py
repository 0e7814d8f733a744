"""Plan one entry: sensitivities and noise of its queries, for a loss or an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import log
from typing import Literal

from dpcli.composition.parallel import Branch
from dpcli.errors import SpecError
from dpcli.mechanisms.calibration import CannotCalibrate, Mechanism
from dpcli.plan.model import Part, PlannedEntry, answers_of
from dpcli.privacy.decimals import readable_text, short_up
from dpcli.privacy.loss import NOTHING, Loss, add_up
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.privacy.search import bisect
from dpcli.privacy.sensitivity import Sensitivity, readability_sensitivity, sensitivity
from dpcli.privacy.tails import selection
from dpcli.queries import LinearQuery, MinimiserQuery, Query, ReadabilityQuery
from dpcli.scores import ScoreQuery
from dpcli.spec.model import Entry, Privacy, Spec
from dpcli.values import LEAST_EPSILON, LEAST_RHO, MOST_EPSILON

DIGITS = 6
"""Significant digits of a size that was searched for."""


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
        paid = target.delta > 0 or target.rho is not None or len(entry.mechanisms) == 1
        return [one for one in entry.mechanisms if paid or not one.needs_delta]

    def noisiness(self, planned: PlannedEntry) -> float:
        """The errors of all parts, as a sum of logarithms."""
        errors = (part.error(self.spec.confidence) for part in planned.parts)
        return sum(log(error) for error in errors if error)

    def total(self, entries: Sequence[PlannedEntry]) -> Loss:
        """What these entries reveal together, by the composition of the spec."""
        privacy = self.spec.privacy
        return privacy.composition.total(answers_of(entries, self.spec), privacy.budget.delta)

    @property
    def measure(self) -> Literal["rho", "epsilon"]:
        """What sizes of losses are counted in."""
        return "rho" if self.spec.privacy.composition.takes_rho else "epsilon"

    def target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of that size in the measure that entries are solved in."""
        if self.measure == "rho":
            return Loss(Fraction(0), entry.price.delta, size)
        return Loss(size, entry.price.delta)

    def alone(self, entry: Entry) -> PlannedEntry:
        """An entry whose price depends on no other: given, or the least that reaches an error."""
        price = entry.price
        if price.error is None:
            epsilon = price.epsilon or Fraction(0)
            return self.most_accurate(entry, Loss(epsilon, price.delta, price.rho))
        usable = self.usable(entry, self.target(Fraction(1), entry))
        reached = (self._reaching(price.error, entry, mechanism) for mechanism in usable)
        found = [one for one in reached if one is not None]
        if not found:
            facts = {"name": entry.request.name, "word": self.measure}
            raise SpecError.about(
                "cannot-calibrate.out-of-reach", error=readable_text(price.error), **facts
            )
        return min(found, key=lambda one: getattr(one.target, self.measure))

    def _reaching(self, error: Fraction, entry: Entry, mechanism: Mechanism) -> PlannedEntry | None:
        """With the least loss found, to `DIGITS` digits; None if it would protect no one."""
        least = LEAST[self.measure]

        @cache
        def planned(size: Fraction) -> PlannedEntry:
            return self.at(entry, mechanism, self.target(size, entry))

        def reaches(size: Fraction) -> bool:
            return planned(size).parts[0].error(self.spec.confidence) <= error

        low = high = Fraction(1)
        if len(planned(low).parts) > 1:
            facts = {"name": entry.request.name, "word": self.measure}
            raise SpecError.about("cannot-calibrate.several-answers", **facts)
        while reaches(low):
            if low == least:
                return planned(least)
            low, high = max(low / BRACKET, least), low
        while not reaches(high):
            if high == MOST_EPSILON:
                return None
            low, high = high, min(high * BRACKET, MOST_EPSILON)
        return planned(bisect(reaches, low, high, middle=_middle)[1])

    def _parts(self, entry: Entry, mechanism: Mechanism, target: Loss) -> tuple[Part, ...]:
        """The parts of an entry, answered jointly, each with its share of the target."""
        if entry.selects:
            return (self._selecting(entry, mechanism, target),)
        privacy = self.spec.privacy
        questions = entry.statistic.questions(entry.request, privacy.relation)
        changes = [query_sensitivity(one.query, privacy, privacy.neighbors) for one in questions]
        shares = [question.share for question in questions]
        noises = mechanism.noises_for(changes, target, shares, entry.calibration)
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

    def _selecting(self, entry: Entry, mechanism: Mechanism, target: Loss) -> Part:
        """The noisy counts that select groups: half of delta for the noise if it needs any."""
        privacy = self.spec.privacy
        question = entry.statistic.questions(entry.request, privacy.relation)[0]
        change = query_sensitivity(question.query, privacy, privacy.neighbors)
        needs = mechanism.needs_delta and target.rho is None
        spent = target.delta / 2 if needs else Fraction(0)
        if target.delta - spent <= 0:
            raise SpecError.about("cannot-calibrate.no-delta", name=entry.request.name)
        available = replace(target, delta=spent)
        (noise,) = mechanism.noises_for([change], available, calibration=entry.calibration)
        alone = query_sensitivity(question.query, privacy, Neighbors.ADD_REMOVE)
        rule = selection(noise, alone, target.delta - spent)
        charged = target
        if target.rho is not None:
            (charged,) = mechanism.losses_at([noise], [change], privacy.budget.delta)
            charged = Loss(charged.epsilon, charged.delta + rule.delta)
        return Part(question, change, mechanism, noise, charged, rule)


LEAST = {"rho": LEAST_RHO, "epsilon": LEAST_EPSILON}
"""The least size of a loss, by what it is counted in."""


BRACKET = 32
"""By how much sizes grow or shrink until one end of a search is found."""


def _middle(low: Fraction, high: Fraction) -> Fraction:
    """Between two sizes, as far from both as their logarithms are."""
    return short_up(Fraction((float(low) * float(high)) ** 0.5), DIGITS)


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
