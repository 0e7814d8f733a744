"""Sums of the cells of another query, such as the districts of each region."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from dpcli.numeric.arrays import Array, integer_array, largest_magnitude, np, widened
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, nested_sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.of_numbers import QueryOfNumbers
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class NestedQuery(QueryOfNumbers):
    """In each group, the sums of the cells of another query that belong together.

    `sum_of_cell` has the index of a sum for each cell of a group. Raises ValueError unless each sum
    has a cell.

    Privacy: limits on the rows of a person hold for the cells, once for all sums of them. So what
    a person adds to a sum is bounded by its number of cells (`nested_sensitivity`).
    """

    sum_of_cell: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.sum_of_cell) != self.of.cells_per_group or 0 in self.cells_of_sums:
            raise ValueError("each cell is in a sum, and each sum has a cell")

    @cached_property
    def cells_of_sums(self) -> tuple[int, ...]:
        """The number of cells of each sum of a group."""
        counts = [0] * (max(self.sum_of_cell) + 1)
        for index in self.sum_of_cell:
            counts[index] += 1
        return tuple(counts)

    @property
    def cells_per_group(self) -> int:
        return len(self.cells_of_sums)

    @property
    def row_contribution(self) -> RowContribution:
        return self.of.row_contribution

    @property
    def sum_of_row(self) -> int | None:
        return self.of.sum_of_row

    @property
    def largest_product(self) -> int:
        return self.of.largest_product

    def combined(self, answer: Array, *following: Array) -> Array:
        cells = self.of.combined(answer, *following).reshape(-1, len(self.sum_of_cell))
        order = np.argsort(self.sum_of_cell, kind="stable")
        starts = np.append([0], np.cumsum(self.cells_of_sums)[:-1])
        exact = widened(cells, largest_magnitude(cells) * max(self.cells_of_sums))
        return integer_array(np.add.reduceat(exact[:, order], starts, axis=1).ravel())

    def terms(self, relation: Relation) -> QueryTerms:
        sizes = tuple(sorted(self.cells_of_sums, reverse=True))
        return replace(super().terms(relation), rule="nested", sizes=sizes)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """That of sums over the cells, for rows that are bounded by cell."""
        unit = self.bounded_unit(relation.unit)
        return nested_sensitivity(
            self.row_contribution,
            relation.neighbors,
            unit,
            tuple(sorted(self.cells_of_sums, reverse=True)),
            self.groups or 1,
        )
