"""Errors to expect: of responses, and under bounds and limits that may be chosen."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from dpcli.columns import CategoryColumn
from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.allocation import allocate
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.specification.model import Response
from dpcli.statistics.bounds_choice import THIRDS, BoundsChoice
from dpcli.statistics.limit_choice import chosen_limit


def standard_error(response: Response, records: int) -> float | None:
    """The standard error of estimates from this number of records; None if there is no estimate.

    For frequencies it is the root mean square over all labels, if these are equally frequent. For
    symmetric responses and unary encoding, it is the same for any frequencies.
    """
    randomizer, column = response.randomizer, response.column
    if not randomizer.estimable:
        return None
    count = len(column.labels) if isinstance(column, CategoryColumn) else 1
    return sqrt(sum(randomizer.variances([1 / count] * count)) / count / records)


def chosen_bounds_errors(plan: CentralPlan) -> Iterator[str]:
    """What the errors of statistics would be after each third of the ladders of all choices.

    For each statistic that changes with them, the noise of its first query, which is named.
    """
    spec = plan.spec
    if not plan.chooses_bounds:
        return
    from dpcli.specification.chosen_bounds import with_chosen_bounds

    # Their losses are those of the plan, so they need not be composed again.
    tried = {
        third: allocate(
            with_chosen_bounds(spec, {one.name: one.at_third(third) for one in spec.choices})
        )[-len(plan.statistics) :]
        for third in THIRDS
    }
    for number, planned in enumerate(plan.statistics):
        first = planned.queries[0].weighted
        if first.query.minimizes:
            continue  # The noise of an objective is not one of published numbers.
        for together in _assumed(plan, planned):
            parts: dict[str, str] = {}
            for third, assumed in tried.items():
                error = assumed[number].queries[0].error(spec.confidence)
                at = " and ".join(_place_text(choice, third) for choice in together)
                parts[at] = rounded_text(error, 3)
            if len(set(parts.values())) > 1:
                errors = ", ".join(f"{error} at {bounds}" for bounds, error in parts.items())
                key = "errors" if spec.limit_choice is None else "limit_errors"
                facts = {"name": planned.name, "column": together[0].column.name}
                facts["query"] = first.role
                facts["percent"] = exact_or_up(spec.confidence * 100)
                yield note(f"chosen.{key}", errors=errors, **facts)


def _assumed(plan: CentralPlan, planned: PlannedStatistic) -> Iterator[list[BoundsChoice]]:
    """The choices on which a statistic depends: those of single columns, or all with the limit."""
    read = {column.name for query in planned.queries for column in query.weighted.query.columns}
    limit, columns = plan.spec.limit_choice, plan.spec.choices
    of_columns = [one for one in columns if not one.is_limit and one.column.name in read]
    of_columns.sort(key=lambda choice: choice.column.name)
    if limit is not None:
        yield [*of_columns, limit]
    else:
        yield from ([choice] for choice in of_columns)


def _place_text(choice: BoundsChoice, third: int) -> str:
    bounds = choice.at_third(third)
    if choice.is_limit:
        return f"{choice.column.name} {chosen_limit(bounds)}"
    return f"{rounded_text(bounds.lower)} to {rounded_text(bounds.upper)}"
