"""The audited table of sensitivities: L0, L1, L2 and Linf of one privacy unit.

It starts from the contribution of one row. Everything is in whole steps of the grid of the
query, so all sensitivities are exact integers (for L2, the square is).

With m = max(|low|, |high|), s = max(high, 0) - min(low, 0), r = rows per unit and
cell, g = cells per unit:

    relation, unit              cells  L1                    L2 squared             Linf
    add-remove                  any    g r m                 g (r m)^2              r m
    change-one, row             one    d = high - low        d^2                    d
                                many   max(2 m, d)           max(2 m^2, d^2)        max(m, d)
    change-one, person          one    d = r s               d^2                    d
                                many   g max(2 r m, d)       g max(2(r m)^2, d^2)   max(r m, d)

A limit of k rows per unit replaces g r by min(g r, k), and the squares by their largest sum
under that limit. Squares are convex, so the worst unit puts r rows into each of as many cells as
possible, and the remaining rows into one more. If a unit is exchanged for another, a full cell of
one may meet the remaining rows of the other.

`readability_sensitivity` is the table for a vector in which every row changes every element, and
`indicator_sensitivity` that for a vector in which every row adds one to a few elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.unit import PersonUnit, Unit


@dataclass(frozen=True, slots=True)
class RowContribution:
    """The least and the most that one row can add to one cell, in steps."""

    low: int
    high: int

    @property
    def max_abs(self) -> int:
        """The greatest absolute value that one row can add."""
        return max(abs(self.low), abs(self.high))

    @property
    def span(self) -> int:
        """The greatest change if one row is replaced by another, or by none."""
        return max(self.high, 0) - min(self.low, 0)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most that one unit can change an answer, in steps of its grid.

    `l0` counts changed cells, `l1` sums changes, `l2_squared` sums their squares,
    `linf` is the greatest change of one cell.
    """

    l0: int
    l1: int
    l2_squared: int
    linf: int

    def to_json(self) -> dict[str, object]:
        """Plain JSON for events; numbers that JSON readers may not hold exactly are texts."""
        return {
            "l0": self.l0,
            "l1": str(self.l1),
            "l2_squared": str(self.l2_squared),
            "linf": str(self.linf),
        }

    def repeated(self, times: int) -> Sensitivity:
        """The sensitivity of `times` such answers together."""
        return Sensitivity(times * self.l0, times * self.l1, times * self.l2_squared, self.linf)


def sensitivity(
    contribution: RowContribution, neighbors: Neighbors, unit: Unit, cells: int | None
) -> Sensitivity:
    """The table of this module, for a query of `cells` cells; None if their number is not known."""
    rows, total, touched = _limits(unit, cells)
    full, remaining = divmod(total, rows)
    largest, span = contribution.max_abs, contribution.span
    if neighbors is Neighbors.ADD_REMOVE:
        return _sensitivity(
            l0=touched,
            l1=total * largest,
            l2_squared=full * (rows * largest) ** 2 + (remaining * largest) ** 2,
            linf=rows * largest,
        )
    one_row = not isinstance(unit, PersonUnit)
    change = contribution.high - contribution.low if one_row else rows * span
    if cells == 1:
        return _sensitivity(l0=1, l1=change, l2_squared=change**2, linf=change)
    if one_row:
        return _sensitivity(
            l0=2,
            l1=max(2 * largest, change),
            l2_squared=max(2 * largest**2, change**2),
            linf=max(largest, change),
        )
    return _sensitivity(
        l0=2 * touched if cells is None else min(cells, 2 * touched),
        l1=total * max(2 * largest, span),
        l2_squared=_exchanged(contribution, rows, full, remaining),
        linf=max(rows * largest, change),
    )


