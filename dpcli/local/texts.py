"""The rows of files as columns of text, a block at a time, in their own order."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import polars as pl

from dpcli.columns import Column
from dpcli.dialect import STANDARD, Dialect
from dpcli.engine.dialect import Inspection
from dpcli.engine.progress import Progress
from dpcli.engine.records import UTF8_MARK, records
from dpcli.engine.source import Dataset, Source
from dpcli.engine.table import parquet_frame, plainly_copied, swapped

BLOCK = 1 << 24
"""Bytes that are read at a time; memory grows with this, not with the file."""

BLANK = re.compile(rb"\n\r?\n")
"""A blank line in a file whose lines end in LF or CRLF, or one within quotes."""

Texts = Iterator[pl.DataFrame]
"""Frames with a column `t0`, `t1` and so on for each wanted column."""


@contextmanager
def texts_of(
    dataset: Dataset, columns: Sequence[Column], progress: Progress | None = None
) -> Iterator[Texts]:
    """The rows of files that have these columns, each a column of texts in that order.

    A file that every reader understands alike is read as it is, another by way of a plain
    copy, which is settled before the first row is handed out.
    """
    inspection = Inspection(dataset, progress)
    with ExitStack() as copies:
        tables: list[_Csv | Source] = []
        for source in dataset.sources:
            if source.dialect is None:
                tables.append(source)
                continue
            places = [source.header.index(column.name) for column in columns]
            width = len(source.header)
            if inspection.plain(source):
                dialect = source.dialect
                if not inspection.quotes(source):
                    dialect = replace(dialect, quote=None)
                tables.append(_Csv(source.file, width, places, dialect))
            else:
                copy = copies.enter_context(plainly_copied(source, columns))
                places = [copy.header.index(column.name) for column in columns]
                dialect = copy.dialect or STANDARD
                tables.append(_Csv(copy.file, len(copy.header), places, dialect))
        yield _read(tables, columns, dataset, progress or Progress())


def _read(
    tables: Sequence[_Csv | Source], columns: Sequence[Column], dataset: Dataset, progress: Progress
) -> Texts:
    """The rows of all files, one file after the other."""
    decimal = dataset.dialect.decimal
    chosen = [swapped(pl.col(f"t{at}"), column, decimal) for at, column in enumerate(columns)]

    def position() -> int | None:
        passed = 0
        for table, source in zip(tables, dataset.sources, strict=True):
            if isinstance(table, Source):
                return None
            passed += table.passed * source.bytes // max(1, table.size)
        return passed

    progress.begin("randomizing", dataset.bytes, position)
    for table in tables:
        if isinstance(table, Source):
            rows = parquet_frame(table, columns, decimal).drop("blank")
            yield from rows.collect_batches(engine="streaming", maintain_order=True)
        else:
            for frame in table.frames():
                yield frame.select(chosen)


class _Csv:
    """A plain CSV file whose rows are read block by block."""

    def __init__(self, file: BinaryIO, width: int, places: Sequence[int], dialect: Dialect) -> None:
        self._file, self._width, self._places, self._dialect = file, width, places, dialect
        self.size, self.passed = os.fstat(file.fileno()).st_size, 0

    def frames(self) -> Texts:
        """The wanted columns."""
        dialect = self._dialect
        header = dialect.delimiter.join(f"c{place}" for place in range(self._width)) + "\n"
        names = [f"c{place}" for place in self._places]
        wanted = [pl.col(name).alias(f"t{at}") for at, name in enumerate(names)]
        empty = pl.all_horizontal(pl.all().is_null()).any()
        for block in self._blocks():
            try:
                frame = pl.read_csv(
                    header.encode() + block,
                    infer_schema=False,
                    glob=False,
                    truncate_ragged_lines=True,
                    separator=dialect.delimiter,
                    quote_char=dialect.quote,
                    columns=list(dict.fromkeys(names)),
                ).select(wanted)
            except pl.exceptions.PolarsError:
                # Bytes that are not UTF-8 end up here.
                yield self._by_reference(block)
                continue
            # In a file of one column a blank line is a row whose only cell is missing.
            if self._width > 1 and frame.select(empty).item() and BLANK.search(b"\n" + block):
                frame = self._by_reference(block)
            yield frame

    def _by_reference(self, block: bytes) -> pl.DataFrame:
        """Whole records by the reference reader; blank lines are none of several cells."""
        text = io.StringIO(block.decode("utf-8", "replace"), newline="")
        rows = [row for row in records(text, self._dialect) if row or self._width == 1]
        return pl.DataFrame(
            {
                f"t{at}": pl.Series(
                    [row[place] if place < len(row) else "" for row in rows], dtype=pl.String
                )
                for at, place in enumerate(self._places)
            }
        )

    def _blocks(self) -> Iterator[bytes]:
        """Whole records after the header, some megabytes at a time."""
        self._file.seek(0)
        rest, first, start = b"", True, True
        while block := self._file.read(BLOCK):
            self.passed += len(block)
            rest += block
            if start:
                if len(rest) < len(UTF8_MARK):
                    continue
                rest, start = rest.removeprefix(UTF8_MARK), False
            if first:
                end = self._end(rest, last=False)
                if not end:
                    continue
                rest, first = rest[end:], False
            end = self._end(rest, last=True)
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest and not first:
            yield rest

    def _end(self, text: bytes, *, last: bool) -> int:
        """Where the first or the last whole record ends, in a text that begins with one; or 0."""
        find = text.rfind if last else text.find
        quote = (self._dialect.quote or "").encode()
        if not quote or not self._dialect.multiline or quote not in text:
            return find(b"\n") + 1
        # A line end outside quotes has an even number of them before it.
        marks = np.frombuffer(text, np.uint8)
        inside = np.bitwise_xor.accumulate(marks == ord(quote))
        ends = np.flatnonzero((marks == ord("\n")) & ~inside)
        return int(ends[-1 if last else 0]) + 1 if len(ends) else 0
