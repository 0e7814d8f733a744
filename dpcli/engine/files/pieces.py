"""The rows of all data files as columns of text, for each format of files.

`read_pieces` reads each byte of a file once and yields its rows piece by piece. `scan_piece` runs a
query on a piece, and runs it again if the piece has something odd. `read_texts` yields the rows
unchanged, for the local model.
"""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, TypeVar
from unicodedata import normalize

import polars as pl

from dpcli.data.column import Column
from dpcli.data.polars_text import unified_text
from dpcli.engine.cells import BROKEN, Decoder, declared_text, raised_flags, untyped_text
from dpcli.engine.files.csv_normalizer import BLOCK, CsvNormalizer, PlainText
from dpcli.engine.files.dataset import Dataset, Source
from dpcli.engine.files.decoding import COMPRESSED_STARTS, UTF8_BOM, pread_blocks
from dpcli.engine.files.native import NativeColumns
from dpcli.engine.files.record_cells import ODD_SHARE
from dpcli.engine.progress import READING, Progress
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    from dpcli.engine.files.parquet import Rows

T = TypeVar("T")

PIECE = 1 << 23
"""Bytes of a piece of a CSV file; reading it takes about ten times the memory."""

SEGMENT = 1 << 21
"""Rows of a Parquet file that one query reads, unless it reads the file in place."""

SAMPLE, SAMPLES = 1 << 9, 1 << 9
"""Bytes of a sample, and how many of them there are."""

ODD_END = re.compile(rb"\n\r?\n|\r[^\n]")
"""The end of a blank line, or a CR alone."""


@cache
def _footer_starts(footer: tuple[str, ...]) -> frozenset[str]:
    """How footers begin, in the form of unified texts; a last blank in them counts."""
    seen = pl.DataFrame({"text": footer}).select(unified_text(pl.col("text"))).to_series()
    pairs = zip(seen.fill_null(""), footer, strict=True)
    starts = (text + footer[len(footer.rstrip()) :] for text, footer in pairs if text)
    return frozenset((*starts, *(normalize("NFC", text) for text in footer)))


class Inspection:
    """Inspects every byte of a file on its own thread, while others read it in place.

    `quoted` states whether it is read as text with quoted cells.
    """

    def __init__(self, plain: PlainText, blocks: Iterable[bytes], *, quoted: bool) -> None:
        self.quoted = quoted
        self._plain, self._blocks, self._is_right = plain, blocks, False
        self._thread = threading.Thread(target=self._inspect, daemon=True)
        self._thread.start()

    def is_right(self) -> bool:
        """Whether native readers read the file correctly; waits until all is inspected."""
        self._thread.join()
        return self._is_right

    def _inspect(self) -> None:
        # A file that cannot be read to its end is not right. To read it again fails with a message.
        with suppress(BaseException):
            examine = self._plain.are_well_quoted if self.quoted else self._plain.are_plain
            self._is_right = examine(self._blocks)