def readability_sensitivity(
    columns: int, neighbors: Neighbors, unit: Unit, *, with_rows: bool
) -> Sensitivity:
    """The sensitivity of the number of rows and of readable less unreadable cells by column.

    Every row adds 1 to the first and 1 or -1 to each of the others. With k columns and r rows
    per unit:

        relation, unit        L1                       L2 squared                  Linf
        add-remove            (k + 1) r                (k + 1) r^2                 r
        change-one, row       2 k                      4 k                         2
        change-one, person    2 k r; r without columns 4 k r^2; r^2                2 r; r

    Under change-one, a row unit does not change the number of rows. A person with a rows may be
    replaced by one with b rows: L1 is |a - b| + k (a + b), which is largest for a = b = r if
    k >= 1. Without `with_rows` the number of rows is not part of the vector.
    """
    person = isinstance(unit, PersonUnit)
    change = unit.max_rows if isinstance(unit, PersonUnit) else 1
    touched = changed = columns + int(with_rows)
    if neighbors is Neighbors.CHANGE_ONE and (columns or not person):
        changed, change = columns, 2 * change
        touched = touched if person else columns
    return _sensitivity(
        l0=touched,
        l1=changed * change,
        l2_squared=changed * change**2,
        linf=change if changed else 0,
    )


def indicator_sensitivity(
    tests: int, most: int, neighbors: Neighbors, unit: Unit, groups: int
) -> Sensitivity:
    """The sensitivity of counts of k tests in each group; a row adds one to at most m of them.

    With t rows per unit, r of them in one group, and q the largest sum of the squares of its
    numbers of rows in the groups (r^2 for each full group, and the rest squared):

        relation    groups  L1                L2 squared            Linf
        add-remove  any     m t               m q                   r
        change-one  many    2 m t             2 m q                 r
                    one     min(2 m, k) t     min(2 m, k) q         r

    In a group where a unit has c rows, its counts are at most c and sum to at most m c, so the sum
    of their squares is at most m c^2. If a unit is exchanged, a count changes by at most the
    greater of the two numbers, so the sums are at most twice as large. With one group they are also
    at most those of k counts that all change by t.
    """
    rows, total, touched = _limits(unit, groups)
    full, remaining = divmod(total, rows)
    squares = full * rows**2 + remaining**2
    factor = most
    if neighbors is Neighbors.CHANGE_ONE:
        factor, touched = 2 * most, min(2 * touched, groups)
        if groups == 1:
            factor, squares = min(factor, tests), total**2
    changed = min(factor * total, touched * tests)
    return _sensitivity(changed, factor * total, factor * squares, rows)


def _limits(unit: Unit, cells: int | None) -> tuple[int, int, int]:
    """The most rows of one unit in one cell, in all cells, and the most cells with them."""
    if not isinstance(unit, PersonUnit):
        return 1, 1, 1
    most = unit.max_groups if cells is None else min(unit.max_groups, cells)
    total = min(unit.max_rows_per_group * most, unit.max_rows)
    return min(unit.max_rows_per_group, total), total, min(most, total)


def _exchanged(contribution: RowContribution, rows: int, full: int, remaining: int) -> int:
    """The largest sum of squares if the rows of one unit are replaced by those of another.

    Each unit has `full` cells with `rows` rows and one with `remaining` rows. The arrangements
    differ in which of these lie in the same cell.
    """
    largest = contribution.max_abs
    up, down = max(contribution.high, 0), max(-contribution.low, 0)

    def squares(one: int, other: int) -> int:
        """The sum for two groups of rows, in one cell or in two, whichever is larger."""
        together = max(up * one + down * other, down * one + up * other) ** 2
        return max(together, (one * largest) ** 2 + (other * largest) ** 2)

    straight = full * squares(rows, rows) + squares(remaining, remaining)
    crossed = (full - 1) * squares(rows, rows) + 2 * squares(rows, remaining) if full else 0
    return max(straight, crossed)


def _sensitivity(l0: int, l1: int, l2_squared: int, linf: int) -> Sensitivity:
    """The sensitivity; its `l0` is zero if no neighbor can change the answer."""
    return Sensitivity(l0 if l1 else 0, l1, l2_squared, linf)
