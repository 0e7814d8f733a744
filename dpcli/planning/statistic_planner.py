"""Plan one entry: sensitivities and noise of its queries, for a loss or an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import log
from typing import Literal

from dpcli.errors import SpecError
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.mechanism import SINGLE_ANSWER, CalibrationError, Mechanism
from dpcli.numeric.exact import readable_text, short_up
from dpcli.numeric.search import bisect
from dpcli.planning.plan import PlannedQuery, PlannedStatistic, guarantee_counts
from dpcli.privacy.accounting.parallel import Branch
from dpcli.privacy.loss import Loss, sum_losses
from dpcli.spec_values import MAX_EPSILON, MIN_EPSILON, MIN_RHO
from dpcli.specification.model import Entry, Spec

DIGITS = 6
"""Significant digits of a size that was searched for."""


@dataclass(frozen=True, slots=True)
class StatisticPlanner:
    """Plans the entries of a spec one by one; `branches` has the disjoint ones.

    Raises SpecError where an entry cannot be answered at a loss.
    """

    spec: Spec
    branches: Mapping[str, Branch]

    def at(self, entry: Entry, mechanism: Mechanism, target: Loss) -> PlannedStatistic:
        """The entry at that loss by that mechanism; a delta that it cannot use is not charged."""
        if not mechanism.needs_delta and not entry.selects_partitions:
            target = replace(target, delta=Fraction(0))
        other: tuple[PlannedQuery, ...] = ()
        try:
            parts = self._parts(entry, mechanism, target)
            if target.rho is not None:
                target = replace(sum_losses(part.loss for part in parts), rho=target.rho)
            if entry.alternative_bounding:
                bounded = replace(
                    entry, request=entry.alternative_bounding, alternative_bounding=None
                )
                other = self._parts(bounded, mechanism, target)
        except CalibrationError as refusal:
            facts = {"name": entry.request.name, "reason": refusal.reason, "hint": refusal.hint}
            raise SpecError.about("cannot-calibrate", **facts) from None
        branch = self.branches.get(entry.request.name)
        return PlannedStatistic(entry, target, parts, other, branch)

    def most_accurate(self, entry: Entry, target: Loss) -> PlannedStatistic:
        """The entry by that of its mechanisms which adds the least noise."""
        found = [self.at(entry, one, target) for one in self.usable(entry, target)]
        return min(found, key=self.noisiness)

    def usable(self, entry: Entry, target: Loss) -> list[Mechanism]:
        """The mechanisms that could be taken at that loss."""
        paid = target.delta > 0 or target.rho is not None or len(entry.mechanisms) == 1
        return [one for one in entry.mechanisms if paid or not one.needs_delta]

    def noisiness(self, planned: PlannedStatistic) -> float:
        """The errors of all parts, as a sum of logarithms."""
        errors = (part.error(self.spec.confidence) for part in planned.queries)
        return sum(log(error) for error in errors if error)

    def total(self, entries: Sequence[PlannedStatistic]) -> Loss:
        """What these entries reveal together, by the composition of the spec."""
        privacy = self.spec.privacy
        return privacy.composition.total(guarantee_counts(entries, self.spec), privacy.budget.delta)

    @property
    def measure(self) -> Literal["rho", "epsilon"]:
        """What sizes of losses are counted in."""
        return "rho" if self.spec.privacy.composition.takes_rho else "epsilon"

    def target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of that size in the measure that entries are solved in."""
        if self.measure == "rho":
            return Loss(Fraction(0), entry.budget_request.delta, size)
        return Loss(size, entry.budget_request.delta)

    def alone(self, entry: Entry) -> PlannedStatistic:
        """An entry whose price depends on no other: given, or the least that reaches an error."""
        price = entry.budget_request
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

    def _reaching(
        self, error: Fraction, entry: Entry, mechanism: Mechanism
    ) -> PlannedStatistic | None:
        """With the least loss found, to `DIGITS` digits; None if it would protect no one."""
        least = LEAST[self.measure]

        @cache
        def planned(size: Fraction) -> PlannedStatistic:
            return self.at(entry, mechanism, self.target(size, entry))

        def reaches(size: Fraction) -> bool:
            return planned(size).queries[0].error(self.spec.confidence) <= error

        low = high = Fraction(1)
        if len(planned(low).queries) > 1:
            facts = {"name": entry.request.name, "word": self.measure}
            raise SpecError.about("cannot-calibrate.several-answers", **facts)
        while reaches(low):
            if low == least:
                return planned(least)
            low, high = max(low / BRACKET, least), low
        while not reaches(high):
            if high == MAX_EPSILON:
                return None
            low, high = high, min(high * BRACKET, MAX_EPSILON)
        return planned(bisect(reaches, low, high, middle=_middle)[1])

    def _parts(self, entry: Entry, mechanism: Mechanism, target: Loss) -> tuple[PlannedQuery, ...]:
        """The parts of an entry, answered jointly, each with its share of the target."""
        if entry.selects_partitions and target.delta <= 0:
            raise SpecError.about("cannot-calibrate.no-delta", name=entry.request.name)
        privacy = self.spec.privacy
        queries = entry.statistic.queries(entry.request, privacy.relation)
        # Groups are selected by one count alone.
        queries = queries[:1] if entry.selects_partitions else queries
        fitted = CalibratedMechanism.calibrate(
            mechanism,
            [weighted.query for weighted in queries],
            privacy.relation,
            target,
            SINGLE_ANSWER
            if entry.selects_partitions
            else [weighted.weight for weighted in queries],
            entry.calibration,
            selects_partitions=entry.selects_partitions,
            delta=privacy.budget.delta,
        )
        return tuple(map(PlannedQuery, queries, fitted))


LEAST = {"rho": MIN_RHO, "epsilon": MIN_EPSILON}
"""The least size of a loss, by what it is counted in."""


BRACKET = 32
"""By how much sizes grow or shrink until one end of a search is found."""


def _middle(low: Fraction, high: Fraction) -> Fraction:
    """Between two sizes, as far from both as their logarithms are."""
    return short_up(Fraction((float(low) * float(high)) ** 0.5), DIGITS)
