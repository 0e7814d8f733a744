"""Differences and sums of the cells of another query, in pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod

from dpcli.numeric.arrays import Array, add_exact, np
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.of_numbers import QueryOfNumbers
from dpcli.queries.query import Query
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class PairedQuery(QueryOfNumbers):
    """For each pair of cells of another query, their difference and their sum.

    If the number of cells is odd, the last pair has a cell that is always zero.

    Privacy: for the changes a and b of a pair, |a - b| + |a + b| is twice the larger of |a| and
    |b|, and (a - b)^2 + (a + b)^2 is 2 (a^2 + b^2). So L1 is twice the sum of the larger
    changes of pairs, which is at most that of the cells, and at most their Linf for each pair; L2
    squared is twice that of the cells; and Linf is at most their L1, and at most twice their Linf.
    """

    numbers_of_cell = 2

    @cached_property
    def pairs(self) -> int:
        """How many pairs there are."""
        return -(-(self.of.cells or 0) // 2)

    @property
    def cells(self) -> int:
        return 2 * self.pairs

    @cached_property
    def row_contribution(self) -> RowContribution:
        """What a row adds to its cell, or its negative, in a difference."""
        largest = self.of.row_contribution.max_abs
        return RowContribution(-largest, largest)

    def combined(self, answer: Array, *following: Array) -> Array:
        """Differences and sums of the cells, pair by pair."""
        cells = self.of.combined(answer, *following)
        # Of the same type: floats would round the integers.
        added = np.zeros(self.cells - len(cells), cells.dtype)
        first, second = np.append(cells, added).reshape(-1, 2).T
        return np.stack([add_exact(first, -second), add_exact(first, second)], axis=1).ravel()

    def cells_from(self, numbers: Array) -> Array:
        """Twice the cells, from their differences and sums."""
        differences, sums = numbers.reshape(-1, 2).T
        both = [add_exact(sums, differences), add_exact(sums, -differences)]
        cells = prod(map(len, self.axes))
        return np.stack(both, axis=1).reshape(-1, cells + cells % 2)[:, :cells].ravel()

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(super().terms(relation), rule="pairs")

    def sensitivity(self, relation: Relation) -> Sensitivity:
        one = self.of.sensitivity(relation)
        return Sensitivity(
            min(2 * one.l0, self.cells),
            2 * min(self.of.changes_of_pairs(relation), self.pairs * one.linf),
            2 * one.l2_squared,
            min(one.l1, 2 * one.linf),
        )


def paired(of: Query) -> PairedQuery:
    """The query of the differences and sums of the cells of another one."""
    return PairedQuery(by=of.by, items=of.items, where=of.where, present=of.present, of=of)
