"""Users of rows: ids as whole numbers, and shards with the kept rows of users.

An id has the same number in all files of one scan. A shard also has the totals of all rows: a
total is what all rows of a user add to a cell, clamped at the end. Rows and lines of users are
ranked by their random priorities, as in `bounding`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import polars as pl

from dpcli.data.labels import IdColumn
from dpcli.engine.sums.joint_tables import JointTableExpressions
from dpcli.engine.sums.sum_expressions import sum_expression
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.sums import UserTotals


def user_order() -> pl.Expr:
    """The number by which rows are sorted: by user, then by priority."""
    # To sort by one number is much faster than by two. Priorities have 64 bits.
    return pl.col("user").cast(pl.Int128) * (1 << 64) + pl.col("priority").cast(pl.Int128)


def is_among_first(max_rows: int) -> pl.Expr:
    """Whether a row is among its user's first `max_rows`, in rows sorted by user."""
    user = pl.col("user")
    return user.ne_missing(user.shift(max_rows))


def smallest_priorities(rows: pl.LazyFrame, max_rows: int) -> pl.LazyFrame:
    """The `max_rows` rows of each user with the smallest priorities."""
    return rows.sort(user_order()).filter(is_among_first(max_rows))


class UserTotalsTable:
    """The totals of users, cell by cell, for queries of the same groups.

    A table has one line per user and cell: the smallest `priority` of the user's rows there, and
    for each query the number of rows that count (`n0` and so on) and their total (`t0` and so on).
    `sums` uses the `max_rows` cells of each user with the smallest priorities.
    """

    def __init__(
        self, expressions: JointTableExpressions, totals: Sequence[UserTotals], max_rows: int
    ) -> None:
        self._expressions, self._totals, self._max_rows = expressions, totals, max_rows

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The table of the totals of some rows."""
        expressions = self._expressions
        aggregates = [pl.col("priority").min()]
        for position, totals in enumerate(self._totals):
            for name, plain in (("n", totals.counted), ("t", totals.total)):
                value = sum_expression(plain, expressions.names, expressions.size)
                aggregates.append(value.alias(f"{name}{position}"))
        in_cells = expressions.assign_cells(rows.lazy()).filter(expressions.in_user_group)
        return expressions.group(in_cells, aggregates, ["user"]).collect(engine="streaming")

    def add(self, table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """The table with the totals of more rows added."""
        return self.gather(pl.concat([table, self.table(rows)]))

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line per user and cell, from a table that may have several."""
        sums = (pl.col("priority").min(), pl.col(r"^[tn]\d+$").sum())
        return table.group_by("user", *self._expressions.keys).agg(*sums)

    def sums(self, table: pl.DataFrame) -> pl.LazyFrame:
        """For each cell, the sum of the clamped totals of the users who use the cell.

        For queries of users by their number of rows, a cell is a bin, and the sum is its users.
        """
        used = smallest_priorities(table.lazy(), self._max_rows)
        starts = self._expressions.table.kind.starts
        if starts is not None:
            bins = pl.lit(pl.Series(starts, dtype=pl.Int64))
            index = bins.search_sorted(pl.col("n0"), side="right").cast(pl.Int64) - 1
            return used.group_by(index.alias("cell")).agg(pl.len().cast(pl.Int64).alias("s0"))
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
        return used.group_by(self._expressions.keys).agg(clamped)


class UserShard:
    """Some users: at most `limit` rows of each, and the totals of all their rows.

    Rows have a `user`, an `id`, a `priority` and the decoded columns. At first `rows` is empty.
    """

    def __init__(
        self, rows: pl.DataFrame, limit: int, totals: Iterable[UserTotalsTable], capacity: int
    ) -> None:
        self.rows, self._limit, self._capacity = rows, limit, capacity
        self.totals = {user_totals: user_totals.table(rows) for user_totals in totals}
        self._waiting: list[pl.DataFrame] = []
        self._waiting_bytes: float = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows, and compact the shard if too many of them wait."""
        self._waiting.append(rows)
        self._waiting_bytes += rows.estimated_size()
        if self._waiting_bytes > self._capacity:
            kept = (self.rows, *self.totals.values())
            # Half as many bytes are new as were kept, so the cost of all compactions is linear.
            if self._waiting_bytes > sum(frame.estimated_size() for frame in kept) // 2:
                self.compact()

    def compact(self) -> None:
        """Merge the waiting rows with the kept rows, and drop rows beyond the limit."""
        if not self._waiting:
            return
        new, self._waiting, self._waiting_bytes = concatenate(self._waiting), [], 0
        self.totals = {totals: totals.add(table, new) for totals, table in self.totals.items()}
        self.rows = bound_rows(concatenate([self.rows, new]), self._limit)

    def totals_with_ids(self) -> list[pl.DataFrame]:
        """The tables of totals, each line with the `id` of its user."""
        ids = self.rows.select("user", "id").unique("user")
        return [table.join(ids, on="user", how="left") for table in self.totals.values()]


def scatter(rows: pl.DataFrame, shards: Sequence[UserShard]) -> None:
    """Give each shard the rows of its users; the choice of shards changes no answer."""
    numbered = rows.with_columns((pl.col("user").hash() % len(shards)).alias("shard"))
    parts = numbered.partition_by("shard", include_key=False, as_dict=True)
    for (number,), part in parts.items():
        shards[number].add(part)


def concatenate(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all frames; an `id` without any text has the type Null in some."""
    return pl.concat(frames, how="vertical_relaxed")


