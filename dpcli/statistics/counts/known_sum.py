"""Counts of which the sum is public: Gaussian noise without its share in the sum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import weighted_margin
from dpcli.numeric.arrays import integer_array, largest_magnitude, widened
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.statistics.design import Inputs, LinearDesign, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates

ROWS = "rows"
"""The role of the number of all rows, where it is public or measured."""

MAX_CELLS = 10
"""The most counts: the noise of ten is 1.05 times smaller, of more hardly."""

DECIMALS = (1,)
"""Rounding the ends of an interval leaves the whole numbers in it."""

REASON = (
    "the number of rows is public, and each row is in one count, so the counts are moved by the "
    "same number until they sum to it; this needs no more budget, and the counts share noise"
)


def sum_is_public(query: Query, relation: Relation) -> bool:
    """Whether the sum of all numbers of a query is the public number of rows."""
    is_public = relation == Relation(RowUnit(), Neighbors.CHANGE_ONE)
    return is_public and query.sum_of_row == 1 and not query.may_skip


@dataclass(frozen=True, kw_only=True)
class CountsOfAllRows(LinearDesign):
    """Counts c of k cells, and the public sum n: each is c - (sum of c - n) / k.

    Of independent noises of variance v, what is left has the variance v (1 - 1/k).
    """

    @classmethod
    def of(
        cls, inputs: Inputs, separate: WeightedQuery, relation: Relation
    ) -> tuple[CountsOfAllRows, ...]:
        """The design; empty unless the counts have the number of rows as their sum."""
        query = separate.query
        if not sum_is_public(query, relation) or inputs.sample:
            return ()
        if not query.cells or not 1 < query.cells <= MAX_CELLS:
            return ()
        rows = WeightedQuery(ROWS, LinearQuery(), Fraction(0))
        return (cls(inputs, (separate, rows), ("l2",), reason=REASON),)

    @property
    def _counts(self) -> int:
        return self.queries[0].query.cells or 1

    @property
    def block(self) -> tuple[int, ...]:
        return (self._counts, 1)

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0] * sqrt(1 - 1 / self._counts)

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        return Fraction(self._margin(noises[0], confidence).width, self._counts)

    def _margin(self, noise: Noise, confidence: Fraction) -> Margin:
        """The margin of a count, in parts of its step."""
        others = self._counts - 1
        return weighted_margin(((noise, others, 1), (noise, 1, others)), confidence)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (counts, rows), count = answers, self._counts
        largest = 4 * count * largest_magnitude(counts.values)
        numbers = widened(counts.values, largest).reshape(-1, count)
        surplus = numbers.sum(axis=1) - rows.values
        moved = integer_array((count * numbers - surplus[:, None]).ravel())
        margin = self._margin(counts.noise, confidence)
        return Estimates.around(moved, margin, Fraction(1, count), DECIMALS)
