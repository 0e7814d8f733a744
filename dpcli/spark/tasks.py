"""The work of a Spark task: the local engine, on bytes and rows from Spark.

Types and names here are those of `pyarrow`: tasks get and return iterators of record batches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark import TaskContext

from dpcli.data.column import Column, file_columns
from dpcli.data.formats import Dialect
from dpcli.data.labels import IdColumn
from dpcli.engine.files.csv_normalizer import CsvNormalizer
from dpcli.engine.files.dataset import Dataset, Source
from dpcli.engine.files.decoding import placeholder_header, pread_blocks, read_first_record
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.parquet import parquet_source, untyped_text
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_source
from dpcli.engine.progress import Progress
from dpcli.engine.sums.aggregate import QueryAggregator, pack_blocks
from dpcli.engine.sums.users import id_column
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.errors import DpcliError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query

Batches = Iterator[pa.RecordBatch]

LINES = 1 << 16
"""Lines or rows that Spark and a task exchange at a time."""

RESULT = pa.schema([("report", pa.string()), ("content", pa.binary())])
"""The schema of results: reports on stretches of files, and partials."""

ROWS_OF_TASK = 1 << 40
"""More rows than one task has before the shuffle."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that Spark reads; `state` is its size and the time of its last change.

    Without a `header`, one task reads the whole file as bytes. With `whole`, one task gets all its
    lines. `ended` states that the last line ends in a line feed.
    """

    name: str
    address: str
    state: tuple[int, int]
    header: tuple[str, ...] | None
    whole: bool = False
    ended: bool = True


@dataclass(frozen=True, slots=True)
class Tasks:
    """The queries, the format of the files, and the random `key` of the shuffle.

    A task has a stretch of one file. Its first result is a report in JSON: the file, the number of
    bytes, whether the stretch is `cut` within a quoted cell, and problems, which quote no record.
    """

    queries: Sequence[Query]
    unit: Unit
    dialect: Dialect
    columns: Sequence[Column]
    key: int

    @property
    def aggregator(self) -> QueryAggregator:
        """The aggregator of the queries."""
        return QueryAggregator(self.queries, self.unit)

    @property
    def _texts(self) -> tuple[IdColumn, ...]:
        """The columns of the files for all queries, as texts that are not decoded."""
        columns = file_columns(self.aggregator.columns)
        sources = dict.fromkeys(column.file_key for column in columns)
        return tuple(IdColumn(str(source), source=source) for source in sources)

    @property
    def rows_schema(self) -> pa.Schema:
        """Rows of the shuffle: shard of the user, order of the row, report, and texts."""
        texts = [(f"t{index}", pa.string()) for index in range(len(self._texts))]
        return pa.schema(
            [("shard", pa.int64()), ("row", pa.int64()), ("report", pa.string()), *texts]
        )

    def partial(self, file_index: int, file: File, batches: Batches) -> Batches:
        """The report and the partial of a stretch of a file."""

        def work(dataset: Dataset) -> pa.Table:
            frames = self.aggregator.partial(dataset, Progress())
            return pa.Table.from_pylist([{"content": pack_blocks(frames)}], RESULT)

        yield from self._reported(file_index, file, batches, work, RESULT)

    def rows(self, file_index: int, file: File, batches: Batches) -> Batches:
        """The report and the rows of a stretch of a file, as texts."""
        assert isinstance(self.unit, PersonUnit)
        columns, schema, task = self._texts, self.rows_schema, TaskContext.get()
        sources = [column.source for column in columns]
        ids = id_column(self.unit)
        cell = untyped_text(pl.col(f"t{sources.index(ids.file_key)}"))
        user = ids.plain_text(cell)
        row = (task.partitionId() if task else 0) * ROWS_OF_TASK + pl.int_range(pl.len())
        # Rows without an id need not meet in one task.
        shard = pl.when(user.is_null()).then(row.hash(self.key)).otherwise(user.hash(self.key))

        def work(dataset: Dataset) -> pa.Table:
            # The columns that read a text are not known here.
            texts = pl.concat(read_texts(dataset, columns, raw=True))
            none = pl.lit(None, pl.String).alias("report")
            rows = texts.select(
                shard.reinterpret(signed=True).alias("shard"), row.alias("row"), none,
                pl.col(r"^t\d+$"),
            )  # fmt: skip
            return rows.to_arrow().cast(schema)

        yield from self._reported(file_index, file, batches, work, schema)

    def users(self, batches: Batches) -> Batches:
        """The partial of all rows of some users, and the reports among the rows."""
        with TemporaryFile(prefix="dpcli-") as copy:
            with parquet.ParquetWriter(copy, self.rows_schema, compression="none") as writer:
                for batch in batches:
                    reports = [{"report": text} for text in batch["report"].to_pylist() if text]
                    if reports:
                        yield pa.RecordBatch.from_pylist(reports, RESULT)
                    writer.write_batch(batch.filter(batch["report"].is_null()))
            copy.flush()
            copy.seek(0)
            sources = ["", "", "", *(column.source for column in self._texts)]
            source = replace(
                parquet_source("", copy),
                header=tuple(map(str, sources)),
                positions={key: at for at, key in enumerate(sources) if isinstance(key, int)},
            )
            dataset = Dataset((source,), self.dialect)
            with dataset.redacted_errors():
                frames = self.aggregator.partial(dataset, Progress())
        yield pa.RecordBatch.from_pylist([{"content": pack_blocks(frames)}], RESULT)

    def _reported(
        self,
        file_index: int,
        file: File,
        batches: Batches,
        work: Callable[[Dataset], pa.Table],
        schema: pa.Schema,
    ) -> Batches:
        """The report on a stretch, and the result of `work` on it if it is not cut."""
        report: dict[str, Any] = {"file": file_index, "cut": False, "problems": []}
        result = schema.empty_table()
        with TemporaryFile(prefix="dpcli-") as copy:
            report["read"], begin = self._copied(file, batches, copy)
            try:
                with self._dataset(file, copy) as dataset, dataset.redacted_errors():
                    report["cut"] = not file.whole and (
                        not self._has_header(dataset.sources[0], begin)
                        or _is_cut(dataset.sources[0])
                    )
                    if not report["cut"]:
                        result = work(dataset)
            except DpcliError as failure:
                report["problems"] = [
                    (problem.code, problem.message, problem.hint) for problem in failure.problems
                ]
        yield pa.RecordBatch.from_pylist([{"report": json.dumps(report)}], schema)
        yield from result.to_batches(LINES)

    def _has_header(self, source: Source, begin: int | None) -> bool:
        """Whether a stretch begins with the header, if it must: at the start of a file."""
        if source.dialect is None or begin != 0 or self.dialect.names:
            return True
        record = read_first_record(source.file, source.size, source.dialect)
        return record is not None and tuple(record) == source.header

    def _copied(self, file: File, batches: Batches, copy: BinaryIO) -> tuple[int, int | None]:
        """Copy a stretch behind a header line; return the bytes read and where it starts."""
        read, first = 0, None
        for batch in batches:
            content, begin = batch.columns
            if file.header is None:
                read += copy.write(content[0].as_buffer())
                continue
            if first is None:
                first = begin[0].as_py()
                self._write_header(file, copy, first)
            if not pc.all(pc.equal(begin, first)).as_py():
                raise ValueError("a task has one stretch of a file")
            lines = pa.ListArray.from_arrays([0, len(content)], content)
            read += copy.write(pc.binary_join(lines, b"\n")[0].as_buffer()) + copy.write(b"\n")
        if first is None:
            self._write_header(file, copy, None)
        copy.flush()
        if file.whole and not file.ended and first is not None:
            # After an open quote, a line feed would be part of the last cell.
            copy.truncate(copy.tell() - 1)
        copy.seek(0)
        return read, first

    def _write_header(self, file: File, copy: BinaryIO, first: int | None) -> None:
        """Write a placeholder header line, unless a stretch from `first` begins with one."""
        if file.header is not None and (first != 0 or self.dialect.names):
            mark = self.dialect.of_file(file.name).delimiter
            copy.write(placeholder_header(mark, len(file.header)).encode())

    def _dataset(self, file: File, copy: BinaryIO) -> Dataset:
        """A stretch of a file as a data set of the local engine."""
        if file.header is None:
            dataset = Dataset((open_source(file.name, copy, self.dialect),), self.dialect)
            require_columns(dataset, self.columns)
            return dataset
        size = os.fstat(copy.fileno()).st_size
        dialect = replace(self.dialect.of_file(file.name), names=())
        return Dataset((Source(file.name, copy, size, file.header, size, dialect),), self.dialect)


def _is_cut(source: Source) -> bool:
    """Whether a stretch of CSV ends within a quoted cell."""
    if source.dialect is None or not source.dialect.multiline:
        return False
    text = CsvNormalizer(source.dialect, len(source.header))
    for _ in text.pieces(pread_blocks(source.file, LINES)):
        pass
    return text.unclosed
