"""Contribution bounding: keeps a limited number of random rows of each user.

Rows are decoded into narrow columns of whole numbers, piece by piece, and scattered to shards by
user. A shard is compacted from time to time: it keeps the rows with the smallest priorities of
each user, and adds up what totals need of all rows. So memory grows with the number of users, not
with the number of rows. No query runs while rows are scattered or compacted.

Privacy: the random bits of all priorities are independent and uniform, whatever the rows are. The
low bits count the rows, and only decide between rows of one user with equal random bits, in the
order of the file. So the rows that two neighbors share can be paired with the same random bits.
The rows of each user are ranked among themselves. With these bits, the kept rows of the neighbors
differ only in the rows of one user, and at most in as many as the limits allow. The loss holds
for each choice of bits, and so for the mixture over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from polars.selectors import matches

from dpcli.engine.cells import FLAGS, Decoder
from dpcli.engine.sums.joint_tables import JointTable, JointTableExpressions, Partial
from dpcli.engine.sums.users import (
    FIRST_ANONYMOUS_ID,
    TextDictionary,
    UserIdIndex,
    UserShard,
    UserTotalsTable,
    bound_rows,
    concatenate,
    id_column,
    scatter,
    smallest_priorities,
)
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.unit import PersonUnit

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
    """A scan of files whose rows belong to users: bounds their rows, then aggregates."""

    def __init__(
        self, tables: Sequence[JointTable], unit: PersonUnit, size: int, decoder: Decoder
    ) -> None:
        self._unit, self._size = unit, size
        ids = id_column(unit)
        self.decoder, self._dictionary, self._ids = decoder, TextDictionary(), UserIdIndex(ids)
        names = {
            column: "user" if column.name == unit.column else f"v{index}"
            for index, column in enumerate(decoder.columns)
        }
        self._names = names
        self._id_cell = pl.col(decoder.inputs[ids])
        self._expressions = [JointTableExpressions(table, names, size) for table in tables]
        self._totals = {
            expressions: UserTotalsTable(
                expressions, expressions.table.user_totals, unit.max_groups
            )
            for expressions in self._expressions
            if expressions.table.kind.totals
        }
        self._priorities, self._anonymous = Priorities(), 0
        self._shards: list[UserShard] = []

    def scan(self, texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows of `texts`, decoded to whole numbers, and their flags."""
        names = {column: name for column, name in self._names.items() if name != "user"}
        rows = self._ids.with_users(self.decoder.read(texts, names), self._id_cell)
        decoded = rows.select("user", "id", *self._values(), FLAGS).collect(engine="streaming")
        return _without_empty_ids(decoded), decoded.select(FLAGS.any())

    def add(self, rows: pl.DataFrame) -> None:
        """Add the next rows, which `scan` decoded."""
        rows = self._with_priorities(rows)
        if not self._shards:
            count = min(max(self._size // SHARD, 1), MAX_SHARDS)
            limits = (self._unit.max_rows, self._totals.values(), WAITING // count)
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
        limit = self._unit.max_rows
        shard = UserShard(bound_rows(_without_empty_ids(rows), limit), limit, (), 0)
        for user_totals, table in zip(self._totals.values(), totals, strict=True):
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
            if query is not None and self._names[query.column] in self._text_columns:
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
        for expressions in self._expressions:
            totals = self._totals.get(expressions)
            if totals is not None:
                frames.append(totals.sums(shard.totals[totals]))
                continue
            rows = expressions.assign_cells(shard.rows.lazy())
            if expressions.table.kind.groups is not None:
                rows = cap_rows_per_group(
                    rows.filter(expressions.in_user_group), expressions, self._unit
                )
            if not merged and expressions.table.kind.distinct is not None:
                # Other scans have other numbers for users.
                rows = rows.with_columns(self._ids.texts().alias("user"))
            frames.append(expressions.partial(rows))
        return pl.collect_all(frames, engine="streaming")

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
        """The rows that belong to a user, each with a priority.

        Rows without an id belong to no user, or with `singletons_without_id` to a user each.
        """
        rows = decoded.drop(FLAGS).with_columns(self._priorities.of(decoded))
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
    """
    size, priority = 1 << ROW_COUNT_BITS, pl.col("priority")
    lines = pl.concat((frame.sort(priority % size) for frame in frames), how="vertical_relaxed")
    return lines.with_columns(priority // size * size + pl.int_range(pl.len(), dtype=pl.UInt64))


def cap_rows_per_group(
    rows: pl.LazyFrame, expressions: JointTableExpressions, unit: PersonUnit
) -> pl.LazyFrame:
    """Keep `max_groups` groups of each user, and `max_rows_per_group` rows in each.

    The groups, and the rows within them, with the smallest priorities are kept.
    """
    user_group = ["user", *expressions.groups]
    if unit.max_groups < unit.max_rows:
        groups = rows.group_by(user_group).agg(pl.col("priority").min())
        kept = smallest_priorities(groups, unit.max_groups)
        rows = rows.join(kept, on=user_group, how="semi")
    if unit.max_rows_per_group < unit.max_rows:
        rank = pl.col("priority").rank("ordinal").over(user_group)
        rows = rows.filter(rank <= unit.max_rows_per_group)
    return rows
