"""The rows of all data files as columns of text, whatever the files are.

`Tables.frames` streams all files for the central model, `Tables.pieces` reads them piece by
piece; `texts_of` hands out their rows in their own order for the local model. `decimal_texts`
makes columns of text of numbers.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import polars as pl

from dpcli.arrays import Array
from dpcli.columns import Column
from dpcli.dialect import UTF8, Dialect
from dpcli.engine.content import Counted, blocks_of, copied, decoded, numbered_header, seems_packed
from dpcli.engine.decode import swapped
from dpcli.engine.parquet import parquet_frame
from dpcli.engine.plain import Inspection, PlainText, has_blank_lines
from dpcli.engine.progress import Progress
from dpcli.engine.source import Dataset, Source
from dpcli.privacy.decimals import digits_text

T = TypeVar("T")

MOST_PLACES = 18
"""Decimals that machine words hold."""

BLOCK = 1 << 24
"""Bytes that are read at a time in order; memory grows with this, not with the file."""


PIECE = 1 << 26
"""Bytes of a file that one query reads where users are bounded."""


class Tables:
    """The files of a dataset, each read as it is or by way of a plain copy."""

    def __init__(
        self, dataset: Dataset, inspection: Inspection, wanted: Sequence[Column], copies: ExitStack
    ) -> None:
        self._dataset, self._wanted, self._copies = dataset, wanted, copies
        self._sources = list(dataset.sources)
        for place, source in enumerate(dataset.sources):
            if source.dialect is None:
                continue
            text = inspection.of(source)
            if text.odd or seems_packed(source.file):
                self._copy(place)
            elif not text.quoted:
                self._sources[place] = replace(source, dialect=replace(source.dialect, quote=None))

    def frames(self) -> list[pl.LazyFrame]:
        """For each file its wanted columns `t0`, `t1` and so on, in the order of the files.

        `odd_blank` is true for a row in which nothing was: perhaps it is a blank line, and no row.
        """
        decimal = self._dataset.dialect.decimal
        return [_frame(source, self._wanted, decimal) for source in self._sources]

    def pieces(self) -> Iterator[pl.LazyFrame]:
        """The same frames, of CSV files one for each piece of whole records.

        So every byte is read once: a query for rows far behind the start would count all lines
        before them.
        """
        decimal = self._dataset.dialect.decimal
        for source in self._sources:
            pieces = iter([source]) if source.dialect is None else _pieces(source, source.dialect)
            for piece in prefetch(pieces):
                yield _frame(piece, self._wanted, decimal)

    def copy(self, *, blank: bool) -> bool:
        """Copy the files that are read as they are, or, if `blank`, those with blank lines.

        False if there is none.
        """
        chosen = [
            place
            for place, (source, read) in enumerate(
                zip(self._dataset.sources, self._sources, strict=True)
            )
            if source.dialect is not None
            and read.file is source.file
            # With one column, a blank line is a row without a value.
            and (not blank or (len(source.header) > 1 and has_blank_lines(source.file)))
        ]
        for place in chosen:
            self._copy(place)
        return bool(chosen)

    def _copy(self, place: int) -> None:
        source = self._dataset.sources[place]
        header, _, records = _plain(source, Counted(source.file))
        copy = self._copies.enter_context(copied(chain((header,), records)))
        size = os.fstat(copy.fileno()).st_size
        self._sources[place] = replace(source, file=copy, size=size)


def texts_of(
    dataset: Dataset, columns: Sequence[Column], progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of files that have these columns, each a column of texts `t0`, `t1` and so on."""
    files = [Counted(source.file) for source in dataset.sources]

    def position() -> int | None:
        if any(source.dialect is None for source in dataset.sources):
            return None
        return sum(file.passed for file in files) * dataset.bytes // max(1, dataset.size)

    if progress:
        progress.begin("randomizing", dataset.bytes, position)
    for source, file in zip(dataset.sources, files, strict=True):
        if source.dialect is None:
            rows = _frame(source, columns, dataset.dialect.decimal).drop("odd_blank")
            yield from rows.collect_batches(engine="streaming", maintain_order=True)
            continue
        header, text, records = _plain(source, file)
        for whole in _whole_records(text, records):
            block = replace(source, file=io.BytesIO(header + whole))
            yield _frame(block, columns, dataset.dialect.decimal).drop("odd_blank").collect()


