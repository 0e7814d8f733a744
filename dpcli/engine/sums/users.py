"""Users of rows: ids as whole numbers, and shards with the kept rows of users.

An id has the same number in all files of one scan. A shard also has the totals of all rows: a
total is what all rows of a user add to a cell, clamped at the end. Rows and lines of users are
ranked by their random priorities, as in `bounding`.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from dpcli.data.column import Column, Source
from dpcli.data.derived.joined_ids import JoinedIds
from dpcli.data.labels import IdColumn
from dpcli.engine.sums.joint_tables import JointTableExpressions
from dpcli.engine.sums.sum_expressions import sum_expression
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.sums import GroupLimits, UserBins


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


class UserTable(ABC):
    """What is kept of the rows of users, whose order does not matter."""

    @abstractmethod
    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The table of some rows."""

    @abstractmethod
    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table of all rows, from a table with lines of several parts of them."""

    def add(self, table: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """The table with more rows added."""
        return self.gather(pl.concat([table, self.table(rows)]))


class UserTotalsTable(UserTable):
    """The totals of users, cell by cell, for queries of the same groups.

    A table has one line per user and cell: the smallest `priority` of the user's rows there, and
    for each query the number of rows that count (`n0` and so on) and their total (`t0` and so on).
    `sums` uses as many cells of each user as the table allows,
    those with the smallest priorities.
    """

    def __init__(self, expressions: JointTableExpressions) -> None:
        self._expressions, self._totals = expressions, expressions.table.user_totals

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

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line per user and cell, from a table that may have several."""
        sums = (pl.col("priority").min(), pl.col(r"^[tn]\d+$").sum())
        return table.group_by("user", *self._expressions.keys).agg(*sums)

    def sums(self, table: pl.DataFrame) -> pl.LazyFrame:
        """For each cell, the sum of the clamped totals of the users who use the cell."""
        limits = self._expressions.table.kind.limits
        assert limits.groups is not None
        used = smallest_priorities(table.lazy(), limits.groups)
        # Clamping to bounds without zero can enlarge totals, so their sum may need 128 bits.
        clamped = [
            pl.when(pl.col(f"n{position}") > 0)
            .then(pl.col(f"t{position}").cast(pl.Int128).clip(*totals.clamp))
            .otherwise(0)
            .sum()
            .alias(f"s{position}")
            for position, totals in enumerate(self._totals)
        ]
        return used.group_by(self._expressions.keys).agg(clamped)


class UserBinsTable(UserTable):
    """What decides the bins of users, for queries of the same bins.

    A table has the number of rows of a user (`n0`) and the least value of the column that decides
    (`f0`).
    """

    def __init__(self, bins: UserBins, names: Mapping[Column, str]) -> None:
        self._bins, self._names = bins, names

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The table of some rows."""
        first = self._bins.first
        value = pl.lit(0) if first is None else pl.col(self._names[first]).min()
        counts = pl.len().cast(pl.Int64).alias("n0"), value.cast(pl.Int64).alias("f0")
        return rows.lazy().group_by("user").agg(counts).collect(engine="streaming")

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line per user, from a table that may have several."""
        return table.group_by("user").agg(pl.col("n0").sum(), pl.col("f0").min())

    def sums(
        self, table: pl.DataFrame, kept: pl.DataFrame, people: pl.LazyFrame | None
    ) -> pl.LazyFrame:
        """For each bin, as a cell, the number of its users.

        `kept` are the rows that decide on groups, and `people` the lines of people, if any.
        """
        bins, users = self._bins, table.lazy()
        if people is not None and bins.first_of_people is not None:
            own = pl.col(self._names[bins.first_of_people]).alias("own")
            users = users.join(people.select("user", own), on="user", how="left")
            users = users.with_columns(pl.min_horizontal("f0", "own").alias("f0"))
        exceeded = [f"x{index}" for index in range(len(bins.limits))]
        for name, limits in zip(exceeded, bins.limits, strict=True):
            over = self._exceeding(limits, kept.lazy()).with_columns(pl.lit(value=True).alias(name))
            users = users.join(over, on="user", how="left")
        first, inner = pl.col("f0"), len(bins.starts)
        starts = pl.lit(pl.Series(bins.starts, dtype=pl.Int64))
        passed = starts.search_sorted(pl.col("n0").cast(pl.Int64), side="right").cast(pl.Int64)
        found = [
            pl.when(first < bins.before).then(first),
            pl.when(passed > 0).then(bins.before - 1 + passed),
            *(
                pl.when(pl.col(name)).then(pl.lit(number, pl.Int64))
                for number, name in enumerate(exceeded, bins.before + inner)
            ),
            first + inner + len(exceeded),
        ]
        cell = pl.coalesce(found).alias("cell")
        return users.group_by(cell).agg(pl.len().cast(pl.Int64).alias("s0"))

    def _exceeding(self, limits: GroupLimits, kept: pl.LazyFrame) -> pl.LazyFrame:
        """The users with more groups, or more rows in one of them, than limits allow."""
        groups, inside = [], []
        for number, axis in enumerate(limits.axes):
            value = pl.col(self._names[axis.column])
            index = value if axis.is_private else axis.index(value)
            groups.append(index.alias(f"g{number}"))
            known = pl.col(f"g{number}")
            inside.append(known.is_not_null() if axis.is_private else known < len(axis))
        rows = kept.select("user", *groups).filter(inside)
        names = [f"g{number}" for number in range(len(groups))]
        counted = rows.group_by("user", *names).agg(pl.len().alias("rows"))
        over = (pl.len() > limits.max_groups) | (pl.col("rows").max() > limits.max_rows_per_group)
        return counted.group_by("user").agg(over.alias("over")).filter("over").select("user")


