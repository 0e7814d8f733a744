"""Every user with all their rows: bounded first, then aggregated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.engine.batching import Batch, Grouping
from dpcli.engine.bounding import Dictionary, Priorities, Shard, UserTotals, within_groups
from dpcli.engine.decode import Decoder
from dpcli.engine.sums import distinct_counts, distinct_values, expressions, sums_of
from dpcli.privacy.relation import PersonUnit
from dpcli.queries import Query

WAITING = 1 << 23
"""Rows that may wait in all shards together before one is compacted."""

SHARD = 1 << 26
"""Bytes of the file per shard: to compact one takes memory for its rows twice."""

MOST_SHARDS = 1 << 6

FIRST_ANONYMOUS = -(1 << 62)
"""From here downwards: rows without an id, each of which is a user of its own."""


class UserLevelAggregation:
    """One scan of files whose rows belong to users."""

    def __init__(
        self,
        queries: Sequence[Query],
        batches: Sequence[Batch],
        unit: PersonUnit,
        size: int,
        decoder: Decoder,
    ) -> None:
        self._queries, self._unit, self._size = queries, unit, size
        self._decoder, self._dictionary, self._users = decoder, Dictionary(), Dictionary()
        self._names = {
            column: "user" if column.name == unit.column else f"v{place}"
            for place, column in enumerate(decoder.columns)
        }
        self._batches = [(batch, Grouping(batch, self._names)) for batch in batches]

    def frames(self, tables: Sequence[pl.LazyFrame]) -> tuple[list[pl.DataFrame], dict[str, bool]]:
        """For each batch one row per occupied cell: where it is, and its sums.

        Each of `tables` has the texts of the decoder's columns, and `blank` for rows that are
        blank wherever they are read. Also which columns have an undecided cell, as flags.
        """
        totals = [
            UserTotals(grouping, batch.linear(self._queries), self._size, self._unit.cells)
            for batch, grouping in self._batches
            if batch.kind.totals
        ]
        count = min(max(self._size // SHARD, 1), MOST_SHARDS)
        shards = [
            Shard(self._unit.rows, [each.empty() for each in totals], WAITING // count)
            for _ in range(count)
        ]
        flags = self._read(tables, shards)
        parts: list[list[pl.DataFrame]] = [[] for _ in self._batches]
        while shards:
            shard = shards.pop()
            shard.compact()
            if not len(shard.rows):
                continue
            for found, result in zip(parts, self._partials(shard), strict=True):
                found.append(result)
        pairs = zip(parts, self._batches, strict=True)
        return [self._whole(found, *batch) for found, batch in pairs], flags

    def _read(self, tables: Sequence[pl.LazyFrame], shards: Sequence[Shard]) -> dict[str, bool]:
        """Give the shards all rows; what was found in any of them."""
        marks = [mark.name.prefix("odd_") for mark in (*self._decoder.undecided(), pl.col("blank"))]
        priorities, anonymous = Priorities(), 0
        flags: dict[str, bool] = {}
        for texts in tables:
            rows = texts.select(*self._values(), *marks)
            for batch in rows.collect_batches(engine="streaming", maintain_order=True):
                found = batch.select(pl.col("^odd_.*$").any().name.replace("^odd_", ""))
                for name, flag in found.row(0, named=True).items():
                    flags[name] = flags.get(name, False) or bool(flag)
                whole = batch.with_columns(priorities.of(batch)).drop("^odd_.*$")
                if self._unit.each:
                    own = FIRST_ANONYMOUS - anonymous - pl.int_range(pl.len())
                    anonymous += len(whole)
                    whole = whole.with_columns(pl.col("user").fill_null(own))
                else:
                    whole = whole.filter(pl.col("user").is_not_null())
                _distribute(whole, shards)
        return flags

    def _values(self) -> Iterator[pl.Expr]:
        """The columns of the file as whole numbers."""
        values = self._decoder.values(self._names)
        for value, (column, name) in zip(values, self._names.items(), strict=True):
            if name == "user":
                yield self._users.users(pl.col(self._decoder.columns[column])).alias(name)
            elif isinstance(column, CategoryColumn | NumericColumn):
                yield value
            else:
                yield self._dictionary.numbers(value)

    def _partials(self, shard: Shard) -> list[pl.DataFrame]:
        """One shard: for each batch its sums in each cell, or the values there."""
        totals = iter(shard.totals)
        return pl.collect_all(
            next(totals).sums() if batch.kind.totals else self._partial(shard, batch, grouping)
            for batch, grouping in self._batches
        )

    def _partial(self, shard: Shard, batch: Batch, grouping: Grouping) -> pl.LazyFrame:
        placed = grouping.placed(shard.rows.lazy())
        if batch.kind.groups is not None:
            placed = within_groups(placed.filter(grouping.somewhere), grouping, self._unit)
        if batch.kind.distinct is not None:
            return distinct_values(placed, batch.kind.distinct, self._names, grouping.keys)
        sums = expressions(sums_of(self._queries, batch), self._names, self._size)
        return placed.group_by(grouping.keys).agg(sums)

    def _whole(
        self, parts: Sequence[pl.DataFrame], batch: Batch, grouping: Grouping
    ) -> pl.DataFrame:
        """All shards of a batch together, open axes as texts."""
        keys = grouping.keys
        if not parts:
            count = len(batch.members) + len(sums_of(self._queries, batch))
            names = [*keys, *(f"s{number}" for number in range(count))]
            return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))
        together = pl.concat(parts)
        if batch.kind.distinct is not None:
            whole = distinct_counts(together.lazy().unique(), keys).collect()
        else:
            whole = together.group_by(keys).agg(pl.col(r"^s\d+$").sum())
        named = [self._dictionary.texts(pl.col(name)).alias(name) for name in grouping.open]
        return whole.with_columns(named)


def _distribute(rows: pl.DataFrame, shards: Sequence[Shard]) -> None:
    """Give each shard the rows of its users; which shard decides no answer."""
    if len(shards) == 1:
        shards[0].add(rows)
        return
    numbered = rows.with_columns((pl.col("user").hash() % len(shards)).alias("shard"))
    for part in numbered.partition_by("shard", maintain_order=False):
        shards[part["shard"][0]].add(part.drop("shard"))
