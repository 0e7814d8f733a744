"""Contribution bounding: of each user a limited number of rows, chosen at random.

Rows are read into narrow columns of whole numbers, piece by piece, and put into shards by user. A
shard is compacted now and then: of each user it keeps the rows with the smallest priorities, and
adds up what totals need of all rows. So memory grows with the number of users, not with the number
of rows. No query runs while rows are put into shards or compacted.

Privacy: the random bits of all priorities are independent and uniform, whatever the rows are; the
bits that count rows only decide between rows of one user with the same random bits, in the order of
the file. So the rows that two neighbors share can be paired with the same random bits. Each user's
rows are ranked among themselves, so with these bits the kept rows of the neighbors differ only in
those of one user, of which there are at most as many as the limits allow. The loss holds for each
choice of bits, and so for the mixture over all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl
from polars.selectors import matches

from dpcli.columns import IdColumn, PrivatePartitionColumn
from dpcli.engine.decode import FLAGS, Decoder
from dpcli.engine.grouping import Grouping, SharedAggregation
from dpcli.engine.ids import FIRST_ANONYMOUS_ID, Dictionary, UserIdIndex, require_distinct
from dpcli.engine.rollup import Partial
from dpcli.engine.user_totals import UserTotals, among_first, by_user, smallest
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.unit import PersonUnit
from dpcli.queries import Query

WAITING = 1 << 28
"""Bytes of rows that may wait in all shards together before one is compacted."""

SHARD = 1 << 26
"""Bytes of the file per shard: to compact one takes memory for its rows again."""

MOST_SHARDS = 1 << 6

COUNTED = 40
"""Low bits of a priority that count rows, so that no two rows have the same."""


class Priorities:
    """Random priorities of the rows of one scan, no two of them equal."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """Priorities for the next rows."""
        drawn = np.frombuffer(random_bytes(4 * len(rows)), np.uint32).astype(np.uint64)
        places = np.arange(self._count, self._count + len(rows), dtype=np.uint64)
        self._count += len(rows)
        high = drawn >> np.uint64(COUNTED - 32) << np.uint64(COUNTED)
        return pl.Series("priority", high | places)


class UserLevelAggregation:
    """One scan of files whose rows belong to users: bounded first, then aggregated."""

    def __init__(
        self,
        queries: Sequence[Query],
        batches: Sequence[SharedAggregation],
        unit: PersonUnit,
        size: int,
        decoder: Decoder,
    ) -> None:
        self._unit, self._size = unit, size
        self.decoder, self._dictionary, self._ids = decoder, Dictionary(), UserIdIndex()
        names = {
            column: "user" if column.name == unit.column else f"v{place}"
            for place, column in enumerate(decoder.columns)
        }
        self._names = names
        self._whose = next(text for one, text in decoder.columns.items() if names[one] == "user")
        self._groupings = [Grouping(batch, queries, names, size) for batch in batches]
        self._totals = {
            grouping: UserTotals(grouping, grouping.batch.linear(queries), unit.max_groups)
            for grouping in self._groupings
            if grouping.batch.kind.totals
        }
        self._priorities, self._anonymous = Priorities(), 0
        self._shards: list[Shard] = []

    def scan(self, texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Some rows as whole numbers, and their flags."""
        names = {column: name for column, name in self._names.items() if name != "user"}
        read = self._ids.added(self.decoder.read(texts, names), self._whose)
        rows = read.select("user", "id", *self._values(), FLAGS).collect(engine="streaming")
        return _narrow(rows), rows.select(FLAGS.any())

    def add(self, rows: pl.DataFrame) -> None:
        """Take in the next rows."""
        owned = self._owned(rows)
        if not self._shards:
            count = min(max(self._size // SHARD, 1), MOST_SHARDS)
            limits = (self._unit.max_rows, self._totals.values(), WAITING // count)
            self._shards = [Shard(owned.clear(), *limits) for _ in range(count)]
        _distribute(owned, self._shards)

    def take(self, parts: Sequence[Partial]) -> None:
        """Take in what other scans kept, of rows that are in no two of them."""
        rows, *totals = (
            self._ids.added(_in_order(frames).lazy().rename({"user": "whose"}), "whose")
            .with_columns(
                # What fits a machine word in each scan may not do so in all.
                matches(r"^[nt]\d+$").cast(pl.Int128),
                *(self._dictionary.numbers(pl.col(name)) for name in self._named(frames[0])),
            )
            .drop("whose")
            .collect()
            for frames in zip(*parts, strict=True)
        )
        limit = self._unit.max_rows
        shard = Shard(_kept(_narrow(rows), limit), limit, (), 0)
        for each, table in zip(self._totals.values(), totals, strict=True):
            shard.totals[each] = each.gathered(table.drop("id"))
        self._shards = [shard]

    def kept(self) -> Partial:
        """The rows that are kept and the tables of totals, with texts for numbers of this scan."""
        for shard in self._shards:
            shard.compact()
        tables = [[shard.rows, *shard.totals_with_ids()] for shard in self._shards]
        return [
            frame.with_columns(
                self._ids.texts().alias("user"),
                *(self._dictionary.texts(pl.col(name)).alias(name) for name in self._named(frame)),
            ).drop("id")
            for frame in map(_joined, zip(*tables, strict=True))
        ]

    def partial(self, *, merged: bool) -> Partial:
        """For each batch the sums of all rows; if not `merged`, as those of other users are."""
        partials = []
        while self._shards:
            partials.append(self._partials(self._shards.pop(), merged=merged))
        found = []
        for grouping, *every in zip(self._groupings, *partials, strict=True):
            frame = pl.concat(every).lazy()
            texts = [self._dictionary.texts(pl.col(name)).alias(name) for name in grouping.open]
            query = grouping.batch.kind.distinct
            if merged:
                frame = grouping.batch.merged(frame)
            elif query is not None and self._names[query.column] in self._open_columns:
                texts.append(self._dictionary.texts(pl.col("value")).alias("value"))
            found.append(frame.with_columns(texts).collect())
        return found

    @property
    def _open_columns(self) -> list[str]:
        """The columns of texts whose numbers are those of the dictionary."""
        return [
            name
            for column, name in self._names.items()
            if isinstance(column, IdColumn | PrivatePartitionColumn) and name != "user"
        ]

    def _named(self, frame: pl.DataFrame) -> list[str]:
        """The columns of a frame that have numbers of the dictionary, or the texts of these."""
        names = self._open_columns
        return [name for name in frame.columns if name in names or name.startswith("o")]

    def _values(self) -> Iterator[pl.Expr]:
        """The columns of the file but that of ids, as whole numbers."""
        for name in self._names.values():
            if name in self._open_columns:
                yield self._dictionary.numbers(pl.col(name))
            elif name != "user":
                yield pl.col(name)

    def _owned(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The next rows that belong to a user, with their priorities."""
        rows = batch.drop(FLAGS).with_columns(self._priorities.of(batch))
        if not self._unit.singletons_without_id:
            return rows.filter(pl.col("user").is_not_null())
        own = FIRST_ANONYMOUS_ID - self._anonymous - pl.int_range(pl.len())
        self._anonymous += len(rows)
        return rows.with_columns(pl.col("user").fill_null(own))

    def _partials(self, shard: Shard, *, merged: bool) -> list[pl.DataFrame]:
        """One shard: for each batch its sums in each cell, or the values there."""
        shard.compact()
        frames = []
        for grouping in self._groupings:
            totals = self._totals.get(grouping)
            if totals is not None:
                frames.append(totals.sums(shard.totals[totals]))
                continue
            placed = grouping.placed(shard.rows.lazy())
            if grouping.batch.kind.groups is not None:
                placed = cap_rows_per_group(placed.filter(grouping.somewhere), grouping, self._unit)
            if not merged and grouping.batch.kind.distinct is not None:
                # Other scans have other numbers for users.
                placed = placed.with_columns(self._ids.texts().alias("user"))
            frames.append(grouping.partial(placed))
        return pl.collect_all(frames)


def _narrow(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows; a column without any text takes no memory."""
    if rows["id"].null_count() < len(rows):
        return rows
    return rows.with_columns(pl.lit(None, pl.Null).alias("id"))


def _joined(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of frames of which some have ids without any text."""
    return pl.concat(frames, how="vertical_relaxed")


def _kept(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Of the rows of each user those with the smallest priorities, sorted by user."""
    ordered = rows.sort(by_user())
    require_distinct(ordered)
    return ordered.filter(among_first(limit))


def _in_order(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The lines of some scans, whose priorities now count the lines of all of them.

    As within a scan, that only decides between lines of one user with the same random bits.
    """
    size, priority = 1 << COUNTED, pl.col("priority")
    every = [frame.sort(priority % size) for frame in frames]
    whole = pl.concat(every, how="vertical_relaxed")
    return whole.with_columns(priority // size * size + pl.int_range(pl.len(), dtype=pl.UInt64))


def _distribute(rows: pl.DataFrame, shards: Sequence[Shard]) -> None:
    """Give each shard the rows of its users; which shard decides no answer."""
    numbered = rows.with_columns((pl.col("user").hash() % len(shards)).alias("shard"))
    parts = numbered.partition_by("shard", include_key=False, as_dict=True)
    for (number,), part in parts.items():
        shards[number].add(part)


class Shard:
    """Some users: of each at most `limit` rows, and the totals of all their rows.

    Rows have a `user`, a `priority` and the decoded columns; `rows` are none at first.
    """

    def __init__(
        self, rows: pl.DataFrame, limit: int, totals: Iterable[UserTotals], capacity: int
    ) -> None:
        self.rows, self._limit, self._capacity = rows, limit, capacity
        self.totals = {each: each.of(rows) for each in totals}
        self._new: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Take in rows."""
        self._new.append(rows)
        waiting = sum(each.estimated_size() for each in self._new)
        if waiting > max(self._capacity, self.rows.estimated_size() // 2):
            self.compact()

    def compact(self) -> None:
        """Bring the new rows together with the kept ones, and drop what exceeds the limit."""
        if not self._new:
            return
        new, self._new = _joined(self._new), []
        self.totals = {each: each.added(table, new) for each, table in self.totals.items()}
        self.rows = _kept(_joined([self.rows, new]), self._limit)

    def totals_with_ids(self) -> list[pl.DataFrame]:
        """The tables of totals, each line with the `id` of its user."""
        ids = self.rows.select("user", "id").unique("user")
        return [table.join(ids, on="user", how="left") for table in self.totals.values()]


def cap_rows_per_group(rows: pl.LazyFrame, grouping: Grouping, unit: PersonUnit) -> pl.LazyFrame:
    """At most `max_groups` groups of each user, and `max_rows_per_group` rows in each.

    Kept are the groups, and the rows within them, with the smallest priorities.
    """
    whose = ["user", *grouping.groups]
    if unit.max_groups < unit.max_rows:
        groups = rows.group_by(whose).agg(pl.col("priority").min())
        rows = rows.join(smallest(groups, unit.max_groups), on=whose, how="semi")
    if unit.max_rows_per_group < unit.max_rows:
        place = pl.col("priority").rank("ordinal").over(whose)
        rows = rows.filter(place <= unit.max_rows_per_group)
    return rows
