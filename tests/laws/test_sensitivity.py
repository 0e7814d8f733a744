"""The audited table of sensitivities, against every small unit and every neighbor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
import pytest

from dpcli.data.filters import InRanges
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.noise.bodies import BODIES
from dpcli.privacy.sensitivity import (
    RowContribution,
    Sensitivity,
    divided_sensitivity,
    indicator_sensitivity,
    sensitivity,
)
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit, Unit
from dpcli.queries.paired import paired
from dpcli.queries.query import LinearQuery
from dpcli.queries.scaled import ScaledSumsQuery
from dpcli.queries.scores import Frequency, ScoreQuery
from dpcli.queries.sums import Factor
from dpcli.queries.vectors import VectorQuery
from dpcli.statistics.counts.multiple_answers import IndicatorQuery
from dpcli.statistics.means.distances import BernsteinQuery
from dpcli.statistics.means.quadratic_pair import QuadraticPairQuery
from tests.support.norms import norm_of
from tests.support.rules import for_each

ANY_SUM = [body for body in BODIES if body != "fixed-sum"]
"""Norms for numbers whose sum may change."""

CONTRIBUTIONS = [(1, 1), (0, 1), (0, 3), (-2, 1), (-1, 1), (2, 3), (-3, -2), (0, 0), (-3, 0)]


def contributions(contribution: RowContribution, unit: Unit, cells: int) -> set[tuple[int, ...]]:
    """Every vector of sums that one unit can add, by enumeration of its rows."""
    values = range(contribution.low, contribution.high + 1)
    if isinstance(unit, RowUnit):
        # A row lies in one cell; a contribution that includes zero covers skipped rows.
        return {
            tuple(value if cell == place else 0 for cell in range(cells))
            for value in values
            for place in range(cells)
        }
    found = set()
    for size in range(min(unit.max_groups, cells) + 1):
        for touched in combinations(range(cells), size):
            for counts in product(range(1, unit.max_rows_per_group + 1), repeat=size):
                if sum(counts) <= unit.max_rows:
                    found |= set(_sums(touched, counts, values, cells))
    return found


def _sums(
    touched: tuple[int, ...], counts: tuple[int, ...], values: range, cells: int
) -> Iterator[tuple[int, ...]]:
    """The sums of the touched cells, for every choice of values of their rows."""
    totals = [
        {sum(rows) for rows in combinations_with_replacement(values, count)} for count in counts
    ]
    for chosen in product(*totals):
        vector = [0] * cells
        for place, total in zip(touched, chosen, strict=True):
            vector[place] = total
        yield tuple(vector)


def greatest_change(vectors: Iterable[tuple[int, ...]], neighbors: Neighbors) -> Sensitivity:
    """The greatest change in each norm, if one unit can add any of these vectors.

    Under add-remove a unit without rows has zeros; under change-one each vector may replace each.
    """
    added = np.array(sorted(vectors), np.int64)
    others = added if neighbors is Neighbors.CHANGE_ONE else np.zeros_like(added[:1])
    norms = []
    for other in others:
        changes = abs(added - other)
        sums = ((changes > 0), changes, changes**2)
        norms.append([*(part.sum(axis=1).max() for part in sums), changes.max(initial=0)])
    return Sensitivity(*(int(norm) for norm in np.max(norms, axis=0)))


def require_within(reached: Sensitivity, claimed: Sensitivity) -> None:
    """No norm of what is reached exceeds what is claimed."""
    assert reached.l0 <= claimed.l0
    assert reached.l1 <= claimed.l1
    assert reached.l2_squared <= claimed.l2_squared
    assert reached.linf <= claimed.linf


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("low_high", CONTRIBUTIONS)
def test_the_table_for_rows_is_reached_and_never_exceeded(
    neighbors: Neighbors, cells: int, low_high: tuple[int, int]
) -> None:
    """No neighbor exceeds the table for rows, and some neighbor reaches it in each norm."""
    contribution = RowContribution(*low_high)
    claimed = sensitivity(contribution, neighbors, RowUnit(), cells)
    reached = greatest_change(contributions(contribution, RowUnit(), cells), neighbors)

    require_within(reached, claimed)
    assert replace(reached, l0=claimed.l0) == claimed


LIMITS = [
    (per_cell, groups, rows)
    for per_cell, groups, rows in product((1, 2, 3), repeat=3)
    if per_cell <= rows
]


PERSONS = [
    (neighbors, low_high, cells, *limits)
    for neighbors, low_high in product(Neighbors, ((1, 1), (0, 2), (-2, 1), (0, 0)))
    for cells, limits in [
        *(
            (cells, limits)
            for cells, limits in product((1, 2, 3, None), LIMITS)
            # Without a known number of cells, as many are enumerated as two people can be in.
            if cells is not None or min(limits[1:]) <= 2
        ),
        # Two rows are left after the full cells, so their square is not their number.
        (2, (3, 2, 5)),
    ]
]


@for_each(PERSONS)
def test_the_table_for_persons_is_reached_and_never_exceeded(
    case: tuple[Neighbors, tuple[int, int], int | None, int, int, int],
) -> None:
    """No person within the limits exceeds the table, and some reach it.

    If values may have either sign and persons with few cells are exchanged, the table may state
    more than a unit can change. An unknown number of cells is tested as what two persons need.
    """
    neighbors, low_high, cells, per_cell, groups, rows = case
    contribution = RowContribution(*low_high)
    unit = PersonUnit("id", per_cell, groups, rows)
    claimed = sensitivity(contribution, neighbors, unit, cells)
    enough = 2 * min(groups, rows)
    vectors = contributions(contribution, unit, enough if cells is None else cells)
    reached = greatest_change(vectors, neighbors)

    require_within(reached, claimed)
    one_sign = low_high[0] * low_high[1] >= 0
    if cells is None or cells >= enough or cells == 1 or one_sign:
        assert reached == claimed
    if neighbors is Neighbors.ADD_REMOVE:
        assert reached == claimed


def test_textbook_salaries() -> None:
    """A total of salaries in [20k, 200k] changes by 200k unbounded and by 180k bounded."""
    salaries = RowContribution(20_000, 200_000)

    assert sensitivity(salaries, Neighbors.ADD_REMOVE, RowUnit(), 1).l1 == 200_000
    assert sensitivity(salaries, Neighbors.CHANGE_ONE, RowUnit(), 1).l1 == 180_000


def test_textbook_histogram() -> None:
    """An age histogram has L1 1 (unbounded) and 2 (bounded), and L2 1 and sqrt(2)."""
    one = RowContribution(0, 1)
    added = sensitivity(one, Neighbors.ADD_REMOVE, RowUnit(), 10)
    changed = sensitivity(one, Neighbors.CHANGE_ONE, RowUnit(), 10)

    assert (added.l1, added.l2_squared) == (1, 1)
    assert (changed.l1, changed.l2_squared) == (2, 2)


def vectors_in_groups(
    parts: Iterable[tuple[int, ...]], groups: int, unit: Unit
) -> set[tuple[int, ...]]:
    """Every vector that one unit can add, if a row adds one of some parts to one group.

    A row that adds nothing may lie in any group, or does not count.
    """
    every = sorted({*parts})
    width = len(every[0])
    nothing = (0,) * (width * groups)
    singles = {
        (0,) * (width * group) + part + (0,) * (width * (groups - group - 1))
        for group in range(groups)
        for part in every
    }
    if isinstance(unit, RowUnit):
        return singles | {nothing}
    vectors = set()
    for count in range(unit.max_rows + 1):
        for rows in combinations_with_replacement(sorted(singles), count):
            inside = [
                sum(any(row[at : at + width]) for row in rows)
                for at in range(0, width * groups, width)
            ]
            if max(inside) <= unit.max_rows_per_group and sum(map(bool, inside)) <= unit.max_groups:
                vectors.add(tuple(map(sum, zip(nothing, *rows, strict=True))))
    return vectors


def unit_of(limits: tuple[int, int, int] | None) -> Unit:
    """A row, or a person with these limits."""
    return RowUnit() if limits is None else PersonUnit("id", *limits)


def require_reached(
    vectors: set[tuple[int, ...]], claimed: Sensitivity, relation: Relation, groups: int
) -> None:
    """No unit exceeds a claim; a row reaches it, and in L1 and L2 a person with enough groups."""
    reached, unit = greatest_change(vectors, relation.neighbors), relation.unit
    require_within(reached, claimed)
    if isinstance(unit, RowUnit):
        assert reached == claimed
    elif relation.neighbors is Neighbors.ADD_REMOVE and groups >= unit.max_groups:
        assert (reached.l1, reached.l2_squared) == (claimed.l1, claimed.l2_squared)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize(("tests", "most"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("limits", [None, (1, 1, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 3)])
def test_the_table_of_tests_is_never_exceeded_and_reached_with_enough_cells(
    neighbors: Neighbors, tests: int, most: int, groups: int, limits: tuple[int, int, int] | None
) -> None:
    """No unit exceeds the table of tests; where units fit side by side, one reaches it."""
    unit = unit_of(limits)
    parts = [flags for flags in product((0, 1), repeat=tests) if sum(flags) <= most]
    claimed = indicator_sensitivity(tests, most, neighbors, unit, groups)
    vectors = vectors_in_groups(parts, groups, unit)
    require_reached(vectors, claimed, Relation(unit, neighbors), groups)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("body", ANY_SUM)
@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize(("tests", "most"), [(1, 1), (2, 1), (2, 2), (3, 3)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("limits", [None, (1, 1, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2)])
def test_norms_of_vectors_of_counts_change_as_stated_and_no_more(
    neighbors: Neighbors,
    body: str,
    by_group: bool,
    tests: int,
    most: int,
    groups: int,
    limits: tuple[int, int, int] | None,
) -> None:
    """No unit exceeds the stated change; a row with all answers reaches it, or half of it."""
    flags = [BooleanColumn(f"c{at}", (("0", "0"), ("1", "1"))) for at in range(tests)]
    passing = tuple(InRanges(column, ((1, 1),)) for column in flags)
    axis = Axis(BooleanColumn("g", (("0", "0"), ("1", "1"))))
    of = IndicatorQuery(by=(axis,) * (groups - 1), tests=passing, max_counted=most)
    query = VectorQuery(by=of.by, of=of, norm=body, by_group=by_group)
    relation = Relation(unit_of(limits), neighbors)
    parts = [flags for flags in product((0, 1), repeat=tests) if sum(flags) <= most]
    vectors = vectors_in_groups(parts, groups, query.bounded_unit(relation.unit))
    size, claimed = query.size, query.sensitivity(relation)
    others = vectors if neighbors is Neighbors.CHANGE_ONE else {(0,) * len(next(iter(vectors)))}
    reached = max(
        sum(norm_of(body, change[at : at + size]) for at in range(0, len(change), size))
        for one, other in product(vectors, others)
        for change in [[a - b for a, b in zip(one, other, strict=True)]]
    )
    assert reached <= claimed.l1
    if limits is None and (body == "cube" or neighbors is Neighbors.ADD_REMOVE):
        assert reached == claimed.l1
    if limits is None:
        assert 2 * reached >= claimed.l1


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("body", ANY_SUM)
@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
@pytest.mark.parametrize("limits", [None, (1, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 2)])
def test_norms_of_vectors_of_sums_change_as_stated_and_no_more(
    neighbors: Neighbors,
    body: str,
    cells: int,
    contribution: tuple[int, int],
    limits: tuple[int, int, int] | None,
) -> None:
    """Whatever the sign of the values, no unit exceeds the stated change."""
    low, high = contribution
    column = IntegerColumn("x", bounds=contribution)
    axis = Axis(IntegerColumn("g", bounds=(0, cells - 1)), range(cells))
    of = LinearQuery(by=(axis,), factors=(Factor(column),))
    claimed = VectorQuery(by=of.by, of=of, norm=body).sensitivity(
        Relation(unit_of(limits), neighbors)
    )
    vectors = contributions(RowContribution(min(low, 0), max(high, 0)), unit_of(limits), cells)
    others = vectors if neighbors is Neighbors.CHANGE_ONE else {(0,) * cells}
    changes = (
        [a - b for a, b in zip(one, other, strict=True)] for one in vectors for other in others
    )
    assert max(norm_of(body, change) for change in changes) <= claimed.l1


@pytest.mark.parametrize("cells", [2, 3, 4])
def test_rows_of_a_public_number_move_one_between_numbers_with_a_fixed_sum(cells: int) -> None:
    """It is the change of each row that moves; no other neighbors, rows and units have a bound."""
    axis = Axis(IntegerColumn("g", bounds=(0, cells - 1), missing=0), range(cells))
    person, row = PersonUnit("id", 1, 1, 1), RowUnit()
    counts = LinearQuery(by=(axis,))
    query = VectorQuery(by=counts.by, of=counts, norm="fixed-sum")
    assert query.sensitivity(Relation(row, Neighbors.CHANGE_ONE)).l1 == 1
    skipping = Axis(IntegerColumn("g", bounds=(0, cells - 1)), range(cells))
    partial = LinearQuery(by=(skipping,))
    sums = LinearQuery(by=(axis,), factors=(Factor(IntegerColumn("x", bounds=(0, 9))),))
    for of, relation in (
        (counts, Relation(row, Neighbors.ADD_REMOVE)),
        (counts, Relation(person, Neighbors.CHANGE_ONE)),
        (partial, Relation(row, Neighbors.CHANGE_ONE)),
        (sums, Relation(row, Neighbors.CHANGE_ONE)),
    ):
        with pytest.raises(ValueError, match="sum of these numbers"):
            VectorQuery(by=of.by, of=of, norm="fixed-sum").sensitivity(relation)


@pytest.mark.parametrize("items", [1, 3])
def test_groups_of_a_public_number_of_rows_have_no_fixed_sums(items: int) -> None:
    """A row may move to another group, so noise without a share in a group's sum hides nothing."""
    group = Axis(IntegerColumn("g", bounds=(0, 1), missing=0), range(2))
    item = Axis(IntegerColumn("h", bounds=(0, items - 1), missing=0), range(items))
    of = LinearQuery(by=(group,), items=(item,))
    query = VectorQuery(by=of.by, items=of.items, of=of, norm="fixed-sum", by_group=True)
    with pytest.raises(ValueError, match="sum of these numbers"):
        query.sensitivity(Relation(RowUnit(), Neighbors.CHANGE_ONE))


