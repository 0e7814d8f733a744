"""The error of a published number, where the plan knows it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.numeric.arrays import np
from dpcli.specification.model import Entry
from dpcli.statistics.statistic import NoisyAnswer

if TYPE_CHECKING:
    from dpcli.planning.plan import PlannedQuery


def published_error(
    entry: Entry, queries: Sequence[PlannedQuery], confidence: Fraction
) -> Fraction | None:
    """The half-width of a published number; None if it depends on the answers.

    If the numbers are sums of several answers, it is that of a sum of answers of zero.
    """
    statistic, first = entry.statistic, queries[0]
    if len(queries) == 1:
        known = statistic.error_is_known
        return first.error(confidence, first.weighted.summed) if known else None
    if not statistic.sums_answers:
        return None
    answers = []
    for planned in queries:
        query = planned.weighted.query
        zeros = np.zeros(query.cells or 0, np.int64)
        answers.append(NoisyAnswer(zeros, planned.noise, query=query))
    estimates = statistic.estimate(entry.request, answers, confidence)
    return int(estimates.upper[0]) * estimates.step
