"""The one pass over the files: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeVar

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.batching import Batch, Grouping, batches_of
from dpcli.engine.decode import Decoder
from dpcli.engine.plain import Inspection
from dpcli.engine.progress import READING, Progress, run_with_retry
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.rollup import Sealed, rolled_up
from dpcli.engine.source import Dataset
from dpcli.engine.sums import distinct_counts, distinct_values, expressions, sums_of
from dpcli.engine.tables import Tables
from dpcli.engine.user_level import UserLevelAggregation
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.queries import Query

Answers = list[Sealed]

Found = TypeVar("Found")

Flags = Mapping[str, bool | None]
"""For each column of texts whether a cell was undecided, and whether a row was `blank`."""


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

    def scan(texts: list[pl.LazyFrame], decoder: Decoder) -> tuple[Answers, Flags]:
        if isinstance(unit, PersonUnit):
            arguments = (queries, batches, unit, dataset.size, decoder)
            results, flags = run_with_retry(
                lambda: UserLevelAggregation(*arguments).frames(texts), progress
            )
        else:
            names = {column: f"v{place}" for place, column in enumerate(used)}
            rows = pl.concat(texts)
            cells = rows.select(*decoder.values(names), "blank")
            frames = [_aggregated(cells, batch, queries, names, dataset.size) for batch in batches]
            marks = (*decoder.undecided(), pl.col("blank"))
            frames.append(rows.select(mark.any() for mark in marks))
            *results, found = run_with_retry(
                lambda: pl.collect_all(frames, engine="streaming"), progress
            )
            flags = found.row(0, named=True)
        answers: dict[int, Sealed] = {}
        for batch, result in zip(batches, results, strict=True):
            answers |= rolled_up(result, queries, batch)
        return [answers[position] for position in range(len(queries))], flags

    with redacted_errors(dataset):
        return scanned(dataset, inspection, tuple(used), scan, progress)


def scanned(
    dataset: Dataset,
    inspection: Inspection,
    columns: Sequence[Column],
    scan: Callable[[list[pl.LazyFrame], Decoder], tuple[Found, Flags]],
    progress: Progress,
) -> Found:
    """What `scan` finds in the files as they are if they are plain, else in plain copies.

    It also states whether some row was `blank` in every column that was read, and for which
    columns of texts a cell was undecided: then the files are read again, as these need it.
    """
    decoder = Decoder(columns)
    with ExitStack() as copies:
        tables = Tables(dataset, inspection, columns, copies)
        while True:
            # The reader is far ahead of the sums, so its place in the files reveals nothing.
            progress.begin(READING, dataset.bytes)
            try:
                found, flags = scan(tables.frames(), decoder)
                undecided = [name for name, flag in flags.items() if flag and name != "blank"]
                if undecided:
                    decoder.improve(undecided, pl.concat(tables.frames()), progress)
            except (pl.exceptions.PolarsError, OSError):
                # Bytes that are not UTF-8 end up here: the copy decodes them by rule.
                if not tables.copy(blank=False):
                    raise
            else:
                if not (flags.get("blank") and tables.copy(blank=True)) and not undecided:
                    return found


def _aggregated(
    cells: pl.LazyFrame,
    batch: Batch,
    queries: Sequence[Query],
    names: Mapping[Column, str],
    size: int,
) -> pl.LazyFrame:
    """One row per occupied cell of a batch: where it is, and its sums.

    Rows stand for themselves; there are at most `size`. `names` are the decoded columns.
    """
    grouping, distinct = Grouping(batch, names), batch.kind.distinct
    placed = grouping.placed(cells)
    if distinct is not None:
        return distinct_counts(
            distinct_values(placed, distinct, names, grouping.keys), grouping.keys
        )
    added = expressions(sums_of(queries, batch), names, size)
    if batch.columns:
        return placed.group_by(grouping.keys).agg(added)
    # All rows lie in one cell, also if there are none.
    return placed.select(pl.lit(0, dtype=pl.Int64).alias("cell"), *added)
