"""Laws that every registered statistic obeys, by enumeration of small datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest

from dpcli.columns import CategoryColumn, Key, NumericColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.candidate_choice import ExponentialChoice
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.unit import RowUnit
from dpcli.queries import Condition, LinearQuery, Query
from dpcli.scores import ScoreQuery
from dpcli.specification.model import Privacy
from dpcli.statistics import STATISTICS
from dpcli.statistics.statistic import NoisyAnswer, Request, Statistic, groups
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate
from tests.support.statistics import Columns, forms

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


SECOND = NumericColumn("y", "integer", Fraction(1), (0, 1), 0)


def requests(statistic: Statistic) -> Iterator[Request]:
    """Requests over small columns: grouped or not, filtered or not."""
    for number, sex in product(COLUMNS, (SEX, SEX_FILLED)):
        columns = Columns(number, SECOND, sex, OPEN)
        filters: list[tuple[Condition, ...]] = [(), (Condition(OPEN, ((1, 1),)),)]
        if "ways" in statistic.fields.model_fields:
            # Of tables of the filtered column itself, only some cells could change.
            filters = [(), (Condition(SECOND, ((1, 1),)),)]
        for by, where in product(((), (Key(sex),)), filters):
            if not (by and statistic.name in ("top_k", "mode")):
                yield from forms(statistic, columns, by, where)


def rows_of(request: Request) -> list[str]:
    """Every row that a file could hold: all values within bounds, and odd cells."""
    column = number_of(request) or COLUMNS[0]
    values = [*map(str, range(column.lower, column.upper + 1)), "", "-inf", "1e400"]
    told = bool(request.where) or request.label is not None or bool(request.margins)
    flags = ("1", "0") if told else ("1",)
    seconds = ("0", "1") if request.columns or request.margins else ("0",)
    return [
        f"{value},{sex},{flag},{second}\n"
        for value, sex, flag, second in product(values, ("f", "m", "?"), flags, seconds)
    ]


def number_of(request: Request) -> NumericColumn | None:
    """The column `x` of a request, if it asks about that."""
    columns = (request.column, *request.columns, *(key.column for key in request.margins))
    numbers = (one for one in columns if isinstance(one, NumericColumn))
    return next((one for one in numbers if one.name == "x"), None)


def answers(queries: Sequence[Query], rows: Sequence[str]) -> list[list[int]]:
    """The exact answers for a file of these rows, by the oracle."""
    return list(map(cells_of, evaluate(queries, ("x,sex,open,y\n" + "".join(rows)).encode())))


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_no_neighbor_exceeds_the_sensitivity_and_some_reach_it(
    statistic: Statistic, neighbors: Neighbors
) -> None:
    """Over all neighbors of small files, sums change by exactly the claim and scores by no more."""
    privacy = Privacy(RowUnit(), neighbors, Loss(Fraction(1)), COMPOSITIONS[0])
    for request in requests(statistic):
        queries = [weighted.query for weighted in statistic.queries(request, privacy.relation)]
        pairs = [
            pair
            for others in besides(request, queries)
            for pair in changed(queries, others, rows_of(request), neighbors)
        ]
        for place, query in enumerate(queries):
            changes = [changes_of(query, one[place], other[place]) for one, other in pairs]
            claim = query_sensitivity(query, privacy.relation)
            found = (
                max(map(sum, changes)),
                max(sum(c**2 for c in change) for change in changes),
                max(map(max, changes)),
            )
            repeat = query.k if isinstance(query, ScoreQuery) else 1
            claimed = (claim.l1 // repeat, claim.l2_squared // repeat, claim.linf)
            if isinstance(query, ScoreQuery):
                assert found[0] <= claimed[0], (request, query)
            else:
                assert found == claimed, (request, query)
            assert max(sum(map(bool, change)) for change in changes) <= claim.l0


def changes_of(query: Query, one: Sequence[int], other: Sequence[int]) -> list[int]:
    """By how much each cell changes; of scores, by how much a group's distances do."""
    moved = [a - b for a, b in zip(one, other, strict=True)]
    if not isinstance(query, ScoreQuery):
        return [abs(change) for change in moved]
    groups = [
        moved[at : at + query.cells_per_group] for at in range(0, len(moved), query.cells_per_group)
    ]
    return [max(group) - min(group) for group in groups]


def besides(request: Request, queries: Sequence[Query]) -> list[list[str]]:
    """Rows that neighbours have in common: none where answers add up over rows."""
    if all(isinstance(query, LinearQuery) for query in queries):
        return [[]]
    every = rows_of(request)
    return [[], *([row] for row in every[:: max(1, len(every) // 6)])]


def changed(
    queries: Sequence[Query], others: list[str], rows: Sequence[str], neighbors: Neighbors
) -> list[tuple[list[list[int]], list[list[int]]]]:
    """The answers for every two neighbours that have `others` in common."""
    alone = [answers(queries, [*others, row]) for row in rows]
    if neighbors is Neighbors.ADD_REMOVE:
        nothing = answers(queries, others)
        return [(one, nothing) for one in alone]
    return list(product(alone, alone))


def linear(statistic: Statistic) -> bool:
    """Whether the answers are sums over rows."""
    queries = statistic.queries(next(requests(statistic)), ADDED)
    return all(isinstance(weighted.query, LinearQuery) for weighted in queries)


@pytest.mark.parametrize(
    "statistic", [each for each in STATISTICS if linear(each)], ids=lambda each: str(each.name)
)
def test_answers_add_up_over_rows(statistic: Statistic) -> None:
    """A row changes every file by the same amount, so single rows show the sensitivity."""
    request = next(requests(statistic))
    queries = [q.query for q in statistic.queries(request, ADDED)]
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
    """The weights of a statistic's queries sum to one."""
    for request in requests(statistic):
        queries = statistic.queries(request, relation(neighbors))
        assert sum(weighted.weight for weighted in queries) == 1


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_any_noisy_answer_gives_one_finite_estimate_per_cell(
    statistic: Statistic, neighbors: Neighbors, kind: str
) -> None:
    """Zero, negative and huge noisy answers give ordered intervals, one per cell."""
    noise = (DiscreteGaussian if kind == "gaussian" else DiscreteLaplace)(Fraction(7, 2))
    for request in requests(statistic):
        queries = [weighted.query for weighted in statistic.queries(request, relation(neighbors))]
        for extreme in (0, -1, 1, 10**30, -(10**30)):
            given = [noisy(query, extreme, noise) for query in queries]
            estimates = statistic.estimate(request, given, Fraction(19, 20))
            agreed = statistic.make_consistent(request, given, estimates, Fraction(19, 20))
            assert len(agreed) == len(estimates)
            assert len(estimates) == groups(request) * statistic.item_count(request)
            assert len(statistic.items(request)) == statistic.item_count(request)
            for estimate in (*estimates, *agreed):
                assert estimate.value is not None
                if estimate.lower is None or estimate.upper is None:
                    assert "No interval is given" in (type(statistic).__doc__ or "")
                    assert estimate.lower is estimate.upper is None
                else:
                    assert estimate.lower <= estimate.upper


def noisy(query: Query, extreme: int, noise: Noise) -> NoisyAnswer:
    """An answer that is as odd as noise can make it, or one of the possible choices."""
    if isinstance(query, ScoreQuery):
        chosen = [place % query.cells_per_group for place in range((query.cells or 0) * query.k)]
        return NoisyAnswer(integer_array(chosen), ExponentialChoice(Fraction(1)))
    return NoisyAnswer(integer_array([extreme] * (query.cells or 0)), noise)
