"""Laws of every registered statistic, checked by enumeration of small datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, product

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcli.data.filters import InRanges
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.candidate_choice import ExponentialChoice
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scaled import ScaledSumsQuery
from dpcli.queries.scores import ScoreQuery, SelectionQuery
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import MEASURES, Design, Inputs, NoisyAnswer
from dpcli.statistics.quantiles.recursion import QuantilesQuery
from dpcli.statistics.regression.queries import ObjectiveQuery
from dpcli.statistics.statistic import Statistic
from tests.oracles.opened import cells_of
from tests.oracles.plain import People, answers_about, read_people
from tests.support.norms import total_change
from tests.support.rules import mostly_extended
from tests.support.statistics import Columns, forms

ADDED = Relation(RowUnit(), Neighbors.ADD_REMOVE)
SEX = CategoryColumn("sex", (("f", "f"), ("m", "m")))
SEX_FILLED = CategoryColumn("sex", (("f", "f"), ("m", "m")), missing=1)
OPEN = BooleanColumn("open", (("0", "false"), ("1", "true")))


def relation(neighbors: Neighbors) -> Relation:
    """Each row is a privacy unit."""
    return Relation(RowUnit(), neighbors)


def numbers(bounds: tuple[int, int], missing: int | None = None) -> NumericColumn:
    """A small integer column."""
    return IntegerColumn("x", Fraction(1), bounds, missing)


COLUMNS = [
    *(numbers(bounds) for bounds in ((0, 2), (-2, 1), (2, 3), (-3, -2))),
    *(numbers(bounds, bounds[0]) for bounds in ((1, 2), (-1, 1))),
]


SOME = [COLUMNS[1], COLUMNS[2], COLUMNS[4]]
"""Bounds around zero and above it, and a value for missing cells."""

SECOND = IntegerColumn("y", Fraction(1), (0, 1), 0)


def requests(statistic: Statistic, numbers: Sequence[NumericColumn] = SOME) -> Iterator[Inputs]:
    """Requests about small columns, with and without groups and filters."""
    # Where cells are counted, a number is in a filter alone.
    numbers = numbers[:2] if statistic.item == "column" else numbers
    every = product(numbers, (SEX, SEX_FILLED))
    # Some columns have one of the two each.
    for number, sex in every if numbers is COLUMNS else zip(numbers, cycle((SEX, SEX_FILLED))):
        columns = Columns(number, SECOND, sex, OPEN)
        filters: list[tuple[InRanges, ...]] = [(), (InRanges(OPEN, ((1, 1),)),)]
        fields = statistic.fields.model_fields.keys()
        if {"ways", "per"} & fields and "between" not in fields:
            # In a table of the filtered column, only some cells can change.
            filters = [(), (InRanges(SECOND, ((1, 1),)),)]
        if statistic.item == "column":
            # Both flags are counted, so the filter is on another column.
            filters = [(), (InRanges(number, ((number.lower, number.lower),)),)]
        for by, where in product(((), (Axis(sex),)), filters):
            if not (by and statistic.name in ("top_k", "mode")):
                yield from forms(statistic, columns, by, where)


def rows_of(inputs: Inputs) -> list[str]:
    """Every possible row: all values within bounds, and unusual cells."""
    column = number_of(inputs) or COLUMNS[0]
    values = [*map(str, range(column.lower, column.upper + 1)), "", "-inf", "1e400"]
    several = bool(inputs.columns or inputs.margins or inputs.options)
    needs_flag = bool(inputs.where or inputs.margins or inputs.options)
    flags: tuple[str, ...] = ("1", "0") if needs_flag else ("1",)
    if inputs.label is not None or (inputs.column is OPEN and inputs.columns):
        flags = ("1", "0", "")
    seconds: tuple[str, ...] = ("0", "1") if several or inputs.weight else ("0",)
    if inputs.checked:
        flags = seconds = ("0", "1", "")
    return [
        f"{value},{sex},{flag},{second}\n"
        for value, sex, flag, second in product(values, ("f", "m", "?"), flags, seconds)
    ]


def number_of(inputs: Inputs) -> NumericColumn | None:
    """The column `x` of inputs, if they have it."""
    options = (value for _, value in inputs.options)
    axes = (key.column for key in inputs.margins)
    columns = (inputs.column, *inputs.columns, *axes, *options)
    numbers = (column for column in columns if isinstance(column, NumericColumn))
    return next((column for column in numbers if column.name == "x"), None)


def answers(queries: Sequence[Query], rows: Sequence[str]) -> list[list[int]]:
    """The exact answers about a file of these rows, by the oracle."""
    return answers_of(queries, read(queries, rows))


def read(queries: Sequence[Query], rows: Sequence[str]) -> People:
    """These rows, of which each is a person."""
    return read_people(queries, ("x,sex,open,y\n" + "".join(rows)).encode())


def answers_of(queries: Sequence[Query], people: People) -> list[list[int]]:
    """The exact answers about rows that were read, by the oracle."""
    return list(map(cells_of, answers_about(queries, people)))


@pytest.mark.parametrize(
    "numbers",
    [SOME, pytest.param(COLUMNS, marks=pytest.mark.extended)],
    ids=["some columns", "all columns"],
)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_no_neighbor_exceeds_the_sensitivity_and_some_reach_it(
    statistic: Statistic, numbers: Sequence[NumericColumn]
) -> None:
    """Over all neighbors of small files, the greatest change of a sum is its sensitivity.

    Scores change by at most theirs. Objectives have no sensitivity, but laws of their own.
    """
    for inputs in requests(statistic, numbers):
        known: dict[tuple[Query, ...], list[Answers]] = {}
        for neighbors in Neighbors:
            for design in statistic.designs(inputs, relation(neighbors)):
                queries = tuple(
                    weighted.query
                    for weighted in design.queries
                    if not isinstance(weighted.query, ObjectiveQuery)
                )
                if queries not in known:
                    rows = different(read(queries, rows_of(inputs)))
                    known[queries] = [
                        Answers.about(queries, common, rows)
                        for common in common_rows(inputs, queries)
                    ]
                for index, query in enumerate(queries):
                    check_sensitivity(query, relation(neighbors), known[queries], index)


def check_sensitivity(query: Query, claimer: Relation, files: list[Answers], index: int) -> None:
    """Compare the stated sensitivity of a query with the changes between its answers."""
    found = [greatest_changes(query, *file.pairs(index, claimer.neighbors)) for file in files]
    l0, *reached = map(max, zip(*found, strict=True))
    claim = query_sensitivity(query, claimer)
    repeat = query.rounds if isinstance(query, SelectionQuery) else 1
    claimed = [claim.l1 // repeat, claim.l2_squared // repeat, claim.linf]
    if isinstance(query, ScoreQuery):
        assert reached[0] <= claimed[0], query
    elif isinstance(getattr(query, "of", None), ScaledSumsQuery):
        # Laplace noise follows from L1; the largest L2 and change of both need not come together.
        assert reached[0] == claimed[0], query
        assert all(one <= most for one, most in zip(reached, claimed, strict=True)), query
    else:
        assert reached == claimed, query
    assert l0 <= claim.l0


@dataclass(frozen=True)
class Answers:
    """The different answers to some queries about files that have rows in common.

    `without` are those about the common rows alone, `others` those about one more row.
    """

    without: list[NDArray[np.int64]]
    others: list[NDArray[np.int64]]

    @classmethod
    def about(cls, queries: Sequence[Query], common: People, rows: People) -> Answers:
        """The answers of the oracle."""
        files = zip(*(answers_of(queries, [*common, row]) for row in rows), strict=True)
        without = [np.array([answer], np.int64) for answer in answers_of(queries, common)]
        return cls(without, [np.unique(np.array(file, np.int64), axis=0) for file in files])

    def pairs(
        self, index: int, neighbors: Neighbors
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """An answer of the first array and one of the second are about two neighbors."""
        is_added = neighbors is Neighbors.ADD_REMOVE
        return self.others[index], self.without[index] if is_added else self.others[index]


def greatest_changes(
    query: Query, before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[int, int, int, int]:
    """The greatest L0, L1, squared L2 and Linf of changes between two answers, as `changes_of`."""
    norms = []
    for answer in before:
        changes = changes_of_all(query, answer - after)
        sizes = (changes != 0, changes, changes**2)
        norms.append([*(int(part.sum(axis=1).max()) for part in sizes), int(changes.max())])
        if query.vectors:
            rows = zip(changes.tolist(), after.tolist(), strict=True)
            norms[-1][1] = max(
                total_change(query, part, answer.tolist(), row) for part, row in rows
            )
    l0, l1, l2_squared, linf = map(max, zip(*norms, strict=True))
    return l0, l1, l2_squared, linf


def changes_of_all(query: Query, differences: NDArray[np.int64]) -> NDArray[np.int64]:
    """The change of each cell, or in each group, for rows of differences between answers.

    For scores it is the change of differences within a group. For quantiles it is the number of
    rows that are added or removed in the group, of which `tests/laws/test_quantile_recursion.py`
    shows that it bounds the change of the differences.
    """
    if not isinstance(query, SelectionQuery):
        return np.abs(differences)
    groups = differences.reshape(len(differences), -1, query.cells_per_group)
    if isinstance(query, QuantilesQuery):
        moved: NDArray[np.int64] = np.abs(groups).sum(axis=2)
        return moved
    changes: NDArray[np.int64] = groups.max(axis=2) - groups.min(axis=2)
    return changes


def changes_of(query: Query, before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The changes between two answers, as `changes_of_all`."""
    differences = np.array([before], np.int64) - np.array(after, np.int64)
    changes: list[int] = changes_of_all(query, differences)[0].tolist()
    return changes


