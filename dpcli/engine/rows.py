"""Every row by itself: all clusters answered from one streaming scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpcli.columns import Column
from dpcli.engine.cells import GroupBy
from dpcli.engine.cluster import Cluster
from dpcli.engine.distinct import distinct_values, how_many
from dpcli.engine.encode import encoded
from dpcli.engine.sample import few_distinct
from dpcli.engine.sums import sums_of
from dpcli.engine.table import Tables
from dpcli.queries import Query


def row_frames(
    tables: Tables,
    queries: Sequence[Query],
    clusters: Sequence[Cluster],
    size: int,
    wanted: Mapping[Column, int],
) -> list[pl.LazyFrame]:
    """For each cluster one row per occupied cell: where it is, its sums, any blanks.

    There are at most `size` rows; `wanted` are the columns with their places.
    """
    frames = tables.frames()
    texts = frames[0] if len(frames) == 1 else pl.concat(frames)
    return [_Grouped(queries, cluster, size, tables, wanted).frame(texts) for cluster in clusters]


class _Grouped:
    """One cluster, aggregated."""

    def __init__(
        self,
        queries: Sequence[Query],
        cluster: Cluster,
        size: int,
        tables: Tables,
        wanted: Mapping[Column, int],
    ) -> None:
        self._cluster, self._size, self._tables, self._wanted = cluster, size, tables, wanted
        self._sums = sums_of(queries, cluster)
        self._distinct = cluster.kind.distinct
        self._columns: list[Column] = list(cluster.columns)

    def frame(self, texts: pl.LazyFrame) -> pl.LazyFrame:
        """The occupied cells."""
        values = self._values()
        if not self._columns:
            rows = texts.select(*self._encodings(values), "blank")
            placed = GroupBy(self._cluster, {}).placed(rows)
            if self._distinct is None:
                whole = placed.select(self._told(values))
                return whole.select(pl.lit(0, dtype=pl.Int64).alias("cell"), pl.all())
            return self._aggregated(placed, values)
        closed = dict.fromkeys(axis.column for axis in self._cluster.axes)
        places = [self._wanted[column] for column in closed]
        if self._distinct is None and (not places or few_distinct(*self._tables.sample(), places)):
            return self._by_text(texts, values)
        both = values | {column: f"v{self._wanted[column]}" for column in self._columns}
        placed = GroupBy(self._cluster, both).placed(texts.select(*self._encodings(both), "blank"))
        return self._aggregated(placed, both)

    def _values(self) -> dict[Column, str]:
        """The encoded names of the columns that decide what a row adds."""
        needed = {column for plain in self._sums for column in plain.columns}
        if self._distinct is not None:
            needed |= set(self._distinct.columns)
        return {column: f"v{place}" for column, place in self._wanted.items() if column in needed}

    def _encodings(self, names: Mapping[Column, str]) -> list[pl.Expr]:
        """Columns of the file as whole numbers, open ones and ids as cleaned texts."""
        return [
            encoded(column, f"t{self._wanted[column]}").alias(name)
            for column, name in names.items()
        ]

    def _told(self, names: Mapping[Column, str]) -> list[pl.Expr]:
        """What is asked of each group of rows."""
        sums = [
            plain.expression(names, self._size).alias(f"s{number}")
            for number, plain in enumerate(self._sums)
        ]
        return [*sums, pl.col("blank").any()]

    def _aggregated(self, placed: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """Placed rows brought together by cell."""
        keys = GroupBy(self._cluster, names).names
        if self._distinct is None:
            return placed.group_by(keys).agg(self._told(names))
        values = distinct_values(placed, self._distinct, names, keys)
        return how_many(values, keys)

    def _by_text(self, texts: pl.LazyFrame, values: Mapping[Column, str]) -> pl.LazyFrame:
        """Group by raw texts, and encode only one text per group."""
        columns = self._columns
        raw = [pl.col(f"t{self._wanted[column]}") for column in columns]
        row = pl.lit(1, dtype=pl.Int64).alias("row")
        rows = texts.select(*self._encodings(values), *raw, "blank").with_columns(row)
        grouped = rows.group_by(raw).agg(self._told(values))
        names = {column: f"k{self._wanted[column]}" for column in columns}
        decided = grouped.select(*self._encodings(names), pl.col(r"^s\d+$"), "blank")
        by = GroupBy(self._cluster, names)
        again = [pl.col(r"^s\d+$").sum(), pl.col("blank").any()]
        return by.placed(decided).group_by(by.names).agg(again)
