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

    Of several numbers that are chosen one by one, it is the largest. If the numbers are sums of
    several answers, it is that of a sum of answers of zero.
    """
    statistic = entry.statistic
    chosen = all(planned.weighted.query.chooses for planned in queries)
    if len(queries) == 1 or chosen:
        if not statistic.error_is_known:
            return None
        return max(planned.error(confidence, planned.weighted.summed) for planned in queries)
    if not statistic.sums_answers:
        return None
    answers = []
    for planned in queries:
        query = planned.weighted.query
        zeros = np.zeros(query.cells or 0, np.int64)
        answers.append(NoisyAnswer(zeros, planned.noise, query=query))
    estimates = statistic.estimate(entry.request, answers, confidence)
    return int(estimates.upper[0]) * estimates.step
