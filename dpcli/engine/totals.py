"""What each person adds to each cell, over all their rows, clamped and summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpcli.columns import Column
from dpcli.engine.cells import GroupBy
from dpcli.engine.limits import heads_within
from dpcli.engine.sums import PlainSum
from dpcli.queries import LinearQuery

PENDING = 1 << 18
"""Rows of sums that wait before they are added up again."""


class Totals:
    """The totals of some people, cell by cell, for queries of the same groups.

    A row of the table is a person in a cell: the least of their lots there, and for
    each query the sum of the rows that count and how many those are.
    """

    def __init__(
        self,
        groups: GroupBy,
        queries: Sequence[LinearQuery],
        names: Mapping[Column, str],
        size: int,
        most: int,
    ) -> None:
        self._groups, self._queries, self._most = groups, tuple(queries), most
        self._names, self._size = names, size
        self._parts: list[pl.DataFrame] = []
        self._pending = 0

    def empty(self) -> Totals:
        """The same for other people, with nothing in it."""
        return Totals(self._groups, self._queries, self._names, self._size, self._most)

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows: `person`, `lot` and the encoded columns, their nulls in place."""
        keys = ["person", *self._groups.names]
        placed = self._groups.placed(rows.lazy())
        wanted = [pl.col("lot").min()]
        for position, query in enumerate(self._queries):
            counted, total = self._sums(query)
            wanted.append(total.expression(self._names, self._size).alias(f"t{position}"))
            wanted.append(counted.expression(self._names, self._size).alias(f"n{position}"))
        part = placed.group_by(keys).agg(wanted).collect()
        self._parts.append(part)
        self._pending += len(part)
        if self._pending > PENDING + len(self._parts[0]):
            self._merge()

    @staticmethod
    def _sums(query: LinearQuery) -> tuple[PlainSum, PlainSum]:
        """How many rows of a person count, and what they add."""
        known = frozenset(
            column
            for column in (*query.present, *(factor.column for factor in query.factors))
            if column.missing is None
        )
        counted = PlainSum((), query.where, known)
        return counted, PlainSum(query.factors, query.where, known) if query.factors else counted

    def _merge(self) -> None:
        """One row for each person and cell."""
        keys = ["person", *self._groups.names]
        whole = pl.concat(self._parts)
        if len(self._parts) > 1:
            whole = whole.group_by(keys).agg(pl.col("lot").min(), pl.col(r"^[tn]\d+$").sum())
        self._parts, self._pending = [whole], 0

    def sums(self) -> pl.DataFrame:
        """For each cell, the clamped totals of the people who have it among their groups."""
        self._merge()
        table = self._groups.inside(self._parts[0])
        stays = heads_within(table["person"].to_numpy(), table["lot"].to_numpy(), self._most)
        table = table.filter(pl.Series(stays))
        # A bound away from zero makes totals larger than the rows that they are made of.
        clamped = [
            pl.when(pl.col(f"n{position}") > 0)
            .then(pl.col(f"t{position}").cast(pl.Int128).clip(*query.totals))
            .otherwise(0)
            .sum()
            .alias(f"s{position}")
            for position, query in enumerate(self._queries)
            if query.totals is not None
        ]
        return table.group_by(self._groups.names).agg(clamped)
