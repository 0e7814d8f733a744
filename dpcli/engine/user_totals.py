"""Totals of users: what all rows of a user add to a cell, clamped at the end.

Rows and lines of users are ranked by their random priorities here, as in `bounding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from dpcli.engine.expressions import sum_expression
from dpcli.engine.grouping import Grouping
from dpcli.queries.sums import UserTotals


def user_order() -> pl.Expr:
    """The number to sort rows by: users first, then the priorities of each user."""
    # To sort by one number is much faster than by two. Priorities have 64 bits.
    return pl.col("user").cast(pl.Int128) * (1 << 64) + pl.col("priority").cast(pl.Int128)


def is_among_first(most: int) -> pl.Expr:
    """Whether a row is among the `most` first of its user, in rows that are sorted by user."""
    user = pl.col("user")
    return user.ne_missing(user.shift(most))


def smallest_priorities(rows: pl.LazyFrame, most: int) -> pl.LazyFrame:
    """The `most` rows of each user with the smallest priorities."""
    return rows.sort(user_order()).filter(is_among_first(most))


class UserTotalsTable:
    """The totals of users, cell by cell, for queries of the same groups.

    A table has one line per user and cell: the smallest `priority` of the user's rows there, and
    for each query the number of rows that count (`n0` and so on) and their total (`t0` and so on).
    `sums` uses the `most` cells of each user with the smallest priorities.
    """

    def __init__(self, grouping: Grouping, totals: Sequence[UserTotals], most: int) -> None:
        self._grouping, self._totals, self._most = grouping, totals, most

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The table of these rows."""
        grouping = self._grouping
        aggregates = [pl.col("priority").min()]
        for position, totals in enumerate(self._totals):
            for name, plain in (("n", totals.counted), ("t", totals.total)):
                value = sum_expression(plain, grouping.names, grouping.size)
                aggregates.append(value.alias(f"{name}{position}"))
        in_cells = grouping.assign_cells(rows.lazy()).filter(grouping.in_user_group)
        lines = in_cells.group_by("user", *grouping.keys).agg(aggregates)
        return lines.collect(engine="streaming")

    def add(self, table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """The table with these rows added."""
        return self.gather(pl.concat([table, self.table(rows)]))

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line per user and cell, from a table that may have several."""
        sums = (pl.col("priority").min(), pl.col(r"^[tn]\d+$").sum())
        return table.group_by("user", *self._grouping.keys).agg(*sums)

    def sums(self, table: pl.DataFrame) -> pl.LazyFrame:
        """For each cell, the sum of the clamped totals of users who have it among their groups.

        Where users are counted by their numbers of rows, a cell is a bin of these.
        """
        used = smallest_priorities(table.lazy(), self._most)
        starts = self._grouping.aggregation.kind.starts
        if starts is not None:
            bins = pl.lit(pl.Series(starts, dtype=pl.Int64))
            place = bins.search_sorted(pl.col("n0"), side="right").cast(pl.Int64) - 1
            return used.group_by(place.alias("cell")).agg(pl.len().cast(pl.Int64).alias("s0"))
        # Clamping to bounds without zero can enlarge totals, so their sum may need 128 bits.
        clamped = [
            pl.when(pl.col(f"n{position}") > 0)
            .then(pl.col(f"t{position}").cast(pl.Int128).clip(*totals.clamp))
            .otherwise(0)
            .sum()
            .alias(f"s{position}")
            for position, totals in enumerate(self._totals)
            if totals.clamp is not None
        ]
        return used.group_by(self._grouping.keys).agg(clamped)
