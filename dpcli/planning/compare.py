"""Comparisons: a plan under other compositions or bounds, and two plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from math import sqrt

from dpcli.numeric.exact import exact_or_up, readable_text, rounded_text
from dpcli.planning.notes import query_title
from dpcli.planning.plan import CentralPlan, Plan, PlannedStatistic
from dpcli.planning.planner import allocate
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import MissingDependencyError
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import unit_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.chosen_bounds import with_chosen_bounds
from dpcli.specification.model import Response
from dpcli.statistics.bounds.chosen_bounds import PARTS

DEFAULT_DELTA = Fraction(1, 10**6)
"""The delta of a comparison if the budget has none."""


@dataclass(frozen=True, slots=True)
class CompositionComparison:
    """The total loss of a plan under one composition, or the package that it `needs`.

    `bound` is the name of the bound on all answers. `fits` says whether the budget would allow the
    `total`. The `cheapest` composition has the least epsilon of those whose delta is small enough.
    """

    composition: str
    total: Loss | None = None
    bound: str | None = None
    fits: bool = False
    cheapest: bool = False
    needs: str | None = None


def comparison_delta(plan: Plan) -> Fraction:
    """The delta at which compositions are compared: the budget's, or a default."""
    return plan.spec.privacy.budget.delta or DEFAULT_DELTA


def compare_compositions(plan: Plan) -> tuple[CompositionComparison, ...]:
    """The losses of a plan under every composition; the first cheapest one is marked."""
    budget, delta = plan.spec.privacy.budget, comparison_delta(plan)
    comparisons: list[CompositionComparison] = []
    epsilons: dict[str, Fraction] = {}
    for rule in COMPOSITIONS:
        try:
            bound = rule.bound(plan.guarantee_counts, delta)
        except MissingDependencyError as missing:
            comparisons.append(CompositionComparison(rule.name, needs=str(missing)))
            continue
        # A budget in rho bounds rho, or the epsilon that rho implies if the composition has none.
        loss = bound.loss
        limit = Loss(budget.epsilon, budget.delta) if loss.rho is None else budget
        fits = loss.within(limit)
        comparisons.append(CompositionComparison(rule.name, loss, bound.name, fits))
        if loss.delta <= delta:
            epsilons[rule.name] = loss.epsilon
    cheapest = min(epsilons, key=epsilons.__getitem__, default=None)
    return tuple(replace(row, cheapest=row.composition == cheapest) for row in comparisons)


SEARCH_TOLERANCE = Fraction(1, 1000)
"""Relative difference of losses that the search for a plan can cause by itself."""


BeforeAfter = tuple[Fraction | None, Fraction | None]
"""A number before and after a change; None if absent or not known in advance."""


@dataclass(frozen=True, slots=True)
class StatisticChange:
    """A statistic in an old and a new plan.

    `change` is `added`, `removed`, `changed`, or None if nothing changed. `error95` is the
    half-width of a single answer; for several answers it depends on the values. `errors` are the
    half-widths of the noise in each query.
    """

    name: str
    change: str | None
    epsilon: BeforeAfter
    rho: BeforeAfter
    error95: BeforeAfter
    errors: Mapping[str, BeforeAfter]
    mechanisms: tuple[str, ...]


def statistic_changes(old: CentralPlan, new: CentralPlan) -> Iterator[StatisticChange]:
    """Every statistic of either plan: those of the new plan, then the removed ones."""
    old_by_name, new_by_name = (
        {planned.name: planned for planned in plan.all_statistics} for plan in (old, new)
    )
    for name in new_by_name | old_by_name:
        before, after = old_by_name.get(name), new_by_name.get(name)
        change: str | None = "added" if after else "removed"
        if before and after:
            same = before.queries == after.queries and before.entry.post == after.entry.post
            change = None if same else "changed"
        first, last = _figures(before, old), _figures(after, new)
        yield StatisticChange(
            name,
            change,
            (first.epsilon, last.epsilon),
            (first.rho, last.rho),
            (first.error, last.error),
            {
                title: (first.errors.get(title), last.errors.get(title))
                for title in last.errors | first.errors
            },
            tuple(dict.fromkeys(planned.mechanism.name for planned in (before, after) if planned)),
        )


