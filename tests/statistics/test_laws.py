"""Laws that every registered statistic obeys, by enumeration of small datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.privacy.noise import Noise
from dpcli.privacy.relation import Neighbors, Relation, RowUnit
from dpcli.privacy.sensitivity import sensitivity
from dpcli.queries import Condition, Key, LinearQuery, Query
from dpcli.statistics import STATISTICS
from dpcli.statistics.base import Answer, Request, Statistic
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

ADDED = Relation(RowUnit(), Neighbors.ADD_REMOVE)
SEX = CategoryColumn("sex", "category", (("f", "f"), ("m", "m")))
SEX_FILLED = CategoryColumn("sex", "category", (("f", "f"), ("m", "m")), missing=1)
OPEN = CategoryColumn("open", "boolean", (("0", "false"), ("1", "true")))


def relation(neighbors: Neighbors) -> Relation:
    """Every row protected by itself."""
    return Relation(RowUnit(), neighbors)


def numbers(bounds: tuple[int, int], missing: int | None = None) -> NumericColumn:
    """A small integer column."""
    return NumericColumn("x", "integer", Fraction(1), bounds, missing)


COLUMNS = [
    *(numbers(bounds) for bounds in ((0, 2), (-2, 1), (2, 3), (-3, -2))),
    *(numbers(bounds, bounds[0]) for bounds in ((1, 2), (-1, 1))),
]


def requests(statistic: Statistic) -> Iterator[Request]:
    """Requests over small columns: grouped or not, filtered or not."""
    for column, sex in product(COLUMNS, (SEX, SEX_FILLED)):
        binned = Key(column, (column.lower, column.upper))
        filters: list[tuple[Condition, ...]] = [(), (Condition(OPEN, ((1, 1),)),)]
        takes = statistic.fields
        asked: Column | None = column if takes.column else None
        for by, where in product(((), (Key(sex),)), filters):
            if takes.bins:
                yield Request("r", column, binned, by, where)
                yield Request("r", sex, Key(sex), (), where)
            else:
                yield Request("r", asked, None, by, where)
                if not takes.column_required and "id" not in takes.column:
                    yield Request("r", None, None, by, where)


def rows_of(request: Request) -> list[str]:
    """Every row that a file could hold: all values within bounds, and odd cells."""
    column = request.column if isinstance(request.column, NumericColumn) else COLUMNS[0]
    values = [*map(str, range(column.lower, column.upper + 1)), "", "-inf", "1e400"]
    shut = ("1", "0") if request.where else ("1",)
    return [f"{value},{sex},{ok}\n" for value, sex, ok in product(values, ("f", "m", "?"), shut)]


def answers(queries: Sequence[Query], rows: Sequence[str]) -> list[list[int]]:
    """The exact answers for a file of these rows, by the oracle."""
    return list(map(cells_of, evaluate(queries, ("x,sex,open\n" + "".join(rows)).encode())))


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_no_neighbour_exceeds_the_sensitivity_and_some_reach_it(
    statistic: Statistic, neighbors: Neighbors
) -> None:
    """Over all neighbours of small files each query moves exactly as far as is claimed."""
    for request in requests(statistic):
        queries = [question.query for question in statistic.questions(request, relation(neighbors))]
        pairs = [
            pair
            for others in besides(request, queries)
            for pair in changed(queries, others, rows_of(request), neighbors)
        ]
        for place, query in enumerate(queries):
            changes = [
                [abs(a - b) for a, b in zip(one[place], other[place], strict=True)]
                for one, other in pairs
            ]
            claim = sensitivity(query.influence, neighbors, RowUnit(), query.cells)
            assert max(map(sum, changes)) == claim.l1, (request, query)
            assert max(sum(c**2 for c in change) for change in changes) == claim.l2_squared
            assert max(map(max, changes)) == claim.linf
            assert max(sum(map(bool, change)) for change in changes) <= claim.l0


def besides(request: Request, queries: Sequence[Query]) -> list[list[str]]:
    """Rows that neighbours have in common: none where answers add up over rows."""
    if all(isinstance(query, LinearQuery) for query in queries):
        return [[]]
    return [[], *([row] for row in rows_of(request))]


def changed(
    queries: Sequence[Query], others: list[str], rows: Sequence[str], neighbors: Neighbors
) -> list[tuple[list[list[int]], list[list[int]]]]:
    """The answers for every two neighbours that have `others` in common."""
    alone = [answers(queries, [*others, row]) for row in rows]
    if neighbors is Neighbors.ADD_REMOVE:
        nothing = answers(queries, others)
        return [(one, nothing) for one in alone]
    return list(product(alone, alone))


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_answers_add_up_over_rows(statistic: Statistic) -> None:
    """A row changes every file by the same amount, so single rows tell the sensitivity."""
    request = next(requests(statistic))
    queries = [q.query for q in statistic.questions(request, ADDED)]
    if not all(isinstance(query, LinearQuery) for query in queries):
        pytest.skip("its law looks at every row beside every other")
    every = rows_of(request)
    for first, second in product(every, every):
        both = answers(queries, [first, second])
        summed = [
            [a + b for a, b in zip(one, other, strict=True)]
            for one, other in zip(
                answers(queries, [first]), answers(queries, [second]), strict=True
            )
        ]
        assert both == summed


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_shares_spend_the_whole_entry_and_no_more(
    statistic: Statistic, neighbors: Neighbors
) -> None:
    """The shares of a statistic's questions sum to one."""
    for request in requests(statistic):
        questions = statistic.questions(request, relation(neighbors))
        assert sum(question.share for question in questions) == 1


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_any_noisy_answer_gives_one_finite_estimate_per_cell(
    statistic: Statistic, neighbors: Neighbors, kind: str
) -> None:
    """Zero, negative and huge noisy answers give ordered intervals, one per cell."""
    noise = Noise("gaussian" if kind == "gaussian" else "laplace", Fraction(7, 2))
    for request in requests(statistic):
        queries = [question.query for question in statistic.questions(request, relation(neighbors))]
        for extreme in (0, -1, 1, 10**30, -(10**30)):
            given = [Answer((extreme,) * (query.cells or 0), noise) for query in queries]
            estimates = statistic.estimate(request, given, Fraction(19, 20))
            cells = 1
            for axis in statistic.axes(request):
                cells *= len(axis)
            assert len(estimates) == cells
            for estimate in estimates:
                assert estimate.lower is not None
                assert estimate.upper is not None
                assert estimate.lower <= estimate.upper


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_without_noise_the_estimate_is_the_plain_value(statistic: Statistic) -> None:
    """Answers without noise give an interval that holds the published value."""
    for request in requests(statistic):
        queries = [q.query for q in statistic.questions(request, ADDED)]
        rows = ["1,f,1\n", "0,m,1\n", "2,f,1\n"]
        given = [
            Answer(tuple(values), Noise("laplace", Fraction(1, 100)))
            for values in answers(queries, rows)
        ]
        for estimate in statistic.estimate(request, given, Fraction(19, 20)):
            assert estimate.lower is not None
            assert estimate.upper is not None
            assert estimate.lower - 1 <= estimate.value <= estimate.upper + 1
