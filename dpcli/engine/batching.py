"""Many queries, few aggregations: which queries share a pass, and its groups.

Queries whose axes span a small joint table are answered from one aggregation
over that table, and rolled up afterwards. All aggregations share one scan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import polars as pl

from dpcli.columns import Column, NumericColumn
from dpcli.engine.user_ids import Numbers
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.queries import DistinctQuery, Key, LinearQuery, Query

JOINT_CELLS = 1 << 14
"""Up to this many groups an aggregation costs about as much as with one."""

FARTHEST = 1 << 62
"""Numbers of groups stay below this."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What two queries must have in common to be answered together.

    `groups` are the axes whose cells count as a user's groups, where the limits on
    these can leave out rows. `distinct` is a column whose values are counted once.
    """

    open: tuple[Key, ...] = ()
    groups: tuple[Key, ...] | None = None
    totals: bool = False
    distinct: DistinctQuery | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries that are answered together, and the axes of their joint table.

    `members` are positions in the list of queries. Each axis has one place more
    than it has labels, the last one for rows that lie nowhere on it. Open axes stand
    next to the joint table.
    """

    kind: Kind
    axes: tuple[Key, ...]
    members: tuple[int, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns along whose values rows are grouped."""
        return tuple(dict.fromkeys(axis.column for axis in (*self.axes, *self.kind.open)))

    def linear(self, queries: Sequence[Query]) -> list[LinearQuery]:
        """The members that add up numbers of rows."""
        members = (queries[position] for position in self.members)
        return [query for query in members if isinstance(query, LinearQuery)]


def batches_of(queries: Sequence[Query], unit: Unit) -> list[Batch]:
    """Put each query into the first batch of its kind whose joint table stays small."""
    batches: list[Batch] = []
    for position, query in enumerate(queries):
        kind = _kind(query, unit)
        closed = tuple(key for key in query.table if not key.open)
        for index, batch in enumerate(batches):
            axes = tuple(dict.fromkeys(batch.axes + closed))
            small = prod(len(axis) + 1 for axis in axes) <= JOINT_CELLS
            if kind == batch.kind and (small or set(axes) == set(batch.axes)):
                batches[index] = Batch(kind, axes, (*batch.members, position))
                break
        else:
            batches.append(Batch(kind, closed, (position,)))
    return batches


def _kind(query: Query, unit: Unit) -> Kind:
    totals = isinstance(query, LinearQuery) and query.totals is not None
    limited = isinstance(unit, PersonUnit) and unit.limits_groups
    binding = totals or (limited and bool(query.axes))
    return Kind(
        tuple(key for key in query.by if key.open),
        tuple(sorted(query.axes, key=repr)) if binding else None,
        totals,
        query if isinstance(query, DistinctQuery) else None,
    )


class Grouping:
    """The columns that state where a row lies, made of encoded columns by their names.

    `cell` is the joint cell of the closed axes, the last one fastest, one place past
    the end of an axis for nowhere; `o0`, `o1` and so on are open axes, null for
    nowhere.
    """

    def __init__(self, batch: Batch, encoded: Mapping[Column, str]) -> None:
        self._batch, self.encoded = batch, encoded
        self.open = [f"o{place}" for place in range(len(batch.kind.open))]
        self.keys = ["cell", *self.open]

    def placed(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with the columns to group by, and a `row` to count by."""
        opened = [
            pl.col(self.encoded[axis.column]).alias(name)
            for axis, name in zip(self._batch.kind.open, self.open, strict=True)
        ]
        cell = pl.lit(0, dtype=pl.Int64)
        for axis in self._batch.axes:
            cell = cell * (len(axis) + 1) + _place(axis, self.encoded[axis.column])
        row = pl.lit(1, dtype=pl.Int64).alias("row")
        return rows.with_columns(cell.alias("cell"), row, *opened)

    def numbers(self, table: pl.DataFrame) -> Numbers:
        """A number for the group of each row of a placed table, below zero for nowhere."""
        axes, groups = self._batch.axes, self._batch.kind.groups
        cell = table["cell"].to_numpy()
        number: Numbers = np.zeros(len(table), dtype=np.int64)
        nowhere = np.zeros(len(table), dtype=bool)
        span = 1
        for axis in reversed(axes):
            cell, place = np.divmod(cell, len(axis) + 1)
            if groups is None or axis in groups:
                nowhere |= place == len(axis)
                number += place * span
                span *= len(axis) + 1
        for name in self.open:
            code = table[name].cast(pl.Int64).fill_null(-1).to_numpy()
            nowhere |= code < 0
            span = int(code.max(initial=0)) + 1
            if int(number.max(initial=0)) >= FARTHEST // span:
                number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            number = number * span + np.maximum(code, 0)
        number[nowhere] = -1
        return number


def _place(axis: Key, name: str) -> pl.Expr:
    """Where a row lies along an axis; one past the end for nowhere."""
    value = pl.col(name).cast(pl.Int64)
    if isinstance(axis.starts, range):
        # Every value is a bin of its own.
        value = value - axis.starts[0]
    elif isinstance(axis.column, NumericColumn):
        inner = pl.lit(pl.Series(axis.starts[1:], dtype=pl.Int64))
        bins = inner.search_sorted(value, side="right").cast(pl.Int64)
        value = pl.when(value.is_not_null()).then(bins)
    return value.fill_null(len(axis))
