"""The rows of all data files as columns of text, whatever the files are.

`Tables.frames` streams all files for the central model; `Tables.blocks` hands out their rows in
their own order for the local model. Both read a file as it is or by way of a plain copy.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeVar

import numpy as np
import polars as pl

from dpcli.columns import Column
from dpcli.dialect import STANDARD, Dialect
from dpcli.engine.copying import seems_packed
from dpcli.engine.decode import swapped
from dpcli.engine.dialect import BLANK_LINE, Inspection, has_blank_lines
from dpcli.engine.parquet import parquet_frame
from dpcli.engine.progress import Progress
from dpcli.engine.records import numbered_header, plain_copy
from dpcli.engine.source import Dataset, Source

T = TypeVar("T")

BLOCK = 1 << 24
"""Bytes that are read at a time in order; memory grows with this, not with the file."""


class Tables:
    """The files of a dataset, each read as it is or by way of a plain copy."""

    def __init__(
        self, dataset: Dataset, inspection: Inspection, wanted: Sequence[Column], copies: ExitStack
    ) -> None:
        self._dataset, self._wanted, self._stack = dataset, wanted, copies
        self._decimal = dataset.dialect.decimal
        self._sources = list(dataset.sources)
        self._copied: set[int] = set()
        for place, source in enumerate(dataset.sources):
            if source.dialect is None:
                continue
            if not inspection.plain(source) or seems_packed(source.file):
                self._copy(place)
            elif not inspection.quotes(source):
                self._sources[place] = replace(source, dialect=replace(source.dialect, quote=None))

    def frames(self) -> list[pl.LazyFrame]:
        """For each file its wanted columns `t0`, `t1` and so on, in the order of the files.

        `blank` is true for a row in which nothing was: perhaps it is a blank line, and no row.
        """
        return [self._frame(source) for source in self._sources]

    def copy(self, *, blank: bool) -> bool:
        """Copy the files that are read as they are, or, if `blank`, those with blank lines.

        False if there is none.
        """
        chosen = [
            place
            for place, source in enumerate(self._dataset.sources)
            if source.dialect is not None
            and place not in self._copied
            # With one column, a blank line is a row without a value.
            and (
                not blank or (len(source.header) > 1 and has_blank_lines(source.file, source.size))
            )
        ]
        for place in chosen:
            self._copy(place)
        return bool(chosen)

    def blocks(self, progress: Progress) -> Iterator[pl.DataFrame]:
        """The rows of all files in their own order, with the columns `t0`, `t1` and so on."""
        passed = [0] * len(self._sources)

        def position() -> int | None:
            if any(source.dialect is None for source in self._sources):
                return None
            named = (source.bytes for source in self._dataset.sources)
            read = (source.size for source in self._sources)
            shares = zip(passed, named, read, strict=True)
            return sum(done * size // max(1, whole) for done, size, whole in shares)

        progress.begin("randomizing", self._dataset.bytes, position)
        for place, source in enumerate(self._sources):
            if source.dialect is None:
                rows = self._frame(source).drop("blank")
                yield from rows.collect_batches(engine="streaming", maintain_order=True)
                continue
            for done, text in _whole_records(source, source.dialect):
                passed[place] = done
                yield self._read(_block(source, text), text)

    def _read(self, block: Source, text: bytes) -> pl.DataFrame:
        """Whole records of a file without odd quotes."""
        try:
            frame = self._frame(block).collect()
        except pl.exceptions.PolarsError:
            # Bytes that are not UTF-8 end up here.
            return self._by_reference(block)
        # In a file of one column a blank line is a row whose only cell is missing.
        blank = len(block.header) > 1 and frame["blank"].any()
        if blank and BLANK_LINE.search(b"\n" + text):
            return self._by_reference(block)
        return frame.drop("blank")

    def _by_reference(self, block: Source) -> pl.DataFrame:
        with self._plain(block) as copy:
            return self._frame(copy).drop("blank").collect()

    def _copy(self, place: int) -> None:
        self._sources[place] = self._stack.enter_context(self._plain(self._dataset.sources[place]))
        self._copied.add(place)

    @contextmanager
    def _plain(self, source: Source) -> Iterator[Source]:
        """A plain copy of a CSV file."""
        assert source.dialect is not None
        names = tuple(column.name for column in self._wanted)
        places = [source.header.index(name) for name in names]
        with plain_copy(source.file, len(source.header), source.dialect, places) as file:
            size = os.fstat(file.fileno()).st_size
            if source.dialect.multiline:
                yield Source(source.name, file, size, names or ("nothing",))
            else:
                yield replace(source, file=file, size=size)

    def _frame(self, source: Source) -> pl.LazyFrame:
        if source.dialect is None:
            return parquet_frame(source, self._wanted, self._decimal)
        return csv_frame(source, self._wanted, self._decimal)


@contextmanager
def texts_of(
    dataset: Dataset, columns: Sequence[Column], progress: Progress | None = None
) -> Iterator[Iterator[pl.DataFrame]]:
    """The rows of files that have these columns, each a column of texts `t0`, `t1` and so on.

    Files are copied, where they have to be, before the first row is handed out.
    """
    with ExitStack() as copies:
        tables = Tables(dataset, Inspection(dataset, progress), columns, copies)
        yield tables.blocks(progress or Progress())


def prefetch(items: Iterator[T]) -> Iterator[T]:
    """The same items in the same order, each made on another thread one step before.

    Reading, randomizing and hashing are done by native code for the most part, which
    leaves other threads free.
    """
    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


def csv_frame(source: Source, wanted: Sequence[Column], decimal: str) -> pl.LazyFrame:
    """The wanted columns of a plain CSV file, without the quotes that are in its dialect.

    The names are given and the header line is skipped, so that the file is never mapped into
    memory: to touch a page of a mapped file that was cut off would end the process.
    """
    dialect = source.dialect or STANDARD
    names = [f"c{place}" for place in range(len(source.header))]
    table = pl.scan_csv(
        source.file,
        has_header=False,
        skip_rows=1,
        schema=dict.fromkeys(names, pl.String()),
        # How many cells the first record has decides nothing.
        missing_columns="insert",
        extra_columns="ignore",
        separator=dialect.delimiter,
        glob=False,
        truncate_ragged_lines=True,
        quote_char=dialect.quote,
    )
    read = [names[source.header.index(column.name)] for column in wanted]
    texts = [
        swapped(pl.col(name), column, decimal).alias(f"t{at}")
        for at, (name, column) in enumerate(zip(read, wanted, strict=True))
    ]
    blank = pl.all_horizontal(pl.col(name).is_null() for name in read or names[:1])
    return table.select(*texts, blank.alias("blank"))


def _block(source: Source, text: bytes) -> Source:
    """Some whole records of a CSV file, as a file in memory."""
    dialect = source.dialect or STANDARD
    content = numbered_header(dialect.delimiter, len(source.header)).encode() + text
    return replace(source, file=io.BytesIO(content), size=len(content))


def _whole_records(source: Source, dialect: Dialect) -> Iterator[tuple[int, bytes]]:
    """Whole records of a plain file after its header, and the bytes that were read so far."""
    source.file.seek(0)
    rest, is_headed, done = b"", False, 0
    while block := source.file.read(BLOCK):
        done += len(block)
        rest += block
        ends = _record_ends(rest, dialect)
        if ends and not is_headed:
            rest, is_headed = rest[ends[0] :], True
            ends = _record_ends(rest, dialect)
        if ends:
            yield done, rest[: ends[1]]
            rest = rest[ends[1] :]
    if rest and is_headed:
        yield done, rest


def _record_ends(text: bytes, dialect: Dialect) -> tuple[int, int] | None:
    """Where the first and the last whole record end, in a text that begins with one."""
    quote = (dialect.quote or "").encode()
    if not quote or not dialect.multiline or quote not in text:
        last = text.rfind(b"\n") + 1
        return (text.find(b"\n") + 1, last) if last else None
    # A line end outside quotes has an even number of them before it.
    marks = np.frombuffer(text, np.uint8)
    inside = np.bitwise_xor.accumulate(marks == ord(quote))
    ends = np.flatnonzero((marks == ord("\n")) & ~inside)
    return (int(ends[0]) + 1, int(ends[-1]) + 1) if len(ends) else None