def _pieces(source: Source, dialect: Dialect) -> Iterator[Source]:
    """Pieces of a plain file, each behind a header line."""
    quote, position = (dialect.quote or "").encode(), 0
    header, rest = b"", b""
    while block := os.pread(source.file.fileno(), PIECE, position):
        position += len(block)
        text = rest + block
        if end := _last_end(text, quote):
            yield replace(source, file=io.BytesIO(header + text[:end]))
            header = numbered_header(dialect.delimiter, len(source.header)).encode()
        rest = text[end:]
    yield replace(source, file=io.BytesIO(header + rest))


def _last_end(text: bytes, quote: bytes) -> int:
    """Where the last record ends that ends in plain text that begins with one; zero if none."""
    end = text.rfind(b"\n") + 1
    inside = bool(quote) and text.count(quote, 0, end) % 2
    while inside:
        # Line ends behind the last quote are in the same cell.
        before = text.rfind(b"\n", 0, text.rfind(quote, 0, end)) + 1
        inside ^= text.count(quote, before, end) % 2
        end = before
    return end


def _plain(source: Source, file: Counted) -> tuple[bytes, PlainText, Iterator[bytes]]:
    """A CSV file as plain text: a header line, and the records as they are made."""
    assert source.dialect is not None
    source.file.seek(0)
    text = PlainText(source.dialect, len(source.header))
    header = numbered_header(source.dialect.delimiter, len(source.header)).encode()
    return header, text, text.records(decoded(blocks_of(file.read), UTF8, marked=False))


def _whole_records(text: PlainText, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same text in larger pieces, each of whole records."""
    waiting: list[bytes] = []
    for piece in pieces:
        waiting.append(piece)
        if not text.inside and sum(map(len, waiting)) >= BLOCK:
            yield b"".join(waiting)
            waiting = []
    yield b"".join(waiting)


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


def _frame(source: Source, wanted: Sequence[Column], decimal: str) -> pl.LazyFrame:
    """The wanted columns of a plain CSV file, without the quotes that are in its dialect.

    The names are given and the header line is skipped, so that the file is never mapped into
    memory: to touch a page of a mapped file that was cut off would end the process.
    """
    if source.dialect is None:
        return parquet_frame(source, wanted, decimal)
    names = [f"c{place}" for place in range(len(source.header))]
    table = pl.scan_csv(
        source.file,
        has_header=False,
        skip_rows=1,
        schema=dict.fromkeys(names, pl.String()),
        # How many cells the first record has decides nothing.
        missing_columns="insert",
        extra_columns="ignore",
        separator=source.dialect.delimiter,
        glob=False,
        truncate_ragged_lines=True,
        quote_char=source.dialect.quote,
    )
    read = [names[source.header.index(column.name)] for column in wanted]
    texts = [
        swapped(pl.col(name), column, decimal).alias(f"t{at}")
        for at, (name, column) in enumerate(zip(read, wanted, strict=True))
    ]
    blank = pl.all_horizontal(pl.col(name).is_null() for name in read or names[:1])
    return table.select(*texts, blank.alias("odd_blank"))


def decimal_texts(numbers: Array, places: int) -> pl.Series:
    """Whole numbers of units of the last of `places` decimals as plain decimals."""
    if numbers.dtype == object or places > MOST_PLACES:
        return pl.Series([digits_text(int(number), places) for number in numbers], dtype=pl.String)
    number = pl.Series("number", numbers)
    if not places:
        return number.cast(pl.String)
    power, size = 10**places, pl.col("number").abs()
    sign = pl.when(pl.col("number") < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    # The leading one keeps zeros, and is cut off.
    digits = (size % power + power).cast(pl.String).str.slice(1)
    text = pl.concat_str(sign, size // power, pl.lit("."), digits)
    return number.to_frame().select(text).to_series()