def test_no_query_is_made_of_answers_whose_sensitivity_is_not_that_of_the_numbers() -> None:
    """Vectors state a norm of their noise as L1, and choices a change of scores."""
    axis = Axis(IntegerColumn("g", bounds=(0, 3)), range(4))
    counts = LinearQuery(by=(axis,))
    vector = VectorQuery(by=counts.by, of=counts, norm="cube")
    choice = ScoreQuery(classes=(axis,), score_function=Frequency(range(4)))
    for of in (vector, choice):
        with pytest.raises(ValueError, match="become another query"):
            paired(of)
        with pytest.raises(ValueError, match="become another query"):
            VectorQuery(by=of.by, of=of, norm="exchange")
        with pytest.raises(ValueError, match="become another query"):
            ScaledSumsQuery(by=of.by, sums=(of, counts), times=(1, 1))


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("cells", [2, 3, 4])
@pytest.mark.parametrize("limits", [None, (1, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 4), (1, 4, 4)])
def test_differences_and_sums_change_as_stated_and_no_more(
    neighbors: Neighbors, cells: int, limits: tuple[int, int, int] | None
) -> None:
    """No unit exceeds the sensitivity of pairs of counts, and L2 is that of some unit."""
    query = LinearQuery(by=(Axis(IntegerColumn("g", bounds=(0, cells - 1)), range(cells)),))
    unit = unit_of(limits)
    claimed = paired(query).sensitivity(Relation(unit, neighbors))
    # A row may be skipped, because its group may be missing.
    pairs = set()
    for vector in contributions(RowContribution(1, 1), unit, cells) | {(0,) * cells}:
        even = [*vector, *[0] * (cells % 2)]
        both = zip(even[::2], even[1::2], strict=True)
        pairs.add(tuple(number for a, b in both for number in (a - b, a + b)))
    reached = greatest_change(pairs, neighbors)

    require_within(reached, claimed)
    assert reached.l2_squared == claimed.l2_squared
    if limits is None or cells == 2:
        assert (reached.l1, reached.linf) == (claimed.l1, claimed.linf)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("limits", [None, (1, 1, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 3)])
