"""Two sums of the same rows, in units in which a row changes both equally."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import gcd

from dpcli.data.column import Column
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import MAX_PRODUCT, Query, require_numbers
from dpcli.queries.sums import RowSums, Shape
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class ScaledSumsQuery(Query):
    """For each group, two sums, each times a whole number.

    Raises ValueError for private groups, for clamped totals, for choices and vectors, and if the
    sums are not of the same rows and groups.

    Privacy: the changes of a sum are multiplied by its whole number. So L1, L2 squared and the
    changed cells add up, and the largest change of a cell is that of the larger number. What a row
    adds to either number of a group lies within `row_contribution`, and the table of sensitivities
    bounds each cell by how many rows enter and leave it. So the larger of both changes, summed over
    all groups, is at most that of one sum with these contributions.
    """

    cells_per_group = 2

    sums: tuple[Query, Query]
    times: tuple[int, int]

    @classmethod
    def of(cls, first: Query, second: Query, relation: Relation) -> ScaledSumsQuery | None:
        """The sums in units in which both change equally in L1.

        None for private groups and clamped totals, if a sum cannot change, and if the numbers of a
        row are too large.
        """
        if first.cells is None or not all(
            isinstance(one.shape, RowSums) for one in (first, second)
        ):
            return None
        changes = [one.sensitivity(relation).l1 for one in (first, second)]
        if not all(changes):
            return None
        common = gcd(*changes)
        times = changes[1] // common, changes[0] // common
        query = cls(
            by=first.by, where=first.where, present=first.present, sums=(first, second), times=times
        )
        return query if query.row_contribution.max_abs < MAX_PRODUCT else None

    def __post_init__(self) -> None:
        require_numbers(*self.sums)
        for one in self.sums:
            if one.cells is None or one.items or not isinstance(one.shape, RowSums):
                raise ValueError("sums are of public groups, without clamped totals")
            if (one.by, one.where, one.present) != (self.by, self.where, self.present):
                raise ValueError("both sums are of the same rows")
        if min(self.times) < 1:
            raise ValueError("sums are multiplied by positive whole numbers")

    @property
    def operands(self) -> tuple[Column, ...]:
        return tuple(column for one in self.sums for column in one.operands)

    @cached_property
    def row_contribution(self) -> RowContribution:
        parts = [
            (times * one.row_contribution.low, times * one.row_contribution.high)
            for times, one in zip(self.times, self.sums, strict=True)
        ]
        return RowContribution(min(low for low, _ in parts), max(high for _, high in parts))

    @property
    def shape(self) -> Shape:
        scaled = []
        for times, one in zip(self.times, self.sums, strict=True):
            shape = one.shape
            assert isinstance(shape, RowSums)
            (own,) = shape.sums
            scaled.append(tuple((times * weight, plain) for weight, plain in own))
        return RowSums(tuple(scaled))

    def changes_of_pairs(self, relation: Relation) -> int:
        """That of a sum to which a row adds from the least to the most of both numbers."""
        unit = self.bounded_unit(relation.unit)
        return sensitivity(self.row_contribution, relation.neighbors, unit, self.groups).l1

    def terms(self, relation: Relation) -> QueryTerms:
        of = tuple(one.terms(relation) for one in self.sums)
        return replace(super().terms(relation), rule="scaled", times=self.times, of=of)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        first, second = (
            one.sensitivity(relation).scaled(times)
            for times, one in zip(self.times, self.sums, strict=True)
        )
        return Sensitivity(
            2 * max(first.l0, second.l0),
            first.l1 + second.l1,
            first.l2_squared + second.l2_squared,
            max(first.linf, second.linf),
        )
