"""The rows of all data files as columns of text, for each format of files.

`read_pieces` reads each byte of a file once and yields its rows piece by piece. `scan_piece` runs a
query on a piece, and runs it again if the piece has something odd. `read_texts` yields the rows
unchanged, for the local model. `decimal_texts` formats numbers as a column of text.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from dpcli.columns import Column
from dpcli.engine.csv_normalizer import BLOCK, CsvNormalizer
from dpcli.engine.decode import Decoder, raised_flags, swap_decimal_mark
from dpcli.engine.file_content import PACKED, UTF8_BOM, pread_blocks
from dpcli.engine.inspection import Inspection, has_blank_lines
from dpcli.engine.parquet import parquet_frame, rows_of
from dpcli.engine.progress import READING, Progress
from dpcli.engine.source import Dataset, Source
from dpcli.numeric.arrays import Array
from dpcli.numeric.exact import fixed_point_text

T = TypeVar("T")

MOST_PLACES = 18
"""Decimals that machine words hold."""

PIECE = 1 << 24
"""Bytes of a CSV file that are in memory; larger ones are given back to the system each time."""

SEGMENT = 1 << 23
"""Rows of a Parquet file that one query reads."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file, in their order.

    Of a CSV file they are whole records in plain `text` behind a header line, in which quotes mean
    something if it is `quoted`; or all of them, if the `inspection` that goes on finds that the
    file is plain. Of a Parquet file they begin with the row `start`.
    """

    source: Source
    columns: Sequence[Column]
    decimal: str
    text: bytes = b""
    quoted: bool = False
    inspection: Inspection | None = None
    start: int = 0

    @property
    def frame(self) -> pl.LazyFrame:
        """The wanted columns as `t0`, `t1` and so on.

        `odd_blank` is true for a row in which nothing was: perhaps it is a blank line, and no row.
        """
        dialect = self.source.dialect
        if dialect is None:
            table = parquet_frame(self.source, self.columns, self.decimal)
            return table.slice(self.start, SEGMENT)
        header = self.source.header
        names = [f"c{place}" for place in range(len(header))]
        # The names are given and the header line of a file is skipped, so that it is never mapped
        # into memory: to touch a page of a mapped file that was cut off would end the process.
        # Without a header line a reader would look for columns in the first record.
        is_file = self.inspection is not None
        table = pl.scan_csv(
            self.source.file if is_file else io.BytesIO(self.text),
            has_header=not is_file,
            skip_rows=1 if is_file else 0,
            schema=dict.fromkeys(names, pl.String()),
            # How many cells the first record has decides nothing.
            missing_columns="insert",
            extra_columns="ignore",
            separator=dialect.delimiter,
            glob=False,
            truncate_ragged_lines=True,
            quote_char=dialect.quote if self.quoted else None,
        )
        read = [names[header.index(column.name)] for column in self.columns]
        texts = [
            swap_decimal_mark(pl.col(name), column, self.decimal).alias(f"t{at}")
            for at, (name, column) in enumerate(zip(read, self.columns, strict=True))
        ]
        blank = pl.all_horizontal(pl.col(name).is_null() for name in read or names[:1])
        return table.select(*texts, blank.alias("odd_blank"))

    def decoded(self) -> Iterable[Piece] | None:
        """The same rows with a mark for what is not UTF-8; None if there is nothing else."""
        if self.inspection is not None:
            return _read(self, pread_blocks(self.source.file, PIECE))
        return self._with(self.text.decode("utf-8", "replace").encode())

    def without_blank_lines(self) -> Iterable[Piece] | None:
        """The same rows without blank lines that are none; None if nothing else is known."""
        dialect, file = self.source.dialect, self.source.file
        if dialect is None or len(self.source.header) == 1:
            return None
        if self.inspection is not None:
            return _read(self, pread_blocks(file, PIECE)) if has_blank_lines(file) else None
        dialect = dialect if self.quoted else replace(dialect, quote=None)
        return self._with(CsvNormalizer(dialect, len(self.source.header)).whole(self.text))

    def in_plain_text(self) -> Iterable[Piece] | None:
        """The same rows as they are, if that could not be known when they were read."""
        if self.inspection is None or self.inspection.is_plain():
            return None
        return _read(self, pread_blocks(self.source.file, PIECE))

    def _with(self, text: bytes) -> Iterable[Piece] | None:
        return None if text == self.text else [replace(self, text=text)]


def read_pieces(
    dataset: Dataset,
    columns: Sequence[Column],
    progress: Progress,
    phase: str = READING,
    *,
    whole: bool = False,
) -> Iterator[Piece]:
    """The rows of all files that have these columns, in the order of the files.

    Plain files come `whole` if they may. All others are read once, a piece ahead of its use.
    """
    passed, size = 0, max(1, dataset.size)
    # Reading is ahead of the sums, so its place reveals nothing.
    is_text = all(source.dialect is not None for source in dataset.sources)

    def blocks(source: Source, length: int) -> Iterator[bytes]:
        nonlocal passed
        for block in pread_blocks(source.file, length):
            passed += len(block)
            yield block

    position = (lambda: min(passed, size) * dataset.bytes // size) if is_text else lambda: None
    progress.begin(phase, dataset.bytes, position)
    for source in dataset.sources:
        piece = Piece(source, columns, dataset.dialect.decimal)
        if source.dialect is None:
            for start in range(0, max(1, rows_of(source.file)), SEGMENT):
                yield replace(piece, start=start)
            continue
        text = CsvNormalizer(source.dialect, len(source.header), blank_lines=True)
        if whole and source.size > PIECE and _seems_plain(text, source):
            yield replace(piece, inspection=Inspection(text, blocks(source, BLOCK)))
        else:
            yield from _read(piece, blocks(source, PIECE))


def _seems_plain(text: CsvNormalizer, source: Source) -> bool:
    """Whether a native reader may begin with a file: one line of names, and plain lines."""
    begin = os.pread(source.file.fileno(), BLOCK, 0)
    lines = b"\n" + begin[: begin.rfind(b"\n") + 1].removeprefix(UTF8_BOM)
    # A reader takes a header for compressed data that begins as these do.
    return not begin.startswith(PACKED) and lines[1:2] not in b"\r\n" and text.is_plain(lines)


def _read(piece: Piece, blocks: Iterable[bytes]) -> Iterator[Piece]:
    """The rows of a CSV file in pieces of plain text, each made a step ahead."""
    dialect = piece.source.dialect
    assert dialect is not None
    text = CsvNormalizer(dialect, len(piece.source.header), blank_lines=True)
    empty = replace(piece, inspection=None)
    return prefetch(
        replace(empty, text=plain, quoted=quoted) for plain, quoted in text.pieces(blocks)
    )


def scan_piece(
    piece: Piece, decoder: Decoder, scan: Callable[[pl.LazyFrame], tuple[T, pl.DataFrame]]
) -> Iterator[T]:
    """What `scan` finds in a piece, or in those which it must be read as instead.

    It also flags whether some row was blank in every column that was read, `odd_blank`, and for
    which columns of texts a cell was undecided: then the piece is read again, as these need it.
    """
    while True:
        try:
            found, flags = scan(piece.frame)
        except (pl.exceptions.PolarsError, OSError):
            # Bytes that are not UTF-8 end up here.
            others = piece.decoded()
            if others is None:
                raise
        else:
            odd = raised_flags(flags)
            others = piece.in_plain_text()
            if others is None and "odd_blank" in odd:
                others = piece.without_blank_lines()
        if others is not None:
            for other in others:
                yield from scan_piece(other, decoder, scan)
            return
        odd.discard("odd_blank")
        if not odd:
            yield found
            return
        decoder.decide(odd, piece.frame)


def read_texts(
    dataset: Dataset, columns: Sequence[Column], progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of files that have these columns, each a column of texts `t0`, `t1` and so on."""

    def scan(texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        found = texts.collect(engine="streaming")
        return found.drop("odd_blank"), found.select("odd_blank")

    for piece in read_pieces(dataset, columns, progress or Progress(), "randomizing"):
        yield from scan_piece(piece, Decoder(()), scan)


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


def decimal_texts(numbers: Array, places: int) -> pl.Series:
    """Whole numbers of units of the last of `places` decimals as plain decimals."""
    if numbers.dtype == object or places > MOST_PLACES:
        return pl.Series(
            [fixed_point_text(int(number), places) for number in numbers], dtype=pl.String
        )
    number = pl.Series("number", numbers)
    if not places:
        return number.cast(pl.String)
    power, size = 10**places, pl.col("number").abs()
    sign = pl.when(pl.col("number") < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    # The leading one keeps zeros, and is cut off.
    digits = (size % power + power).cast(pl.String).str.slice(1)
    text = pl.concat_str(sign, size // power, pl.lit("."), digits)
    return number.to_frame().select(text).to_series()