def test_the_table_of_divided_rows_is_never_exceeded_and_reached_with_enough_cells(
    neighbors: Neighbors, degree: int, groups: int, limits: tuple[int, int, int] | None
) -> None:
    """No unit changes such sums by more than the table states, and some unit reaches it."""
    unit, powers = unit_of(limits), range(degree + 1)
    # The sums of polynomials of a value from 0 to 2.
    parts = [
        tuple(comb(degree, j) * value**j * (2 - value) ** (degree - j) for j in powers)
        for value in range(3)
    ]
    claimed = divided_sensitivity(degree + 1, neighbors, unit, groups).scaled(2**degree)
    vectors = vectors_in_groups(parts, groups, unit)
    require_reached(vectors, claimed, Relation(unit, neighbors), groups)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("bounds", [(0, 2), (0, 3), (-1, 0), (5, 9)])
@pytest.mark.parametrize("max_rows", [None, 1, 2, 3])
def test_a_centered_sum_and_a_number_of_rows_change_as_stated_and_no_more(
    neighbors: Neighbors, bounds: tuple[int, int], max_rows: int | None
) -> None:
    """Every row, skipped or not, and every person with up to the most rows."""
    column = NumberColumn("x", Fraction(1), bounds)
    query = paired(BernsteinQuery(numeric_columns=(column,), degree=1))
    low, high = bounds
    rows = [(0, 0), *((low + high - 2 * x, high - low) for x in range(low, high + 1))]
    several = combinations_with_replacement(rows, max_rows or 1)
    vectors = {tuple(map(sum, zip(*chosen, strict=True))) for chosen in several}
    unit: Unit = RowUnit() if max_rows is None else PersonUnit("id", max_rows, 1, max_rows)

    assert query.sensitivity(Relation(unit, neighbors)) == greatest_change(vectors, neighbors)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize(
    ("widths", "max_rows"),
    [((*range(1, 33), 50, 97), None), (range(1, 12), 1), (range(1, 9), 2), (range(1, 5), 3)],
)
def test_quadratic_sums_and_a_number_of_rows_change_as_stated_and_no_more(
    neighbors: Neighbors, widths: Iterable[int], max_rows: int | None
) -> None:
    """Every row, skipped or not, and every person with up to the most rows."""
    unit: Unit = RowUnit() if max_rows is None else PersonUnit("id", max_rows, 1, max_rows)
    for width in widths:
        column = NumberColumn("x", Fraction(1), (-3, width - 3))
        query = QuadraticPairQuery(column=column)
        rows = [
            (y * (4 * y - 3 * width), (width - y) * (width - 4 * y), width**2)
            for y in range(width + 1)
        ]
        assert min(map(min, rows)) == query.row_contribution.low
        several = combinations_with_replacement([(0, 0, 0), *rows], max_rows or 1)
        vectors = {tuple(map(sum, zip(*chosen, strict=True))) for chosen in several}
        reached = greatest_change(vectors, neighbors)
        assert query.sensitivity(Relation(unit, neighbors)) == replace(reached, l0=3)


def test_quadratic_sums_change_as_stated_for_wide_bounds() -> None:
    """Every number of steps that a changed row may go, with the other value at a bound."""
    for width in (1_000, 12_345, 99_991):
        query = QuadraticPairQuery(column=NumberColumn("x", Fraction(1), (0, width)))
        steps = range(width + 1)
        changes = [(abs(k * (5 * width - 4 * k)), abs(k * (4 * k - 3 * width))) for k in steps]
        stated = query.sensitivity(Relation(RowUnit(), Neighbors.CHANGE_ONE))
        assert stated == Sensitivity(
            l0=3,
            l1=max(map(sum, changes)),
            l2_squared=max(a**2 + b**2 for a, b in changes),
            linf=max(map(max, changes)),
        )
