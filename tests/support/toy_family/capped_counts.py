"""Counts of rows up to a public number."""

from __future__ import annotations

from functools import cached_property

from dpcli.numeric.arrays import Array, clip_exact
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, limits
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Shape


@dataclass(frozen=True, kw_only=True)
class CappedCountQuery(Query):
    """For each cell, its number of rows, or the `cap` if that is less: min(n, cap).

    Privacy: let a unit add at most r rows to one cell, t rows to all, and rows to at most k cells.
    A unit with u rows in a cell with n others changes it by min(n + u, cap) - min(n, cap), which
    lies between 0 and min(u, cap), because min(n, cap) never falls, and rises by at most one for a
    row. So no cell changes by more than m = min(r, cap), at most k cells change, and all together
    by at most s = min(t, k m).

    If a unit is exchanged, one is removed and another added: the change of a cell is the difference
    of two numbers from 0 to m, at most m in size. Changes sum to at most 2 s, in at most 2 k cells
    or all cells. A row that is exchanged for another changes nothing if there is one cell and no
    row is skipped: then n is the number of all rows, which is public.

    Numbers of at most m in size that sum to at most s have squares that sum to most if as many as
    possible are m and one is the rest, because squares are convex.

    Raises ValueError unless the cap is positive.
    """

    cap: int

    def __post_init__(self) -> None:
        if type(self.cap) is not int or self.cap < 1:
            raise ValueError("a cap is a positive number")

    @cached_property
    def row_contribution(self) -> RowContribution:
        """One, or zero in a cell that has reached the cap."""
        return RowContribution(0, 1)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The bounds that are proven above."""
        unit = self.bounded_unit(relation.unit)
        rows, total, touched = limits(unit, self.cells)
        largest = min(rows, self.cap)
        summed = min(total, touched * largest)
        if relation.neighbors is Neighbors.CHANGE_ONE:
            if self.cells == 1 and isinstance(unit, RowUnit) and not self.may_skip:
                return Sensitivity(0, 0, 0, 0)
            touched = 2 * touched if self.cells is None else min(2 * touched, self.cells)
            summed = min(2 * summed, touched * largest)
        full, rest = divmod(summed, largest)
        return Sensitivity(touched, summed, full * largest**2 + rest**2, largest)

    @property
    def shape(self) -> Shape:
        """The number of rows of each cell."""
        rows = LinearQuery(items=self.axes, where=self.where, present=self.present)
        return rows.shape

    def answer(self, sums: Array) -> Array:
        """The counts, none above the cap."""
        return clip_exact(sums.ravel(), None, self.cap)

    def ledger_details(self) -> dict[str, object]:
        """The cap too."""
        return super().ledger_details() | {"cap": self.cap}
