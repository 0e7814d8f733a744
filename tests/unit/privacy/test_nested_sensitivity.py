"""The sensitivity of sums of cells, by enumeration of rows and of people."""

from __future__ import annotations

from itertools import product

import pytest

from dpcli.privacy.sensitivity import RowContribution, Sensitivity, nested_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, RowUnit, Unit

SIZES = [(1,), (3,), (1, 1), (2, 2), (3, 1), (2, 1, 1), (3, 2, 1), (4, 1, 1)]
"""How many cells each sum has."""

LIMITS = [(1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 2, 2), (2, 2, 3), (2, 2, 4), (3, 1, 3), (1, 4, 3)]
"""Rows per cell, cells, and rows in all."""


def sums(sizes: tuple[int, ...], unit: Unit, values: RowContribution) -> set[tuple[int, ...]]:
    """What a unit can add to all sums."""
    rows, cells, total = 1, 1, 1
    if isinstance(unit, PersonUnit):
        rows, cells, total = unit.max_rows_per_group, unit.max_groups, unit.max_rows
    found = set()
    for counts in product(range(rows + 1), repeat=sum(sizes)):
        if sum(counts) > total or sum(map(bool, counts)) > cells:
            continue
        ends = [{count * values.low, count * values.high} for count in counts]
        for cell in product(*ends):
            parts = iter(cell)
            found.add(tuple(sum(next(parts) for _ in range(size)) for size in sizes))
    return found


def largest(sizes: tuple[int, ...], unit: Unit, neighbors: Neighbors, values: RowContribution) -> \
        Sensitivity:  # fmt: skip
    """The greatest changes over all pairs of neighbors."""
    own = sums(sizes, unit, values)
    others = own if neighbors is Neighbors.CHANGE_ONE else {(0,) * len(sizes)}
    changes = [[abs(a - b) for a, b in zip(*pair, strict=True)] for pair in product(own, others)]
    return Sensitivity(
        max(sum(map(bool, change)) for change in changes),
        max(map(sum, changes)),
        max(sum(number**2 for number in change) for change in changes),
        max(map(max, changes)),
    )


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("limits", [None, *LIMITS])
def test_sums_of_counts_change_as_stated_and_no_more(
    neighbors: Neighbors, sizes: tuple[int, ...], limits: tuple[int, int, int] | None
) -> None:
    """The limits of a person are on cells, so the worst one fills the largest sums."""
    unit = RowUnit() if limits is None else PersonUnit("id", *limits)
    counts = RowContribution(0, 1)
    stated = nested_sensitivity(counts, neighbors, unit, sizes, 1)
    found = largest(sizes, unit, neighbors, counts)

    assert (stated.l1, stated.l2_squared, stated.linf) == (found.l1, found.l2_squared, found.linf)
    assert stated.l0 >= found.l0


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("sizes", SIZES[:6])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("values", [(-1, 1), (-1, 2), (-3, 1)])
def test_sums_of_signed_values_change_as_stated_and_no_more(
    neighbors: Neighbors,
    sizes: tuple[int, ...],
    limits: tuple[int, int, int],
    values: tuple[int, int],
) -> None:
    """Also where one person leaves a sum and another one enters it."""
    unit, range_of_row = PersonUnit("id", *limits), RowContribution(*values)
    stated = nested_sensitivity(range_of_row, neighbors, unit, sizes, 1)
    found = largest(sizes, unit, neighbors, range_of_row)

    assert (stated.l1, stated.l2_squared, stated.linf) == (found.l1, found.l2_squared, found.linf)
    assert stated.l0 >= found.l0
