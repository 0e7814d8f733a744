"""Sentences about how the queries of a statistic were designed."""

from __future__ import annotations

from dpcli.planning.plan import Plan, PlannedStatistic


def design_sentences(planned: PlannedStatistic) -> list[str]:
    """Why these queries answer the statistic, if it has several designs."""
    queries = [query.weighted for query in planned.queries]
    noises = [query.noise for query in planned.queries]
    entry = planned.entry
    return list(entry.statistic.design_notes(entry.request, queries, noises))


def design_notes(plan: Plan) -> list[str]:
    """The same for every statistic of a plan, with its name."""
    return [
        f"{planned.name}: {sentence}"
        for planned in plan.statistics
        for sentence in design_sentences(planned)
    ]
