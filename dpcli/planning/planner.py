"""Makes the plan of a spec: plans each statistic, and divides the budget.

Losses that the spec states, or that follow from a target error, come first. Weights then divide
what is left of the budget, or of the epsilon of the spec.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import floor, log
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, overload

from dpcli.fields.values import MAX_EPSILON, MIN_EPSILON, MIN_RHO
from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.mechanism import CalibrationError, Mechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.numeric.exact import decimal_text, readable_text, short_down, short_up
from dpcli.numeric.search import bisect
from dpcli.planning.plan import (
    CentralPlan,
    LocalPlan,
    Plan,
    PlannedQuery,
    PlannedStatistic,
    disjoint_branches,
    guarantee_counts,
)
from dpcli.privacy.accounting.composition import Branch, MissingDependencyError, total_failure_delta
from dpcli.privacy.loss import BudgetAmount, Loss, sum_losses
from dpcli.problems.errors import BudgetError, Problem, SpecError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import CentralSpec, Entry, LocalSpec, Privacy, Spec
from dpcli.statistics.design import Design, Measure, WeightedQuery

if TYPE_CHECKING:
    from dpcli.statistics.bounds.chosen_bounds import BoundsChoice

UNUSED_PART = Fraction(1, 10**4)
"""Part of the budget that a search may leave unused."""


def allocate(spec: CentralSpec) -> list[PlannedStatistic]:
    """Plan all entries of a spec: choices of bounds, the quality check, statistics.

    Each entry takes the mechanism that costs least, or adds the least noise, by itself. If the
    composition counts rho, these may not cost least in sum, because a plain sum of epsilons can be
    less. So a plan in which entries with a free choice take mechanisms without a delta is tried
    too.

    Raises SpecError if a statistic cannot be answered.
    """
    planner = StatisticPlanner(spec, disjoint_branches(spec))
    choices = (_choice_entry(choice, spec.for_choices.privacy) for choice in spec.choices)
    entries = (*choices, *spec.charged_entries)
    planned = _plan_all(entries, planner)
    free = [
        entry
        for entry in entries
        if len(entry.mechanisms) > 1 and (entry.budget_amount.error or entry.budget_amount.weight)
    ]
    if not spec.privacy.composition.takes_rho or not free:
        return planned
    without_delta = [
        entry.with_mechanisms(*entry.mechanisms[:1]) if entry in free else entry
        for entry in entries
    ]
    with suppress(SpecError):
        plans = planned, _plan_all(without_delta, planner)
        return min(plans, key=lambda plan: _preference(plan, planner))
    return planned


def _choice_entry(choice: BoundsChoice, privacy: Privacy) -> Entry:
    """The charged entry of the histogram for a choice, with Laplace noise."""
    budget = BudgetAmount(epsilon=choice.epsilon)
    inputs, histogram = choice.inputs, choice.histogram
    designs = histogram.designs(inputs, privacy.relation_for(choice.limits_of_counts))
    return Entry(inputs, histogram, (Laplace(),), budget, designs, limits=choice.limits_of_counts)


def _plan_all(entries: Sequence[Entry], planner: StatisticPlanner) -> list[PlannedStatistic]:
    planned: dict[str, PlannedStatistic] = {}
    problems: list[Problem] = []
    for entry in entries:
        if not entry.budget_amount.weight:
            try:
                planned[entry.inputs.name] = planner.plan_unweighted(entry)
            except SpecError as refusal:
                problems += refusal.problems
    if problems:
        raise SpecError(problems)
    weighted = [entry for entry in entries if entry.budget_amount.weight]
    if weighted:
        allocation = WeightedAllocation(list(planned.values()), weighted, planner)
        planned |= {statistic.name: statistic for statistic in allocation.largest()}
    return [planned[entry.inputs.name] for entry in entries]


def _preference(
    statistics: Sequence[PlannedStatistic], planner: StatisticPlanner
) -> tuple[bool, float]:
    """The sort key of a plan: the plan with the smallest key is preferred.

    Plans within the budget come first; then less noise if entries have weights, else a smaller sum
    of rho, because an account adds up the rho of its releases.
    """
    over = not planner.total_loss(statistics).within(planner.spec.privacy.budget)
    if any(planned.entry.budget_amount.weight for planned in statistics):
        return over, sum(map(planner.log_error, statistics))
    counts = guarantee_counts(statistics, planner.spec)
    return over, float(sum(guarantee.rho * count for guarantee, count in counts.items()))


class WeightedAllocation:
    """Divides what `first` statistics leave by the weights of the others.

    Under sequential composition, weights divide epsilon exactly. Otherwise the loss of an entry, in
    rho or (if losses have no rho) in epsilon, is its weight multiplied by the largest factor that
    the budget allows. No statistic gets more than `MAX_EPSILON`.
    """

    def __init__(
        self,
        first: Sequence[PlannedStatistic],
        weighted: Sequence[Entry],
        planner: StatisticPlanner,
    ) -> None:
        self._first, self._planner = first, planner
        privacy = planner.spec.privacy
        self._rule, self._budget = privacy.composition, planner.spec.allowed_loss
        self._entries = self._with_deltas(weighted)
        self._total_weight = sum(map(_weight, weighted), start=Fraction(0))

    def largest(self) -> list[PlannedStatistic]:
        """The weighted statistics, with the largest losses by weight that fit the budget.

        Raises SpecError if nothing is left of the budget.
        """
        name = self._entries[0].inputs.name
        limit = "`epsilon:` of the spec" if self._planner.spec.epsilon else "the budget"
        nothing_left = SpecError.about("cannot-calibrate.nothing-left", name=name, limit=limit)
        low = self._first_guess()
        if low <= 0 and self._rule.name == "sequential":
            raise nothing_left
        if low > 0:
            best = self._at(low)
            # The most accurate mechanism hardly depends on the loss: it is chosen once.
            self._entries = [
                entry.with_mechanisms(planned.mechanism)
                for entry, planned in zip(self._entries, best, strict=True)
            ]
            if self._loss(best).epsilon == self._budget.epsilon and self._fits(best):
                return best
        # A plain sum of epsilons can be less than rho implies, so something may still be left.
        low = short_down(low if low > 0 else 1 / self._total_weight, SIZE_DIGITS)
        shrink, min_size = Fraction(9, 10), MIN_EPSILON
        if self._rule.takes_rho:
            from dpcli.privacy.zcdp_conversion import zcdp_rho_within

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
        """The entries; those that can use a delta share the rest of it by weight."""
        needing = [
            entry
            for entry in weighted
            if not entry.budget_amount.delta
            and (
                entry.selects_partitions
                or any(mechanism.needs_delta for mechanism in entry.mechanisms)
            )
        ]
        weights = sum(map(_weight, needing), start=Fraction(0))
        if self._rule.takes_rho or not weights:
            return list(weighted)
        spent = sum((planned.target.delta for planned in self._first), start=Fraction(0))
        spent += sum((entry.budget_amount.delta for entry in weighted), start=Fraction(0))
        delta = max(self._budget.delta - spent, Fraction(0)) / weights
        return [
            replace(entry, budget_amount=replace(entry.budget_amount, delta=delta * _weight(entry)))
            if entry in needing
            else entry
            for entry in weighted
        ]

    def _at(self, size: Fraction) -> list[PlannedStatistic]:
        """The weighted statistics, each planned with `size` times its weight as loss."""
        sizes = (min(size * _weight(entry), MAX_EPSILON) for entry in self._entries)
        targets = map(self._planner.target, sizes, self._entries)
        return list(map(self._planner.most_accurate, self._entries, targets))

    def _loss(self, statistics: Sequence[PlannedStatistic]) -> Loss:
        return self._planner.total_loss([*self._first, *statistics])

    def _fits(self, statistics: Sequence[PlannedStatistic]) -> bool:
        return self._loss(statistics).within(self._budget)

    def _first_guess(self) -> Fraction:
        """A loss for the weight one that probably fits; all of the rest if losses add up."""
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
        failure_delta = sum((entry.budget_amount.delta for entry in selecting), start=Fraction(0))
        delta = self._budget.delta - failure_delta - total_failure_delta(counts)
        if delta <= 0:
            return Fraction(0)
        from dpcli.privacy.zcdp_conversion import zcdp_rho_within

        allowed = zcdp_rho_within(self._budget.epsilon, delta)
        rhos = (guarantee.rho * count for guarantee, count in counts.items())
        used = sum(rhos, start=Fraction(0))
        return (min(allowed, self._budget.rho or allowed) - used) / self._total_weight


def _weight(entry: Entry) -> Fraction:
    assert entry.budget_amount.weight is not None
    return entry.budget_amount.weight


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
    """Raise BudgetError, with what fits, unless the spec's budget allows the plan."""
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
    """How to change the spec; its `measure` would fit if multiplied by `factor`."""
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


