"""Contribution bounding: of each user a limited number of rows, chosen at random.

Rows are read into narrow columns of whole numbers, in shards by user. A shard is compacted now
and then: of each user it keeps the rows with the smallest priorities, and adds up what totals
need of all rows. So memory grows with the number of users, not with the number of rows.

Privacy: the random bits of all priorities are independent and uniform, whatever the rows are; the
bits that count rows only decide between rows of one user with the same random bits, in the order of
the file. So the rows that two neighbors share can be paired with the same random bits. Each user's
rows are ranked among themselves, so with these bits the kept rows of the neighbors differ only in
those of one user, of which there are at most as many as the limits allow. The loss holds for each
choice of bits, and so for the mixture over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dpcli.engine.batching import Grouping
from dpcli.engine.decode import stripped
from dpcli.engine.sums import PlainSum
from dpcli.privacy.relation import PersonUnit
from dpcli.queries import LinearQuery
from dpcli.sampling.entropy import random_bytes

COUNTED = 40
"""Low bits of a priority that count rows, so that no two rows have the same one."""


class Priorities:
    """Random priorities of the rows of one scan, no two of them equal."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """Priorities for the next rows."""
        drawn = np.frombuffer(random_bytes(4 * len(rows)), np.uint32).astype(np.uint64)
        places = np.arange(self._count, self._count + len(rows), dtype=np.uint64)
        self._count += len(rows)
        high = drawn >> np.uint64(32 - (64 - COUNTED)) << np.uint64(COUNTED)
        return pl.Series("priority", high | places)


class Dictionary:
    """The texts met so far as whole numbers from zero on; a text keeps its number."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # The numbers are forgotten and assigned again when no column has the type.
        self._kept = pl.Series([], dtype=self._type)

    def numbers(self, texts: pl.Expr) -> pl.Expr:
        """The number of each text as Int64, null for null."""
        return texts.cast(self._kept.dtype).to_physical().cast(pl.Int64)

    def texts(self, numbers: pl.Expr) -> pl.Expr:
        """The text of each number, null for null."""
        return numbers.cast(pl.UInt32).cat.to(self._type).cast(pl.String)

    def users(self, ids: pl.Expr) -> pl.Expr:
        """Whose row it is: numbers that are equal exactly when the ids are; null without an id.

        Ids are texts without the spaces and tabs around them. A plain decimal stands for itself,
        other texts have numbers below zero; `07` is not `7`. No hash stands for a user.
        """
        bare = stripped(ids)
        decimal = bare.cast(pl.Int64, strict=False)
        plain = decimal.is_not_null() & bare.str.slice(0, 1).is_between(pl.lit("1"), pl.lit("9"))
        other = self.numbers(pl.when(~plain).then(bare))
        return pl.when(plain).then(decimal).otherwise(-1 - other)


class Shard:
    """Some users: of each at most `limit` rows, and the totals of all their rows.

    Rows have a `user`, a `priority` and the decoded columns.
    """

    def __init__(self, limit: int, totals: Sequence[UserTotals], capacity: int) -> None:
        self.rows, self.totals = pl.DataFrame(), totals
        self._limit, self._capacity = limit, capacity
        self._new: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Take in rows."""
        self._new.append(rows)
        self._waiting += len(rows)
        if self._waiting > max(self._capacity, len(self.rows)):
            self.compact()

    def compact(self) -> None:
        """Bring the new rows together with the kept ones, and drop what exceeds the limit."""
        if not self._waiting:
            return
        new = pl.concat(self._new)
        self._new, self._waiting = [], 0
        for each in self.totals:
            each.add(new)
        rows = pl.concat([self.rows, new]) if len(self.rows) else new
        counted = rows.lazy().with_columns(pl.len().over("user").alias("count"))
        found = counted.collect(engine="streaming")
        crowded = found["count"] > self._limit
        if crowded.any():
            most = smallest(found.filter(crowded).lazy(), ["user"], self._limit).collect()
            found = pl.concat([found.filter(~crowded), most])
        self.rows = found.drop("count")


def smallest(rows: pl.LazyFrame, keys: Sequence[str], most: int) -> pl.LazyFrame:
    """Of all rows that are equal in `keys` the `most` with the smallest priorities."""
    beyond = [pl.col(key) == pl.col(key).shift(most) for key in keys]
    too_many = pl.all_horizontal(beyond).fill_null(value=False)
    return rows.sort(*keys, "priority").filter(~too_many)


def within_groups(rows: pl.LazyFrame, grouping: Grouping, unit: PersonUnit) -> pl.LazyFrame:
    """Of each user the rows in `unit.cells` groups, and `unit.rows_per_cell` rows in each.

    Kept are the groups, and the rows within them, with the smallest priorities.
    """
    whose = ["user", *grouping.groups]
    if unit.cells < unit.rows:
        groups = rows.group_by(whose).agg(pl.col("priority").min())
        chosen = smallest(groups, ["user"], unit.cells)
        rows = rows.join(chosen, on=whose, how="semi")
    return smallest(rows, whose, unit.rows_per_cell) if unit.rows_per_cell < unit.rows else rows


class UserTotals:
    """The totals of some users, cell by cell, for queries of the same groups.

    A row of the table is a user in a cell: the smallest of their priorities there, and for
    each query the sum of the rows that count and how many those are.
    """

    def __init__(
        self, grouping: Grouping, queries: Sequence[LinearQuery], size: int, most: int
    ) -> None:
        self._grouping, self._queries, self._size = grouping, queries, size
        self._most, self._table = most, pl.DataFrame()

    def empty(self) -> UserTotals:
        """The same for other users, with no rows yet."""
        return UserTotals(self._grouping, self._queries, self._size, self._most)

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows: `user`, `priority` and the decoded columns."""
        wanted = [pl.col("priority").min()]
        for position, query in enumerate(self._queries):
            for name, plain in zip("nt", _count_and_total(query), strict=True):
                value = plain.expression(self._grouping.encoded, self._size)
                wanted.append(value.alias(f"{name}{position}"))
        keys = ["user", *self._grouping.keys]
        placed = self._grouping.placed(rows.lazy()).filter(self._grouping.somewhere)
        part = placed.group_by(keys).agg(wanted).collect(engine="streaming")
        if len(self._table):
            added = (pl.col("priority").min(), pl.col(r"^[tn]\d+$").sum())
            part = pl.concat([self._table, part]).group_by(keys).agg(*added)
        self._table = part

    def sums(self) -> pl.LazyFrame:
        """For each cell, the clamped totals of the users who have it among their groups."""
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
        chosen = smallest(self._table.lazy(), ["user"], self._most)
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
