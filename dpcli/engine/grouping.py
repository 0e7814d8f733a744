"""Many queries, few aggregations: which share a pass, and what is summed where.

Queries whose axes span a small joint table are answered from one aggregation over that table, and
rolled up afterwards. All aggregations share one scan, and their queries share sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import polars as pl

from dpcli.columns import Column, Key, NumericColumn
from dpcli.engine.sums import passing, plain_sums
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.queries import DistinctQuery, LinearQuery, Query

JOINT_CELLS = 1 << 14
"""Up to this many groups an aggregation costs about as much as with one."""

SUMS = pl.col(r"^s\d+$")
"""The sums of a partial."""


@dataclass(frozen=True, slots=True)
class AggregationKind:
    """What two queries must have in common to be answered together.

    `groups` are the axes whose cells count as a user's groups, where the limits on
    these can leave out rows. `distinct` is a column whose values are counted once.
    """

    open: tuple[Key, ...] = ()
    groups: tuple[Key, ...] | None = None
    totals: bool = False
    distinct: DistinctQuery | None = None


@dataclass(frozen=True, slots=True)
class SharedAggregation:
    """Queries that are answered together, and the axes of their joint table.

    `members` are positions in the list of queries. Each axis has one place more
    than it has labels, the last one for rows that lie nowhere on it. Open axes stand
    next to the joint table.
    """

    kind: AggregationKind
    axes: tuple[Key, ...]
    members: tuple[int, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns along whose values rows are grouped."""
        return tuple(dict.fromkeys(axis.column for axis in (*self.axes, *self.kind.open)))

    @property
    def open(self) -> list[str]:
        """The names of the open axes in frames."""
        return [f"o{place}" for place in range(len(self.kind.open))]

    def joined(self, partials: pl.LazyFrame) -> pl.LazyFrame:
        """The partial of all rows of one scan, whose sums fit their types, from some of them."""
        if self.kind.distinct is not None:
            return partials.unique()
        return partials.group_by("cell", *self.open).agg(SUMS.sum())

    def merged(self, partials: pl.LazyFrame) -> pl.LazyFrame:
        """One line per cell, from the partials of all rows of all scans."""
        if self.kind.distinct is None:
            return self.joined(partials.with_columns(SUMS.cast(pl.Int128)))
        count = pl.col("value").is_not_null().cast(pl.Int64).sum()
        return self.joined(partials).group_by("cell", *self.open).agg(count.alias("s0"))

    def of(self, queries: Sequence[Query]) -> list[Query]:
        """The members, from all queries."""
        return [queries[position] for position in self.members]

    def linear(self, queries: Sequence[Query]) -> list[LinearQuery]:
        """The members that add up numbers of rows."""
        return [query for query in self.of(queries) if isinstance(query, LinearQuery)]


def share_aggregations(queries: Sequence[Query], unit: Unit) -> list[SharedAggregation]:
    """Put each query into the first batch of its kind whose joint table stays small."""
    batches: list[SharedAggregation] = []
    for position, query in enumerate(queries):
        kind = _kind(query, unit)
        closed = tuple(key for key in query.grouping_axes if not key.is_private)
        for index, batch in enumerate(batches):
            axes = tuple(dict.fromkeys(batch.axes + closed))
            small = prod(len(axis) + 1 for axis in axes) <= JOINT_CELLS
            if kind == batch.kind and (small or set(axes) == set(batch.axes)):
                batches[index] = SharedAggregation(kind, axes, (*batch.members, position))
                break
        else:
            batches.append(SharedAggregation(kind, closed, (position,)))
    return batches


def _kind(query: Query, unit: Unit) -> AggregationKind:
    totals = isinstance(query, LinearQuery) and query.user_clamp is not None
    limited = isinstance(unit, PersonUnit) and unit.limits_groups
    binding = totals or (limited and bool(query.axes))
    return AggregationKind(
        tuple(key for key in query.by if key.is_private),
        tuple(sorted(query.axes, key=repr)) if binding else None,
        totals,
        query if isinstance(query, DistinctQuery) else None,
    )


