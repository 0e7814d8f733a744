"""Random specs: some neighbors change an answer by as much as its sensitivity, in L1 and L2.

A sensitivity that no neighbors reach costs accuracy and protects no person. These are left out,
because a sensitivity does not consider them: filters, which may let no row pass, and dependencies
between columns, such as a derived column and its inputs, or groups of the values that are counted.
Nor does it consider that a choice among one candidate costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from operator import itemgetter
from random import Random

import pytest

from dpcli.data.column import file_columns
from dpcli.data.formats import STANDARD_DIALECT
from dpcli.data.grid_columns import NumericColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, Unit
from dpcli.queries.query import Query
from dpcli.queries.scores import SelectionQuery
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import CentralSpec
from dpcli.statistics.counts.distinct import DistinctQuery
from dpcli.statistics.means.distances import BernsteinQuery
from tests.laws.test_random_specs import change, relation_of, valid_specs
from tests.oracles.plain import Answer, answers_about, value
from tests.oracles.shapes import Row
from tests.support.norms import total_change
from tests.support.random_specs import Cells
from tests.support.rules import also_slow

FEW_SPECS, MANY_SEEDS, MANY_SPECS = range(40), range(720), 400

MOST_ROWS, MOST_VALUES = 4_000, 16
"""Rows that are tried for a query, and values of a column of numbers that are all tried."""

MOST_KINDS = {1: 60, 2: 22, 3: 11}
"""Different rows from which those of a person are drawn, by the number of a person's rows."""

NUMBERS_OF_ROWS = (1, 2, 9, 10, 11, 20, 30, 31)
"""How many equal rows neighbors have in common, for scores: ranks in tenths change there."""


def possible_rows(query: Query, cells: dict[str, Cells], random: Random) -> list[Row]:
    """Rows with the values that the columns of a query may have, all if they are few."""
    columns = list(file_columns({*query.columns}))
    choices = []
    for column in columns:
        found = {value(column, cell, STANDARD_DIALECT.decimal) for cell in cells[column.name]}
        if isinstance(column, NumericColumn):
            low, high = column.limits
            found |= {*range(low, high + 1)} if high - low < MOST_VALUES else {low, high}
        if column.is_private:
            # Two persons in different groups need as many texts as both have rows.
            found |= {f"text {place}" for place in range(6)}
        choices.append(sorted(found, key=repr))
    drawn = ([random.choice(choice) for choice in choices] for _ in range(MOST_ROWS))
    size = 1
    for choice in choices:
        size *= len(choice)
    every = product(*choices) if size <= MOST_ROWS else drawn
    return [dict(zip(columns, values, strict=True)) for values in every]


def different_rows(query: Query, rows: list[Row], unit: Unit, random: Random) -> list[Row]:
    """Rows that add different numbers: those with the greatest and least ones, and others."""
    most = MOST_KINDS[unit.max_rows if isinstance(unit, PersonUnit) else 1]
    added: dict[tuple[object, ...], Row] = {}
    for row in rows:
        answer = answer_about(query, [[row]], unit)
        # Each of a person's rows may add another value, and the numbers alone do not show it.
        distinct = row.values() if isinstance(query, DistinctQuery) else ()
        numbers = answer if isinstance(answer, list) else sorted(map(repr, answer.items()))
        added.setdefault((*numbers, *distinct), row)
    if len(added) <= most:
        return list(added.values())
    keys = [key for key in added if isinstance(key[0], int)]
    places = range(len(keys[0]) if keys and not isinstance(query, DistinctQuery) else 0)
    found = dict.fromkeys(end(keys, key=itemgetter(at)) for at in places for end in (min, max))
    # Rows that add all to one number, in every group, before those that divide it.
    ends = sorted(found, key=lambda key: -max(abs(one) for one in key if isinstance(one, int)))
    others = random.sample(sorted(added, key=repr), max(most - len(ends), 0))
    return [added[key] for key in [*ends[:most], *others]]


def answer_about(query: Query, people: Sequence[Sequence[Row]], unit: Unit) -> Answer:
    """The exact answer about people with these rows."""
    return answers_about([query], [[(0, row) for row in rows] for rows in people], unit)[0]