def bound_rows(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The `limit` rows of each user with the smallest priorities, sorted by user."""
    ordered = rows.sort(user_order())
    require_distinct(ordered)
    return ordered.filter(is_among_first(limit))


FIRST_ANONYMOUS_ID = -(1 << 62)
"""Numbers up to this one are rows without an id, each a separate user."""

DROPPED_BITS = 3
"""Dropped bits of a hash, so that its number stays above `FIRST_ANONYMOUS_ID`."""


class TextDictionary:
    """Numbers texts from zero on, in order of first use; a text keeps its number."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # Polars forgets the numbers when no column has the type, so one column is kept.
        self._kept = pl.Series([], dtype=self._type)

    def numbers(self, texts: pl.Expr) -> pl.Expr:
        """The number of each text as Int64, null for null."""
        return texts.cast(self._kept.dtype).to_physical().cast(pl.Int64)

    def texts(self, numbers: pl.Expr) -> pl.Expr:
        """The text of each number, null for null."""
        return numbers.cast(pl.UInt32).cat.to(self._type).cast(pl.String)


class HashCollisionError(Exception):
    """Two ids share a number: the scan must start again with other random hashes."""


def id_column(unit: PersonUnit) -> IdColumn:
    """The column of the file with the ids of the people of a privacy unit."""
    kinds = {kind.key: kind for kind in IdColumn.takes}
    options = tuple(kinds[key](*values) for key, *values in unit.options)
    return IdColumn(
        unit.column,
        source=unit.source,
        options=options,
        singletons_without_id=unit.singletons_without_id,
    )


class UserIdIndex:
    """A row's user: `user`, a whole number, and `id`, the text if no plain decimal.

    Ids are the texts that their column makes of cells. A plain decimal is its own number, and
    unless the column joins them, `07` is not `7`. Other texts get a random hash below zero, which
    two ids may share: code that brings the rows of one number together must compare their texts
    (`require_distinct`).
    """

    def __init__(self, ids: IdColumn) -> None:
        self._ids, self._seed = ids, secrets.randbits(64)
        # It is random, so that no chosen id can be equal to an invented one.
        self._token = pl.lit(secrets.token_hex(16))

    def with_users(
        self, rows: pl.LazyFrame, cell: pl.Expr, *, are_ids: bool = False
    ) -> pl.LazyFrame:
        """The rows with `user` and `id` from texts in `cell`; both null without an id.

        The texts are cells of a file, or with `are_ids` what their column made of them.
        """
        text, quick, late = pl.col("id"), pl.col("user"), pl.col("late")
        read = (lambda ids: ids) if are_ids else self._ids.plain_text
        # A mark may be a plain decimal. Other plain decimals are the ids that they write.
        number = _plain(read(cell) if self._ids.marks else cell)
        # Most ids are plain decimals. Each step reads what is left.
        return (
            rows.with_columns(number.alias("user"))
            .with_columns(read(pl.when(quick.is_null()).then(cell)).alias("id"))
            .with_columns(_plain(text).alias("late"))
            .with_columns(pl.when(late.is_null()).then(text).alias("id"))
            .with_columns(pl.coalesce(quick, late, self._hash(text)).alias("user"))
            .drop("late")
        )

    def _hash(self, text: pl.Expr) -> pl.Expr:
        """A random number below zero for each text, null for null."""
        number = -1 - (text.hash(self._seed) // (1 << DROPPED_BITS)).cast(pl.Int64)
        return pl.when(text.is_not_null()).then(number)

    def texts(self) -> pl.Expr:
        """The id of each user; without an id, a text that no other row of any scan has."""
        user = pl.col("user")
        number = user.cast(pl.String)
        anonymous = pl.when(user <= FIRST_ANONYMOUS_ID).then(self._token + number)
        return anonymous.when(user > 0).then(number).otherwise(pl.col("id").cast(pl.String))


def require_distinct(rows: pl.DataFrame) -> None:
    """Raise HashCollisionError if a number has two texts, in rows sorted by user."""
    if rows["id"].dtype != pl.Null:
        user, text = pl.col("user"), pl.col("id")
        collides = (user == user.shift()) & text.ne_missing(text.shift())
        if rows.select(collides.any()).item():
            raise HashCollisionError


def _plain(text: pl.Expr) -> pl.Expr:
    """The number that a text writes as a plain decimal, else null."""
    # Texts that begin with a sign or a zero sort before `1`.
    return pl.when(text >= "1").then(text.cast(pl.Int64, strict=False))
