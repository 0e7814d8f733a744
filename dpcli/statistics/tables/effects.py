"""Effects of the columns of a table of counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod

from dpcli.numeric.arrays import Array, largest_magnitude, widened
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, effect_sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Shape
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class EffectQuery(Query):
    """For each group, the scaled effect of all axes of its table of counts.

    It has the shape of the table, and whole numbers: see `scaled_effect`. A row in the cell (a, b)
    adds to the cell (c, d) the product over the axes of their size minus one where the row has that
    label, and of minus one where it has another. Effects of different axes are orthogonal, and a
    table is the sum of the effects of all its axes (the residuals of Xiao, He, Zhang and Kifer
    2023, in redundant coordinates, which are whole numbers). So effects can have noise of
    different sizes, and tables with the least errors.

    Raises ValueError without an axis, or if an axis has fewer than two labels.
    """

    def __post_init__(self) -> None:
        if not self.items or min(self.sizes) < 2:
            raise ValueError("an effect needs axes with two labels")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of labels of each axis of the table."""
        return tuple(map(len, self.items))

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The least and greatest number that a row adds to a cell: products over axes."""
        low, high = 1, 1
        for size in self.sizes:
            corners = [low * (size - 1), high * (size - 1), -low, -high]
            low, high = min(corners), max(corners)
        return RowContribution(low, high)

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(super().terms(relation), rule="effects", sizes=self.sizes)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity, from the table in `dpcli.privacy.sensitivity`."""
        unit = self.bounded_unit(relation.unit)
        return effect_sensitivity(self.sizes, relation.neighbors, unit, self.groups)

    @property
    def shape(self) -> Shape:
        rows = LinearQuery(items=self.grouping_axes, where=self.where, present=self.present)
        return rows.shape

    def answer(self, sums: Array) -> Array:
        """The scaled effects, group by group, from the counts of the tables."""
        # Along each axis, numbers become at most two times its size as large.
        largest = largest_magnitude(sums) * prod(self.sizes) << len(self.sizes)
        return scaled_effect(widened(sums, largest).reshape(-1, *self.sizes)).ravel()


def scaled_effect(counts: Array) -> Array:
    """The scaled effect of all axes but the first, which is the axis of groups.

    Along each axis, the size of the axis times each number minus the sum of all.
    """
    for axis in range(1, counts.ndim):
        counts = counts.shape[axis] * counts - counts.sum(axis=axis, keepdims=True)
    return counts
