"""Shards of users: the kept rows of each user, and the totals of all rows.

A shard holds all rows of its users, so the rows of a user are ranked among themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from dpcli.engine.ids import require_distinct
from dpcli.engine.user_totals import UserTotalsTable, is_among_first, user_order


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
    """Give each shard the rows of its users; the choice of the shard changes no answer."""
    numbered = rows.with_columns((pl.col("user").hash() % len(shards)).alias("shard"))
    parts = numbered.partition_by("shard", include_key=False, as_dict=True)
    for (number,), part in parts.items():
        shards[number].add(part)


def concatenate(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all frames, some of which may have no texts in `id`."""
    return pl.concat(frames, how="vertical_relaxed")


def bound_rows(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The `limit` rows of each user with the smallest priorities, sorted by user."""
    ordered = rows.sort(user_order())
    require_distinct(ordered)
    return ordered.filter(is_among_first(limit))
