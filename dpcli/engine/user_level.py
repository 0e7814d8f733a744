"""Every user with all their rows: bounded first, then aggregated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.engine.batching import Batch, Grouping
from dpcli.engine.contribution_bounding import ContributionBounder
from dpcli.engine.decode import Decoder
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
        decoder: Decoder,
    ) -> None:
        self._queries, self._unit, self._sampler, self._size = queries, unit, sampler, size
        self._decoder, self._dictionary = decoder, Dictionary()
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
            flags = self._read(tables, bounder)
            return self._aggregated(bounder), flags

    def _read(
        self, tables: Sequence[pl.LazyFrame], bounder: ContributionBounder
    ) -> dict[str, bool]:
        """Give the bounder all rows; what was found in any of them.

        File after file: which rows of a user are kept depends on the order of theirs.
        """
        marks = [*self._decoder.undecided(), pl.col("blank")]
        flags: dict[str, bool] = {}
        for texts in tables:
            rows = texts.select(*self._values(), *(mark.name.prefix("odd_") for mark in marks))
            for batch in rows.collect_batches(engine="streaming", maintain_order=True):
                found = batch.select(pl.col("^odd_.*$").any().name.replace("^odd_", ""))
                for name, flag in found.row(0, named=True).items():
                    flags[name] = flags.get(name, False) or bool(flag)
                users = bounder.users.numbers(batch["user"])
                kept = batch.with_columns(users.alias("user"))
                bounder.add(kept if self._unit.each else kept.filter(pl.col("user") != NULL_ID))
        return flags

    def _values(self) -> Iterator[pl.Expr]:
        """The columns of the file as whole numbers, with a number of its own for null."""
        for value, (column, name) in zip(
            self._decoder.values(self._names), self._names.items(), strict=True
        ):
            if name == "user":
                yield pl.col(self._decoder.columns[column]).alias(name)
                continue
            whole = isinstance(column, CategoryColumn | NumericColumn)
            number = value if whole else self._dictionary.numbers(value)
            yield number.fill_null(_absent(column)) if column.missing is None else number

    def _aggregated(self, bounder: ContributionBounder) -> list[pl.DataFrame]:
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
            self._whole(found, batch, grouping)
            for found, (batch, grouping) in zip(parts, self._batches, strict=True)
        ]

    def _partial(self, rows: pl.DataFrame, batch: Batch, grouping: Grouping) -> pl.DataFrame:
        """One shard of a batch: its sums in each cell, or the values there."""
        placed = grouping.placed(rows.lazy()).collect()
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


def _absent(column: Column) -> int:
    """The number of a missing cell in an encoded column."""
    return column.lower - 1 if isinstance(column, NumericColumn) else -1
