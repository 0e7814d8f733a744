"""Shares: entries that divide what the others leave of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.errors import SpecError
from dpcli.numeric.exact import short_down
from dpcli.planning.plan import PlannedStatistic, guarantee_counts
from dpcli.planning.statistic_planner import DIGITS, StatisticPlanner
from dpcli.privacy.accounting.composition import total_failure_delta
from dpcli.privacy.loss import Loss
from dpcli.privacy.zcdp_conversion import zcdp_rho_within
from dpcli.spec_values import MAX_EPSILON, MIN_EPSILON
from dpcli.specification.model import Entry

FINE = Fraction(1, 10**4)
"""Part of the budget that a search may leave unused."""


class WeightedAllocation:
    """Entries with shares of what the `first` ones leave, as much as the budget allows.

    Under sequential composition shares divide epsilon, exactly; elsewhere they divide
    rho (or epsilon, where there is none), and are stretched until the budget is used. No
    entry gets more than it could be given.
    """

    def __init__(
        self, first: Sequence[PlannedStatistic], sharing: Sequence[Entry], planner: StatisticPlanner
    ) -> None:
        self._first, self._planner = first, planner
        privacy = planner.spec.privacy
        self._rule, self._budget = privacy.composition, privacy.budget
        self._sharing = self._with_deltas(sharing)
        self._units = sum(map(_share, sharing), start=Fraction(0))

    def largest(self) -> list[PlannedStatistic]:
        """The entries at the largest size that fits; SpecError if nothing is left."""
        name = self._sharing[0].request.name
        nothing_left = SpecError.about("cannot-calibrate.nothing-left", name=name)
        low = self._start()
        if low <= 0 and self._rule.name == "sequential":
            raise nothing_left
        if low > 0:
            best = self._at(low)
            # What is most accurate hardly depends on the size; so it is not asked each time.
            self._sharing = [
                replace(one, mechanisms=(planned.mechanism,))
                for one, planned in zip(self._sharing, best, strict=True)
            ]
            if self._spent(best).epsilon == self._budget.epsilon and self._fits(best):
                return best
        # Where plain sums are less than what rhos mean, something may be left all the same.
        low, shrink = short_down(low if low > 0 else 1 / self._units, DIGITS), Fraction(9, 10)
        least = MIN_EPSILON
        if self._rule.takes_rho:
            # So small a rho is covered by delta: it fits, and gives no accuracy.
            least = zcdp_rho_within(self._budget.epsilon, self._budget.delta) / 10**6
        while not self._fits(best := self._at(low)):
            low, shrink = short_down(low * shrink, DIGITS), max(shrink**2, Fraction(1, 10))
            if low * self._units < least:
                raise nothing_left
        least_share, factor = min(map(_share, self._sharing)), Fraction(2)
        while factor > 1 + FINE and low * least_share < MAX_EPSILON:
            larger = short_down(low * factor, DIGITS)
            if larger > low and self._fits(found := self._at(larger)):
                low, best = larger, found
            else:
                factor = 1 + (factor - 1) / 4
        return best

    def _with_deltas(self, sharing: Sequence[Entry]) -> list[Entry]:
        """The entries, those that can spend a delta with a share of what is left of it."""
        needing = [
            entry
            for entry in sharing
            if not entry.budget_request.delta
            and (entry.selects_partitions or any(one.needs_delta for one in entry.mechanisms))
        ]
        weights = sum(map(_share, needing), start=Fraction(0))
        if self._rule.takes_rho or not weights:
            return list(sharing)
        spent = sum((one.target.delta for one in self._first), start=Fraction(0))
        spent += sum((entry.budget_request.delta for entry in sharing), start=Fraction(0))
        part = max(self._budget.delta - spent, Fraction(0)) / weights
        return [
            replace(one, budget_request=replace(one.budget_request, delta=part * _share(one)))
            if one in needing
            else one
            for one in sharing
        ]

    def _at(self, size: Fraction) -> list[PlannedStatistic]:
        sizes = (min(size * _share(entry), MAX_EPSILON) for entry in self._sharing)
        targets = map(self._planner.target, sizes, self._sharing)
        return list(map(self._planner.most_accurate, self._sharing, targets))

    def _spent(self, entries: Sequence[PlannedStatistic]) -> Loss:
        return self._planner.total([*self._first, *entries])

    def _fits(self, entries: Sequence[PlannedStatistic]) -> bool:
        return self._spent(entries).within(self._budget)

    def _start(self) -> Fraction:
        """A size that should fit; just what is left where losses are added up."""
        spec = self._planner.spec
        if not self._rule.takes_rho:
            left = self._budget.epsilon - self._spent([]).epsilon
            # What a size of one costs: less than its shares, if some of it is disjoint or free.
            small = min(left, MAX_EPSILON) / self._units / 2
            if small <= 0:
                return small
            answers = guarantee_counts(self._at(small), spec)
            cost = sum((one.loss.epsilon * n for one, n in answers.items()), start=Fraction(0))
            return left * small / cost if cost else MAX_EPSILON / self._units
        first = guarantee_counts(self._first, spec)
        selecting = (entry.budget_request for entry in self._sharing if entry.selects_partitions)
        failure_delta = sum((request.delta for request in selecting), start=Fraction(0))
        delta = self._budget.delta - failure_delta - total_failure_delta(first)
        if delta <= 0:
            return Fraction(0)
        allowed = zcdp_rho_within(self._budget.epsilon, delta)
        used = sum((one.rho * n for one, n in first.items()), start=Fraction(0))
        return (min(allowed, self._budget.rho or allowed) - used) / self._units


def _share(entry: Entry) -> Fraction:
    assert entry.budget_request.weight is not None
    return entry.budget_request.weight