@dataclass(frozen=True, slots=True)
class _Figures:
    """The epsilon and rho of a statistic, its error, and errors by query title.

    All are None or empty for a statistic that a plan does not have.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    error: Fraction | None = None
    errors: dict[str, Fraction] = field(default_factory=dict)


def _figures(planned: PlannedStatistic | None, plan: Plan) -> _Figures:
    if planned is None:
        return _Figures()
    spec, confidence = plan.spec, plan.spec.confidence
    errors = {
        query_title(query, planned, spec): query.error(confidence) for query in planned.queries
    }
    return _Figures(planned.target.epsilon, planned.rho, planned.error(confidence), errors)


def weaker_guarantees(old: Plan, new: Plan) -> Iterator[str]:
    """Each reason why the new guarantee is weaker than, or differs from, the old one."""
    before, after = old.spec.privacy, new.spec.privacy
    terms = [
        ("`dataset`", old.spec.dataset, new.spec.dataset),
        ("`unit`", unit_text(before.unit), unit_text(after.unit)),
        ("`neighbors`", before.neighbors.value, after.neighbors.value),
    ]
    for key, was, now in terms:
        if was != now:
            yield f"{key} was {was} and is {now}: the guarantee is a different one"
    for rule in dict.fromkeys((before.composition, after.composition)):
        # Both plans are counted by the same rule, so that a new rule does not look like new noise.
        delta = max(before.budget.delta, after.budget.delta)
        totals = [rule.total(plan.guarantee_counts, delta) for plan in (old, new)]
        if before.budget.rho is None and after.budget.rho is None:
            # If budgets bound epsilon, rho only serves to compute it.
            totals = [Loss(total.epsilon, total.delta) for total in totals]
        yield from _larger(f"by {rule.name} composition, the release reveals", *totals)
    yield from _larger("the budget allows", before.budget, after.budget)


def _larger(what: str, old: Loss, new: Loss) -> Iterator[str]:
    for measure in ("epsilon", "delta", "rho"):
        before: Fraction | None = getattr(old, measure)
        after: Fraction | None = getattr(new, measure)
        if before is not None and after is not None and after > before * (1 + SEARCH_TOLERANCE):
            yield f"{what} {measure} {readable_text(after)} instead of {readable_text(before)}"


def standard_error(response: Response, records: int) -> float | None:
    """The standard error of an estimate from `records` records; None without one.

    For frequencies it is the root mean square over all labels, for equally frequent labels. For
    symmetric responses and unary encoding, other frequencies have the same error.
    """
    randomizer, column = response.randomizer, response.column
    if not randomizer.estimable:
        return None
    count = len(column.labels) or 1
    return sqrt(sum(randomizer.variances([1 / count] * count)) / count / records)


def chosen_bounds_errors(plan: CentralPlan) -> Iterator[str]:
    """How the noise of statistics depends on the bounds and limits yet to be chosen.

    One sentence for each statistic whose first query has different noise at each third of the
    candidates. The sentence names the query.
    """
    spec = plan.spec
    if not plan.chooses_bounds:
        return
    # Their losses are those of the plan, so they need not be composed again.
    tried = []
    for part in PARTS:
        ends = {choice.name: choice.at_part(part) for choice in spec.choices}
        assumed = allocate(with_chosen_bounds(spec, ends))[-len(plan.statistics) :]
        tried.append((ends, assumed))
    for number, planned in enumerate(plan.statistics):
        first = planned.queries[0].weighted
        if first.query.minimizes:
            continue  # The noise of an objective is not one of published numbers.
        together = [
            choice
            for choice in spec.choices
            if any(choice.decides(query.weighted.query) for query in planned.queries)
        ]
        errors: dict[str, str] = {}
        for ends, assumed in tried:
            at = " and ".join(choice.text(ends[choice.name]) for choice in together)
            errors[at] = rounded_text(assumed[number].queries[0].error(spec.confidence), 3)
        if len(set(errors.values())) > 1:
            stated = ", ".join(f"{error} at {at}" for at, error in errors.items())
            chosen = " and ".join(choice.noun for choice in together)
            percent = exact_or_up(spec.confidence * 100)
            yield (
                f'{planned.name}: in {percent}% of cases, the noise of "{first.role}" is at '
                f"most {stated}, if that is chosen for the {chosen}"
            )
