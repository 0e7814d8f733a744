"""Comparisons of plans: the same answers under every composition, and two specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcli.numeric.exact import readable_text
from dpcli.planning.notes import query_title
from dpcli.planning.plan import Plan, PlannedStatistic
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import MissingDependencyError
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import unit_text

DEFAULT_DELTA = Fraction(1, 10**6)
"""The delta of the comparison if the budget has none."""


@dataclass(frozen=True, slots=True)
class CompositionComparison:
    """A composition and its bound on all answers; or the package that it needs.

    `fits` if the budget would allow it, `cheapest` if no other that keeps to the delta has a
    smaller epsilon.
    """

    composition: str
    total: Loss | None = None
    bound: str | None = None
    fits: bool = False
    cheapest: bool = False
    needs: str | None = None


def comparison_delta(plan: Plan) -> Fraction:
    """The delta at which compositions are compared."""
    return plan.spec.privacy.budget.delta or DEFAULT_DELTA


def compare_compositions(plan: Plan) -> tuple[CompositionComparison, ...]:
    """Every composition, with the same noise; the first of the cheapest is marked."""
    budget, delta, found = (
        plan.spec.privacy.budget,
        comparison_delta(plan),
        list[CompositionComparison](),
    )
    epsilons: dict[str, Fraction] = {}
    for rule in COMPOSITIONS:
        try:
            bound = rule.bound(plan.guarantee_counts, delta)
        except MissingDependencyError as missing:
            found.append(CompositionComparison(rule.name, needs=str(missing)))
            continue
        # A budget in rho bounds rho where that is counted, else the epsilon that it implies.
        loss = bound.loss
        limit = Loss(budget.epsilon, budget.delta) if loss.rho is None else budget
        found.append(CompositionComparison(rule.name, loss, bound.name, loss.within(limit)))
        if loss.delta <= delta:
            epsilons[rule.name] = loss.epsilon
    cheapest = min(epsilons, key=epsilons.__getitem__, default=None)
    return tuple(replace(one, cheapest=one.composition == cheapest) for one in found)


SEARCH_TOLERANCE = Fraction(1, 1000)
"""Part of a loss by which two plans of the same spec could differ: losses are searched for."""


BeforeAfter = tuple[Fraction | None, Fraction | None]
"""A number before and after a change; None where it is not there, or not known in advance."""


@dataclass(frozen=True, slots=True)
class StatisticChange:
    """A statistic before and after: `change` is `added`, `removed`, `changed`, or None.

    `error95` is the half-width of a single answer; of several, errors depend on values. `errors`
    are those of the noise in each query.
    """

    name: str
    change: str | None
    epsilon: BeforeAfter
    rho: BeforeAfter
    error95: BeforeAfter
    errors: Mapping[str, BeforeAfter]
    mechanisms: tuple[str, ...]


def statistic_changes(old: Plan, new: Plan) -> Iterator[StatisticChange]:
    """Every statistic of either spec, in the order of the new one, then those removed."""
    before, after = ({one.name: one for one in plan.all_statistics} for plan in (old, new))
    for name in after | before:
        one, two = before.get(name), after.get(name)
        change: str | None = "added" if two else "removed"
        if one and two:
            same = one.queries == two.queries and one.entry.post == two.entry.post
            change = None if same else "changed"
        first, last = _numbers(one, old), _numbers(two, new)
        epsilon, rho, error = zip(first[:3], last[:3], strict=True)
        errors = {role: (first[3].get(role), last[3].get(role)) for role in last[3] | first[3]}
        mechanisms = dict.fromkeys(each.mechanism.name for each in (one, two) if each)
        yield StatisticChange(name, change, epsilon, rho, error, errors, tuple(mechanisms))


def _numbers(
    planned: PlannedStatistic | None, plan: Plan
) -> tuple[Fraction | None, Fraction | None, Fraction | None, dict[str, Fraction]]:
    """Epsilon, rho, the error of a single answer, and those of all queries."""
    if planned is None:
        return None, None, None, {}
    spec, parts = plan.spec, planned.queries
    errors = {query_title(one, planned, spec): one.error(spec.confidence) for one in parts}
    return planned.target.epsilon, planned.rho, planned.error(spec.confidence), errors


def weaker_guarantees(old: Plan, new: Plan) -> Iterator[str]:
    """Why the new spec protects less than the old one, or other people; nothing if not."""
    one, two = old.spec.privacy, new.spec.privacy
    terms = [
        ("`dataset`", old.spec.dataset, new.spec.dataset),
        ("`unit`", unit_text(one.unit), unit_text(two.unit)),
        ("`neighbors`", one.neighbors.value, two.neighbors.value),
    ]
    for word, before, after in terms:
        if before != after:
            yield f"{word} was {before} and is {after}: the guarantee is a different one"
    for rule in dict.fromkeys((one.composition, two.composition)):
        # Each composition counts both, so that another rule does not look like other noise.
        delta = max(one.budget.delta, two.budget.delta)
        totals = [rule.total(plan.guarantee_counts, delta) for plan in (old, new)]
        if one.budget.rho is None and two.budget.rho is None:
            # Where budgets bound epsilon, rho only serves to compute it, and is no loss of its own.
            totals = [Loss(total.epsilon, total.delta) for total in totals]
        yield from _larger(f"by {rule.name} composition, the release reveals", *totals)
    yield from _larger("the budget allows", one.budget, two.budget)


def _larger(what: str, old: Loss, new: Loss) -> Iterator[str]:
    for word in ("epsilon", "delta", "rho"):
        before: Fraction | None = getattr(old, word)
        after: Fraction | None = getattr(new, word)
        if before is not None and after is not None and after > before * (1 + SEARCH_TOLERANCE):
            yield f"{what} {word} {readable_text(after)} instead of {readable_text(before)}"