class UserShard:
    """Some users: at most `limit` rows of each, and the totals of all their rows.

    Rows have a `user`, an `id`, a `priority` and the decoded columns. At first `rows` is empty.
    With a limit of zero, only ids that are no plain decimals are kept.
    """

    def __init__(
        self, rows: pl.DataFrame, limit: int, totals: Iterable[UserTable], capacity: int
    ) -> None:
        self.rows = rows if limit else rows.select("user", "id")
        self._limit, self._capacity = limit, capacity
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
        new = new if self._limit else new.select("user", "id")
        self.rows = bound_rows(concatenate([self.rows, new]), self._limit)

    def first_rows(self, limit: int | None) -> pl.DataFrame:
        """The first `limit` rows of each user; the shard must be compacted."""
        if limit is None or limit >= self._limit:
            return self.rows
        return self.rows.filter(is_among_first(limit))

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
    """The `limit` rows of each user with the smallest priorities, sorted by user.

    With a limit of zero, the different ids that are no plain decimals.
    """
    if not limit:
        ids = rows.drop_nulls("id").unique().sort("user")
        require_distinct(ids)
        return ids
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
    """The column with the ids of the people of a privacy unit.

    It is read from one column of the file, or joined from several.
    """
    kinds = {kind.key: kind for kind in IdColumn.takes}

    def column(name: str, source: Source, options: tuple[tuple[Any, ...], ...]) -> IdColumn:
        declared = tuple(kinds[key](*values) for key, *values in options)
        return IdColumn(
            name, source=source, options=declared, singletons_without_id=unit.singletons_without_id
        )

    ids = column(unit.column, unit.source, unit.options)
    if not unit.parts:
        return ids
    return replace(ids, derivation=JoinedIds(tuple(column(*part) for part in unit.parts)))


class UserIdIndex:
    """A row's user: `user`, a whole number, and `id`, the text if no plain decimal.

    Ids are the texts that their column makes of cells. A plain decimal is its own number, and
    unless the column joins them, `07` is not `7`. Other texts get a random hash below zero, which
    two ids may share: code that brings the rows of one number together must compare their texts
    (`require_distinct`).
    """

    def __init__(self, ids: IdColumn) -> None:
        self._ids, self._seed, self._is_joined = ids, secrets.randbits(64), bool(ids.derivation)
        # It is random, so that no chosen id can be equal to an invented one.
        self._token = pl.lit(secrets.token_hex(16))

    def with_users(
        self, rows: pl.LazyFrame, cell: pl.Expr, *, are_ids: bool = False
    ) -> pl.LazyFrame:
        """The rows with `user` and `id` from texts in `cell`; both null without an id.

        The texts are cells of a file, or with `are_ids` what their column made of them.
        """
        text, quick, late = pl.col("id"), pl.col("user"), pl.col("late")
        read = (lambda ids: ids) if are_ids or self._is_joined else self._ids.plain_text
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
