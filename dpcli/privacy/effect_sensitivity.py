"""The sensitivity of the scaled effect of a table, for rows and for people.

A row in a cell of a table with axes of sizes n adds a vector to the cells of its group: the product
over the axes of n - 1 where a cell has the label of the row, and of -1 where it has another. Its
sum of absolute values is prod 2(n - 1), its sum of squares N = prod n(n - 1), and its largest
number prod (n - 1). The vector of a row does not depend on other rows, so the answer is a sum.

    relation, unit       changes by
    add-remove, row      one such vector
    change-one, row      the difference of two, in one group or in two
    any, person          t times as much: t rows change at most t times what one changes

For the last line, pair the rows of one person with those of the other: each pair changes at most
what a row does that is exchanged, and each row without a partner what a row does that is added.
The L1, L2 and Linf norms of a sum are at most the sums of the norms. If all rows of a person may
lie in one cell, that is reached.

The difference of two vectors depends on the axes on which the two rows differ. Its norms are found
by enumeration of these axes, and of the kinds of cells: along each axis, a cell has the label of
one row, of the other, or of neither.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod

from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.sensitivity import Sensitivity, limits
from dpcli.privacy.unit import Unit

MOST_AXES = 5
"""Enumeration takes five to the power of the number of axes steps."""


def effect_sensitivity(
    sizes: tuple[int, ...], neighbors: Neighbors, unit: Unit, groups: int | None
) -> Sensitivity:
    """The table of this module; with `groups` None their number is not known.

    Raises ValueError if a size is below two, or if there are too many axes.
    """
    if not sizes or min(sizes) < 2 or len(sizes) > MOST_AXES:
        raise ValueError("an effect has a few axes with two labels or more")
    cells = prod(sizes)
    _, rows, _ = limits(unit, None if groups is None else groups * cells)
    touched = rows if groups is None else min(rows, groups)
    single = _single(sizes)
    changes = [single]
    if neighbors is Neighbors.CHANGE_ONE:
        changes.append(_exchanged(sizes))
        if groups != 1:
            changes.append((2 * single[0], 2 * single[1], single[2]))
            touched = 2 * touched if groups is None else min(2 * touched, groups)
    l1, l2_squared, linf = map(max, zip(*changes, strict=True))
    return Sensitivity(touched * cells, rows * l1, rows**2 * l2_squared, rows * linf)


def _single(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """L1, the square of L2, and Linf of the vector of a row."""
    return (
        prod(2 * (size - 1) for size in sizes),
        prod(size * (size - 1) for size in sizes),
        prod(size - 1 for size in sizes),
    )


@lru_cache(maxsize=4096)
def _exchanged(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """The largest L1, square of L2, and Linf of the difference of two vectors in one group.

    Along an axis, the two rows have one label or two. Each kind of cells has the factors of both
    rows, and a number of cells.
    """
    axes = [
        ([(size - 1, size - 1, 1), (-1, -1, size - 1)],
         [(size - 1, -1, 1), (-1, size - 1, 1), (-1, -1, size - 2)])
        for size in sizes
    ]  # fmt: skip
    largest = [0, 0, 0]
    for chosen in product(*axes):
        total = squares = most = 0
        for cell in product(*chosen):
            count = prod(kind[2] for kind in cell)
            change = abs(prod(kind[0] for kind in cell) - prod(kind[1] for kind in cell))
            total += count * change
            squares += count * change**2
            most = max(most, change if count else 0)
        largest = [max(pair) for pair in zip(largest, (total, squares, most), strict=True)]
    return largest[0], largest[1], largest[2]
