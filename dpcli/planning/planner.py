"""From a spec to its plan: the budget is divided, and must allow the plan.

Losses that the spec states, or that follow from a target error, come first. Weights then divide
what is left of the budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import overload

from dpcli.fields.values import MAX_EPSILON, MIN_EPSILON
from dpcli.numeric.exact import decimal_text, readable_text, short_down
from dpcli.planning.plan import (
    CentralPlan,
    LocalPlan,
    Plan,
    PlannedStatistic,
    disjoint_branches,
    guarantee_counts,
)
from dpcli.planning.statistic_planner import SIZE_DIGITS, StatisticPlanner
from dpcli.privacy.accounting.composition import MissingDependencyError, total_failure_delta
from dpcli.privacy.deltas import zcdp_rho_within
from dpcli.privacy.loss import Loss
from dpcli.problems.errors import BudgetError, Problem, SpecError
from dpcli.specification.choice import choice_entry
from dpcli.specification.model import CentralSpec, Entry, LocalSpec, Spec

UNUSED_PART = Fraction(1, 10**4)
"""Part of the budget that a search may leave unused."""


def allocate(spec: CentralSpec) -> list[PlannedStatistic]:
    """Plan every statistic of a spec, after choices of bounds and the quality check.

    Each statistic takes the mechanism that costs least by itself. In rho, that choice is not
    always the cheapest in sum, because a plain sum of epsilons can be less. So the plan in which
    free choices fall on mechanisms without a delta is tried as well.

    Raises SpecError if a statistic cannot be answered.
    """
    planner = StatisticPlanner(spec, disjoint_branches(spec))
    relation = spec.for_choices.privacy.relation
    choices = (choice_entry(choice, relation) for choice in spec.choices)
    entries = (*choices, *spec.charged_entries)
    planned = _plan_all(entries, planner)
    free = [
        entry
        for entry in entries
        if len(entry.mechanisms) > 1 and (entry.budget_request.error or entry.budget_request.weight)
    ]
    if not spec.privacy.composition.takes_rho or not free:
        return planned
    without_delta = [
        replace(entry, mechanisms=entry.mechanisms[:1]) if entry in free else entry
        for entry in entries
    ]
    with suppress(SpecError):
        plans = planned, _plan_all(without_delta, planner)
        return min(plans, key=lambda plan: _preference(plan, planner))
    return planned


def _plan_all(entries: Sequence[Entry], planner: StatisticPlanner) -> list[PlannedStatistic]:
    planned: dict[str, PlannedStatistic] = {}
    problems: list[Problem] = []
    for entry in entries:
        if not entry.budget_request.weight:
            try:
                planned[entry.request.name] = planner.plan_unweighted(entry)
            except SpecError as refusal:
                problems += refusal.problems
    if problems:
        raise SpecError(problems)
    weighted = [entry for entry in entries if entry.budget_request.weight]
    if weighted:
        allocation = WeightedAllocation(list(planned.values()), weighted, planner)
        planned |= {statistic.name: statistic for statistic in allocation.largest()}
    return [planned[entry.request.name] for entry in entries]


def _preference(
    statistics: Sequence[PlannedStatistic], planner: StatisticPlanner
) -> tuple[bool, float]:
    """Prefer what fits the budget; then less noise with weights, or else less rho in sum.

    Less rho, because an account adds up the rho of its releases.
    """
    over = not planner.total_loss(statistics).within(planner.spec.privacy.budget)
    if any(planned.entry.budget_request.weight for planned in statistics):
        return over, sum(map(planner.log_error, statistics))
    counts = guarantee_counts(statistics, planner.spec)
    return over, float(sum(guarantee.rho * count for guarantee, count in counts.items()))


class WeightedAllocation:
    """Divides what the `first` statistics leave of the budget by the weights of the others.

    Under sequential composition weights divide epsilon exactly. Elsewhere they divide rho (or
    epsilon, if losses have no rho), multiplied by the largest factor that the budget allows. No
    statistic gets more than a spec could give it.
    """

    def __init__(
        self,
        first: Sequence[PlannedStatistic],
        weighted: Sequence[Entry],
        planner: StatisticPlanner,
    ) -> None:
        self._first, self._planner = first, planner
        privacy = planner.spec.privacy
        self._rule, self._budget = privacy.composition, privacy.budget
        self._entries = self._with_deltas(weighted)
        self._total_weight = sum(map(_weight, weighted), start=Fraction(0))

    def largest(self) -> list[PlannedStatistic]:
        """The statistics at the largest loss per weight that fits.

        Raises SpecError if nothing is left of the budget.
        """
        name = self._entries[0].request.name
        nothing_left = SpecError.about("cannot-calibrate.nothing-left", name=name)
        low = self._first_guess()
        if low <= 0 and self._rule.name == "sequential":
            raise nothing_left
        if low > 0:
            best = self._at(low)
            # The most accurate mechanism hardly depends on the loss: it is chosen once.
            self._entries = [
                replace(entry, mechanisms=(planned.mechanism,))
                for entry, planned in zip(self._entries, best, strict=True)
            ]
            if self._loss(best).epsilon == self._budget.epsilon and self._fits(best):
                return best
        # A plain sum of epsilons can be less than rho implies, so something may still be left.
        low = short_down(low if low > 0 else 1 / self._total_weight, SIZE_DIGITS)
        shrink, min_size = Fraction(9, 10), MIN_EPSILON
        if self._rule.takes_rho:
            # The budget's delta covers a rho this small: it fits, but gives no accuracy.
            min_size = zcdp_rho_within(self._budget.epsilon, self._budget.delta) / 10**6
        while not self._fits(best := self._at(low)):
            low, shrink = short_down(low * shrink, SIZE_DIGITS), max(shrink**2, Fraction(1, 10))
            if low * self._total_weight < min_size:
                raise nothing_left
        least_weight, factor = min(map(_weight, self._entries)), Fraction(2)
        while factor > 1 + UNUSED_PART and low * least_weight < MAX_EPSILON:
            larger = short_down(low * factor, SIZE_DIGITS)
            if larger > low and self._fits(statistics := self._at(larger)):
                low, best = larger, statistics
            else:
                factor = 1 + (factor - 1) / 4
        return best

    def _with_deltas(self, weighted: Sequence[Entry]) -> list[Entry]:
        """The entries; those that can use a delta get a part of what is left of it."""
        needing = [
            entry
            for entry in weighted
            if not entry.budget_request.delta
            and (
                entry.selects_partitions
                or any(mechanism.needs_delta for mechanism in entry.mechanisms)
            )
        ]
        weights = sum(map(_weight, needing), start=Fraction(0))
        if self._rule.takes_rho or not weights:
            return list(weighted)
        spent = sum((planned.target.delta for planned in self._first), start=Fraction(0))
        spent += sum((entry.budget_request.delta for entry in weighted), start=Fraction(0))
        delta = max(self._budget.delta - spent, Fraction(0)) / weights
        return [
            replace(
                entry, budget_request=replace(entry.budget_request, delta=delta * _weight(entry))
            )
            if entry in needing
            else entry
            for entry in weighted
        ]

    def _at(self, size: Fraction) -> list[PlannedStatistic]:
        """The statistics at this loss per weight."""
        sizes = (min(size * _weight(entry), MAX_EPSILON) for entry in self._entries)
        targets = map(self._planner.target, sizes, self._entries)
        return list(map(self._planner.most_accurate, self._entries, targets))

    def _loss(self, statistics: Sequence[PlannedStatistic]) -> Loss:
        return self._planner.total_loss([*self._first, *statistics])

    def _fits(self, statistics: Sequence[PlannedStatistic]) -> bool:
        return self._loss(statistics).within(self._budget)

    def _first_guess(self) -> Fraction:
        """A loss per weight that should fit; exactly what is left where losses are added up."""
        spec = self._planner.spec
        if not self._rule.takes_rho:
            left = self._budget.epsilon - self._loss([]).epsilon
            # A trial shows what a weight of one costs: disjoint or exact statistics cost less.
            trial = min(left, MAX_EPSILON) / self._total_weight / 2
            if trial <= 0:
                return trial
            counts = guarantee_counts(self._at(trial), spec)
            epsilons = (guarantee.loss.epsilon * count for guarantee, count in counts.items())
            cost = sum(epsilons, start=Fraction(0))
            return left * trial / cost if cost else MAX_EPSILON / self._total_weight
        counts = guarantee_counts(self._first, spec)
        selecting = (entry for entry in self._entries if entry.selects_partitions)
        failure_delta = sum((entry.budget_request.delta for entry in selecting), start=Fraction(0))
        delta = self._budget.delta - failure_delta - total_failure_delta(counts)
        if delta <= 0:
            return Fraction(0)
        allowed = zcdp_rho_within(self._budget.epsilon, delta)
        rhos = (guarantee.rho * count for guarantee, count in counts.items())
        used = sum(rhos, start=Fraction(0))
        return (min(allowed, self._budget.rho or allowed) - used) / self._total_weight


def _weight(entry: Entry) -> Fraction:
    assert entry.budget_request.weight is not None
    return entry.budget_request.weight


@overload
def make_plan(spec: CentralSpec) -> CentralPlan: ...
@overload
def make_plan(spec: LocalSpec) -> LocalPlan: ...
def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec, of the central or the local model.

    Raises SpecError if a statistic cannot be answered, or if the composition needs a package that
    is not installed.
    """
    rule, delta = spec.privacy.composition, spec.privacy.budget.delta
    try:
        if isinstance(spec, LocalSpec):
            counts = Counter(response.randomizer.guarantee for response in spec.responses)
            return LocalPlan(spec, rule.bound(counts, delta), counts)
        allocated = allocate(spec)
        bound = rule.bound(guarantee_counts(allocated, spec), delta)
    except MissingDependencyError as missing:
        raise SpecError.about("package-missing", rule=rule.name, package=str(missing)) from None
    choices, statistics = allocated[: len(spec.choices)], allocated[len(spec.choices) :]
    quality = None if spec.quality is None else statistics.pop(0)
    return CentralPlan(spec, bound, tuple(statistics), quality, tuple(choices))


