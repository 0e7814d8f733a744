"""Errors to expect: of responses, and under bounds that may be chosen."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from dpcli.columns import CategoryColumn
from dpcli.messages import note
from dpcli.numeric.number_text import rounded_text
from dpcli.planning.plan import Plan
from dpcli.planning.planner import make_plan
from dpcli.specification.chosen_bounds import with_chosen_bounds
from dpcli.specification.model import Response
from dpcli.statistics.bounds_choice import shown_places


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


def chosen_bounds_errors(plan: Plan) -> Iterator[str]:
    """What the errors of statistics would be if the bounds are at three places of their ladders.

    For each statistic that changes with them, the noise of its first query.
    """
    spec = plan.spec
    if not plan.chooses_bounds:
        return
    places = shown_places(spec.choices)
    tried = {
        place: make_plan(
            with_chosen_bounds(
                spec, {choice.column.name: choice.at_rung(place) for choice in spec.choices}
            )
        )
        for place in places
    }
    names = {choice.column.name for choice in spec.choices}
    for number, planned in enumerate(plan.statistics):
        read = {
            column.name for query in planned.queries for column in query.weighted.query.columns
        } & names
        for name in sorted(read):
            choice = next(choice for choice in spec.choices if choice.column.name == name)
            parts: dict[str, str] = {}
            for place, assumed in tried.items():
                bounds = choice.at_rung(place)
                error = assumed.statistics[number].queries[0].error(spec.confidence)
                low, high = (rounded_text(bound) for bound in (bounds.lower, bounds.upper))
                parts[f"{low} to {high}"] = rounded_text(error, 3)
            if len(set(parts.values())) > 1:
                errors = ", ".join(f"{error} at {bounds}" for bounds, error in parts.items())
                yield note("chosen.errors", name=planned.name, column=name, errors=errors)
