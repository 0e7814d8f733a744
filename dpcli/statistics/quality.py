"""The number of rows and of readable cells in each column, for the quality check."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.noise.tails import blended_margin
from dpcli.privacy.neighboring import Relation
from dpcli.queries.query import LinearQuery, ReadabilityQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.interval_limits import NONNEGATIVE, Limits
from dpcli.statistics.statistic import NoisyAnswer, Request, Statistic, WeightedQuery

HALF = Fraction(1, 2)


class QualityCounts(Statistic):
    """The number of rows, and for each checked column its readable cells.

    A cell is readable if it can be read as its column declares, before any constant replaces
    it. The answer is one vector: the number of rows, and for each column its readable minus
    its unreadable cells. Half of the sum of both is the number of readable cells.

    Privacy: a row adds 1 to the number of rows and 1 or -1 to each of k columns, so adding or
    removing it changes the vector by k + 1 in L1 and by sqrt(k + 1) in L2. Changing a row
    keeps the number of rows, which is then public, and changes each column by at most 2. A
    person with r rows changes r times as much.
    """

    name = "quality"
    steps = ()
    has_raw = False

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """The vector; a public number of rows is a query of its own, without budget."""
        if not relation.size_is_public:
            return (WeightedQuery("rows and cells", ReadabilityQuery(checked=request.checked)),)
        if not request.checked:
            return (WeightedQuery("rows", LinearQuery()),)
        query = ReadabilityQuery(checked=request.checked, with_rows=False)
        return (
            WeightedQuery("cells", query),
            WeightedQuery("rows", LinearQuery(), weight=Fraction(0)),
        )

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The rows, then the readable cells of each column."""
        rows, columns = split_answers(answers)
        outside = float(1 - confidence) / 2
        margin = blended_margin(rows.noise, HALF, columns.noise, HALF, outside)
        (count,), differences = rows.values.tolist(), columns.values.tolist()
        width = Fraction(rows.noise.half_width(confidence))
        readable = [(Fraction(count + difference, 2), margin) for difference in differences]
        places = (0, *[1] * len(readable))
        return Estimates.single([(Fraction(count), width), *readable], places)

    def limits(self, request: Request) -> tuple[Limits, ...]:
        """All are counts."""
        return (NONNEGATIVE,)

    def items(self, request: Request) -> tuple[str, ...]:
        """The rows and the names of the columns."""
        return ("rows", *(column.name for column in request.checked))


QUALITY_COUNTS = QualityCounts()


def split_answers(answers: Sequence[NoisyAnswer]) -> tuple[NoisyAnswer, NoisyAnswer]:
    """The number of rows and the differences of the columns, each with its noise."""
    if len(answers) == 2:
        columns, rows = answers
        return rows, columns
    (vector,) = answers
    values, noise = vector.values, vector.noise
    return NoisyAnswer(values[:1], noise), NoisyAnswer(values[1:], noise)
