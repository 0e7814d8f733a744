"""Errors to expect: of responses, and under bounds and limits that may be chosen."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from dpcli.numeric.exact import exact_or_up, rounded_text
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import allocate
from dpcli.specification.model import Response
from dpcli.statistics.bounds.choice import PARTS


def standard_error(response: Response, records: int) -> float | None:
    """The standard error of estimates from this number of records; None if there is no estimate.

    For frequencies it is the root mean square over all labels, if these are equally frequent. For
    symmetric responses and unary encoding, it is the same for any frequencies.
    """
    randomizer, column = response.randomizer, response.column
    if not randomizer.estimable:
        return None
    count = len(column.labels) or 1
    return sqrt(sum(randomizer.variances([1 / count] * count)) / count / records)


def chosen_bounds_errors(plan: CentralPlan) -> Iterator[str]:
    """What the errors of statistics would be after each third of the candidates of all choices.

    For each statistic that changes with them, the noise of its first query, which is named.
    """
    spec = plan.spec
    if not plan.chooses_bounds:
        return
    from dpcli.specification.choice import with_chosen_bounds

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
