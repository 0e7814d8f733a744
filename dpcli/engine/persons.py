"""Every person with all their rows: bounded first, then aggregated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.engine.cells import GroupBy
from dpcli.engine.cluster import Cluster
from dpcli.engine.crowd import Crowd
from dpcli.engine.dictionary import Dictionary
from dpcli.engine.distinct import distinct_values, how_many
from dpcli.engine.draw import Draw
from dpcli.engine.encode import encoded
from dpcli.engine.limits import within
from dpcli.engine.people import NOBODY
from dpcli.engine.sums import sums_of
from dpcli.engine.totals import Totals
from dpcli.privacy.relation import PersonUnit
from dpcli.queries import LinearQuery, Query


class Persons:
    """One scan of files whose rows belong to people."""

    def __init__(
        self,
        queries: Sequence[Query],
        clusters: Sequence[Cluster],
        unit: PersonUnit,
        draw: Draw,
        size: int,
        wanted: Mapping[Column, int],
    ) -> None:
        self._queries, self._clusters, self._unit = queries, clusters, unit
        self._draw, self._size = draw, size
        (self._whose,) = (place for column, place in wanted.items() if column.name == unit.column)
        self._names = {
            column: f"v{place}" for column, place in wanted.items() if place != self._whose
        }
        self._names |= {c: "person" for c, place in wanted.items() if place == self._whose}
        self._texts = {column: f"t{place}" for column, place in wanted.items()}
        self._dictionary = Dictionary()
        self._by = [GroupBy(cluster, self._names) for cluster in clusters]

    def frames(self, tables: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """For each cluster one row per occupied cell: where it is, its sums, any blanks.

        Each of `tables` has a column `t0`, `t1` and so on for each wanted column, and
        `blank` for rows that are blank wherever they are read.
        """
        carried = {
            name: _absent(column) if column.missing is None else None
            for column, name in self._names.items()
            if name != "person"
        }
        with Crowd(self._unit.rows, carried, self._totals(), self._draw, self._size) as crowd:
            blank = self._read(tables, crowd)
            return self._aggregated(crowd, blank=blank)

    def _read(self, tables: Sequence[pl.LazyFrame], crowd: Crowd) -> bool:
        """Give the crowd all rows; whether some row was blank wherever it was read.

        File after file: which rows of a person are kept depends on the order of theirs.
        """
        whose = pl.col(f"t{self._whose}").map_batches(
            crowd.people.numbers, return_dtype=pl.Int64(), is_elementwise=True
        )
        blank = False
        for texts in tables:
            rows = texts.select(whose.alias("person"), *self._encodings(), "blank")
            for batch in rows.collect_batches(engine="streaming", maintain_order=True):
                blank = blank or bool(batch["blank"].any())
                crowd.add(batch if self._unit.each else batch.filter(pl.col("person") != NOBODY))
        return blank

    def _encodings(self) -> list[pl.Expr]:
        """Columns of the file as whole numbers, with a number of its own for null."""
        found = []
        for column, name in self._names.items():
            if name == "person":
                continue
            value = encoded(column, self._texts[column])
            if not isinstance(column, CategoryColumn | NumericColumn):
                value = self._dictionary.numbers(value)
            if column.missing is None:
                value = value.fill_null(_absent(column))
            found.append(value.alias(name))
        return found

    def _totals(self) -> list[Totals]:
        """What has to be added up over all rows of a person, for each such cluster."""
        return [
            Totals(by, self._totalled(cluster), self._names, self._size, self._unit.cells)
            for cluster, by in zip(self._clusters, self._by, strict=True)
            if cluster.kind.totals
        ]

    def _totalled(self, cluster: Cluster) -> list[LinearQuery]:
        """The members of a cluster of totals."""
        members = (self._queries[position] for position in cluster.members)
        return [query for query in members if isinstance(query, LinearQuery)]

    def _aggregated(self, crowd: Crowd, *, blank: bool) -> list[pl.DataFrame]:
        """The sums over all partitions, cluster by cluster."""
        parts: list[list[pl.DataFrame]] = [[] for _ in self._clusters]
        for rows, totals in crowd.settled():
            added_up = iter(totals)
            for found, cluster, by in zip(parts, self._clusters, self._by, strict=True):
                if cluster.kind.totals:
                    found.append(next(added_up).sums())
                else:
                    found.append(self._partial(rows, cluster, by))
        return [
            self._whole(found, cluster, by, blank=blank)
            for found, cluster, by in zip(parts, self._clusters, self._by, strict=True)
        ]

    def _partial(self, rows: pl.DataFrame, cluster: Cluster, by: GroupBy) -> pl.DataFrame:
        """One partition of a cluster: its sums in each cell, or the values there."""
        placed = by.placed(rows.lazy().with_columns(blank=pl.lit(value=False))).collect()
        if cluster.kind.groups is not None:
            unit = self._unit
            people, lots = placed["person"].to_numpy(), placed["lot"].to_numpy()
            stays = within(people, lots, by.groups(placed), unit.cells, unit.rows_per_cell)
            placed = placed.filter(pl.Series(stays))
        distinct = cluster.kind.distinct
        if distinct is not None:
            return distinct_values(placed.lazy(), distinct, self._names, by.names).collect()
        sums = sums_of(self._queries, cluster)
        added = [
            plain.expression(self._names, self._size).alias(f"s{number}")
            for number, plain in enumerate(sums)
        ]
        return placed.group_by(by.names).agg(added)

    def _whole(
        self, parts: Sequence[pl.DataFrame], cluster: Cluster, by: GroupBy, *, blank: bool
    ) -> pl.DataFrame:
        """All partitions of a cluster together, open axes as texts."""
        if not parts:
            count = len(cluster.members) + len(sums_of(self._queries, cluster))
            names = [*by.names, *(f"s{number}" for number in range(count))]
            return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64)).with_columns(blank=blank)
        together = pl.concat(parts)
        if cluster.kind.distinct is not None:
            keys = [*by.names, "value"]
            values = together.lazy().group_by(keys).agg(pl.col("blank").any())
            whole = how_many(values, by.names).collect()
        else:
            whole = together.group_by(by.names).agg(pl.col(r"^s\d+$").sum())
        named = [self._dictionary.texts(pl.col(name)).alias(name) for name in by.open]
        return whole.with_columns(pl.lit(blank).alias("blank"), *named)


def _absent(column: Column) -> int:
    """What stands for a missing cell in an encoded column."""
    return column.lower - 1 if isinstance(column, NumericColumn) else -1
