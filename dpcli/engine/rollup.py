"""From occupied cells to the answer of each query, as exact Python integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from math import floor, prod
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.columns import Key
from dpcli.engine.grouping import SharedAggregation
from dpcli.engine.sums import combinations, plain_sums
from dpcli.numeric.arrays import SAFE, Array, largest, roomy, whole
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.unit import Unit
from dpcli.queries import Query, ReadabilityQuery, RidgeQuery
from dpcli.scores import ScoreFunction, ScoreQuery

SealedAnswer = Confidential[Cells] | Confidential[Groups]

Partial = list[pl.DataFrame]
"""What rows add up to, exact and mergeable. Confidential. For each batch the sums in each cell."""

Places = npt.NDArray[np.int64]


def roll_up(
    result: pl.DataFrame, queries: Sequence[Query], batch: SharedAggregation, unit: Unit
) -> dict[int, SealedAnswer]:
    """The answer of each member of a batch, by its position, sealed with its query and `unit`.

    `result` has a row per occupied joint cell: `cell`, the texts of open axes and
    the sums. Its rows were bounded for this unit.
    """
    places: dict[Key, Places] = {}
    cell = result["cell"].to_numpy()
    for axis in reversed(batch.axes):
        cell, places[axis] = np.divmod(cell, len(axis) + 1)
    opened = {key: result[f"o{place}"] for place, key in enumerate(batch.kind.open)}
    names = {plain: f"s{number}" for number, plain in enumerate(plain_sums(batch.of(queries)))}
    found: dict[int, SealedAnswer] = {}
    for order, position in enumerate(batch.members):
        query = queries[position]
        if batch.kind.totals or batch.kind.distinct is not None:
            parts = [[(1, f"s{order}" if batch.kind.totals else "s0")]]
        else:
            parts = [
                [(weight, names[plain]) for weight, plain in part] for part in combinations(query)
            ]
        sums = [_added(result, part) for part in parts]
        found[position] = _answer(query, unit, places, opened, sums)
    return found


def _answer(
    query: Query,
    unit: Unit,
    places: Mapping[Key, Places],
    opened: Mapping[Key, pl.Series],
    sums: Sequence[Array],
) -> SealedAnswer:
    """The sealed answer to one query, from what each joint cell adds to it."""
    if isinstance(query, ReadabilityQuery | RidgeQuery):
        totals = [sum(added.tolist()) for added in sums]
        found = ridge_coefficients(query, totals) if isinstance(query, RidgeQuery) else totals
        return Confidential(whole(found), query, unit)
    (added,) = sums
    if query.has_private_groups:
        return Confidential(_groups(query, places, opened, added), query, unit)
    cells = _summed(query.grouping_axes, places, added)
    if isinstance(query, ScoreQuery):
        cells = _scores(query.score_function, cells.reshape(prod(len(key) for key in query.by), -1))
    return Confidential(cells, query, unit)


def _added(result: pl.DataFrame, part: Sequence[tuple[int, str]]) -> Array:
    """What each joint cell adds: a weighted total of columns, no sum of which overflows."""
    columns = [(weight, result[name].fill_null(0)) for weight, name in part]
    # Weights alone may be too large for words, whatever stands in the columns.
    largest = sum(abs(weight) * max(1, *map(abs, _ends(column))) for weight, column in columns)
    if largest * max(1, len(result)) < SAFE:
        words = [weight * column.cast(pl.Int64).to_numpy() for weight, column in columns]
    else:
        words = [weight * np.array(column.to_list(), object) for weight, column in columns]
    total: Array = np.sum(words, axis=0)
    return total


def _ends(column: pl.Series) -> tuple[int, int]:
    return cast("int", column.min() or 0), cast("int", column.max() or 0)


def _summed(axes: Sequence[Key], places: Mapping[Key, Places], added: Array) -> Array:
    """The cells of a table with these axes, the last one fastest."""
    cell, inside = _cells(axes, places, len(added))
    cells: Array = np.zeros(prod(len(key) for key in axes), dtype=added.dtype)
    np.add.at(cells, cell[inside], added[inside])
    return cells


def _cells(
    axes: Sequence[Key], places: Mapping[Key, Places], count: int
) -> tuple[Places, npt.NDArray[np.bool_]]:
    """The cell of each of `count` joint cells, and whether it lies in one at all."""
    cell, inside = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    for key in axes:
        inside &= places[key] < len(key)
        cell = cell * len(key) + places[key]
    return cell, inside


def _scores(score_function: ScoreFunction, counts: Array) -> Cells:
    """The scores of all candidates, group by group."""
    most = max(score_function.row_contribution.max_abs, 1) * counts.size
    return score_function.scores(roomy(counts, most * largest(counts))).ravel()


def _groups(
    query: Query, places: Mapping[Key, Places], opened: Mapping[Key, pl.Series], added: Array
) -> Groups:
    """The groups that the rows of a query lie in, by the labels of all axes."""
    inner = query.classes if isinstance(query, ScoreQuery) else query.items
    cell, inside = _cells(inner, places, len(added))
    labels = pl.DataFrame(
        [
            (
                opened[key]
                if key.is_private
                else pl.Series([*key.labels, None]).gather(places[key])
            ).alias(f"k{at}")
            for at, key in enumerate(query.by)
        ]
    )
    keys = labels.columns
    lines = labels.with_row_index("line").filter(inside).drop_nulls().sort(keys)
    names = lines.select(keys).unique(maintain_order=True)
    first = pl.any_horizontal(pl.col(keys) != pl.col(keys).shift()).fill_null(value=True)
    group = lines.select(first.cast(pl.Int64).cum_sum() - 1).to_series().to_numpy()
    order, scores = lines["line"].to_numpy(), None
    if isinstance(query, ScoreQuery):
        scores = partial(_scores, query.score_function)
    width = prod(len(key) for key in inner)
    return Groups(tuple(names.iter_rows()), group, cell[order], added[order], width, scores)


def ridge_coefficients(query: RidgeQuery, moments: Sequence[int]) -> list[int]:
    """The exact minimiser of a ridge regression, in steps of the query's grid, halves rounded up.

    `moments` are the totals of `query.moments`. The linear equations are solved in
    exact rationals; ridge above zero makes them regular.
    """
    size = query.cells
    halves = [Fraction(1)]
    halves += [Fraction(max(map(abs, each.limits))) for each in (*query.inputs, query.outcome)]
    pairs = combinations_with_replacement(range(size + 1), 2)
    rows = max(query.rows, moments[0])
    scaled = {
        pair: total / (halves[pair[0]] * halves[pair[1]] * rows)
        for pair, total in zip(pairs, moments, strict=True)
    }
    equations = [
        [scaled[min(i, j), max(i, j)] + (query.ridge if i == j else 0) for j in range(size)]
        + [scaled[i, size]]
        for i in range(size)
    ]
    return [floor(theta / query.grid + Fraction(1, 2)) for theta in _solved(equations)]


def _solved(equations: list[list[Fraction]]) -> list[Fraction]:
    """The solution of linear equations with a positive definite matrix (Gauss and Jordan)."""
    for place in range(len(equations)):
        # Its pivots are positive, so none is zero.
        row = [value / equations[place][place] for value in equations[place]]
        for other, others in enumerate(equations):
            factor = others[place]
            equations[other] = [
                value - factor * mine for value, mine in zip(others, row, strict=True)
            ]
        equations[place] = row
    return [row[-1] for row in equations]
