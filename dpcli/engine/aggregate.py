"""The one pass over the file: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.cluster import clusters_of
from dpcli.engine.dialect import Inspection
from dpcli.engine.discretion import discreetly
from dpcli.engine.draw import Draw
from dpcli.engine.patience import patiently
from dpcli.engine.persons import Persons
from dpcli.engine.progress import READING, Progress
from dpcli.engine.rollup import Sealed, rolled_up
from dpcli.engine.rows import row_frames
from dpcli.engine.source import Dataset
from dpcli.engine.table import Tables
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
    with discreetly(dataset):
        return _aggregate(queries, unit, dataset, inspection, progress or Progress())


def _aggregate(
    queries: Sequence[Query],
    unit: Unit,
    dataset: Dataset,
    inspection: Inspection,
    progress: Progress,
) -> Answers:
    """One scan with one random generator, however often files have to be copied."""
    draw = Draw()
    used = dict.fromkeys(column for query in queries for column in query.columns)
    if isinstance(unit, PersonUnit):
        used |= {IdColumn(unit.column, unit.each): None}
    columns = tuple(used)
    return scanned(
        dataset,
        inspection,
        columns,
        lambda tables: _scan(queries, unit, draw, dataset, tables, columns, progress),
        progress,
    )


def scanned(
    dataset: Dataset,
    inspection: Inspection,
    columns: Sequence[Column],
    scan: Callable[[Tables], tuple[Found, bool]],
    progress: Progress,
) -> Found:
    """What `scan` finds in the files as they are if they are plain, else in plain copies.

    It also says whether some row was blank in every column that was read.
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


def _scan(
    queries: Sequence[Query],
    unit: Unit,
    draw: Draw,
    dataset: Dataset,
    tables: Tables,
    used: Sequence[Column],
    progress: Progress,
) -> tuple[Answers, bool]:
    """All answers, and whether some row was blank in every column that was read."""
    wanted = {column: place for place, column in enumerate(used)}
    clusters = clusters_of(queries, unit)
    if isinstance(unit, PersonUnit):
        results = patiently(
            lambda: Persons(queries, clusters, unit, draw, dataset.size, wanted).frames(
                tables.frames()
            ),
            progress,
        )
    else:
        frames = row_frames(tables, queries, clusters, dataset.size, wanted)
        results = patiently(lambda: pl.collect_all(frames, engine="streaming"), progress)
    answers: dict[int, Sealed] = {}
    for cluster, result in zip(clusters, results, strict=True):
        answers |= rolled_up(result, queries, cluster)
    blank = any(result["blank"].any() for result in results)
    return [answers[position] for position in range(len(queries))], blank
