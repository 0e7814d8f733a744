"""The work of a Spark task: the local engine, on bytes and rows from Spark.

Types and names here are those of `pyarrow`: tasks get and return iterators of record batches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from dpcli.data.column import Column, file_columns
from dpcli.data.derived.joined_ids import JoinedIds
from dpcli.data.filters import Filter
from dpcli.data.formats import Dialect
from dpcli.data.labels import IdColumn
from dpcli.engine.cells import untyped_text
from dpcli.engine.files.csv_normalizer import BLOCK, CsvNormalizer
from dpcli.engine.files.dataset import Dataset, Source
from dpcli.engine.files.decoding import (
    UTF8_BOM,
    column_names,
    placeholder_header,
    pread_blocks,
    read_first_record,
)
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.pieces import TextPiece, read_texts
from dpcli.engine.files.source import open_source
from dpcli.engine.progress import Progress, redacted_errors
from dpcli.engine.sums.aggregate import QueryAggregator
from dpcli.engine.sums.blocks import pack_blocks, read_block
from dpcli.engine.sums.joint_tables import Partial
from dpcli.engine.sums.users import id_column
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.errors import DpcliError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import BoundedQuery

Batches = Iterator[pa.RecordBatch]

LINES = 1 << 11
"""Lines of a file, or rows of the shuffle, that Spark gives a task at a time."""

PACKED = 1 << 15
"""Bytes of the rows that one row of the shuffle holds, about."""

COPIED = 1 << 20
"""Bytes of a local file that are copied at a time."""

GATHERED = 1 << 23
"""Bytes of packed rows that are read together."""

RESULT = pa.schema([("report", pa.string()), ("content", pa.binary())])
"""The schema of results: reports on stretches of files, and partials."""

SHUFFLED = pa.schema(
    [("bucket", pa.int64()), ("order", pa.int64()), ("report", pa.string()), ("rows", pa.binary())]
)
"""The schema of the shuffle: rows of one bucket, in the stream format of Arrow."""

ROWS_OF_TASK = 1 << 40
"""More rows than one task has before the shuffle."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that Spark reads; `state` is its size and the time of its last change.

    Without a `header`, one task reads the whole file as bytes. With `whole`, one task gets all its
    lines. `ended` states that the last line ends in a line feed. With a `path`, tasks read the
    lines themselves: the file is on a file system of all executors.
    """

    name: str
    address: str
    state: tuple[int, int]
    header: tuple[str, ...] | None
    whole: bool = False
    ended: bool = True
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Tasks:
    """The queries, the format of the files, and the random `key` of the shuffle.

    Rows that do not pass the filter `only` are removed.

    A task has a stretch of one file. Its first result is a report in JSON: the file, the number of
    bytes, whether the stretch is `cut` within a quoted cell, and problems, which quote no record.
    """

    queries: Sequence[BoundedQuery]
    dialect: Dialect
    columns: Sequence[Column]
    key: int
    only: Filter | None = None

    @property
    def aggregator(self) -> QueryAggregator:
        """The aggregator of the queries."""
        return QueryAggregator(self.queries, self.only)

    def partial(self, file_index: int, file: File, batches: Batches) -> Batches:
        """The report and the partial of a stretch of a file."""

        def work(dataset: Dataset) -> list[pa.RecordBatch]:
            return [_result(self.aggregator.partial(dataset, Progress()))]

        yield from self._reported(file_index, file, batches, work, RESULT)

    def rows(
        self, buckets: Sequence[int], file_index: int, file: File, batches: Batches
    ) -> Batches:
        """The report and the rows of a stretch, as texts, packed for each bucket."""
        aggregator, task = self.aggregator, TaskContext.get()
        columns, unit = _text_columns(aggregator), aggregator.unit
        assert isinstance(unit, PersonUnit)
        sources = [column.source for column in columns]
        ids = id_column(unit)
        texts_of_ids = [
            column.plain_text(untyped_text(pl.col(f"t{sources.index(column.file_key)}")))
            for column in file_columns([ids])
        ]
        user = JoinedIds.joined(texts_of_ids)
        first = (task.partitionId() if task else 0) * ROWS_OF_TASK
        row = first + pl.int_range(pl.len())
        # Rows without an id need not meet in one task.
        key = pl.when(user.is_null()).then(row.hash(self.key)).otherwise(user.hash(self.key))
        bucket = (key % len(buckets)).cast(pl.Int64).alias("bucket")

        def work(dataset: Dataset) -> list[pa.RecordBatch]:
            # The columns that read a text are not known here.
            texts = pl.concat(read_texts(dataset, columns, raw=True, drops_broken=True))
            texts = texts.with_columns(bucket)
            parts = texts.partition_by("bucket", include_key=False, as_dict=True)
            packed = [
                (buckets[index], content)
                for (index,), part in parts.items()
                for content in _packed(part.to_arrow())
            ]
            rows = pa.table(
                {
                    "bucket": pa.array((number for number, _ in packed), pa.int64()),
                    "order": pa.array(range(first, first + len(packed)), pa.int64()),
                    "report": pa.nulls(len(packed), pa.string()),
                    "rows": pa.array((content for _, content in packed), pa.binary()),
                }
            )
            return list(rows.to_batches(LINES))

        yield from self._reported(file_index, file, batches, work, SHUFFLED)

    def users(self, batches: Batches) -> Batches:
        """The reports in the shuffle, and the partial of all rows of some users."""
        with TemporaryFile(prefix="dpcli-") as copy:
            for batch in batches:
                for report in batch["report"].drop_null().to_pylist():
                    yield _row({"report": report}, RESULT)
                copy.write(pack_blocks(batch["rows"].drop_null().to_pylist()))
            size, aggregator = copy.tell(), self.aggregator
            pieces = partial(self._pieces, copy, _text_columns(aggregator))
            with redacted_errors("data-unreadable"):
                frames = aggregator.partial_of_users(pieces, size)
        yield _result(frames)

    def _pieces(
        self, copy: BinaryIO, packed_columns: Sequence[Column], columns: Sequence[Column]
    ) -> Iterator[TextPiece]:
        """All rows of packed texts as pieces with these columns."""
        positions = {column.file_key: at for at, column in enumerate(packed_columns)}
        names = [f"t{at}" for at in range(len(packed_columns))]
        empty = pa.schema([(name, pa.large_string()) for name in names]).empty_table()
        wanted = [positions[column.file_key] for column in columns]

        def piece(tables: Sequence[pa.Table]) -> TextPiece:
            texts = pl.DataFrame(pa.concat_tables(tables))
            return TextPiece(texts, columns, wanted, self.dialect.decimal)

        copy.seek(0)
        tables, size = [empty], 0
        while packed := read_block(copy):
            tables.append(pa.ipc.open_stream(packed).read_all())
            size += len(packed)
            if size > GATHERED:
                yield piece(tables)
                tables, size = [empty], 0
        yield piece(tables)

    def _reported(
        self,
        file_index: int,
        file: File,
        batches: Batches,
        work: Callable[[Dataset], list[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> Batches:
        """The report on a stretch, and the result of `work` on it if it is not cut."""
        report: dict[str, Any] = {"file": file_index, "cut": False, "problems": []}
        results: list[pa.RecordBatch] = []
        with TemporaryFile(prefix="dpcli-") as copy:
            report["read"], begin = self._copied(file, batches, copy)
            try:
                with self._dataset(file, copy) as dataset, dataset.redacted_errors():
                    report["cut"] = not file.whole and (
                        not self._has_header(dataset.sources[0], begin)
                        or _is_cut(dataset.sources[0])
                    )
                    if not report["cut"]:
                        results = work(dataset)
            except DpcliError as failure:
                report["problems"] = [
                    (problem.code, problem.message, problem.hint) for problem in failure.problems
                ]
        yield _row({"report": json.dumps(report)}, schema)
        yield from results

    def _has_header(self, source: Source, begin: int | None) -> bool:
        """Whether a stretch begins with the header, if it must: at the start of a file."""
        if source.dialect is None or begin != 0 or self.dialect.names:
            return True
        record = read_first_record(source.file, source.size, source.dialect)
        return record is not None and column_names(record, source.dialect) == source.header

    def _copied(self, file: File, batches: Batches, copy: BinaryIO) -> tuple[int, int | None]:
        """Copy a stretch behind a header line; return the bytes read and where it starts."""
        if file.path is not None:
            ((begin, end),) = (row.values() for batch in batches for row in batch.to_pylist())
            self._write_header(file, copy, begin)
            read = copy_lines(file.path, begin, min(end, file.state[0]), copy)
            copy.seek(0)
            return read, begin
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


def copy_lines(path: str, begin: int, end: int, copy: BinaryIO) -> int:
    """Copy the lines that begin in a stretch, and return their size.

    The stretch is from `begin` to before `end`. Each line of a file is in exactly one of its
    stretches.
    """
    with Path(path).open("rb") as file:
        start, stop = _next_line(file, begin), _next_line(file, end)
        position = start
        if not start and os.pread(file.fileno(), len(UTF8_BOM), 0) == UTF8_BOM:
            # The mark would not be the first text after a header line.
            position = len(UTF8_BOM)
        while position < stop:
            block = os.pread(file.fileno(), min(COPIED, stop - position), position)
            if not block:
                raise EOFError
            position += copy.write(block)
    return stop - start


def _next_line(file: BinaryIO, position: int) -> int:
    """Where the first line from a position on begins, or else the end of the file."""
    if not position:
        return 0
    # A line begins at the position if the byte before is a line feed.
    file.seek(position - 1)
    while line := file.readline(COPIED):
        if line.endswith(b"\n"):
            break
    return file.tell()


def _text_columns(aggregator: QueryAggregator) -> tuple[IdColumn, ...]:
    """The columns of the files for all queries, as texts that are not decoded."""
    sources = dict.fromkeys(column.file_key for column in file_columns(aggregator.columns))
    return tuple(IdColumn(str(source), source=source) for source in sources)


def _row(values: Mapping[str, object], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([values], schema)


def _result(frames: Partial) -> pa.RecordBatch:
    return _row({"content": pack_blocks(frames)}, RESULT)


def _packed(rows: pa.Table) -> Iterator[bytes]:
    """The rows in their order, as packets in the stream format of Arrow."""
    count = max(1, len(rows) * PACKED // max(1, rows.nbytes))
    for batch in rows.combine_chunks().to_batches(count):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(batch)
        yield sink.getvalue().to_pybytes()


def _is_cut(source: Source) -> bool:
    """Whether a stretch of CSV ends within a quoted cell."""
    if source.dialect is None or not source.dialect.multiline:
        return False
    text = CsvNormalizer(source.dialect, len(source.header))
    for _ in text.pieces(pread_blocks(source.file, BLOCK)):
        pass
    return text.unclosed
