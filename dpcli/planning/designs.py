"""Sentences about how the queries of a statistic were designed."""

from __future__ import annotations

from fractions import Fraction

from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import Plan, PlannedStatistic


def design_sentences(planned: PlannedStatistic, confidence: Fraction) -> list[str]:
    """Why these queries answer the statistic, if it has several designs, and its error if known."""
    queries = [query.weighted for query in planned.queries]
    noises = [query.noise for query in planned.queries]
    entry = planned.entry
    sentences = list(entry.statistic.design_notes(entry.request, queries, noises))
    if len(queries) > 1 and (error := planned.error(confidence)) is not None:
        percent = exact_or_up(confidence * 100)
        sentences.append(note("designs.within", error=rounded_text(error, 6), percent=percent))
    return sentences


def design_notes(plan: Plan) -> list[str]:
    """The same for every statistic of a plan, with its name."""
    return [
        f"{planned.name}: {sentence}"
        for planned in plan.statistics
        for sentence in design_sentences(planned, plan.spec.confidence)
    ]