def has_odd_ends(file: BinaryIO, size: int) -> bool:
    """Whether samples of a file have over one odd line end in `ODD_SHARE` bytes.

    Native readers take a blank line for a row, and lines that end in CR for one line.
    """
    step, odd = max(SAMPLE, size // SAMPLES), 0
    for number, start in enumerate(range(0, size, step)):
        # The positions of the samples in each step differ, so that regular text is sampled evenly.
        sample = os.pread(file.fileno(), SAMPLE, start + number * SAMPLE % step)
        odd += len(ODD_END.findall(sample))
    return odd * ODD_SHARE > SAMPLE * SAMPLES


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file, in their order.

    A piece of a CSV file is plain `text`: whole records after a header line; quotes have a meaning
    in it if it is `quoted`. Broken records, if it has some, are rows of missing cells, or with
    `drops_broken` no rows. With an `inspection`, the piece is the whole file, read in place, and
    the inspection finds out whether the file is plain. A piece of a Parquet file has `rows`. Cells
    that are `raw` keep the marks of typed cells. The native reader parses the `native` columns.
    """

    source: Source
    columns: Sequence[Column]
    decimal: str
    text: bytes = b""
    quoted: bool = False
    has_broken: bool = False
    drops_broken: bool = False
    inspection: Inspection | None = None
    rows: Rows | None = None
    raw: bool = False
    native: NativeColumns = field(default_factory=lambda: NativeColumns({}))

    @property
    def frame(self) -> pl.LazyFrame:
        """The wanted columns as `t0`, `t1` and so on: texts, or steps of integer types.

        `odd_row` is false, so that rows without wanted columns can be counted. If broken records
        are rows, `BROKEN` says which. Footers, which the first cell of a record alone identifies,
        are left out.
        """
        dialect = self.source.dialect
        if dialect is None:
            from dpcli.engine.files.parquet import parquet_frame

            assert self.rows is not None
            return parquet_frame(
                self.source, self.columns, self.decimal, self.rows, self.native.types
            )
        names = [f"c{index}" for index in range(len(self.source.header))]
        wanted = [names[self.source.index_of(column)] for column in self.columns]
        types = self.native.types
        schema = dict.fromkeys(names, pl.String()) | {wanted[at]: types[at] for at in types}
        # Text that is not read in place has room for the mark of a broken record.
        broken = pl.col(f"c{len(names)}")
        schema[broken.meta.output_name()] = pl.String()
        # With the names given and the header line skipped, the file is never mapped into memory:
        # to touch a page of a mapped file that was cut off would end the process. Other text has
        # a header line, because without one the reader would look for columns in a record.
        in_place = self.inspection is not None
        table = pl.scan_csv(
            self.source.file if in_place else io.BytesIO(self.text),
            has_header=not in_place,
            skip_rows=1 if in_place else 0,
            schema=schema,
            # The number of cells in the first record changes nothing.
            missing_columns="insert",
            extra_columns="ignore",
            separator=dialect.delimiter,
            glob=False,
            truncate_ragged_lines=True,
            quote_char=dialect.quote if self.quoted else None,
        )
        # Only copies of other formats have typed cells.
        is_plain = self.source.kind == "csv" or self.raw

        def cells(at: int, column: Column) -> pl.Expr:
            cell = pl.col(wanted[at])
            if self.has_broken and not self.drops_broken:
                cell = pl.when(broken.is_null()).then(cell)
            if at in types:
                return column.native_steps(cell)
            if is_plain:
                return column.with_point(cell, self.decimal)
            return declared_text(cell, column, self.decimal)

        texts = [cells(at, column).alias(f"t{at}") for at, column in enumerate(self.columns)]
        if dialect.footer:
            first = unified_text(untyped_text(pl.col(names[0])))
            starts = _footer_starts(dialect.footer)
            is_footer = pl.any_horizontal(first.str.starts_with(text) for text in starts)
            table = table.filter(~is_footer.fill_null(value=False))
        if self.has_broken and self.drops_broken:
            table = table.filter(broken.is_null())
        never = pl.col([*wanted, *names][0]).is_null() & False
        marks = [never.alias("odd_row")]
        if self.has_broken and not self.drops_broken:
            marks.append(broken.is_not_null().alias(BROKEN))
        return table.select(*texts, *marks)

    def drop_odd(self) -> bool:
        """Drop native columns with an odd cell, so that they are read as texts.

        False if there is none to drop. If the file is read in place, all native columns are
        dropped: to find the right ones would take more passes.
        """

        def are_readable(types: Mapping[int, pl.DataType]) -> bool:
            cells = [pl.col(f"t{at}").max() for at in types]
            tried = replace(self, native=NativeColumns(types))
            try:
                tried.frame.select(cells).collect(engine="streaming")
            except pl.exceptions.PolarsError:
                return False
            return True

        return self.native.drop_odd(are_readable if self.inspection is None else lambda _: False)

    def with_replacement_characters(self) -> Iterable[Piece] | None:
        """The rows with replacement characters for bytes that are not UTF-8.

        None if there is nothing to replace.
        """
        if self.rows is not None:
            valid = self.rows.are_valid
            return [replace(self, rows=replace(self.rows, are_valid=False))] if valid else None
        if self.inspection is not None:
            return self._reread()
        text = self.text.decode("utf-8", "replace").encode()
        return None if text == self.text else [replace(self, text=text)]

    def corrected(self) -> Iterable[Piece] | None:
        """The rows of the piece, if the native reader misread a file in place; else None.

        The file may not be plain text, or have records that do not fit its header.
        """
        if self.inspection is None or self.inspection.is_right():
            return None
        return self._reread()

    def _reread(self) -> Iterable[Piece]:
        return _normalized_pieces(self, pread_blocks(self.source.file, PIECE))


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some rows in memory, as `read_texts` gives them with `raw`.

    `positions` has the number of the text for each wanted column.
    """

    texts: pl.DataFrame
    columns: Sequence[Column]
    positions: Sequence[int]
    decimal: str

    @property
    def frame(self) -> pl.LazyFrame:
        """The wanted columns as `t0` and so on, and `odd_row`, which is false."""
        texts = [
            declared_text(pl.col(f"t{position}"), column, self.decimal).alias(f"t{at}")
            for at, (column, position) in enumerate(zip(self.columns, self.positions, strict=True))
        ]
        return self.texts.lazy().select(*texts, pl.lit(value=False).alias("odd_row"))

    def drop_odd(self) -> bool:
        """False: no column is native."""
        return False

    def with_replacement_characters(self) -> None:
        """None: all texts are UTF-8."""

    def corrected(self) -> None:
        """None: the rows are right."""


def read_pieces(
    dataset: Dataset,
    columns: Sequence[Column],
    progress: Progress,
    phase: str = READING,
    *,
    in_place: bool = False,
    raw: bool = False,
    native: bool = False,
    drops_broken: bool = False,
) -> Iterator[Piece]:
    """The rows of all files, which have these columns, in the order of the files.

    Files that seem to be plain are one piece, read `in_place`, if the caller allows it. All other
    files are read once, one piece ahead of its use. With `native`, the reader may parse cells; with
    `raw`, typed cells keep their marks; with `drops_broken`, broken records are no rows. `phase` is
    what `progress` shows.
    """
    done, size = 0, max(1, dataset.size)
    # Reading is ahead of the sums, so its position reveals nothing.
    is_text = all(source.dialect is not None for source in dataset.sources)

    def blocks(source: Source, length: int) -> Iterator[bytes]:
        nonlocal done
        for block in pread_blocks(source.file, length):
            done += len(block)
            yield block

    position = (lambda: min(done, size) * dataset.bytes // size) if is_text else lambda: None
    progress.begin(phase, dataset.bytes, position)
    for source in dataset.sources:
        piece = Piece(source, columns, dataset.dialect.decimal, raw=raw, drops_broken=drops_broken)
        if native:
            parsed = NativeColumns.of(source, columns, dataset.dialect.decimal)
            piece = replace(piece, native=parsed)
        if source.dialect is None:
            from dpcli.engine.files.parquet import parquet_rows

            # The counts of texts for `check --cells` take memory for each row of a query.
            max_rows = None if in_place and native else SEGMENT
            with parquet_rows(source, columns, max_rows) as parts:
                yield from (replace(piece, rows=rows) for rows in parts)
            continue
        plain = PlainText(source.dialect, len(source.header))
        quoted = _seems_quoted(plain, source) if in_place and source.size > PIECE else None
        if quoted is not None:
            # Whether there are broken records is known at the end.
            piece = replace(piece, quoted=quoted, has_broken=True)
            replace(piece, text=_first_lines(source)).drop_odd()
            inspection = Inspection(plain, blocks(source, BLOCK), quoted=quoted)
            yield replace(piece, inspection=inspection)
        else:
            yield from _normalized_pieces(piece, blocks(source, PIECE))


def _seems_quoted(plain: PlainText, source: Source) -> bool | None:
    """Whether a file that a native reader may read in place has quoted cells.

    None if the file may not be read in place. Its first line is the header.
    """
    lines = b"\n" + _first_lines(source)
    # A reader takes a header that begins like this for compressed data.
    if lines.startswith(COMPRESSED_STARTS, 1) or not lines[1 : lines.find(b"\n", 1)].strip():
        return None
    # What it misreads is read again.
    if len(source.header) > 1 and has_odd_ends(source.file, source.size):
        return None
    if plain.is_plain(lines):
        return False if plain.fits(lines[1:], quoted=False) else None
    return True if plain.begins_well_quoted(lines) else None


def _first_lines(source: Source) -> bytes:
    """The whole lines at the beginning of a file."""
    begin = os.pread(source.file.fileno(), BLOCK, 0)
    return begin[: begin.rfind(b"\n") + 1].removeprefix(UTF8_BOM)


def _normalized_pieces(piece: Piece, blocks: Iterable[bytes]) -> Iterator[Piece]:
    """Rows of a CSV file in pieces of plain text, each made one step before its use."""
    dialect = piece.source.dialect
    assert dialect is not None
    normalizer = CsvNormalizer(dialect, len(piece.source.header))
    empty = replace(piece, inspection=None, quoted=False, has_broken=False)
    return prefetch(
        replace(empty, text=plain.text, quoted=plain.quoted, has_broken=plain.has_broken)
        for plain in normalizer.pieces(blocks)
    )


def scan_piece(
    piece: Piece | TextPiece,
    decoder: Decoder,
    scan: Callable[[pl.LazyFrame], tuple[T, pl.DataFrame]],
) -> Iterator[T]:
    """The results of `scan` on the rows of a piece; it may be scanned again in parts.

    `scan` also returns flags (one row) of columns with an undecided cell. Undecided cells are
    decided, and a misread piece is corrected, before the rows are scanned again.
    """
    while True:
        try:
            result, flags = scan(piece.frame)
        except (pl.exceptions.PolarsError, OSError):
            if piece.drop_odd():
                continue
            # Perhaps some bytes are not UTF-8.
            replacements = piece.with_replacement_characters()
            if replacements is None:
                raise
        else:
            odd = raised_flags(flags)
            replacements = piece.corrected()
        if replacements is not None:
            for replacement in replacements:
                yield from scan_piece(replacement, decoder, scan)
            return
        if not odd:
            yield result
            return
        decoder.decide(odd, piece.frame)


def read_texts(
    dataset: Dataset,
    columns: Sequence[Column],
    progress: Progress | None = None,
    *,
    raw: bool = False,
    drops_broken: bool = False,
) -> Iterator[pl.DataFrame]:
    """The rows of files with these columns, as texts in columns `t0`, `t1` and so on.

    With `raw`, typed cells keep their marks; with `drops_broken`, broken records are no rows.
    """

    def scan(texts: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        rows = texts.collect(engine="streaming")
        return rows.drop("odd_row", BROKEN, strict=False), rows.select("odd_row")

    progress = progress or Progress()
    pieces = read_pieces(
        dataset, columns, progress, "randomizing", raw=raw, drops_broken=drops_broken
    )
    for piece in pieces:
        yield from scan_piece(piece, Decoder(()), scan)


def prefetch(items: Iterator[T]) -> Iterator[T]:
    """The items in their order, each made on another thread one step ahead.

    Reading, randomizing and hashing are mostly native code, which leaves other threads free.
    """
    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
