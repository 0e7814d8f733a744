"""The one pass over the files: every query answered, every answer sealed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.batching import Batch, Grouping, batches_of
from dpcli.engine.decode import encoded
from dpcli.engine.dialect import Inspection
from dpcli.engine.progress import READING, Progress, run_with_retry
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.rollup import Sealed, rolled_up
from dpcli.engine.shard import RowSampler
from dpcli.engine.source import Dataset
from dpcli.engine.sums import PlainSum, distinct_counts, distinct_values, expressions, sums_of
from dpcli.engine.table import Tables
from dpcli.engine.user_level import UserLevelAggregation
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
            texts = pl.concat(tables.frames())
            frames = [
                RowLevelAggregation(
                    batch, sums_of(queries, batch), dataset.size, tables, wanted
                ).frame(texts)
                for batch in batches
            ]
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


@dataclass(frozen=True, slots=True)
class RowLevelAggregation:
    """One batch of queries over rows that stand for themselves.

    There are at most `size` rows; `wanted` are the columns with their places.
    """

    batch: Batch
    sums: Sequence[PlainSum]
    size: int
    tables: Tables
    wanted: Mapping[Column, int]

    def frame(self, texts: pl.LazyFrame) -> pl.LazyFrame:
        """One row per occupied cell: where it is, its sums, any blanks."""
        columns, distinct = self.batch.columns, self.batch.kind.distinct
        needed = {column for plain in self.sums for column in plain.columns}
        if distinct is not None:
            needed |= set(distinct.columns)
        names = {column: f"v{place}" for column, place in self.wanted.items() if column in needed}
        if columns and distinct is None:
            places = [self.wanted[axis.column] for axis in self.batch.axes]
            if not places or self.tables.few_distinct(places):
                return self._by_text(texts, names)
        names |= {column: f"v{self.wanted[column]}" for column in columns}
        grouping = Grouping(self.batch, names)
        placed = grouping.placed(texts.select(*self._encodings(names), "blank"))
        if distinct is not None:
            values = distinct_values(placed, distinct, names, grouping.keys)
            return distinct_counts(values, grouping.keys)
        if columns:
            return placed.group_by(grouping.keys).agg(self._added(names))
        # All rows lie in one cell, also if there are none.
        return placed.select(pl.lit(0, dtype=pl.Int64).alias("cell"), *self._added(names))

    def _encodings(self, names: Mapping[Column, str]) -> list[pl.Expr]:
        return [encoded(each, f"t{self.wanted[each]}").alias(name) for each, name in names.items()]

    def _added(self, names: Mapping[Column, str]) -> list[pl.Expr]:
        return [*expressions(self.sums, names, self.size), pl.col("blank").any()]

    def _by_text(self, texts: pl.LazyFrame, values: Mapping[Column, str]) -> pl.LazyFrame:
        """Group by raw texts, and encode only one text per group."""
        raw = [pl.col(f"t{self.wanted[column]}") for column in self.batch.columns]
        row = pl.lit(1, dtype=pl.Int64).alias("row")
        rows = texts.select(*self._encodings(values), *raw, "blank").with_columns(row)
        grouped = rows.group_by(raw).agg(self._added(values))
        names = {column: f"k{self.wanted[column]}" for column in self.batch.columns}
        decided = grouped.select(*self._encodings(names), pl.col(r"^s\d+$"), "blank")
        grouping = Grouping(self.batch, names)
        added = (pl.col(r"^s\d+$").sum(), pl.col("blank").any())
        return grouping.placed(decided).group_by(grouping.keys).agg(*added)
