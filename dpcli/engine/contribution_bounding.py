"""Every user's rows within limits, kept while the file streams past.

Rows are assigned to shards by user. A shard is compacted now and then: it keeps
of each user the rows with the smallest priorities, and adds up what queries need of all
rows. So memory grows with the number of users, not with the number of rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager

import numpy as np
import polars as pl

from dpcli.engine.group_limits import ClampedTotals
from dpcli.engine.shard import Column, RowSampler, UserShard
from dpcli.engine.user_ids import FIRST_ANONYMOUS_ID, NULL_ID, UserIdIndex, scattered

SCATTERED = 1 << 19
"""Rows that are assigned to the shards at once."""

AHEAD = 6
"""Batches of them that may wait while the file is read on."""

COMPACTED = 2
"""Shards that are compacted at once when the file has been read."""

WAITING = 1 << 23
"""Rows that may wait in all shards together before one is compacted."""

SHARD = 1 << 24
"""Bytes of the file per shard: to compact one takes memory for its rows twice."""

MOST_SHARDS = 1 << 8


class ContributionBounder(AbstractContextManager["ContributionBounder"]):
    """All users of a file, and of each at most `limit` rows.

    `names` are the encoded columns that each row carries, whole numbers without
    nulls, each with the number that stands for a missing cell. Shards are filled and
    compacted on a thread of their own, in the order of the file, while the next rows are
    read.
    """

    def __init__(
        self,
        limit: int,
        names: Mapping[str, int | None],
        totals: Sequence[ClampedTotals],
        sampler: RowSampler,
        size: int,
    ) -> None:
        self._names = tuple(names)
        self.users = UserIdIndex()
        count = 1 << (min(max(size // SHARD, 1), MOST_SHARDS).bit_length() - 1)
        # Their capacity differs, so that they are not compacted at the same time.
        self._shards = [
            UserShard(
                *(limit, names, [each.empty() for each in totals], sampler, self.users),
                capacity=WAITING * (count + place) // (2 * count * count),
            )
            for place in range(count)
        ]
        self._rows: list[tuple[Column, ...]] = []
        self._waiting = self._anonymous = 0
        self._worker = ThreadPoolExecutor(1)
        self._pending: deque[Future[None]] = deque()

    def __exit__(self, *_: object) -> None:
        self._worker.shutdown(cancel_futures=True)

    def add(self, batch: pl.DataFrame) -> None:
        """Take in the next rows of the file: `user`, and the encoded columns."""
        users = batch["user"].to_numpy()
        without = np.flatnonzero(users == NULL_ID)
        if len(without):
            users = users.copy()
            users[without] = FIRST_ANONYMOUS_ID - self._anonymous - np.arange(len(without))
            self._anonymous += len(without)
        self._rows.append((users, *(batch[name].to_numpy() for name in self._names)))
        self._waiting += len(users)
        if self._waiting >= SCATTERED:
            self._hand_over()

    def bounded(self) -> Iterator[tuple[pl.DataFrame, Sequence[ClampedTotals]]]:
        """The kept rows and the totals of each shard that has any, one by one.

        A row has its `user`, its `priority` and the encoded columns.
        """
        self._hand_over()
        while self._pending:
            self._pending.popleft().result()
        self._shards.reverse()
        with ThreadPoolExecutor(COMPACTED) as workers:
            ready = deque(workers.submit(shard.compact) for shard in reversed(self._shards))
            while ready:
                ready.popleft().result()
                shard = self._shards.pop()
                if len(shard):
                    yield shard.rows(), shard.totals

    def _hand_over(self) -> None:
        """Give the waiting rows to the worker, and wait if it is far behind."""
        rows, self._rows, self._waiting = self._rows, [], 0
        if rows:
            self._pending.append(self._worker.submit(self._scatter, rows))
        while len(self._pending) > AHEAD:
            self._pending.popleft().result()

    def _scatter(self, rows: Sequence[tuple[Column, ...]]) -> None:
        columns = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
        count = len(self._shards)
        if count == 1:
            self._shards[0].add(columns)
            return
        shards = (scattered(columns[0]) & np.uint64(count - 1)).astype(np.uint8)
        order = np.argsort(shards, kind="stable")
        ends = np.cumsum(np.bincount(shards, minlength=count))
        columns = [column[order] for column in columns]
        for place, shard in enumerate(self._shards):
            span = slice(ends[place - 1] if place else 0, ends[place])
            shard.add([column[span] for column in columns])
