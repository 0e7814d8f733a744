"""The one pass over the files: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.bounding import UserLevelAggregation
from dpcli.engine.decode import FLAGS, Decoder
from dpcli.engine.grouping import Grouping, SharedAggregation, share_aggregations
from dpcli.engine.ids import HashCollisionError
from dpcli.engine.pieces import read_pieces, scan_piece
from dpcli.engine.progress import Progress, interruptible
from dpcli.engine.rollup import Partial, SealedAnswer, roll_up
from dpcli.engine.source import Dataset
from dpcli.mechanisms.query_sensitivity import require_plain
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.queries import Query

SealedAnswers = list[SealedAnswer]

WAITING = 1 << 20
"""Lines of partials that wait to be merged."""


def aggregate(
    queries: Sequence[Query], unit: Unit, dataset: Dataset, progress: Progress | None = None
) -> SealedAnswers:
    """The exact answer to every query, sealed, from one scan of the files.

    The files must have every column the queries read. Nothing that happens here
    is reported beyond one fixed sentence: DataError `data-unreadable`.
    """
    aggregation = Aggregation(queries, unit)
    with dataset.redacted_errors():
        partial = aggregation.partial(dataset, progress or Progress(), merged=True)
        return aggregation.sealed(partial)


class Aggregation:
    """What queries ask of rows: from files to partials, and from these to sealed answers."""

    def __init__(self, queries: Sequence[Query], unit: Unit) -> None:
        for query in queries:
            require_plain(query)
        self._queries, self._unit, self._batches = queries, unit, share_aggregations(queries, unit)
        used = dict.fromkeys(column for query in queries for column in query.columns)
        if isinstance(unit, PersonUnit):
            used |= {IdColumn(unit.column, unit.singletons_without_id): None}
        self.columns: tuple[Column, ...] = tuple(used)

    def partial(
        self, dataset: Dataset, progress: Progress, *, merged: bool = False, kept: bool = False
    ) -> Partial:
        """The partial of all rows of the files; `merged` if there is to be no other.

        Users may have rows in other files only if the rows that bounding keeps are `kept`.
        What fails may quote a record: it must be redacted.
        """
        size, has_users = dataset.size, isinstance(self._unit, PersonUnit)

        def of_rows() -> Partial:
            decoder = Decoder(self.columns)
            rows = RowLevelAggregation(self._queries, self._batches, size, decoder)
            for piece in read_pieces(dataset, self.columns, progress, whole=True):
                for found in scan_piece(piece, decoder, rows.scan):
                    rows.add(found)
            return self.merged([rows.partial()]) if merged else rows.partial()

        def of_users(users: UserLevelAggregation) -> Partial:
            for piece in read_pieces(dataset, self.columns, progress):
                for found in scan_piece(piece, users.decoder, users.scan):
                    users.add(found)
            return users.kept() if kept else users.partial(merged=merged)

        return interruptible((lambda: self._by_users(size, of_users)) if has_users else of_rows)

    def _by_users(self, size: int, work: Callable[[UserLevelAggregation], Partial]) -> Partial:
        """What `work` finds, with other hashes of users if two of them have the same."""
        assert isinstance(self._unit, PersonUnit)
        while True:
            with suppress(HashCollisionError):
                decoder = Decoder(self.columns)
                users = (self._queries, self._batches, self._unit, size, decoder)
                return work(UserLevelAggregation(*users))

    def bounded(self, parts: Sequence[Partial]) -> Partial:
        """The merged partial of all rows, from parts that kept rows of their users."""
        if not isinstance(self._unit, PersonUnit):
            return self.merged(parts)

        def of_users(users: UserLevelAggregation) -> Partial:
            users.take(parts)
            return users.partial(merged=True)

        return self._by_users(sum(len(part[0]) for part in parts), of_users)

    def merged(self, partials: Sequence[Partial]) -> Partial:
        """One partial with a line per cell, from those of rows that are in no two of them."""
        return [
            batch.merged(pl.concat(frames, how="vertical_relaxed").lazy()).collect()
            for batch, *frames in zip(self._batches, *partials, strict=True)
        ]

    def sealed(self, merged: Partial) -> SealedAnswers:
        """The exact answer to every query, from the merged partial of all rows."""
        answers: dict[int, SealedAnswer] = {}
        for batch, frame in zip(self._batches, merged, strict=True):
            answers |= roll_up(frame, self._queries, batch, self._unit)
        return [answers[position] for position in range(len(self._queries))]


class RowLevelAggregation:
    """One scan of files each of whose rows is one unit: added up piece by piece."""

    def __init__(
        self,
        queries: Sequence[Query],
        batches: Sequence[SharedAggregation],
        size: int,
        decoder: Decoder,
    ) -> None:
        self._decoder = decoder
        self._names = {column: f"v{place}" for place, column in enumerate(decoder.columns)}
        self._groupings = [Grouping(batch, queries, self._names, size) for batch in batches]
        self._waiting: list[Partial] = []
        self._merged = 0

    def scan(self, texts: pl.LazyFrame) -> tuple[Partial, pl.DataFrame]:
        """The partial of some rows, and their flags."""
        rows = self._decoder.read(texts, self._names).select(*self._names.values(), FLAGS)
        flags, frames = [FLAGS.any()], []
        for grouping in self._groupings:
            distinct = grouping.batch.kind.distinct is not None
            # The first sums take the flags along: to aggregate these alone is much slower.
            frames.append(grouping.partial(grouping.placed(rows), [] if distinct else flags))
            flags = flags if distinct else []
        if flags:
            frames.append(rows.select(flags))
        results = pl.collect_all(frames, engine="streaming")
        flagged = next(frame for frame in results if "odd_blank" in frame.columns)
        partial = [frame.drop(FLAGS) for frame in results[: len(self._groupings)]]
        return partial, flagged.select(FLAGS)

    def add(self, partial: Partial) -> None:
        """Take in the partial of more rows."""
        self._waiting.append(partial)
        lines = sum(len(frame) for each in self._waiting for frame in each)
        # Each merge at least halves the lines or waits for twice as many.
        if lines > WAITING + 2 * self._merged:
            self._waiting = [self.partial()]
            self._merged = sum(map(len, self._waiting[0]))

    def partial(self) -> Partial:
        """The partial of all rows so far."""
        if len(self._waiting) == 1:
            return self._waiting[0]
        return [
            grouping.batch.joined(pl.concat(frames).lazy()).collect()
            for grouping, *frames in zip(self._groupings, *self._waiting, strict=True)
        ]
