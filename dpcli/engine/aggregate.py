"""The one pass over the files: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.batching import batches_of
from dpcli.engine.dialect import Inspection
from dpcli.engine.progress import READING, Progress
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.rollup import Sealed, rolled_up
from dpcli.engine.row_level import row_frames
from dpcli.engine.shard import RowSampler
from dpcli.engine.source import Dataset
from dpcli.engine.table import Tables
from dpcli.engine.user_level import UserLevelAggregation
from dpcli.engine.watchdog import run_with_retry
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
    is reported beyond one fixed sentence: DataError `data-unreadable`. There is one random
    generator, however often files have to be copied.
    """
    progress = progress or Progress()
    used: dict[Column, None] = dict.fromkeys(
        column for query in queries for column in query.columns
    )
    if isinstance(unit, PersonUnit):
        used |= {IdColumn(unit.column, unit.each): None}
    wanted = {column: place for place, column in enumerate(used)}
    batches = batches_of(queries, unit)

    def scan(tables: Tables) -> tuple[Answers, bool]:
        if isinstance(unit, PersonUnit):
            arguments = (queries, batches, unit, sampler, dataset.size, wanted)
            results = run_with_retry(
                lambda: UserLevelAggregation(*arguments).frames(tables.frames()), progress
            )
        else:
            frames = row_frames(tables, queries, batches, dataset.size, wanted)
            results = run_with_retry(lambda: pl.collect_all(frames, engine="streaming"), progress)
        answers: dict[int, Sealed] = {}
        for batch, result in zip(batches, results, strict=True):
            answers |= rolled_up(result, queries, batch)
        blank = any(result["blank"].any() for result in results)
        return [answers[position] for position in range(len(queries))], blank

    with redacted_errors(dataset):
        sampler = RowSampler()
        return scanned(dataset, inspection, tuple(used), scan, progress)


def scanned(
    dataset: Dataset,
    inspection: Inspection,
    columns: Sequence[Column],
    scan: Callable[[Tables], tuple[Found, bool]],
    progress: Progress,
) -> Found:
    """What `scan` finds in the files as they are if they are plain, else in plain copies.

    It also states whether some row was blank in every column that was read.
    """
    with ExitStack() as copies:
        tables = Tables(dataset, inspection, columns, copies)
        while True:
            # The reader is far ahead of the sums, so its place in the files reveals nothing.
            progress.begin(READING, dataset.bytes)
            try:
                found, blank = scan(tables)
            except (pl.exceptions.PolarsError, OSError):
                # Bytes that are not UTF-8 end up here: the copy decodes them by rule.
                if not tables.copy(blank=False):
                    raise
            else:
                if not blank or not tables.copy(blank=True):
                    return found
