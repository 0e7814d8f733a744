"""Contribution bounding: keeps a limited number of random rows of each user.

Rows are decoded into narrow columns of whole numbers, piece by piece, and scattered to shards by
user. A shard is compacted from time to time: it keeps the rows with the smallest priorities of
each user, as many as the largest limit of a table, and adds up what totals need of all rows. So
memory grows with the number of users, not with the number of rows. No query runs while rows are
scattered or compacted. Each table then uses the first rows of a user within its own limits.

Privacy: the random bits of all priorities are independent and uniform, whatever the rows are. The
low bits count the rows, and only decide between rows of one user with equal random bits, in the
order of the file. So the rows that two neighbors share can be paired with the same random bits.
Fix these bits. The rows of each user are ranked among themselves, so which rows of a user a query
uses is a function of the rows of that user, the bits and the limits of that query. The used rows
of the neighbors then differ only in the rows of one user, and for each query at most in as many
as its own limits allow: that is the sensitivity for which its noise is made. Queries may have
different limits. They share the bits, so a smaller limit uses a part of what a larger one uses.
That changes nothing: for fixed bits, each answer is a function of the rows with its sensitivity,
and the losses of answers with independent noise add up. The loss holds for each choice of bits, and
so for the mixture over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from polars.selectors import matches

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.engine.cells import FLAGS, Decoder, existing_rows, with_derived
from dpcli.engine.sums.joint_tables import JointTable, JointTableExpressions, Partial
from dpcli.engine.sums.users import (
    FIRST_ANONYMOUS_ID,
    TextDictionary,
    UserBinsTable,
    UserIdIndex,
    UserShard,
    UserTable,
    UserTotalsTable,
    bound_rows,
    concatenate,
    id_column,
    scatter,
    smallest_priorities,
)
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.unit import PersonUnit

if TYPE_CHECKING:
    from dpcli.engine.sums.people import GroupsOfPeople

WAITING = 1 << 27
"""Bytes of rows that may wait in all shards together before one is compacted."""

SHARD = 1 << 24
"""Bytes of the file per shard: compacting takes several times its rows' memory."""

MAX_SHARDS = 1 << 6

ROW_COUNT_BITS = 40
"""Low bits of a priority, which count rows, so that no two priorities are equal."""


