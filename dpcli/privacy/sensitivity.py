"""The audited table of sensitivities: L0, L1, L2 and Linf of one privacy unit.

The table bounds sums of what rows add, from the least (low) to the greatest (high) contribution of
one row. Everything is in whole steps of the grid of the query, so all sensitivities are exact
integers (for L2, the square is).

With m = max(|low|, |high|), s = max(high, 0) - min(low, 0), r = rows per unit and cell, t = rows
per unit in all cells, and q the largest sum over cells of the squared number of rows of a unit:

    relation, unit              cells  L1                     L2 squared             Linf
    add-remove                  any    m t                    m^2 q                  r m
    change-one, row             one    d = high - low         d^2                    d
                                many   max(2 m, d)            max(2 m^2, d^2)        max(m, d)
    change-one, person          any    m e + (s - m)(2 t - e) see below              r s

Squares are convex, so the worst unit puts r rows into each of as many cells as possible, and the
remaining rows into one more: q is r^2 for each full cell, and the square of the rest.

If a person with a rows in a cell is exchanged for one with b rows there, the cell changes by at
most m max(a, b) + (s - m) min(a, b). In some cells a is the greater number, in the others b. So the
sum of max(a, b) over the cells is at most e: the most rows of two persons who share no cell, which
is 2 t if there are cells enough. If values have one sign, s is m, and the sum of squares is also
largest for two persons who share no cell, with half of the cells each. Else a full cell of one
person may be a cell with remaining rows of the other; and the sum of squares is at most the sum of
all changes times the largest change.

Other vectors have functions of their own: every row adds one to a few elements
(`indicator_sensitivity`), or adds one or minus one to every element of its group
(`signed_sensitivity`). `centered_sensitivity` is for counts from which a multiple of the number of
people is subtracted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import ceil, gcd, inf, prod

from dpcli.numeric.arrays import Floats, np
from dpcli.privacy.unit import Neighbors, PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass


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
        """Plain JSON for events; numbers that readers may not hold exactly are texts."""
        return {
            "l0": self.l0,
            "l1": str(self.l1),
            "l2_squared": str(self.l2_squared),
            "linf": str(self.linf),
        }

    def repeated(self, times: int) -> Sensitivity:
        """The sensitivity of `times` answers together that each have this sensitivity."""
        return Sensitivity(times * self.l0, times * self.l1, times * self.l2_squared, self.linf)

    def scaled(self, factor: int) -> Sensitivity:
        """The sensitivity of an answer in which every number is `factor` times as large."""
        return Sensitivity(
            self.l0, factor * self.l1, factor**2 * self.l2_squared, factor * self.linf
        )


def sensitivity(
    contribution: RowContribution, neighbors: Neighbors, unit: Unit, cells: int | None
) -> Sensitivity:
    """The sensitivity of sums of row contributions, from the table of this module.

    `cells` is the number of cells of the query, or None if it is not known.
    """
    rows, total, touched = limits(unit, cells)
    largest = contribution.max_abs
    if neighbors is Neighbors.ADD_REMOVE:
        _, squares = _packed(rows, total, touched)
        return _sensitivity(touched, largest * total, largest**2 * squares, largest * rows)
    if isinstance(unit, PersonUnit):
        return _exchanged_person(contribution, unit, cells)
    change = contribution.high - contribution.low
    if cells == 1:
        return _sensitivity(l0=1, l1=change, l2_squared=change**2, linf=change)
    return _sensitivity(
        l0=2,
        l1=max(2 * largest, change),
        l2_squared=max(2 * largest**2, change**2),
        linf=max(largest, change),
    )


def _exchanged_person(
    contribution: RowContribution, unit: PersonUnit, cells: int | None
) -> Sensitivity:
    """The line `change-one, person` of the table: a person is replaced by another."""
    rows, total, _ = limits(unit, cells)
    largest, span = contribution.max_abs, contribution.span
    side_by_side = _side_by_side(unit, cells)
    greater, squares = map(
        sum, zip(*(_packed(rows, total, part) for part in side_by_side), strict=True)
    )
    l1 = largest * greater + (span - largest) * (2 * total - greater)
    l2_squared = largest**2 * squares
    if span > largest:
        l2_squared = min(_exchanged(contribution, rows, *divmod(total, rows)), l1 * rows * span)
    return _sensitivity(sum(side_by_side), l1, l2_squared, rows * span)


def indicator_sensitivity(
    tests: int, max_counted: int, neighbors: Neighbors, unit: Unit, groups: int | None
) -> Sensitivity:
    """Sensitivity of counts of k tests in each group; a row adds one to at most m.

    With t rows per unit, r of them in one group, and q the largest sum of the squares of its
    numbers of rows in the groups (r^2 for each full group, and the rest squared):

        relation    L1                    L2 squared            Linf
        add-remove  m t                   m q                   r
        change-one  min(2 m t, k e)       min(2 m q, k f)       r

    In a group where a unit has c rows, its counts are at most c and sum to at most m c, so the sum
    of their squares is at most m c^2. If a unit is exchanged, a count changes by at most the
    greater of the two numbers of rows, so the sums are at most twice as large. They are also at
    most those of k counts that all change by the greater number. As in the table of this module,
    the greater numbers sum to at most e, and their squares to at most f.
    """
    rows, total, touched = limits(unit, groups)
    _, squares = _packed(rows, total, touched)
    l1, l2_squared = max_counted * total, max_counted * squares
    if neighbors is Neighbors.CHANGE_ONE:
        side_by_side = _side_by_side(unit, groups)
        greater, of_greater = map(
            sum, zip(*(_packed(rows, total, part) for part in side_by_side), strict=True)
        )
        touched = sum(side_by_side)
        l1, l2_squared = min(2 * l1, tests * greater), min(2 * l2_squared, tests * of_greater)
    return _sensitivity(min(l1, touched * tests), l1, l2_squared, rows)


def signed_sensitivity(
    tests: int, neighbors: Neighbors, unit: Unit, groups: int | None
) -> Sensitivity:
    """The sensitivity of k numbers per group; a row adds one or minus one to each.

    With t rows per unit, r of them in one group, and q the largest sum of the squares of its
    numbers of rows in the groups:

        relation    L1       L2 squared    Linf
        add-remove  k t      k q           r
        change-one  2 k t    4 k q         2 r

    A number of a group changes by at most the rows that a unit has there; if it is exchanged, by
    at most the rows of both units. The sum of squares is largest if both units have their rows in
    the same groups.
    """
    rows, total, touched = limits(unit, groups)
    _, squares = _packed(rows, total, touched)
    if neighbors is Neighbors.ADD_REMOVE:
        return _sensitivity(touched * tests, tests * total, tests * squares, rows)
    touched = sum(_side_by_side(unit, groups))
    return _sensitivity(touched * tests, 2 * tests * total, 4 * tests * squares, 2 * rows)


def centered_sensitivity(times: int, less: int, unit: PersonUnit, cells: int) -> Sensitivity:
    """Sensitivity of b counts minus c people in each of k cells, under add-remove.

    A person with m rows in a cell changes it by b m - c, also for m = 0. With at most r rows in a
    cell, in at most l cells, and t in all, L1 and L2 squared are the largest sums of |b m - c| and
    of its square. Both are convex in the numbers of rows, so they are largest at a corner of what
    the limits allow: r rows in some of the cells, and perhaps the rest of t in one more. The sums
    are linear in the number of cells with r rows, so they are largest for none or for the most.
    """
    rows, total, touched = limits(unit, cells)
    max_rows, _ = _packed(rows, total, touched)
    full, rest = divmod(max_rows, rows)
    l1 = l2_squared = 0
    for filled in ([], [rows] * full, [rows] * full + [rest]):
        changes = [abs(times * count - less) for count in filled[:cells]]
        changes += [less] * (cells - len(changes))
        l1, l2_squared = (
            max(l1, sum(changes)),
            max(l2_squared, sum(change**2 for change in changes)),
        )
    return _sensitivity(cells, l1, l2_squared, max(less, abs(times * rows - less)))


MAX_EXCHANGED = 24
"""Up to this number of cells, all ways to share sums are compared."""

EXACT = 2.0**53
"""Floats below are exact sums of whole numbers."""


def nested_sensitivity(
    contribution: RowContribution,
    neighbors: Neighbors,
    unit: Unit,
    sizes: tuple[int, ...],
    groups: int,
) -> Sensitivity:
    """The sensitivity of sums of cells in each group.

    The limits of the unit are on cells. `sizes` are the numbers of cells of the sums of a group,
    decreasing. With at most r rows per cell, l cells and t rows in all, a unit has at most min(t, r
    min(l, n)) rows in a sum of n cells. So the table of this module holds with the greatest of
    these limits.

    If sums have different sizes and values have one sign, L1 and L2 squared are those of the worst
    units: each fills the largest sums that are its own, because the sum of squares is convex. A
    sum of two exchanged units is one of them alone, because the rows of the other would lessen the
    change. Which sums are whose is found by trying all. If values have both signs, a sum of two
    units changes by m max(a, b) + (s - m) min(a, b), as a cell does in the table of this module.
    """
    rows, total, touched = limits(unit, groups * sum(sizes))
    if not isinstance(unit, PersonUnit):
        return sensitivity(contribution, neighbors, unit, groups * len(sizes))
    most = min(total, rows * min(touched, sizes[0]))
    wide = replace(unit, max_rows=total, max_rows_per_group=most, max_groups=touched)
    bound = sensitivity(contribution, neighbors, wide, groups * len(sizes))
    filled, largest = -(-total // rows), contribution.max_abs
    exchanged = neighbors is Neighbors.CHANGE_ONE
    if sizes[0] == sizes[-1] or rows == total or (exchanged and filled > MAX_EXCHANGED):
        return bound
    # No unit has rows in more sums than cells.
    every = tuple(size for size in sizes[: 2 * filled] for _ in range(min(groups, 2 * filled)))
    if not exchanged:
        squares, left = 0, total
        for size in every[:filled]:
            squares, left = squares + min(left, rows * size) ** 2, max(left - rows * size, 0)
        return replace(bound, l2_squared=largest**2 * squares)
    lesser = contribution.span - largest
    common = gcd(largest, lesser)
    pair = largest // common, lesser // common
    l1, l2_squared = (
        common**power * _exchanged_sums(rows, total, every[: 2 * filled], *pair, power)
        for power in (1, 2)
    )
    return replace(bound, l1=l1, l2_squared=l2_squared)


@lru_cache(maxsize=1024)
def _exchanged_sums(
    rows: int, total: int, sizes: tuple[int, ...], largest: int, lesser: int, power: int
) -> int:
    """The largest sum of powers of changes of sums, if a unit is exchanged.

    If two units have a and b rows in a sum, it changes by `largest` times the greater number and
    `lesser` times the smaller. Powers of that are convex, so each unit fills all cells of some
    sums, and perhaps one more sum in part. In `best`, both units have some full cells and, or not,
    their last cell, which has what is left. Floats that are not exact are rounded up.
    """
    cells = -(-total // rows)
    rest = total - rows * (cells - 1)
    best: Floats = np.full((cells, 2, cells, 2), -inf)
    best[0, 0, 0, 0] = 0.0
    for size in sizes:
        taken = [
            (0, 0),
            *[(size, 0)] * (size < cells),
            *((at, 1) for at in range(min(size, cells))),
        ]
        before, best = best, best.copy()
        for (one, last), (other, other_last) in product(taken, repeat=2):
            both = rows * one + rest * last, rows * other + rest * other_last
            change = (largest * max(both) + lesser * min(both)) ** power
            after = best[one:, last:, other:, other_last:]
            left = before[: cells - one, : 2 - last, : cells - other, : 2 - other_last]
            np.maximum(after, left + float(change), out=after)
    most = float(best.max())
    return int(most) if most < EXACT else ceil(most * (1 + 1 / EXACT**0.75))


def divided_sensitivity(
    numbers: int, neighbors: Neighbors, unit: Unit, groups: int | None
) -> Sensitivity:
    """The sensitivity of sums to which a row adds parts of one: k sums in each group.

    The parts are from zero to one and sum to at most one. So in a group where a unit has c rows,
    it adds at most c to all sums together, and at most c^2 in squares, as for `k` tests of which
    one is counted: the table of `indicator_sensitivity` holds with m = 1. But a row may change
    all sums of its group. `groups` is None if the number of groups is not known.
    """
    counted = indicator_sensitivity(numbers, 1, neighbors, unit, groups)
    _, _, touched = limits(unit, groups)
    if neighbors is Neighbors.CHANGE_ONE:
        touched = sum(_side_by_side(unit, groups))
    return replace(counted, l0=touched * numbers)


def limits(unit: Unit, cells: int | None) -> tuple[int, int, int]:
    """The most rows of a unit per cell and in all cells, and the most of its cells."""
    if not isinstance(unit, PersonUnit):
        return 1, 1, 1
    max_groups = unit.max_groups if cells is None else min(unit.max_groups, cells)
    total = min(unit.max_rows_per_group * max_groups, unit.max_rows)
    return min(unit.max_rows_per_group, total), total, min(max_groups, total)


def _side_by_side(unit: Unit, cells: int | None) -> tuple[int, int]:
    """How many cells each of two units can have rows in, if no cell has rows of both."""
    _, _, touched = limits(unit, cells)
    if cells is None:
        return touched, touched
    return min(touched, cells - cells // 2), min(touched, cells // 2)


def _packed(rows: int, total: int, cells: int) -> tuple[int, int]:
    """The most rows of a unit in some cells, and the largest sum of their squares.

    The unit has at most `rows` rows in each of the cells, and at most `total` in all.
    """
    packed = min(total, rows * cells)
    full, rest = divmod(packed, rows)
    return packed, full * rows**2 + rest**2


def _exchanged(contribution: RowContribution, rows: int, full: int, remaining: int) -> int:
    """The largest sum of squares if one unit's rows are replaced by another's.

    Each unit has `full` cells with `rows` rows and one with `remaining` rows. A cell of one unit
    may also be a cell of the other, full or not: the result is the worst arrangement.
    """
    largest = contribution.max_abs
    up, down = max(contribution.high, 0), max(-contribution.low, 0)

    def squares(first: int, second: int) -> int:
        """The larger sum of squares, if both units have rows in one cell or in two."""
        together = max(up * first + down * second, down * first + up * second) ** 2
        return max(together, (first * largest) ** 2 + (second * largest) ** 2)

    straight = full * squares(rows, rows) + squares(remaining, remaining)
    crossed = (full - 1) * squares(rows, rows) + 2 * squares(rows, remaining) if full else 0
    return max(straight, crossed)


def _sensitivity(l0: int, l1: int, l2_squared: int, linf: int) -> Sensitivity:
    """The sensitivity; its `l0` is zero if no neighbor can change the answer."""
    return Sensitivity(l0 if l1 else 0, l1, l2_squared, linf)


MAX_AXES = 5
"""The most axes of an effect: n axes take 5^n steps of enumeration."""


def effect_sensitivity(
    sizes: tuple[int, ...], neighbors: Neighbors, unit: Unit, groups: int | None
) -> Sensitivity:
    """The sensitivity of an effect in each group, for axes with `sizes` labels.

    A row adds to each cell of its group the product over the axes of size - 1 where the row has the
    label of the cell, and of -1 where it has another. `groups` is None if the number of groups is
    not known. Raises ValueError if a size is below two, or if there are too many axes or none.
    """
    if not sizes or min(sizes) < 2 or len(sizes) > MAX_AXES:
        raise ValueError("an effect has a few axes with two labels or more")
    cells = prod(sizes)
    _, rows, _ = limits(unit, None if groups is None else groups * cells)
    touched = rows if groups is None else min(rows, groups)
    single = _single(sizes)
    changes = [single]
    if neighbors is Neighbors.CHANGE_ONE:
        changes.append(_exchanged_effects(sizes))
        if groups != 1:
            changes.append((2 * single[0], 2 * single[1], single[2]))
            touched = 2 * touched if groups is None else min(2 * touched, groups)
    l1, l2_squared, linf = map(max, zip(*changes, strict=True))
    return Sensitivity(touched * cells, rows * l1, rows**2 * l2_squared, rows * linf)


def _single(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """L1, the square of L2, and Linf of the vector that one row adds to an effect."""
    return (
        prod(2 * (size - 1) for size in sizes),
        prod(size * (size - 1) for size in sizes),
        prod(size - 1 for size in sizes),
    )


@lru_cache(maxsize=4096)
def _exchanged_effects(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """The largest L1, L2 squared and Linf of the difference of two rows' vectors.

    The rows are in one group. Along each axis they have the same label or different labels. Each
    kind of cells is listed as the factor of the first row, that of the second, and a count.
    """
    axes = [
        ([(size - 1, size - 1, 1), (-1, -1, size - 1)],
         [(size - 1, -1, 1), (-1, size - 1, 1), (-1, -1, size - 2)])
        for size in sizes
    ]  # fmt: skip
    largest = [0, 0, 0]
    for chosen in product(*axes):
        total = squares = largest_change = 0
        for cell in product(*chosen):
            count = prod(kind[2] for kind in cell)
            change = abs(prod(kind[0] for kind in cell) - prod(kind[1] for kind in cell))
            total += count * change
            squares += count * change**2
            largest_change = max(largest_change, change if count else 0)
        largest = [
            max(pair) for pair in zip(largest, (total, squares, largest_change), strict=True)
        ]
    return largest[0], largest[1], largest[2]
