"""Totals of users: what all of their rows add to a cell, clamped in the end."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dpcli.engine.grouping import Grouping
from dpcli.engine.sums import PlainSum
from dpcli.queries import LinearQuery


def by_user() -> pl.Expr:
    """What to sort rows by: users, and the rows of each by their priorities."""
    # To sort by one number is much faster than by two; priorities have 64 bits.
    return pl.col("user").cast(pl.Int128) * (1 << 64) + pl.col("priority").cast(pl.Int128)


def among_first(most: int) -> pl.Expr:
    """Whether a row is one of the first of its user, of rows that are sorted by user."""
    user = pl.col("user")
    return user.ne_missing(user.shift(most))


def smallest(rows: pl.LazyFrame, most: int) -> pl.LazyFrame:
    """Of the rows of each user the `most` with the smallest priorities."""
    return rows.sort(by_user()).filter(among_first(most))


class UserTotals:
    """The totals of users, cell by cell, for queries of the same groups.

    A line of a table is a user in a cell: the smallest of their priorities there, and for
    each query the sum of the rows that count and how many those are.
    """

    def __init__(self, grouping: Grouping, queries: Sequence[LinearQuery], most: int) -> None:
        self._grouping, self._queries, self._most = grouping, queries, most

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The table of some rows."""
        grouping = self._grouping
        wanted = [pl.col("priority").min()]
        for position, query in enumerate(self._queries):
            for name, plain in zip("nt", _count_and_total(query), strict=True):
                value = plain.expression(grouping.names, grouping.size)
                wanted.append(value.alias(f"{name}{position}"))
        placed = grouping.placed(rows.lazy()).filter(grouping.somewhere)
        return placed.group_by("user", *grouping.keys).agg(wanted).collect(engine="streaming")

    def added(self, table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """A table with more rows."""
        return self.gathered(pl.concat([table, self.of(rows)]))

    def gathered(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table with one line per user and cell, from one with several."""
        added = (pl.col("priority").min(), pl.col(r"^[tn]\d+$").sum())
        return table.group_by("user", *self._grouping.keys).agg(*added)

    def sums(self, table: pl.DataFrame) -> pl.LazyFrame:
        """For each cell, the clamped totals of the users who have it among their groups."""
        # A bound away from zero makes totals larger than the rows that they are made of.
        clamped = [
            pl.when(pl.col(f"n{position}") > 0)
            .then(pl.col(f"t{position}").cast(pl.Int128).clip(*query.user_clamp))
            .otherwise(0)
            .sum()
            .alias(f"s{position}")
            for position, query in enumerate(self._queries)
            if query.user_clamp is not None
        ]
        chosen = smallest(table.lazy(), self._most)
        return chosen.group_by(self._grouping.keys).agg(clamped)


def _count_and_total(query: LinearQuery) -> tuple[PlainSum, PlainSum]:
    """How many rows of a user count, and what they add."""
    known = frozenset(
        column
        for column in (*query.present, *(factor.column for factor in query.factors))
        if column.missing is None
    )
    counted = PlainSum((), query.where, known)
    return counted, PlainSum(query.factors, query.where, known) if query.factors else counted