class Priorities:
    """Random priorities for the rows of one scan, no two of them equal."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """A priority (UInt64) for each of the next rows."""
        random = np.frombuffer(random_bytes(4 * len(rows)), np.uint32).astype(np.uint64)
        low = np.arange(self._count, self._count + len(rows), dtype=np.uint64)
        self._count += len(rows)
        high = random >> np.uint64(ROW_COUNT_BITS - 32) << np.uint64(ROW_COUNT_BITS)
        return pl.Series("priority", high | low)


class UserScan:
    """A scan of files whose rows belong to users: bounds their rows, then aggregates.

    Rows that do not pass the filter `only` are removed before they are anyone's. The columns in
    `derived` follow from values of people.
    """

    def __init__(
        self,
        tables: Sequence[JointTable],
        unit: PersonUnit,
        size: int,
        decoder: Decoder,
        only: Filter | None = None,
        derived: Sequence[Column] = (),
    ) -> None:
        self._unit, self._size, self._only = unit, size, only
        ids = id_column(unit)
        self.decoder, self._dictionary, self._ids = decoder, TextDictionary(), UserIdIndex(ids)
        names = {
            column: "user" if column == ids or column.name == unit.column else f"v{index}"
            for index, column in enumerate(decoder.columns)
        }
        self._names = names
        # Ids that are joined from several columns are read as these are.
        self._joined: dict[Column, str] = {ids: "joined"} if ids.derivation else {}
        self._id_cell = pl.col("joined" if self._joined else decoder.inputs[ids])
        self._people, known = None, dict(names)
        if derived or any(table.kind.of_people for table in tables):
            from dpcli.engine.sums.people import GroupsOfPeople, People

            self._people = People(derived, names, self._dictionary)
            known |= self._people.names
        # Derived columns of rows and people are computed when both are known.
        known |= {column: f"m{at}" for at, column in enumerate(derived) if column not in known}
        self._known = known
        self._expressions = [JointTableExpressions(table, known, size) for table in tables]
        self._totals: dict[JointTableExpressions, UserTotalsTable] = {}
        self._bins: dict[JointTableExpressions, UserBinsTable] = {}
        self._groups: dict[JointTableExpressions, GroupsOfPeople] = {}
        for expressions in self._expressions:
            kind = expressions.table.kind
            if kind.bins is not None:
                self._bins[expressions] = UserBinsTable(kind.bins, known)
            elif kind.totals:
                self._totals[expressions] = UserTotalsTable(expressions)
            elif kind.of_people and kind.groups:
                self._groups[expressions] = GroupsOfPeople(expressions, names)
        self._tables: list[UserTable] = [
            *self._totals.values(), *self._bins.values(), *self._groups.values(),
            *(self._people.tables if self._people else ()),
        ]  # fmt: skip
        # Totals need a row of each user, for the id; values of people need none.
        kinds = [table.kind for table in tables]
        row_limits = (kind.limits.rows or (0 if kind.of_people else 1) for kind in kinds)
        self._max_rows = max(row_limits, default=1)
        self._priorities, self._anonymous = Priorities(), 0
        self._shards: list[UserShard] = []

    def scan(self, texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows of `texts`, decoded to whole numbers, and their flags."""
        names = {column: name for column, name in self._names.items() if name != "user"}
        read = self.decoder.read(texts, names | self._joined)
        existing = existing_rows(read, self._only, names)
        rows = self._ids.with_users(existing, self._id_cell)
        decoded = rows.select("user", "id", *self._values(), FLAGS).collect(engine="streaming")
        return _without_empty_ids(decoded), decoded.select(FLAGS.any())

    def add(self, rows: pl.DataFrame) -> None:
        """Add the next rows, which `scan` decoded."""
        rows = self._with_priorities(rows)
        if not self._shards:
            count = min(max(self._size // SHARD, 1), MAX_SHARDS)
            limits = (self._max_rows, self._tables, WAITING // count)
            self._shards = [UserShard(rows.clear(), *limits) for _ in range(count)]
        scatter(rows, self._shards)

    def add_bounded_rows(self, partials: Sequence[Partial]) -> None:
        """Start from the `bounded_rows` of other scans, which have no row in common."""
        rows, *totals = (
            self._ids.with_users(
                _in_order(frames).lazy().rename({"user": "text"}), pl.col("text"), are_ids=True
            )
            .with_columns(
                # A number that fits a machine word in each scan may not fit it in their sum.
                matches(r"^[nt]\d+$").cast(pl.Int128),
                *(
                    self._dictionary.numbers(pl.col(name))
                    for name in self._dictionary_columns(frames[0])
                ),
            )
            .drop("text")
            .collect(engine="streaming")
            for frames in zip(*partials, strict=True)
        )
        limit = self._max_rows
        shard = UserShard(bound_rows(_without_empty_ids(rows), limit), limit, (), 0)
        for user_totals, table in zip(self._tables, totals, strict=True):
            shard.totals[user_totals] = user_totals.gather(table.drop("id"))
        self._shards = [shard]

    def bounded_rows(self) -> Partial:
        """The kept rows and the tables of totals, with texts in place of their numbers."""
        for shard in self._shards:
            shard.compact()
        tables = [[shard.rows, *shard.totals_with_ids()] for shard in self._shards]
        return [
            frame.with_columns(
                self._ids.texts().alias("user"),
                *(
                    self._dictionary.texts(pl.col(name)).alias(name)
                    for name in self._dictionary_columns(frame)
                ),
            ).drop("id")
            for frame in map(concatenate, zip(*tables, strict=True))
        ]

    def partial(self) -> Partial:
        """For each joint table the sums of all rows, to be merged with other users' sums."""
        frames = []
        for expressions, table, texts in self._aggregated(merged=False):
            query = expressions.table.kind.distinct
            if query is not None and self._known[query.column] in self._text_columns:
                texts.append(self._dictionary.texts(pl.col("value")).alias("value"))
            frames.append(table.with_columns(texts).collect(engine="streaming"))
        return frames

    def merged_partial(self) -> Partial:
        """For each joint table the merged sums, if there are no other users."""
        return [
            expressions.table.merge(table).with_columns(texts).collect(engine="streaming")
            for expressions, table, texts in self._aggregated(merged=True)
        ]

    def _aggregated(
        self, *, merged: bool
    ) -> Iterator[tuple[JointTableExpressions, pl.LazyFrame, list[pl.Expr]]]:
        """For each joint table its expressions, its lines of all shards, and key texts."""
        shards = []
        while self._shards:
            # Each shard is freed as soon as it is aggregated.
            shards.append(self._aggregate_shard(self._shards.pop(), merged=merged))
        for expressions, *frames in zip(self._expressions, *shards, strict=True):
            texts = [
                self._dictionary.texts(pl.col(name)).alias(name)
                for name in expressions.private_names
            ]
            yield expressions, pl.concat(frames).lazy(), texts

    def _aggregate_shard(self, shard: UserShard, *, merged: bool) -> list[pl.DataFrame]:
        """For each joint table, the sums or the distinct values of one shard by cell.

        Unless `merged`, distinct values keep the id of their user, for a merge with other scans.
        """
        shard.compact()
        frames = []
        people = None
        if self._people is not None:
            people = self._people.lines(shard.totals).collect(engine="streaming").lazy()
        for expressions in self._expressions:
            kind = expressions.table.kind
            if totals := self._totals.get(expressions):
                frames.append(totals.sums(shard.totals[totals]))
                continue
            if bins := self._bins.get(expressions):
                kept = shard.first_rows(kind.limits.rows)
                frames.append(bins.sums(shard.totals[bins], kept, people))
                continue
            if kind.of_people:
                assert people is not None
                rows = people
                if groups := self._groups.get(expressions):
                    rows = groups.lines(shard.totals[groups]).join(people, on="user", how="left")
            else:
                rows = shard.first_rows(kind.limits.rows).lazy()
                if people is not None:
                    rows = self._with_people(rows, people, expressions.table)
            rows = expressions.assign_cells(rows)
            if kind.groups is not None and not kind.of_people:
                rows = cap_rows_per_group(rows.filter(expressions.in_user_group), expressions)
            if not merged and kind.distinct is not None and not kind.of_people:
                # Other scans have other numbers for users.
                rows = rows.with_columns(self._ids.texts().alias("user"))
            frames.append(expressions.partial(rows))
        return pl.collect_all(frames, engine="streaming")

    def _with_people(
        self, rows: pl.LazyFrame, people: pl.LazyFrame, table: JointTable
    ) -> pl.LazyFrame:
        """The rows with the columns of people that the queries of a table use."""
        used = {column for query in table.members.values() for column in query.columns}
        derived = [column for column in used if column.uses_people]
        if not derived:
            return rows
        rows, known = rows.join(people, on="user", how="left"), dict(self._names)
        assert self._people is not None
        known |= self._people.names
        for column in derived:
            rows = with_derived(rows, column, self._known, known, {})
        return rows

    @property
    def _text_columns(self) -> list[str]:
        """The columns of texts, which the dictionary numbers."""
        return [
            name for column, name in self._names.items() if not column.has_values and name != "user"
        ]

    def _dictionary_columns(self, frame: pl.DataFrame) -> list[str]:
        """The columns of a frame that hold texts, or their numbers in the dictionary."""
        names = self._text_columns
        return [name for name in frame.columns if name in names or name.startswith("o")]

    def _values(self) -> Iterator[pl.Expr]:
        """All columns of a row but the id; texts by their numbers in the dictionary."""
        for name in self._names.values():
            if name in self._text_columns:
                yield self._dictionary.numbers(pl.col(name))
            elif name != "user":
                yield pl.col(name)

    def _with_priorities(self, decoded: pl.DataFrame) -> pl.DataFrame:
        """The rows that belong to a user, each with a priority if one is used.

        Rows without an id belong to no user, or with `singletons_without_id` to a user each.
        """
        rows = decoded.drop(FLAGS)
        if self._max_rows or self._groups:
            rows = rows.with_columns(self._priorities.of(decoded))
        if not self._unit.singletons_without_id:
            return rows.filter(pl.col("user").is_not_null())
        anonymous = FIRST_ANONYMOUS_ID - self._anonymous - pl.int_range(pl.len())
        self._anonymous += len(rows)
        return rows.with_columns(pl.col("user").fill_null(anonymous))


def _without_empty_ids(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows; an `id` column without any text gets the type Null, to save memory."""
    if rows["id"].null_count() < len(rows):
        return rows
    return rows.with_columns(pl.lit(None, pl.Null).alias("id"))


def _in_order(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The lines of several scans, with low bits of priorities that count all lines.

    As within one scan, the low bits only decide between lines of one user with equal random bits.
    Lines without priorities need no order.
    """
    if "priority" not in frames[0].columns:
        return pl.concat(frames, how="vertical_relaxed")
    size, priority = 1 << ROW_COUNT_BITS, pl.col("priority")
    lines = pl.concat((frame.sort(priority % size) for frame in frames), how="vertical_relaxed")
    return lines.with_columns(priority // size * size + pl.int_range(pl.len(), dtype=pl.UInt64))


def cap_rows_per_group(rows: pl.LazyFrame, expressions: JointTableExpressions) -> pl.LazyFrame:
    """Keep as many groups of each user, and rows in each, as a table allows.

    The groups, and the rows within them, with the smallest priorities are kept.
    """
    user_group, limits = ["user", *expressions.groups], expressions.table.kind.limits
    assert limits.rows is not None
    if limits.groups is not None and limits.groups < limits.rows:
        groups = rows.group_by(user_group).agg(pl.col("priority").min())
        kept = smallest_priorities(groups, limits.groups)
        rows = rows.join(kept, on=user_group, how="semi")
    if limits.in_group is not None and limits.in_group < limits.rows:
        rank = pl.col("priority").rank("ordinal").over(user_group)
        rows = rows.filter(rank <= limits.in_group)
    return rows