def common_rows(query: Query, rows: list[Row], random: Random) -> Iterator[Sequence[Row]]:
    """What neighbors have in common: nothing matters for sums, but for scores it does."""
    yield []
    if not query.chooses:
        return
    groups = {axis.column for axis in query.axes}
    for number in NUMBERS_OF_ROWS:
        yield from (random.choices(rows, k=number) for _ in range(4))
        for row in random.sample(rows, min(len(rows), 8)):
            inside = {column: row[column] for column in row.keys() - groups}
            # The same rows in every group.
            yield [other for other in rows if inside.items() <= other.items()] * number


def greatest_change(query: Query, relation: Relation, cells: dict[str, Cells]) -> tuple[int, int]:
    """The greatest change in L1 and L2 squared between the neighbors that are tried."""
    random, unit = Random(0), relation.unit
    rows = possible_rows(query, cells, random)
    kinds = different_rows(query, rows, unit, random)
    most = unit.max_rows if isinstance(unit, PersonUnit) else 1
    units = [
        several
        for number in range(1, most + 1)
        for several in combinations_with_replacement(kinds, number)
    ]
    l1 = l2_squared = 0
    for common in common_rows(query, rows, random):
        around = [[row] for row in common]
        nothing = answer_about(query, around, unit)
        answers = {
            repr(answer): answer
            for answer in (answer_about(query, [*around, several], unit) for several in units)
        }
        others = [nothing]
        if relation.neighbors is Neighbors.CHANGE_ONE:
            # A row that is replaced stays; a person may have no rows that count.
            others = [*answers.values(), *([nothing] if isinstance(unit, PersonUnit) else [])]
        for answer, other in product(answers.values(), others):
            changes = change(query, answer, other)
            l1 = max(l1, total_change(query, changes, answer, other))
            l2_squared = max(l2_squared, sum(part**2 for part in changes))
    return l1, l2_squared


def independent_queries(spec: CentralSpec) -> Iterator[tuple[Query, Relation]]:
    """The queries of a spec without filters and dependencies, each with its relation."""
    for entry in spec.entries:
        inputs = entry.inputs
        used = (inputs.column, *inputs.columns, *inputs.checked)
        grouped = {key.column.name for key in inputs.by} & {one.name for one in used if one}
        for design in entry.designs if not grouped else ():
            for weighted in design.queries:
                query = weighted.query
                derived = any(column.derivation for column in query.columns)
                # No row has every value in every group of the same column.
                tied = {axis.column for axis in query.axes}.intersection(query.operands)
                single = isinstance(query, SelectionQuery) and query.candidates == 1
                if not (query.where or derived or tied or single):
                    yield query, relation_of(entry, spec)


def require_reached(seeds: range) -> int:
    """The number of specs of which all sensitivities are reached; fails if one is not."""
    specs = valid_specs(seeds)
    for seed, spec, cells in specs:
        for query, relation in dict.fromkeys(independent_queries(spec)):
            claim, repeat = query_sensitivity(query, relation), getattr(query, "k", 1)
            l1, l2_squared = greatest_change(query, relation, cells)
            assert l1 * repeat == claim.l1, (seed, query)
            # L2 is for sums alone: choices use L1.
            assert query.chooses or l2_squared == claim.l2_squared, (seed, query)
    return len(specs)


def test_neighbors_reach_the_sensitivity_of_products_by_groups() -> None:
    """A person in two groups moves all products of both, of which a row has many numbers."""
    text = """
dpcli: 1
dataset: products
privacy: {unit: {column: who, max_rows: 3, max_groups: 3}, neighbors: change-one,
  budget: {epsilon: 100}}
columns:
  who: {type: id}
  first: {type: number, step: 0.5, bounds: [0, 1]}
  second: {type: number, step: 0.5, bounds: [0, 5]}
  flag: {type: boolean}
statistics:
  - {name: s, statistic: covariance, columns: [second, first], by: [flag],
     max_rows_per_group: 1, epsilon: 1}
"""
    spec = parse_central_spec(text, "products")
    cells: dict[str, Cells] = {"first": (), "second": (), "flag": ("true", "false")}
    query, relation = next(
        one for one in independent_queries(spec) if isinstance(one[0], BernsteinQuery)
    )
    claim = query_sensitivity(query, relation)

    assert greatest_change(query, relation, cells) == (claim.l1, claim.l2_squared)


@pytest.mark.parametrize("seeds", also_slow(FEW_SPECS, MANY_SEEDS))
def test_neighbors_of_random_specs_reach_the_sensitivities(seeds: range) -> None:
    """No sensitivity of any of them is greater than the greatest change."""
    assert require_reached(seeds) >= (MANY_SPECS if seeds == MANY_SEEDS else 1)
