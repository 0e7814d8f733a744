"""Every person's rows within limits, kept while the file streams past.

Rows are dealt to partitions by person. A partition settles now and then: it keeps
of each person the rows with the least lots, and adds up what is asked of all rows.
So memory grows with the number of people, not with the number of rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType

import numpy as np
import polars as pl

from dpcli.engine.draw import Draw
from dpcli.engine.partition import Column, Partition
from dpcli.engine.people import NOBODY, STRANGERS, People
from dpcli.engine.runs import scattered
from dpcli.engine.totals import Totals

DEALT = 1 << 19
"""Rows that are dealt to the partitions at once."""

AHEAD = 6
"""Deals that may wait while the file is read on."""

SETTLERS = 2
"""Partitions that settle at once when the file has been read."""

WAITING = 1 << 23
"""Rows that may wait in all partitions together before one settles."""

PARTITION = 1 << 24
"""Bytes of the file per partition: to settle one takes memory for its rows twice."""

MOST_PARTITIONS = 1 << 8


class Crowd(AbstractContextManager["Crowd"]):
    """All people of a file, and of each at most `limit` rows.

    `names` are the encoded columns that each row carries, whole numbers without
    nulls, each with the number that stands for a missing cell. Dealing and settling
    run on a thread of their own, in the order of the file, while the next rows are
    read.
    """

    def __init__(
        self,
        limit: int,
        names: Mapping[str, int | None],
        totals: Sequence[Totals],
        draw: Draw,
        size: int,
    ) -> None:
        self._names = tuple(names)
        self.people = People()
        count = 1 << (min(max(size // PARTITION, 1), MOST_PARTITIONS).bit_length() - 1)
        # Their patience differs, lest all of them settle at the same time.
        self._partitions = [
            Partition(
                *(limit, names, [each.empty() for each in totals], draw, self.people),
                patience=WAITING * (count + place) // (2 * count * count),
            )
            for place in range(count)
        ]
        self._rows: list[tuple[Column, ...]] = []
        self._waiting = self._strangers = 0
        self._worker = ThreadPoolExecutor(1)
        self._pending: deque[Future[None]] = deque()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.shutdown(cancel_futures=True)

    def add(self, batch: pl.DataFrame) -> None:
        """Take in the next rows of the file: `person`, and the encoded columns."""
        people = batch["person"].to_numpy()
        nobody = np.flatnonzero(people == NOBODY)
        if len(nobody):
            people = people.copy()
            people[nobody] = STRANGERS - self._strangers - np.arange(len(nobody))
            self._strangers += len(nobody)
        self._rows.append((people, *(batch[name].to_numpy() for name in self._names)))
        self._waiting += len(people)
        if self._waiting >= DEALT:
            self._hand_over()

    def settled(self) -> Iterator[tuple[pl.DataFrame, Sequence[Totals]]]:
        """The kept rows and the totals of each partition that has any, one by one.

        A row has its `person`, its `lot` and the encoded columns.
        """
        self._hand_over()
        while self._pending:
            self._pending.popleft().result()
        self._partitions.reverse()
        with ThreadPoolExecutor(SETTLERS) as settlers:
            ready = deque(settlers.submit(each.settle) for each in reversed(self._partitions))
            while ready:
                ready.popleft().result()
                partition = self._partitions.pop()
                if len(partition):
                    yield partition.rows(), partition.totals

    def _hand_over(self) -> None:
        """Give the waiting rows to the worker, and wait if it is far behind."""
        rows, self._rows, self._waiting = self._rows, [], 0
        if rows:
            self._pending.append(self._worker.submit(self._deal, rows))
        while len(self._pending) > AHEAD:
            self._pending.popleft().result()

    def _deal(self, rows: Sequence[tuple[Column, ...]]) -> None:
        """Hand rows to the partitions of their people."""
        columns = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
        count = len(self._partitions)
        if count == 1:
            self._partitions[0].add(columns)
            return
        dealt = (scattered(columns[0]) & np.uint64(count - 1)).astype(np.uint8)
        order = np.argsort(dealt, kind="stable")
        ends = np.cumsum(np.bincount(dealt, minlength=count))
        columns = [column[order] for column in columns]
        for place, partition in enumerate(self._partitions):
            span = slice(ends[place - 1] if place else 0, ends[place])
            partition.add([column[span] for column in columns])
