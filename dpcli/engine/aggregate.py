"""The one pass over the files: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.bounding import UserLevelAggregation
from dpcli.engine.decode import FLAGS, Decoder, raised
from dpcli.engine.grouping import Grouping, batches_of
from dpcli.engine.plain import Inspection
from dpcli.engine.progress import READING, Progress, interruptible
from dpcli.engine.rollup import Partial, Sealed, rolled_up
from dpcli.engine.source import Dataset
from dpcli.engine.tables import Tables
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.queries import Query

Answers = list[Sealed]

Found = TypeVar("Found")


def aggregate(
    queries: Sequence[Query],
    unit: Unit,
    dataset: Dataset,
    inspection: Inspection,
    progress: Progress | None = None,
) -> Answers:
    """The exact answer to every query, sealed, from one scan of the files.

    The files must have every column the queries read. Nothing that happens here
    is reported beyond one fixed sentence: DataError `data-unreadable`.
    """
    aggregation = Aggregation(queries, unit)
    with dataset.redacted_errors():
        partial = aggregation.partial(dataset, inspection, progress or Progress(), merged=True)
        return aggregation.sealed(partial)


class Aggregation:
    """What queries ask of rows: from files to partials, and from these to sealed answers."""

    def __init__(self, queries: Sequence[Query], unit: Unit) -> None:
        self._queries, self._unit, self._batches = queries, unit, batches_of(queries, unit)
        used = dict.fromkeys(column for query in queries for column in query.columns)
        if isinstance(unit, PersonUnit):
            used |= {IdColumn(unit.column, unit.each): None}
        self.columns: tuple[Column, ...] = tuple(used)

    def partial(
        self,
        dataset: Dataset,
        inspection: Inspection,
        progress: Progress,
        *,
        merged: bool = False,
        kept: bool = False,
    ) -> Partial:
        """The partial of all rows of the files; `merged` if there is to be no other.

        Users may have rows in other files only if the rows that bounding keeps are `kept`.
        What fails may quote a record: it must be redacted.
        """

        def scan(tables: Tables, decoder: Decoder) -> tuple[Partial, pl.DataFrame]:
            users = self._users(dataset.size, decoder)
            if users is not None:
                flags = users.read(tables.pieces())
                return users.kept() if kept else users.partial(merged=merged), flags
            return self._of_rows(tables.frames(), decoder, dataset.size, merged=merged)

        return scanned(dataset, inspection, self.columns, scan, progress)

    def _users(self, size: int, decoder: Decoder) -> UserLevelAggregation | None:
        if not isinstance(self._unit, PersonUnit):
            return None
        return UserLevelAggregation(self._queries, self._batches, self._unit, size, decoder)

    def _of_rows(
        self, tables: list[pl.LazyFrame], decoder: Decoder, size: int, *, merged: bool
    ) -> tuple[Partial, pl.DataFrame]:
        """The partial of all rows, and their flags."""
        names = {column: f"v{place}" for place, column in enumerate(self.columns)}
        rows = pl.concat(decoder.read(one, names).select(*names.values(), FLAGS) for one in tables)
        flags, frames = [FLAGS.any()], []
        for batch in self._batches:
            grouping = Grouping(batch, self._queries, names, size)
            distinct = batch.kind.distinct is not None
            # The first sums take the flags along: to aggregate these alone is much slower.
            frame = grouping.partial(grouping.placed(rows), [] if distinct else flags)
            frames.append(batch.merged(frame) if distinct and merged else frame)
            flags = flags if distinct else []
        if flags:
            frames.append(rows.select(flags))
        results = pl.collect_all(frames, engine="streaming")
        flagged = next(frame for frame in results if "odd_blank" in frame.columns)
        partial = [frame.drop(FLAGS) for frame in results[: len(self._batches)]]
        return partial, flagged.select(FLAGS)

    def bounded(self, parts: Sequence[Partial]) -> Partial:
        """The merged partial of all rows, from parts that kept rows of their users."""
        users = self._users(sum(len(part[0]) for part in parts), Decoder(self.columns))
        if users is None:
            return self.merged(parts)
        users.take(parts)
        return users.partial(merged=True)

    def merged(self, partials: Sequence[Partial]) -> Partial:
        """One partial with a line per cell, from those of rows that are in no two of them."""
        return [
            batch.merged(pl.concat(frames, how="vertical_relaxed").lazy()).collect()
            for batch, *frames in zip(self._batches, *partials, strict=True)
        ]

    def sealed(self, merged: Partial) -> Answers:
        """The exact answer to every query, from the merged partial of all rows."""
        answers: dict[int, Sealed] = {}
        for batch, frame in zip(self._batches, merged, strict=True):
            answers |= rolled_up(frame, self._queries, batch)
        return [answers[position] for position in range(len(self._queries))]


def scanned(
    dataset: Dataset,
    inspection: Inspection,
    columns: Sequence[Column],
    scan: Callable[[Tables, Decoder], tuple[Found, pl.DataFrame]],
    progress: Progress,
) -> Found:
    """What `scan` finds in the files as they are if they are plain, else in plain copies.

    It also flags whether some row was blank in every column that was read, `odd_blank`, and for
    which columns of texts a cell was undecided: then the files are read again, as these need it.
    """
    decoder = Decoder(columns)

    def read() -> Found:
        with ExitStack() as copies:
            tables = Tables(dataset, inspection, columns, copies)
            while True:
                # The reader is far ahead of the sums, so its place in the files reveals nothing.
                progress.begin(READING, dataset.bytes)
                try:
                    found, flags = scan(tables, decoder)
                    odd = raised(flags)
                    blank = "odd_blank" in odd
                    odd.discard("odd_blank")
                    if odd:
                        decoder.improve(odd, tables.frames())
                except (pl.exceptions.PolarsError, OSError):
                    # Bytes that are not UTF-8 end up here: the copy decodes them by rule.
                    if not tables.copy(blank=False):
                        raise
                else:
                    if not (blank and tables.copy(blank=True)) and not odd:
                        return found

    return interruptible(read)
