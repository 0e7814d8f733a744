"""Laws of every statistic about people: the changes by one person with up to three rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, IdColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scores import SelectionQuery
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import Inputs
from dpcli.statistics.regression.queries import ObjectiveQuery
from dpcli.statistics.statistic import Statistic
from tests.laws.test_statistics import different, greatest_changes, number_of
from tests.oracles.opened import cells_of
from tests.oracles.plain import OWN_FORMULAS, answers_about, read_people
from tests.oracles.shapes import Row
from tests.support.statistics import Columns, forms

WARD = CategoryColumn("ward", (("a", "a"), ("b", "b"), ("c", "c")))
OTHER = IdColumn("other")
LIMITS = [(1, 1, 1), (1, 3, 3), (2, 2, 3), (3, 1, 3), (3, 3, 3), (2, 3, 2)]
"""Rows per group, groups, and rows in all."""

MARKS = {
    (1, 1, 1): pytest.mark.extended,
    (1, 3, 3): pytest.mark.slow,
    (2, 3, 2): pytest.mark.extended,
    (3, 1, 3): pytest.mark.slow,
    (3, 3, 3): pytest.mark.slow,
}
"""Limits of extended and slow tests; others test the same kind of limit by default."""


FLAG = BooleanColumn("flag", (("0", "false"), ("1", "true")))
SECOND = IntegerColumn("y", Fraction(1), (0, 1), 0)


def number(low: int, high: int) -> NumericColumn:
    """A small integer column."""
    return IntegerColumn("x", Fraction(1), (low, high))


def requests(statistic: Statistic, *, every: bool = False) -> Iterator[Inputs]:
    """Requests of every form of a statistic, with three groups or without.

    Unless `every`, one column is with groups, and the other one without.
    """
    wards = ((), (Axis(WARD),))
    numbers = number(0, 2), number(-2, 1)
    for column, by in product(numbers, wards) if every else zip(numbers, wards, strict=True):
        columns = Columns(column, SECOND, WARD, FLAG, OTHER)
        for inputs in forms(statistic, columns, by):
            if by and inputs.column is WARD:
                continue
            yield inputs
            if "bound" in statistic.fields.model_fields:
                yield replace(inputs, user_clamp=(-1, 3))


PRIORITIES = (2, 0, 1)
"""The priorities of the rows of a person."""


def answers(queries: Sequence[Query], unit: PersonUnit, *people: Sequence[Row]) -> list[list[int]]:
    """The exact answers about people with these rows, by the oracle."""
    ordered = [list(zip(PRIORITIES, rows, strict=False)) for rows in people if rows]
    return list(map(cells_of, answers_about(queries, ordered, unit)))


def other_people(queries: Sequence[Query], rows: list[Row]) -> list[list[Row]]:
    """Rows of another person in the same file; none for kinds that the oracle has formulas for.

    What a person changes in sums does not depend on others; answers of new kinds may be no sums.
    """
    if all(isinstance(query, OWN_FORMULAS) for query in queries):
        return [[]]
    return [[], rows[-1:], rows[-1:] * 2, rows[-1:] * 3]


@pytest.mark.parametrize(
    "limits", [pytest.param(limits, marks=MARKS.get(limits, ())) for limits in LIMITS]
)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_no_person_exceeds_the_sensitivity_and_some_reach_it(
    statistic: Statistic, limits: tuple[int, int, int]
) -> None:
    """No person with up to three rows in three wards exceeds a bound, and sums reach theirs.

    When people are exchanged, sums reach the bound where both people find enough cells. Scores,
    distinct values and clamped totals are only bounded here.
    """
    unit = PersonUnit("who", *limits)
    for inputs in requests(statistic, every=limits in MARKS):
        known: dict[tuple[Query, ...], list[list[NDArray[np.int64]]]] = {}
        for neighbors in Neighbors:
            relation = Relation(unit, neighbors)
            for design in statistic.designs(inputs, relation):
                queries = tuple(
                    weighted.query
                    for weighted in design.queries
                    if not isinstance(weighted.query, ObjectiveQuery)
                )
                if queries not in known:
                    known[queries] = answers_about_a_person(inputs, queries, unit)
                for index, query in enumerate(queries):
                    files = [answered[index] for answered in known[queries]]
                    check_sensitivity(query, relation, files)


def rows_of_a_person(inputs: Inputs, queries: Sequence[Query]) -> list[str]:
    """The rows that a person may have: values at the bounds in each ward, and missing ones."""
    column = number_of(inputs) or number(0, 2)
    # Squares are measured from their middle, so a value at the center decreases them.
    squares = any(isinstance(query, LinearQuery) and query.offset for query in queries)
    values = {column.lower, column.upper, *([(column.lower + column.upper) // 2] * squares)}
    several = inputs.columns or inputs.options
    flags = ("0", "1") if inputs.label or inputs.margins or several else ("0",)
    marks = tuple(zip(flags, flags, strict=True))
    if inputs.weight:
        # The greatest weight is one; with sizes, a person without the label changes a sum, too.
        marks = (("1", "1"), ("0", "1")) if inputs.sizes else (("1", "1"),)
    return [
        *(f",{ward},{ward},0,0" for ward in ("a", "b", "c")),
        *(
            f"{x},{ward},{x}{ward},{flag},{weight}"
            for x, ward, (flag, weight) in product(sorted(values), ("a", "b", "c"), marks)
        ),
    ]


def answers_about_a_person(
    inputs: Inputs, queries: Sequence[Query], unit: PersonUnit
) -> list[list[NDArray[np.int64]]]:
    """For each choice of other rows, and each query, the answers about up to three rows.

    The first answer is that without the person.
    """
    lines = "".join(f"{row}\n" for row in rows_of_a_person(inputs, queries))
    people = different(read_people(queries, f"x,ward,other,flag,y\n{lines}".encode()))
    rows = [row for ((_, row),) in people]
    persons = [
        chosen for count in range(4) for chosen in combinations_with_replacement(rows, count)
    ]
    return [
        [
            np.array(answered, np.int64)
            for answered in zip(
                *(answers(queries, unit, chosen, other) for chosen in persons), strict=True
            )
        ]
        for other in other_people(queries, rows)
    ]


def check_sensitivity(query: Query, relation: Relation, files: Sequence[NDArray[np.int64]]) -> None:
    """Compare the stated sensitivity of a query with the changes by one person."""
    claim = query_sensitivity(query, relation)
    k = query.rounds if isinstance(query, SelectionQuery) else 1
    is_added = relation.neighbors is Neighbors.ADD_REMOVE
    found = []
    for answered in files:
        before = np.unique(answered, axis=0)
        found.append(greatest_changes(query, before, answered[:1] if is_added else before))
    l0, l1, l2, linf = map(max, zip(*found, strict=True))
    assert l1 * k <= claim.l1 and l2 <= claim.l2_squared and linf <= claim.linf
    assert l0 <= claim.l0
    roomy = is_added or claim.l0 < (query.cells or 0)
    # A skipped row is in no clamped sum, and each row has one id here.
    whole = isinstance(query, LinearQuery) and query.user_clamp is None and not query.items
    if roomy and whole:
        assert (l1, l2, linf) == (claim.l1, claim.l2_squared, claim.linf), query
