"""Every user with all their rows: bounded first, then aggregated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.engine.batching import Batch, Grouping
from dpcli.engine.contribution_bounding import ContributionBounder
from dpcli.engine.decode import encoded
from dpcli.engine.group_limits import ClampedTotals, cap_rows_per_group
from dpcli.engine.shard import RowSampler
from dpcli.engine.sums import distinct_counts, distinct_values, expressions, sums_of
from dpcli.engine.user_ids import NULL_ID, Dictionary
from dpcli.privacy.relation import PersonUnit
from dpcli.queries import Query


class UserLevelAggregation:
    """One scan of files whose rows belong to users."""

    def __init__(
        self,
        queries: Sequence[Query],
        batches: Sequence[Batch],
        unit: PersonUnit,
        sampler: RowSampler,
        size: int,
        wanted: Mapping[Column, int],
    ) -> None:
        self._queries, self._unit, self._sampler, self._size = queries, unit, sampler, size
        self._wanted, self._dictionary = wanted, Dictionary()
        self._names = {
            column: "user" if column.name == unit.column else f"v{place}"
            for column, place in wanted.items()
        }
        self._batches = [(batch, Grouping(batch, self._names)) for batch in batches]

    def frames(self, tables: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """For each batch one row per occupied cell: where it is, its sums, any blanks.

        Each of `tables` has a column `t0`, `t1` and so on for each wanted column, and
        `blank` for rows that are blank wherever they are read.
        """
        carried = {
            name: _absent(column) if column.missing is None else None
            for column, name in self._names.items()
            if name != "user"
        }
        totals = [
            ClampedTotals(grouping, batch.linear(self._queries), self._size, self._unit.cells)
            for batch, grouping in self._batches
            if batch.kind.totals
        ]
        arguments = (self._unit.rows, carried, totals, self._sampler, self._size)
        with ContributionBounder(*arguments) as bounder:
            blank = self._read(tables, bounder)
            return self._aggregated(bounder, blank=blank)

    def _read(self, tables: Sequence[pl.LazyFrame], bounder: ContributionBounder) -> bool:
        """Give the bounder all rows; whether some row was blank wherever it was read.

        File after file: which rows of a user are kept depends on the order of theirs.
        """
        columns = [
            self._encoding(column, name, bounder).alias(name)
            for column, name in self._names.items()
        ]
        blank = False
        for texts in tables:
            rows = texts.select(*columns, "blank")
            for batch in rows.collect_batches(engine="streaming", maintain_order=True):
                blank = blank or bool(batch["blank"].any())
                bounder.add(batch if self._unit.each else batch.filter(pl.col("user") != NULL_ID))
        return blank

    def _encoding(self, column: Column, name: str, bounder: ContributionBounder) -> pl.Expr:
        """A column of the file as whole numbers, with a number of its own for null."""
        text = f"t{self._wanted[column]}"
        if name == "user":
            return pl.col(text).map_batches(
                bounder.users.numbers, return_dtype=pl.Int64(), is_elementwise=True
            )
        value = encoded(column, text)
        if not isinstance(column, CategoryColumn | NumericColumn):
            value = self._dictionary.numbers(value)
        return value.fill_null(_absent(column)) if column.missing is None else value

    def _aggregated(self, bounder: ContributionBounder, *, blank: bool) -> list[pl.DataFrame]:
        """The sums over all shards, batch by batch."""
        parts: list[list[pl.DataFrame]] = [[] for _ in self._batches]
        for rows, totals in bounder.bounded():
            added_up = iter(totals)
            for found, (batch, grouping) in zip(parts, self._batches, strict=True):
                if batch.kind.totals:
                    found.append(next(added_up).sums())
                else:
                    found.append(self._partial(rows, batch, grouping))
        return [
            self._whole(found, batch, grouping, blank=blank)
            for found, (batch, grouping) in zip(parts, self._batches, strict=True)
        ]

    def _partial(self, rows: pl.DataFrame, batch: Batch, grouping: Grouping) -> pl.DataFrame:
        """One shard of a batch: its sums in each cell, or the values there."""
        placed = grouping.placed(rows.lazy().with_columns(blank=pl.lit(value=False))).collect()
        if batch.kind.groups is not None:
            users, priorities = placed["user"].to_numpy(), placed["priority"].to_numpy()
            limits = (self._unit.cells, self._unit.rows_per_cell)
            stays = cap_rows_per_group(users, priorities, grouping.numbers(placed), *limits)
            placed = placed.filter(pl.Series(stays))
        distinct = batch.kind.distinct
        if distinct is not None:
            return distinct_values(placed.lazy(), distinct, self._names, grouping.keys).collect()
        sums = sums_of(self._queries, batch)
        return placed.group_by(grouping.keys).agg(expressions(sums, self._names, self._size))

    def _whole(
        self, parts: Sequence[pl.DataFrame], batch: Batch, grouping: Grouping, *, blank: bool
    ) -> pl.DataFrame:
        """All shards of a batch together, open axes as texts."""
        keys = grouping.keys
        if not parts:
            count = len(batch.members) + len(sums_of(self._queries, batch))
            names = [*keys, *(f"s{number}" for number in range(count))]
            return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64)).with_columns(blank=blank)
        together = pl.concat(parts)
        if batch.kind.distinct is not None:
            values = together.lazy().group_by([*keys, "value"]).agg(pl.col("blank").any())
            whole = distinct_counts(values, keys).collect()
        else:
            whole = together.group_by(keys).agg(pl.col(r"^s\d+$").sum())
        named = [self._dictionary.texts(pl.col(name)).alias(name) for name in grouping.open]
        return whole.with_columns(pl.lit(blank).alias("blank"), *named)


def _absent(column: Column) -> int:
    """The number of a missing cell in an encoded column."""
    return column.lower - 1 if isinstance(column, NumericColumn) else -1
