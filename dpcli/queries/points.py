"""Values near points at equal distances: linear binning."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.numeric.arrays import Array, largest_magnitude, np, widened
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, divided_sensitivity, limits
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor, RowSums, Shape
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class PointsQuery(Query):
    """By group, how many values lie near each of several points, `width` steps apart.

    A value between two points counts for both of them, for each by its distance from the other, and
    so for `width` in all (linear binning, Jones and Lotwick 1984). The points begin at the lower
    bound, and the last one is at the upper bound or beyond it. The number of the values, their sum,
    and for each point the sum of max(value - point, 0) follow from the weights exactly.

    Privacy: the parts of a value are never negative, and sum to `width`, whatever it is. So adding
    or removing a row changes all weights together by that; L2 is largest for a value at a point.
    """

    column: NumericColumn
    width: int

    @property
    def operands(self) -> tuple[Column, ...]:
        return (self.column,)

    @cached_property
    def cells_per_group(self) -> int:
        return -((self.column.lower - self.column.upper) // self.width) + 1

    @property
    def inner_axes(self) -> tuple[Axis, ...]:
        points = range(self.column.lower, self.column.upper, self.width)
        return (Axis(self.column, tuple(points)),)

    @property
    def sum_of_row(self) -> int:
        return self.width

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A value at a point adds all its parts there."""
        return RowContribution(0, self.width)

    def terms(self, relation: Relation) -> QueryTerms:
        """With the column, and with the two points among which a row divides its `width`."""
        own, of = super().terms(relation), (Factor(self.column).terms,)
        return replace(own, rule="divided", factors=of, times=(self.width,), counted=2)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """That of sums to which a row adds parts, of which two are not zero."""
        unit, points = self.bounded_unit(relation.unit), self.cells_per_group
        found = divided_sensitivity(points, relation.neighbors, unit, self.groups)
        rows = limits(unit, self.groups)[1] * (1 + (relation.neighbors is Neighbors.CHANGE_ONE))
        return replace(found.scaled(self.width), l0=min(found.l0, 2 * rows))

    @property
    def shape(self) -> Shape:
        rows = LinearQuery(items=self.grouping_axes, where=self.where, present=(self.column,))
        distances = replace(rows, factors=(Factor(self.column, self.column.lower),))
        return RowSums((rows.weighted_sum, distances.weighted_sum))

    def answer(self, sums: Array) -> Array:
        """The weights of all points, from the rows of each bin and their distances."""
        bins = self.cells_per_group - 1
        exact = widened(sums, 2 * largest_magnitude(sums) * bins * self.width)
        rows, distances = np.moveaxis(exact.reshape(-1, bins, 2), 2, 0)
        above = distances - rows * self.width * np.arange(bins)
        weights = np.zeros((len(above), bins + 1), exact.dtype)
        weights[:, 1:] = above
        weights[:, :-1] += rows * self.width - above
        return weights.ravel()
