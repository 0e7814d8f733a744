"""The sensitivity of effects, by enumeration of rows and of people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.privacy.sensitivity import MAX_AXES, effect_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit, Unit
from dpcli.statistics.tables.effects import EffectQuery
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

SIZES = [(2,), (3,), (5,), (2, 2), (2, 3), (3, 4), (2, 2, 2), (2, 3, 4)]

LIMITS = [(1, 1, 1), (2, 2, 2), (3, 3, 3), (1, 2, 2), (2, 2, 3), (3, 1, 3), (1, 3, 3)]
"""Rows per cell, cells, and rows in all."""


def effect(sizes: Sequence[int], groups: int) -> EffectQuery:
    """The effect of columns of these sizes, in groups if there are several."""
    axes = [axis_of(f"c{place}", size) for place, size in enumerate(sizes)]
    by = (axis_of("g", groups),) if groups > 1 else ()
    return EffectQuery(by=by, items=tuple(axes))


def axis_of(name: str, size: int) -> Axis:
    """An axis with this number of labels."""
    return Axis(CategoryColumn(name, tuple((str(n), f"v{n}") for n in range(size))))


def vectors(query: EffectQuery, groups: int, rows: int, unit: Unit) -> set[tuple[int, ...]]:
    """The answers about up to `rows` rows of one person, or about one row, by the oracle."""
    labels = product(range(groups), *(range(size) for size in query.sizes))
    every = [",".join(map(str, row)) for row in labels]
    header = ",".join(["who", "g", *(f"c{place}" for place in range(len(query.sizes)))])
    found = set()
    for count in range(rows + 1):
        for chosen in combinations_with_replacement(every, count):
            data = "".join(f"{line}\n" for line in [header, *(f"me,{row}" for row in chosen)])
            (answer,) = evaluate([query], data.encode(), unit)
            found.add(tuple(cells_of(answer)))
    return found


def greatest(vectors: set[tuple[int, ...]], neighbors: Neighbors) -> tuple[int, int, int, int]:
    """The greatest L0, L1, square of L2, and Linf of a change."""
    nothing = (0,) * len(next(iter(vectors)))
    others = vectors if neighbors is Neighbors.CHANGE_ONE else {nothing}
    changes = [
        [abs(a - b) for a, b in zip(one, other, strict=True)] for one in vectors for other in others
    ]
    return (
        max(sum(map(bool, change)) for change in changes),
        max(map(sum, changes)),
        max(sum(part**2 for part in change) for change in changes),
        max(map(max, changes)),
    )


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("sizes", SIZES)
def test_rows_reach_the_sensitivity(
    sizes: tuple[int, ...], groups: int, neighbors: Neighbors
) -> None:
    """Over all pairs of rows, or none, the greatest changes are those of the table."""
    query, unit = effect(sizes, groups), RowUnit()
    claim = query_sensitivity(query, Relation(unit, neighbors))
    l0, *norms = greatest(vectors(query, groups, 1, unit), neighbors)
    assert norms == [claim.l1, claim.l2_squared, claim.linf]
    assert l0 <= claim.l0


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize(("sizes", "groups"), [((2,), 1), ((3,), 1), ((2, 2), 1), ((2,), 2)])
def test_no_person_exceeds_the_sensitivity(
    sizes: tuple[int, ...], groups: int, limits: tuple[int, int, int], neighbors: Neighbors
) -> None:
    """Over all people with up to three rows, no change exceeds the table; some reach it.

    They reach it if all of their rows may lie in one cell.
    """
    query, unit = effect(sizes, groups), PersonUnit("who", *limits)
    claim = query_sensitivity(query, Relation(unit, neighbors))
    l0, *norms = greatest(vectors(query, groups, 3, unit), neighbors)
    claimed = [claim.l1, claim.l2_squared, claim.linf]
    assert all(norm <= most for norm, most in zip(norms, claimed, strict=True))
    assert l0 <= claim.l0
    if limits[0] == limits[2]:
        assert norms == claimed


@pytest.mark.parametrize("neighbors", Neighbors)
def test_private_groups_cost_as_much_as_many_groups(neighbors: Neighbors) -> None:
    """Where the number of groups is not known, it may be large."""
    for unit in (RowUnit(), PersonUnit("who", 3, 3, 3)):
        known = effect_sensitivity((2, 3), neighbors, unit, 100)
        assert effect_sensitivity((2, 3), neighbors, unit, None) == known


def test_what_has_no_bound_is_refused() -> None:
    """An effect has axes, each with two labels or more, and not too many."""
    for sizes in ((), (1,), (2, 1), (2,) * (MAX_AXES + 1)):
        with pytest.raises(ValueError, match="few axes"):
            effect_sensitivity(sizes, Neighbors.ADD_REMOVE, RowUnit(), 1)
    number = IntegerColumn("x", Fraction(1), (0, 5))
    for items in ((), (Axis(number, (0,)),)):
        with pytest.raises(ValueError, match="two labels"):
            EffectQuery(items=items)