def require_plan_fits(plan: Plan) -> None:
    """Raise BudgetError, with what would fit, unless the budget of the spec allows the plan."""
    if plan.fits:
        return
    budget, cost = plan.spec.privacy.budget, plan.cost
    measures = ["epsilon", "delta"]
    if budget.rho is not None and cost.rho is not None:
        # If rho does not fit, the epsilon that it implies repeats that.
        measures = ["rho", *measures[cost.rho > budget.rho :]]
    losses = [(measure, getattr(cost, measure), getattr(budget, measure)) for measure in measures]
    raise BudgetError(
        Problem(
            f"over-budget-{measure}",
            f"the release asks for {measure} {readable_text(requested)}, "
            f"but the budget allows {readable_text(allowed)}",
            _hint(plan, measure, allowed / requested),
            plan.spec.privacy.place,
        )
        for measure, requested, allowed in losses
        if requested > allowed
    )


def _hint(plan: Plan, measure: str, factor: Fraction) -> str:
    """How to change the spec; its losses fit if they are multiplied by `factor`."""
    queries = f"{plan.part}s"
    if plan.spec.privacy.composition.name != "sequential":
        return f"give {queries} less, drop some, or allow more under `privacy: budget:`"
    fitting = Fraction(floor(factor * 1000), 1000)
    if not fitting:
        return f"drop the {queries} that need {measure}, or allow some under `privacy: budget:`"
    return (
        f"multiply every {measure} by {decimal_text(fitting, 3)}, drop {queries}, "
        "or allow more under `privacy: budget:`"
    )