def different(people: People) -> People:
    """Rows of which each has other values; cells that are read alike have equal ones."""
    return list({tuple(row.values()): person for person in people for _, row in person}.values())


def common_rows(inputs: Inputs, queries: Sequence[Query]) -> list[People]:
    """The rows that neighbors have in common: none if answers are sums over rows."""
    if all(isinstance(query, LinearQuery) for query in queries):
        return [[]]
    every = read(queries, rows_of(inputs))
    return [[], *([row] for row in every[:: max(1, len(every) // 6)])]


def linear(statistic: Statistic) -> bool:
    """Whether the answers are sums over rows."""
    design = statistic.designs(next(requests(statistic)), ADDED)[0]
    return all(isinstance(weighted.query, LinearQuery) for weighted in design.queries)


@pytest.mark.parametrize(
    "statistic", [s for s in STATISTICS if linear(s)], ids=lambda statistic: str(statistic.name)
)
def test_answers_are_sums_over_rows(statistic: Statistic) -> None:
    """A row changes the answer about every file by the same amount: single rows show it."""
    inputs = next(requests(statistic))
    queries = [weighted.query for weighted in statistic.designs(inputs, ADDED)[0].queries]
    alone = [(row, answers_of(queries, [row])) for row in read(queries, rows_of(inputs))]
    for (first, before), (second, after) in product(alone, alone):
        summed = [
            [a + b for a, b in zip(one, other, strict=True)]
            for one, other in zip(before, after, strict=True)
        ]
        assert answers_of(queries, [first, second]) == summed


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_weights_sum_to_one(statistic: Statistic, neighbors: Neighbors) -> None:
    """The weights of the queries of a statistic sum to one."""
    for inputs in requests(statistic):
        for design in statistic.designs(inputs, relation(neighbors)):
            assert sum(weighted.weight for weighted in design.queries) == 1


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_a_design_serves_each_family_of_noise(statistic: Statistic, neighbors: Neighbors) -> None:
    """Noise of every family finds a design, for each unit of the budget and composition."""
    for inputs in requests(statistic):
        designs = statistic.designs(inputs, relation(neighbors))
        families = {family for design in designs for family in design.families}
        # A spec does not name the mechanism of vectors: it answers in place of another one.
        families -= {"vector"}
        assert families <= set(statistic.families)
        for family, measure, rule in product(families, MEASURES, COMPOSITIONS):
            design = next(one for one in designs if one.serves(family, measure, rule))
            assert design.chooses == (family == "choice")
            assert design.queries[0].query.minimizes == (family == "slope")


@pytest.mark.parametrize("kind", mostly_extended(["laplace", "gaussian"], "laplace"))
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_any_noisy_answer_gives_one_finite_estimate_per_cell(
    statistic: Statistic, kind: str
) -> None:
    """Zero, negative and huge noisy answers give one number with an ordered interval per cell."""
    noise = (DiscreteGaussian if kind == "gaussian" else DiscreteLaplace)(Fraction(7, 2))
    known: list[tuple[Inputs, Design]] = []
    for inputs in requests(statistic, SOME[:1] if kind == "laplace" else SOME):
        for neighbors in Neighbors:
            for design in statistic.designs(inputs, relation(neighbors)):
                if (inputs, design) not in known[-4:]:
                    known.append((inputs, design))
    for inputs, design in known:
        queries = [weighted.query for weighted in design.queries]
        for extreme in (0, -1, 1, 10**30, -(10**30)):
            given = [noisy(query, extreme, noise) for query in queries]
            estimates = design.estimate(given, Fraction(19, 20))
            agreed = design.make_consistent(given, estimates, Fraction(19, 20))
            assert len(agreed) == len(estimates)
            assert len(estimates) == inputs.groups * statistic.item_count(inputs)
            assert len(statistic.items(inputs)) == statistic.item_count(inputs)
            for estimate in (*estimates, *agreed):
                assert estimate.value is not None
                if estimate.lower is None or estimate.upper is None:
                    assert "No interval is given" in (type(statistic).__doc__ or "")
                    assert estimate.lower is estimate.upper is None
                else:
                    assert estimate.lower <= estimate.upper


def noisy(query: Query, extreme: int, noise: Noise) -> NoisyAnswer:
    """An extreme noisy answer, or one of the possible choices."""
    if isinstance(query, QuantilesQuery):
        cuts = range((query.cells or 0) * len(query.quantiles))
        return NoisyAnswer(
            integer_array([cut % query.candidates for cut in cuts]), ExponentialChoice(Fraction(1))
        )
    if isinstance(query, ScoreQuery):
        chosen = [place % query.cells_per_group for place in range((query.cells or 0) * query.k)]
        return NoisyAnswer(integer_array(chosen), ExponentialChoice(Fraction(1)))
    return NoisyAnswer(integer_array([extreme] * (query.cells or 0)), noise)
