"""From the cells of shared aggregations to the answer of each query.

Every number is an exact integer: a machine word where no sum can overflow, else a Python integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

import numpy as np
import polars as pl

from dpcli.data.axis import Axis
from dpcli.engine.expressions import plain_sums, weighted_sums
from dpcli.engine.grouping import SharedAggregation
from dpcli.numeric.arrays import SAFE_INTEGER, Array, Bools, Ints
from dpcli.privacy.confidential import Cells, Groups
from dpcli.queries.query import Query

Answer = Cells | Groups
"""The exact answer to a query, before it is sealed."""

Partial = list[pl.DataFrame]
"""For each shared aggregation its exact sums, or values, by cell. Mergeable. Confidential."""


def roll_up(
    merged: pl.DataFrame, queries: Sequence[Query], aggregation: SharedAggregation
) -> dict[int, Answer]:
    """The answer to each member of an aggregation by its position; the caller seals it.

    `merged` has one line per occupied joint cell: `cell`, the texts of private axes and the sums.
    """
    places: dict[Axis, Ints] = {}
    cell = merged["cell"].to_numpy()
    for axis in reversed(aggregation.axes):
        cell, places[axis] = np.divmod(cell, len(axis) + 1)
    kind, members = aggregation.kind, aggregation.member_queries(queries)
    if kind.starts is not None:
        numbers = np.zeros(len(kind.starts), dtype=np.int64)
        numbers[cell] = merged["s0"].cast(pl.Int64).to_numpy()
        # Equal queries share the aggregation.
        return {
            position: queries[position].answer(numbers[None].copy())
            for position in aggregation.members
        }
    private = {key: merged[f"o{place}"] for place, key in enumerate(kind.private)}
    names = {plain: f"s{number}" for number, plain in enumerate(plain_sums(members))}
    answers: dict[int, Answer] = {}
    for order, position in enumerate(aggregation.members):
        query = queries[position]
        if kind.totals or kind.distinct is not None:
            needed = [[(1, f"s{order}" if kind.totals else "s0")]]
        else:
            needed = [
                [(weight, names[plain]) for weight, plain in weighted]
                for weighted in weighted_sums(query)
            ]
        sums = [_weighted_sum(merged, columns) for columns in needed]
        if kind.factors:
            # A row with a missing factor is not counted.
            values = [merged[name].fill_null(0).to_numpy() for name in aggregation.factor_names]
            answers[position] = query.answer(np.stack([*values, *sums], axis=1)[sums[0] > 0])
        elif query.has_private_groups:
            answers[position] = _groups(query, places, private, np.stack(sums, axis=1))
        else:
            table = [_sum_cells(query.grouping_axes, places, values) for values in sums]
            groups = prod(len(axis) for axis in query.by)
            numbers = np.array(table, dtype=None if table else np.int64)
            answers[position] = query.answer(numbers.T.reshape(groups, -1))
    return answers


def _weighted_sum(merged: pl.DataFrame, combination: Sequence[tuple[int, str]]) -> Array:
    """The weighted sum of columns in each joint cell, in a type that no total overflows."""
    columns = [(weight, merged[name].fill_null(0)) for weight, name in combination]
    # Weights alone may be too large for words, even if the columns hold zeros.
    bound = sum(abs(weight) * max(1, *map(abs, _ends(column))) for weight, column in columns)
    if bound * max(1, len(merged)) < SAFE_INTEGER:
        words = [weight * column.cast(pl.Int64).to_numpy() for weight, column in columns]
    else:
        words = [weight * np.array(column.to_list(), object) for weight, column in columns]
    total: Array = np.sum(words, axis=0)
    return total


def _ends(column: pl.Series) -> tuple[int, int]:
    return cast("int", column.min() or 0), cast("int", column.max() or 0)


def _sum_cells(axes: Sequence[Axis], places: Mapping[Axis, Ints], values: Array) -> Array:
    """The cells of a table with these axes, the last axis fastest: shape (cells,)."""
    cell, inside = _cells(axes, places, len(values))
    cells: Array = np.zeros(prod(len(key) for key in axes), dtype=values.dtype)
    np.add.at(cells, cell[inside], values[inside])
    return cells


def _cells(axes: Sequence[Axis], places: Mapping[Axis, Ints], count: int) -> tuple[Ints, Bools]:
    """For `count` joint cells, the cell of a table with these axes, and whether it is inside."""
    cell, inside = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    for key in axes:
        inside &= places[key] < len(key)
        cell = cell * len(key) + places[key]
    return cell, inside


def _groups(
    query: Query, places: Mapping[Axis, Ints], private: Mapping[Axis, pl.Series], values: Array
) -> Groups:
    """The groups that hold rows, named by the labels of all axes, with their occupied cells.

    `values` has the shape (joint cells, numbers): the numbers of a cell follow one another.
    """
    cell, inside = _cells(query.inner_axes, places, len(values))
    axes = [
        private[key] if key.is_private else pl.Series([*key.labels, None]).gather(places[key])
        for key in query.by
    ]
    labels = pl.DataFrame([axis.alias(f"k{at}") for at, axis in enumerate(axes)])
    keys = labels.columns
    lines = labels.with_row_index("line").filter(inside).drop_nulls().sort(keys)
    names = lines.select(keys).unique(maintain_order=True)
    first = pl.any_horizontal(pl.col(keys) != pl.col(keys).shift()).fill_null(value=True)
    group = lines.select(first.cast(pl.Int64).cum_sum() - 1).to_series().to_numpy()
    order = lines["line"].to_numpy()
    numbers = values.shape[1]
    width = prod(len(key) for key in query.inner_axes) * numbers
    return Groups(
        tuple(names.iter_rows()),
        group.repeat(numbers),
        (cell[order][:, None] * numbers + np.arange(numbers)).ravel(),
        values[order].ravel(),
        width,
        query.answer,
    )
