"""Sentences about how the queries of a statistic were designed."""

from __future__ import annotations

from fractions import Fraction

from dpcli.messages import note
from dpcli.numeric.exact import short_up
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import Plan, PlannedStatistic


def design_sentences(planned: PlannedStatistic, confidence: Fraction) -> list[str]:
    """Why these queries answer the statistic, if it has several designs, and its error if known."""
    queries = [query.weighted for query in planned.queries]
    noises = [query.noise for query in planned.queries]
    entry = planned.entry
    sentences = list(entry.statistic.design_notes(entry.request, queries, noises))
    sentences += _size_sentences(planned, confidence)
    # The error of a choice is one of ranks or scores, which the table of queries states.
    chosen = planned.entry.statistic.chooses
    if len(queries) > 1 and not chosen and (error := planned.error(confidence)) is not None:
        percent = exact_or_up(confidence * 100)
        sentences.append(note("designs.within", error=rounded_text(error, 6), percent=percent))
    return sentences


def _size_sentences(planned: PlannedStatistic, confidence: Fraction) -> list[str]:
    """From how many rows on what is chosen is not flagged, and what it costs to know that."""
    *_, last = planned.queries
    if not (planned.entry.statistic.chooses and last.weighted.supports):
        return []
    from dpcli.statistics.choice_size import SizeLimits

    answered = [(query.weighted.query, query.noise) for query in planned.queries]
    limits = SizeLimits.of(answered, confidence)
    percent = exact_or_up(last.weighted.weight * 100)
    how = "" if last.is_exact else note("designs.noisy_size", percent=percent)
    key = "size_in_groups" if planned.entry.request.by else "size"
    rows = f"{int(short_up(Fraction(limits.rows), 2)):,}"
    return [note(f"designs.{key}", rows=rows, how=how)]


def design_notes(plan: Plan) -> list[str]:
    """The same for every statistic of a plan; a sentence that several share has all their names."""
    names: dict[str, list[str]] = {}
    for planned in plan.statistics:
        for sentence in design_sentences(planned, plan.spec.confidence):
            names.setdefault(sentence, []).append(planned.name)
    return [f"{', '.join(sharing)}: {sentence}" for sentence, sharing in names.items()]
