"""The changes between two plans: of each statistic, and of the guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction

from dpcli.numeric.exact import readable_text
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.words.statistics import query_title
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import unit_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import QualityCheck

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
        first, last = _errors(before, old), _errors(after, new)
        yield StatisticChange(
            name,
            change,
            (before.target.epsilon if before else None, after.target.epsilon if after else None),
            (before.rho if before else None, after.rho if after else None),
            (
                before.error(old.spec.confidence) if before else None,
                after.error(new.spec.confidence) if after else None,
            ),
            {title: (first.get(title), last.get(title)) for title in last | first},
            tuple(dict.fromkeys(planned.mechanism.name for planned in (before, after) if planned)),
        )


def _errors(planned: PlannedStatistic | None, plan: CentralPlan) -> dict[str, Fraction]:
    """The error of each query by its title; empty for a missing statistic."""
    return {
        query_title(query, planned, plan.spec): query.error(plan.spec.confidence)
        for query in (planned.queries if planned else ())
        if planned
    }


def weaker_guarantees(old: CentralPlan, new: CentralPlan) -> Iterator[str]:
    """Each reason why the new guarantee is weaker than, or differs from, the old one."""
    before, after = old.spec.privacy, new.spec.privacy
    terms = [
        ("`dataset`", old.spec.dataset, new.spec.dataset),
        ("`unit`", unit_text(before.unit), unit_text(after.unit)),
        ("`neighbors`", before.neighbors.value, after.neighbors.value),
        ("`window`", before.window or "none", after.window or "none"),
        ("`part_of`", old.spec.part_of or "none", new.spec.part_of or "none"),
    ]
    for key, was, now in terms:
        if was != now:
            yield f"{key} was {was} and is {now}: the guarantee is a different one"
    yield from _weaker_check(old, new)
    for rule in dict.fromkeys((before.composition, after.composition)):
        # Both plans are counted by the same rule, so that a new rule does not look like new noise.
        delta = max(before.budget.delta, after.budget.delta)
        totals = [rule.total(plan.guarantee_counts, delta) for plan in (old, new)]
        if before.budget.rho is None and after.budget.rho is None:
            # If budgets bound epsilon, rho only serves to compute it.
            totals = [Loss(total.epsilon, total.delta) for total in totals]
        yield from _larger(f"by {rule.name} composition, the release reveals", *totals)
    yield from _larger("the budget allows", before.budget, after.budget)


def _weaker_check(old: CentralPlan, new: CentralPlan) -> Iterator[str]:
    """Each way in which the check notices less: less epsilon, or lower minimums."""
    if old.quality is None or old.spec.quality is None:
        return
    if new.quality is None or new.spec.quality is None:
        yield "`quality` is removed: no check stops a file that is incomplete or cannot be read"
        return
    for measure in ("epsilon", "rho"):
        was, now = (getattr(plan.quality.target, measure) for plan in (old, new) if plan.quality)
        if was is not None and now is not None and now < was * (1 - SEARCH_TOLERANCE):
            texts = readable_text(now), readable_text(was)
            yield f"`quality` has {measure} {texts[0]} instead of {texts[1]}, and notices less"
    before, after = map(_limits, (old.spec.quality, new.spec.quality))
    for key, limit in before.items():
        if key not in after:
            yield f"`quality` has no {key}"
        elif (after[key] > limit) if key.startswith("`max_") else (after[key] < limit):
            was, now = map(readable_text, (limit, after[key]))
            yield f"`quality` has {key} {now} instead of {was}"


def _limits(check: QualityCheck) -> dict[str, Fraction]:
    """The minimums of a check, and its maximums, by their keys and columns."""
    stated = {key.name: getattr(check, key.name) for key in fields(check) if key.name != "entry"}
    limits: dict[str, Fraction] = {}
    for key, value in stated.items():
        if isinstance(value, Mapping):
            limits |= {f"`{key}` of {column}": share for column, share in value.items()}
        elif value is not None:
            limits[f"`{key}`"] = Fraction(value)
    return limits


def _larger(what: str, old: Loss, new: Loss) -> Iterator[str]:
    for measure in ("epsilon", "delta", "rho"):
        before: Fraction | None = getattr(old, measure)
        after: Fraction | None = getattr(new, measure)
        if before is not None and after is not None and after > before * (1 + SEARCH_TOLERANCE):
            yield f"{what} {measure} {readable_text(after)} instead of {readable_text(before)}"
