"""Laws of every statistic about people: what one with up to three rows can change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn
from dpcli.plan import moves
from dpcli.privacy.composition import COMPOSITIONS
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.queries import Key, LinearQuery, Query
from dpcli.spec.model import Privacy
from dpcli.statistics import STATISTICS
from dpcli.statistics.base import Request, Statistic
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

WARD = CategoryColumn("ward", "category", (("a", "a"), ("b", "b"), ("c", "c")))
OTHER = IdColumn("other")
LIMITS = [(1, 1, 1), (1, 3, 3), (2, 2, 3), (3, 1, 3), (3, 3, 3), (2, 3, 2)]
"""Rows per group, groups, and rows in all."""


def number(low: int, high: int) -> NumericColumn:
    """A small integer column."""
    return NumericColumn("x", "integer", Fraction(1), (low, high))


def requests(statistic: Statistic) -> Iterator[Request]:
    """Requests of every form that a statistic takes, grouped by three wards or not."""
    takes = statistic.fields
    for column, by in product((number(0, 2), number(-2, 1)), ((), (Key(WARD),))):
        if takes.bins:
            yield Request("r", column, Key(column, (*range(column.lower, column.upper + 1),)), by)
            continue
        asked: list[Column | None] = [column] if takes.column else []
        asked += [None] if not takes.column_required else []
        asked += [OTHER] if "id" in takes.column else []
        for one in asked:
            yield Request("r", one, None, by)
            if takes.totals:
                yield Request("r", one, None, by, totals=(-1, 3))


def answers(queries: Sequence[Query], rows: Sequence[str], unit: PersonUnit) -> list[list[int]]:
    """The exact answers for one person with these rows, by the oracle."""
    lines = "".join(f"me,{row}\n" for row in rows)
    lots = {0: 2, 1: 0, 2: 1}
    data = f"who,x,ward,other\n{lines}".encode()
    return list(map(cells_of, evaluate(queries, data, unit, lambda _, at: lots[at])))


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_no_person_exceeds_the_sensitivity_and_some_reach_it(
    statistic: Statistic, limits: tuple[int, int, int], neighbors: Neighbors
) -> None:
    """Over all people with up to three rows in three wards, bounds are met and reached.

    When people are exchanged, the bound is reached where both find cells enough.
    """
    unit = PersonUnit("who", *limits)
    privacy = Privacy(unit, neighbors, Loss(Fraction(1)), COMPOSITIONS[0])
    for request in requests(statistic):
        queries = [one.query for one in statistic.questions(request, privacy.relation)]
        column = request.column if isinstance(request.column, NumericColumn) else number(0, 2)
        values = (column.lower, column.upper, "")
        rows = [f"{x},{ward},{x}{ward}" for x, ward in product(values, ("a", "b", "c"))]
        people = [
            answers(queries, chosen, unit)
            for count in range(4)
            for chosen in combinations_with_replacement(rows, count)
        ]
        for place, query in enumerate(queries):
            claim = moves(query, privacy, neighbors)
            vectors = {tuple(person[place]) for person in people}
            others = (
                vectors if neighbors is Neighbors.CHANGE_ONE else {(0,) * len(people[0][place])}
            )
            changes = [
                [abs(a - b) for a, b in zip(one, other, strict=True)]
                for one in vectors
                for other in others
            ]
            l1, linf = max(map(sum, changes)), max(map(max, changes))
            l2 = max(sum(part**2 for part in change) for change in changes)
            l0 = max(sum(map(bool, change)) for change in changes)
            assert l1 <= claim.l1 and l2 <= claim.l2_squared and linf <= claim.linf
            assert l0 <= claim.l0
            roomy = neighbors is Neighbors.ADD_REMOVE or claim.l0 < (query.cells or 0)
            # A row that is skipped cannot be in a total, and an id is one per row here.
            whole = isinstance(query, LinearQuery) and query.totals is None and not request.bins
            if roomy and whole:
                assert (l1, l2, linf) == (claim.l1, claim.l2_squared, claim.linf), (request, query)
