"""Answers from the shape of a query: plain sums in plain Python, then the query's own `answer`.

For kinds of queries without a formula in `tests.oracles.plain`. The sums are recomputed one row at
a time; what is made of them is the query's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.data.kinds import Axis
from dpcli.numeric.arrays import Array, integer_array
from dpcli.queries.query import Query
from dpcli.queries.sums import (
    CountedFactors,
    DistinctValues,
    Factor,
    PlainSum,
    RowSums,
    UserBins,
    UserTotals,
    WeightedSum,
)

Row = dict[Column, Any]

Numbers = dict[tuple[str, ...], list[int]]
"""The numbers of each group that has rows, by the labels of the group."""


@dataclass(frozen=True)
class Rules:
    """How rows are read: whether one passes a filter, and its labels and place on some axes.

    Of all rows of a user, the first `max_rows` are kept.
    """

    truth: Callable[[Filter, Row], bool | None]
    cell: Callable[[Sequence[Axis], Sequence[Axis], Row], tuple[tuple[str, ...], int] | None]
    max_rows: int | None = None


def answer_by_shape(query: Query, users: Sequence[list[Row]], rules: Rules) -> Array | Numbers:
    """The answer to a query; `users` have the rows of each of them that may enter it.

    Users who are counted in bins have all their rows, in the order of their priorities.
    It is a dictionary if the groups are private. A query of several parts is not answered here.
    """
    shape = query.shape
    if isinstance(shape, CountedFactors):
        lines = _counted_factors(shape, [row for rows in users for row in rows], rules)
        width = len(shape.factors) + len(shape.sums)
        return query.answer(integer_array(np.array(lines, object).reshape(len(lines), width)))
    if isinstance(shape, UserBins):
        found = [_bin_of(shape, rows, rules) for rows in users if rows]
        return query.answer(_table([[found.count(bin_) for bin_ in range(shape.bins)]]))
    numbers = len(shape.sums) if isinstance(shape, RowSums) else 1
    width = prod(map(len, query.inner_axes)) * numbers
    groups: Numbers = {}
    for (group, place), added in _added(query, users, rules):
        cells = groups.setdefault(group, [0] * width)
        for number, amount in enumerate(added):
            cells[place * numbers + number] += amount
    if query.has_private_groups:
        return {group: query.answer(_table([cells])).tolist() for group, cells in groups.items()}
    every = product(*(key.labels for key in query.by))
    return query.answer(_table([groups.get(group, [0] * width) for group in every]))


def _bin_of(shape: UserBins, rows: list[Row], rules: Rules) -> int:
    """The bin of a user with these rows."""
    first = 0
    if shape.first is not None:
        values = [row[shape.first] for row in rows]
        first = min(value for value in values if value is not None)
    exceeded = []
    for limits in shape.limits:
        cells = Counter(rules.cell(limits.axes, (), row) for row in rows[: shape.kept_rows])
        del cells[None]
        most = max(cells.values(), default=0)
        exceeded.append(len(cells) > limits.max_groups or most > limits.max_rows_per_group)
    if first < shape.before:
        return first
    inner = [len(rows) >= start for start in shape.starts]
    if any(inner):
        return shape.before + sum(inner) - 1
    if any(exceeded):
        return shape.before + len(inner) + exceeded.index(True)
    return first + len(inner) + len(shape.limits)


def _table(lines: list[list[int]]) -> Array:
    """One line for each group."""
    return integer_array(np.array(lines, object).reshape(len(lines), -1))


def _added(
    query: Query, users: Sequence[list[Row]], rules: Rules
) -> Iterator[tuple[tuple[tuple[str, ...], int], list[int]]]:
    """What is added to the numbers of cells: by rows, by users, or by distinct values."""
    shape, seen = query.shape, set[Hashable]()
    for rows in users:
        cells: dict[tuple[tuple[str, ...], int], list[Row]] = {}
        for row in rows:
            cell = rules.cell(query.by, query.inner_axes, row)
            if cell is not None:
                cells.setdefault(cell, []).append(row)
        for cell, inside in cells.items():
            match shape:
                case RowSums(sums):
                    yield cell, [_weighted(weighted, inside, rules) for weighted in sums]
                case UserTotals(counted, total, clamp):
                    is_counted = any(_passes(counted, row, rules) for row in inside)
                    clamped = min(max(_plain(total, inside, rules), clamp[0]), clamp[1])
                    yield cell, [clamped * is_counted]
                case DistinctValues(_, column, where, not_missing):
                    plain = PlainSum((), where, frozenset({*not_missing, column}))
                    values = {row[column] for row in inside if _passes(plain, row, rules)}
                    fresh = {(cell, value) for value in values} - seen
                    seen |= fresh
                    yield cell, [len(fresh)]


def _counted_factors(shape: CountedFactors, rows: list[Row], rules: Rules) -> list[list[int]]:
    """The combinations of factors, each with its sums, if the first sum is not zero."""
    found: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        if all(row[factor.column] is not None for factor in shape.factors):
            values = tuple(_value(factor, row) for factor in shape.factors)
            found.setdefault(values, []).append(row)
    lines = [
        [*values, *(_weighted(weighted, inside, rules) for weighted in shape.sums)]
        for values, inside in sorted(found.items())
    ]
    return [line for line in lines if line[len(shape.factors)]]


def _weighted(weighted: WeightedSum, rows: list[Row], rules: Rules) -> int:
    """A weighted sum of plain sums."""
    return sum(weight * _plain(plain, rows, rules) for weight, plain in weighted)


def _plain(plain: PlainSum, rows: list[Row], rules: Rules) -> int:
    """A plain sum; a row with a missing factor adds nothing."""
    passing = [row for row in rows if _passes(plain, row, rules)]
    known = [row for row in passing if all(row[one.column] is not None for one in plain.factors)]
    return sum(prod(_value(factor, row) for factor in plain.factors) for row in known)


def _value(factor: Factor, row: Row) -> int:
    """The value of a factor in a row."""
    value: int = factor.times * row[factor.column] - factor.offset
    return value


def _passes(plain: PlainSum, row: Row, rules: Rules) -> bool:
    """Whether a row has what must not be missing and meets all conditions."""
    known = all(row[column] is not None for column in plain.not_missing)
    return known and all(rules.truth(test, row) is True for test in plain.where)