class Grouping:
    """One aggregation: where rows lie, from decoded columns by their names, and its sums.

    `cell` is the joint cell of the closed axes, the last one fastest, one place past
    the end of an axis for nowhere; `o0`, `o1` and so on are open axes, null for
    nowhere. `g0` and so on are the places on axes of a user's groups. `size` rows at most.
    """

    def __init__(
        self,
        batch: SharedAggregation,
        queries: Sequence[Query],
        names: Mapping[Column, str],
        size: int,
    ) -> None:
        self.batch, self.names, self.size = batch, names, size
        self._sums = [
            plain.expression(names, size).alias(f"s{number}")
            for number, plain in enumerate(plain_sums(batch.of(queries)))
        ]
        self.open = batch.open
        self.keys = ["cell", *self.open]
        closed = [axis for axis in batch.axes if axis in (batch.kind.groups or ())]
        self._closed = {f"g{place}": axis for place, axis in enumerate(closed)}
        self.groups = [*self._closed, *self.open]

    def placed(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with the columns to group by, and a `row` to count by."""
        places = {axis: _place(axis, self.names[axis.column]) for axis in self.batch.axes}
        opened = [
            pl.col(self.names[axis.column]).alias(name)
            for axis, name in zip(self.batch.kind.open, self.open, strict=True)
        ]
        grouped = [places[axis].alias(name) for name, axis in self._closed.items()]
        cell = pl.lit(0, dtype=pl.Int64)
        for axis in self.batch.axes:
            cell = cell * (len(axis) + 1) + places[axis]
        row = pl.lit(1, dtype=pl.Int64).alias("row")
        return rows.with_columns(cell.alias("cell"), row, *opened, *grouped)

    @property
    def somewhere(self) -> pl.Expr:
        """Whether a placed row lies in a group of its user."""
        inside = [pl.col(name) < len(axis) for name, axis in self._closed.items()]
        inside += [pl.col(name).is_not_null() for name in self.open]
        return pl.all_horizontal(inside) if inside else pl.lit(value=True)

    def partial(self, placed: pl.LazyFrame, also: Sequence[pl.Expr] = ()) -> pl.LazyFrame:
        """A line per occupied cell with its sums, or per value in it if these are counted.

        Where there are sums, other aggregates of its rows go with them.
        """
        query = self.batch.kind.distinct
        if query is not None:
            known = [column for column in query.present if column.missing is None]
            mask, value = passing(query.where, known, self.names), pl.col(self.names[query.column])
            # A row that does not count has the value null.
            value = value if mask is None else pl.when(mask).then(value)
            return placed.select(*self.keys, value.alias("value")).unique()
        if self.batch.columns:
            return placed.group_by(self.keys).agg(*self._sums, *also)
        # All rows lie in one cell, also if there are none.
        return placed.select(pl.lit(0, dtype=pl.Int64).alias("cell"), *self._sums, *also)


def _place(axis: Key, name: str) -> pl.Expr:
    """Where a row lies along an axis; one past the end for nowhere."""
    value = pl.col(name).cast(pl.Int64)
    if isinstance(axis.column, NumericColumn):
        inner = axis.starts[1:]
        # A range of any number of bins has one width.
        ends = (0, inner.step) if isinstance(inner, range) else inner
        steps = {later - earlier for earlier, later in pairwise(ends)} or {1}
        if not inner:
            value = value * 0
        elif len(steps) == 1:
            # The first and the last bin may be cut by the bounds.
            value = ((value - inner[0]) // steps.pop() + 1).clip(0, len(inner))
        else:
            starts = pl.lit(pl.Series(inner, dtype=pl.Int64))
            bins = starts.search_sorted(value, side="right").cast(pl.Int64)
            value = pl.when(value.is_not_null()).then(bins)
    return value.fill_null(len(axis))
