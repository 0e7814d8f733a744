"""The one pass over the files: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.bounding import UserLevelAggregation
from dpcli.engine.decode import Decoder, raised
from dpcli.engine.grouping import Grouping, batches_of
from dpcli.engine.plain import Inspection
from dpcli.engine.progress import READING, Progress, run_with_retry
from dpcli.engine.rollup import Sealed, rolled_up
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
    progress = progress or Progress()
    used: dict[Column, None] = dict.fromkeys(
        column for query in queries for column in query.columns
    )
    if isinstance(unit, PersonUnit):
        used |= {IdColumn(unit.column, unit.each): None}
    batches = batches_of(queries, unit)

    def scan(texts: list[pl.LazyFrame], decoder: Decoder) -> tuple[Answers, pl.DataFrame]:
        if isinstance(unit, PersonUnit):
            arguments = (queries, batches, unit, dataset.size, decoder)
            results, flags = run_with_retry(
                lambda: UserLevelAggregation(*arguments).frames(texts), progress
            )
        else:
            names = {column: f"v{place}" for place, column in enumerate(used)}
            rows = pl.concat(texts)
            cells = rows.select(*decoder.values(names), "odd_blank")
            groupings = [Grouping(batch, queries, names, dataset.size) for batch in batches]
            frames = [each.partial(each.placed(cells)) for each in groupings]
            frames = [
                each.merged(frame) if each.batch.kind.distinct else frame
                for each, frame in zip(groupings, frames, strict=True)
            ]
            marks = (*decoder.undecided(), pl.col("odd_blank"))
            frames.append(rows.select(mark.any() for mark in marks))
            *results, flags = run_with_retry(
                lambda: pl.collect_all(frames, engine="streaming"), progress
            )
        answers: dict[int, Sealed] = {}
        for batch, result in zip(batches, results, strict=True):
            answers |= rolled_up(result, queries, batch)
        return [answers[position] for position in range(len(queries))], flags

    with dataset.redacted_errors():
        return scanned(dataset, inspection, tuple(used), scan, progress)


def scanned(
    dataset: Dataset,
    inspection: Inspection,
    columns: Sequence[Column],
    scan: Callable[[list[pl.LazyFrame], Decoder], tuple[Found, pl.DataFrame]],
    progress: Progress,
) -> Found:
    """What `scan` finds in the files as they are if they are plain, else in plain copies.

    It also flags whether some row was blank in every column that was read, `odd_blank`, and for
    which columns of texts a cell was undecided: then the files are read again, as these need it.
    """
    decoder = Decoder(columns)
    with ExitStack() as copies:
        tables = Tables(dataset, inspection, columns, copies)
        while True:
            # The reader is far ahead of the sums, so its place in the files reveals nothing.
            progress.begin(READING, dataset.bytes)
            try:
                found, flags = scan(tables.frames(), decoder)
                odd = raised(flags)
                blank = "odd_blank" in odd
                odd.discard("odd_blank")
                if odd:
                    decoder.improve(odd, pl.concat(tables.frames()), progress)
            except (pl.exceptions.PolarsError, OSError):
                # Bytes that are not UTF-8 end up here: the copy decodes them by rule.
                if not tables.copy(blank=False):
                    raise
            else:
                if not (blank and tables.copy(blank=True)) and not odd:
                    return found