SIZE_DIGITS = 6
"""Significant digits of a loss that is found by search."""

LEAST_SIZE = {"rho": MIN_RHO, "epsilon": MIN_EPSILON}
"""The least loss that a search tries, by its measure."""

SEARCH_FACTOR = 32
"""A search multiplies or divides losses by this until one is too small or large."""

SUPPORTING = Laplace()
"""The mechanism of queries that say how good the other answers of an entry are."""


@dataclass(frozen=True, slots=True)
class StatisticPlanner:
    """Plans the statistics of a spec one by one.

    `branches` are the result of `disjoint_branches`. The `size` of a loss is its rho if the
    composition counts rho, else its epsilon.
    """

    spec: CentralSpec
    branches: Mapping[str, Branch]

    def plan_with(self, entry: Entry, mechanism: Mechanism, target: Loss) -> PlannedStatistic:
        """The statistic, answered by this mechanism at this loss.

        Its delta becomes zero if neither the mechanism nor partition selection needs one. Raises
        SpecError if the mechanism cannot meet the loss.
        """
        if not mechanism.needs_delta and not entry.selects_partitions:
            target = replace(target, delta=Fraction(0))
        alternative = None
        try:
            design, queries = self._planned_queries(entry, mechanism, target)
            if target.rho is not None:
                target = replace(
                    sum_losses(query.calibrated.loss for query in queries), rho=target.rho
                )
            if designs := entry.alternative_bounding:
                bounded = replace(entry, designs=designs, alternative_bounding=())
                alternative = self._planned_queries(bounded, mechanism, target)
        except CalibrationError as error:
            arguments = {"name": entry.inputs.name, "reason": error.reason, "hint": error.hint}
            raise SpecError.about("cannot-calibrate", **arguments) from None
        if design.agrees and {step.name for step in entry.post} == {"consistent"}:
            # The sums of a single table, or of effects, agree: they are the published numbers.
            entry = replace(entry, raw=False)
        if design.publishes_answers:
            entry = replace(entry, raw=True)
        planned = PlannedStatistic(entry, target, design, queries, alternative)
        return (
            planned
            if planned.keeps_sums
            else replace(planned, branch=self.branches.get(entry.inputs.name))
        )

    def most_accurate(self, entry: Entry, target: Loss) -> PlannedStatistic:
        """The statistic with the mechanism that adds the least noise.

        Raises SpecError if a mechanism cannot meet the loss.
        """
        mechanisms = self._usable_mechanisms(entry, target)
        planned = [self.plan_with(entry, mechanism, target) for mechanism in mechanisms]
        if len(planned) > 1 and planned[0].keeps_sums:
            # Its days do not add up alike: designs are compared at equal loss of the account.
            with suppress(MissingDependencyError):
                from dpcli.planning.series import better_series

                return better_series(planned, self.spec)
        return min(planned, key=self.log_error)

    def _usable_mechanisms(self, entry: Entry, target: Loss) -> list[Mechanism]:
        has_delta = target.delta > 0 or target.rho is not None or len(entry.mechanisms) == 1
        return [
            mechanism for mechanism in entry.mechanisms if has_delta or not mechanism.needs_delta
        ]

    def log_error(self, planned: PlannedStatistic) -> float:
        """The natural logarithm of the expected error, to compare plans of one statistic.

        An error of zero counts as a very small one, so that sums stay finite.
        """
        confidence = self.spec.confidence
        if planned.design.is_compared_by_error:
            error = float(planned.design.compared_error(planned.noises, confidence) or 0)
        else:
            # No published number has the error of a supporting query.
            published = (query for query in planned.queries if not query.weighted.supports)
            errors = [float(query.error(confidence)) for query in published]
            error = planned.design.expected_error(errors)
        return log(max(error, 1e-300))

    def total_loss(self, statistics: Sequence[PlannedStatistic]) -> Loss:
        """The loss of these statistics together, by the composition of the spec."""
        privacy, counts = self.spec.privacy, guarantee_counts(statistics, self.spec)
        return privacy.composition.total(counts, privacy.budget.delta)

    @property
    def measure(self) -> Literal["rho", "epsilon"]:
        """What the `size` of a loss measures."""
        return "rho" if self.spec.privacy.composition.takes_rho else "epsilon"

    def target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of this size, in the `measure`, with the delta that the entry requests."""
        if self.measure == "rho":
            return Loss(Fraction(0), entry.budget_amount.delta, size)
        return Loss(size, entry.budget_amount.delta)

    def plan_unweighted(self, entry: Entry) -> PlannedStatistic:
        """A statistic with its own loss, or with the least loss that reaches its error.

        Raises SpecError if no loss in range reaches the error.
        """
        inputs = entry.budget_amount
        if inputs.error is None:
            epsilon = inputs.epsilon or Fraction(0)
            return self.most_accurate(entry, Loss(epsilon, inputs.delta, inputs.rho))
        mechanisms = self._usable_mechanisms(entry, self.target(Fraction(1), entry))
        searches = (
            self._least_reaching(inputs.error, entry, mechanism) for mechanism in mechanisms
        )
        planned = [statistic for statistic in searches if statistic is not None]
        if not planned:
            arguments = {"name": entry.inputs.name, "word": self.measure}
            raise SpecError.about(
                "cannot-calibrate.out-of-reach", error=readable_text(inputs.error), **arguments
            )
        return min(planned, key=self._price)

    def _price(self, planned: PlannedStatistic) -> Fraction:
        """What statistics with the same error are compared by."""
        if planned.keeps_sums:
            with suppress(MissingDependencyError):
                from dpcli.planning.series import ComparedSeries

                return Fraction(ComparedSeries(planned, self.spec).loss())
        size: Fraction = getattr(planned.target, self.measure)
        return size

    def _least_reaching(
        self, error: Fraction, entry: Entry, mechanism: Mechanism
    ) -> PlannedStatistic | None:
        """The statistic at the least loss that reaches `error`; None above `MAX_EPSILON`."""
        min_size = LEAST_SIZE[self.measure]

        @cache
        def planned(size: Fraction) -> PlannedStatistic:
            return self.plan_with(entry, mechanism, self.target(size, entry))

        def reaches(size: Fraction) -> bool:
            expected = planned(size).error(self.spec.confidence)
            return expected is not None and expected <= error

        low = high = Fraction(1)
        if planned(low).error(self.spec.confidence) is None:
            arguments = {"name": entry.inputs.name, "word": self.measure}
            raise SpecError.about("cannot-calibrate.several-answers", **arguments)
        while reaches(low):
            if low == min_size:
                return planned(min_size)
            low, high = max(low / SEARCH_FACTOR, min_size), low
        while not reaches(high):
            if high == MAX_EPSILON:
                return None
            low, high = high, min(high * SEARCH_FACTOR, MAX_EPSILON)
        return planned(bisect(reaches, low, high, middle=_geometric_mean)[1])

    def _planned_queries(
        self, entry: Entry, mechanism: Mechanism, target: Loss
    ) -> tuple[Design, tuple[PlannedQuery, ...]]:
        """The design for a mechanism, and its queries with noise for parts of `target`.

        Privacy: supporting queries, the counts and sums that say how good choices and minimizers
        are, have another mechanism than these, so they are calibrated apart. Each mechanism
        verifies that the loss of its answers is at most their weight of the target, and the weights
        of all queries sum to one. Losses of answers add up, as do rhos.
        """
        if entry.selects_partitions and target.delta <= 0:
            raise SpecError.about("cannot-calibrate.no-delta", name=entry.inputs.name)
        measure: Measure = "epsilon" if target.rho is None else "rho"
        design = entry.design_for(mechanism.family, measure, self.spec.privacy.composition)
        answering = MECHANISMS[design.answered_by] if design.answered_by else mechanism
        planned: list[PlannedQuery] = []
        if target.rho is not None:
            design = replace(design, queries=_with_parts_of_rho(design.queries))
        for supports, together in groupby(design.queries, attrgetter("supports")):
            part = tuple(together)
            calibrated = CalibratedMechanism.calibrate(
                SUPPORTING if supports else answering,
                [weighted.query for weighted in part],
                self.spec.relation_of(entry),
                target,
                [weighted.weight for weighted in part],
                entry.calibration,
                selects_partitions=entry.selects_partitions,
                delta=self.spec.privacy.budget.delta,
            )
            planned += map(PlannedQuery, part, calibrated)
        return design, tuple(planned)


def _with_parts_of_rho(queries: Sequence[WeightedQuery]) -> tuple[WeightedQuery, ...]:
    """Queries whose weights divide rho; supporting ones do not add to epsilon.

    A pure answer with the part w^2 of rho has the part w of the epsilon of the whole rho. So if
    supporting answers have the part s of that epsilon, the other answers keep 1 - s of it.
    """
    supporting = sum((query.weight for query in queries if query.supports), start=Fraction(0))
    return tuple(
        replace(query, weight=query.weight * (query.weight if query.supports else 1 - supporting))
        for query in queries
    )


def _geometric_mean(low: Fraction, high: Fraction) -> Fraction:
    return short_up(Fraction((float(low) * float(high)) ** 0.5), SIZE_DIGITS)
