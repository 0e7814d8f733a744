"""Spec to plan: what each entry may spend, and whether the budget allows it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import floor

from dpcli.errors import BudgetError, Problem, SpecError
from dpcli.numeric.exact import decimal_text, readable_text
from dpcli.planning.allocation import WeightedAllocation
from dpcli.planning.plan import Plan, PlannedStatistic, guarantee_counts
from dpcli.planning.statistic_planner import StatisticPlanner
from dpcli.privacy.accounting.composition import MissingDependencyError
from dpcli.privacy.accounting.parallel import Branch
from dpcli.privacy.unit import PersonUnit
from dpcli.queries import LinearQuery
from dpcli.specification.axes import Ranges
from dpcli.specification.model import Entry, Spec


def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec of either model; SpecError when an entry cannot be answered."""
    privacy = spec.privacy
    try:
        entries = allocate(spec)
        bound = privacy.composition.bound(guarantee_counts(entries, spec), privacy.budget.delta)
    except MissingDependencyError as missing:
        rule, package = privacy.composition.name, str(missing)
        raise SpecError.about("package-missing", rule=rule, package=package) from None
    if spec.quality is None:
        return Plan(spec, tuple(entries), bound)
    quality, *statistics = entries
    return Plan(spec, tuple(statistics), bound, quality)


def require_plan_fits(plan: Plan) -> None:
    """Raise BudgetError, with what would fit, unless the budget allows the plan."""
    if plan.fits:
        return
    budget, spent = plan.spec.privacy.budget, plan.cost
    words = ["epsilon", "delta"]
    if budget.rho is not None and spent.rho is not None:
        # Where rho does not fit, the epsilon that it implies says the same.
        words = ["rho", *words[spent.rho > budget.rho :]]
    losses = [(word, getattr(spent, word), getattr(budget, word)) for word in words]
    raise BudgetError(
        Problem(
            f"over-budget-{word}",
            f"the release asks for {word} {readable_text(wanted)}, "
            f"but the budget allows {readable_text(allowed)}",
            _remedy(plan, word, allowed / wanted),
            plan.spec.privacy.place,
        )
        for word, wanted, allowed in losses
        if wanted > allowed
    )


def _remedy(plan: Plan, word: str, part: Fraction) -> str:
    """What to change so that a plan fits; its losses fit if they are multiplied by `part`."""
    things = "responses" if plan.is_local else "statistics"
    if plan.spec.privacy.composition.name != "sequential":
        return f"give {things} less, drop some, or allow more under `privacy: budget:`"
    fitting = Fraction(floor(part * 1000), 1000)
    if not fitting:
        return f"drop the {things} that need {word}, or allow some under `privacy: budget:`"
    return (
        f"multiply every {word} by {decimal_text(fitting, 3)}, drop {things}, "
        "or allow more under `privacy: budget:`"
    )


def allocate(spec: Spec) -> list[PlannedStatistic]:
    """Every entry with a loss of its own; SpecError if one cannot be answered.

    Losses that are given or follow from an error come first; then shares divide what
    those leave of the budget.

    Counted in rho, what costs least by itself is not always so in all, since plain sums
    may be less: then mechanisms that need no delta anywhere are tried as well.
    """
    planner = StatisticPlanner(spec, branches(spec))
    found = _allocated(spec.charged_entries, planner)
    free = [
        e
        for e in spec.charged_entries
        if len(e.mechanisms) > 1 and (e.budget_request.error or e.budget_request.weight)
    ]
    if not spec.privacy.composition.takes_rho or not free:
        return found
    plain = [
        replace(entry, mechanisms=entry.mechanisms[:1]) if entry in free else entry
        for entry in spec.charged_entries
    ]
    with suppress(SpecError):
        return min(found, _allocated(plain, planner), key=lambda one: _preference(one, planner))
    return found


def _allocated(entries: Sequence[Entry], planner: StatisticPlanner) -> list[PlannedStatistic]:
    found: dict[str, PlannedStatistic] = {}
    problems: list[Problem] = []
    for entry in entries:
        if not entry.budget_request.weight:
            try:
                found[entry.request.name] = planner.alone(entry)
            except SpecError as refusal:
                problems += refusal.problems
    if problems:
        raise SpecError(problems)
    sharing = [entry for entry in entries if entry.budget_request.weight]
    if sharing:
        shared = WeightedAllocation(list(found.values()), sharing, planner).largest()
        found |= {entry.name: entry for entry in shared}
    return [found[entry.request.name] for entry in entries]


def _preference(
    entries: Sequence[PlannedStatistic], planner: StatisticPlanner
) -> tuple[bool, float]:
    """What to prefer: what fits; then less noise where all is shared out, or less rho.

    An account adds up rhos, release by release.
    """
    over = not planner.total(entries).within(planner.spec.privacy.budget)
    if any(planned.entry.budget_request.weight for planned in entries):
        return over, sum(map(planner.noisiness, entries))
    answers = guarantee_counts(entries, planner.spec)
    return over, float(sum(one.rho * times for one, times in answers.items()))


def branches(spec: Spec) -> dict[str, Branch]:
    """The entries about disjoint rows; those about the same rows share a part.

    Every row has one value in a column, so conditions on it that no value satisfies
    together select disjoint rows. A unit is in one part only if it is a row, or a person
    with a single row in all; what people add up over all of their rows is left out.
    """
    unit = spec.privacy.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        return {}
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        weighted = entry.statistic.queries(entry.request, spec.privacy.relation)
        queries = [each.query for each in weighted]
        if all(not isinstance(one, LinearQuery) or one.user_clamp is None for one in queries):
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
