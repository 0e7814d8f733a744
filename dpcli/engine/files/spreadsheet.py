"""Sheets of xlsx files as text, whatever a cell holds, by `fastexcel`.

The reader of sheets ends at an error value or a type of cell that it does not know, at a number or
an index that is none, at a text with half a character reference. A cell far to the right makes it
reserve memory for all cells before, and a row far below ends the process. Here such a cell becomes
blank, such a reference becomes the replacement character, and cells to the right of the header, and
of `MIN_WIDTH` columns, are left out. So are cells in rows without a valid number. All other
values are copied byte by byte, so that dates and formats are those of the library.

Privacy: each cell is treated by itself. Only the header decides how many columns are kept.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, cast

import polars as pl

from dpcli.data.formats import Dialect
from dpcli.engine.files.decoding import TYPED, read_blocks
from dpcli.engine.progress import interruptible, redacted_errors
from dpcli.problems.errors import DataError, StoppedBySignal
from dpcli.problems.light_dataclasses import dataclass

START = 1 << 12
"""Bytes at the start of a part that show what it is."""

MIN_WIDTH = 64
"""Columns that are kept in any case."""

WIDEST, LONGEST = 1 << 14, 1 << 20
"""Columns and rows of the largest sheet."""

ROOT = re.compile(rb"<(?:[\w.-]+:)?(worksheet|sst)[\s>]")
"""The beginning of a sheet, or of the list of shared texts."""

CELL_OR_ROW = re.compile(
    rb"<(?:[\w.-]+:)?(?:c(?=[\s/>])([^>]*?)(?:/>|>(.*?)</(?:[\w.-]+:)?c\s*>)"
    rb"|(row)(?=[\s/>])([^>]*)>)",
    re.DOTALL,
)
BEGUN_CELL = re.compile(rb"<(?:[\w.-]+:)?c(?=[\s/>])")
ATTRIBUTE = re.compile(rb"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
VALUE = re.compile(rb"<(?:[\w.-]+:)?v(?:\s[^>]*)?>(.*?)</(?:[\w.-]+:)?v\s*>", re.DOTALL)
INLINE = re.compile(rb"<(?:[\w.-]+:)?is(?:\s[^>]*)?>(.*?)</(?:[\w.-]+:)?is\s*>", re.DOTALL)
KINDS = (b"n", b"s", b"b", b"str", b"d", b"inlineStr")
INDEX = re.compile(rb"\s*[0-9]{1,9}\s*")
SHARED = re.compile(rb"<(?:[\w.-]+:)?si[\s/>]")
ROW_NUMBER = re.compile(rb"[1-9][0-9]{0,6}")
REFERENCE = re.compile(rb"([A-Z]{1,3})([1-9][0-9]{0,6})")
NUMBER = re.compile(rb"\s*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?\s*")

SECTION = re.compile(rb"<!\[CDATA\[(.*?)\]\]>|<!--.*?-->", re.DOTALL)
"""A text without escapes or a comment: it may hold what looks like a cell's end."""

ESCAPE = re.compile(rb"&(?:(?:amp|lt|gt|quot|apos|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));)?")
"""A reference to a character, or an ampersand that begins none."""

INVALID = "\N{REPLACEMENT CHARACTER}".encode()


def readable_workbook(content: bytes, dialect: Dialect) -> bytes:
    """The workbook with cells and texts for every reader; raises zipfile.BadZipFile."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as parts,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy,
    ):
        kinds = {part: _kind(parts, part) for part in parts.infolist() if not part.is_dir()}
        shared = sum(_count(parts, part) for part, kind in kinds.items() if kind == b"sst")
        for part, kind in kinds.items():
            with parts.open(part) as source, copy.open(part.filename, "w") as target:
                blocks = read_blocks(source.read)
                if kind in {b"worksheet", b"sst"}:
                    blocks = _without_sections(blocks)
                if kind == b"worksheet":
                    blocks = _rewritten(blocks, BEGUN_CELL, _Cells(dialect, shared).rewrite)
                elif kind == b"sst":
                    blocks = _rewritten(blocks, re.compile(b"[<&]"), _valid_text)
                target.writelines(blocks)
    return written.getvalue()


def _kind(parts: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    with parts.open(part) as source:
        root = ROOT.search(source.read(START))
    return root[1] if root else b""


def _count(parts: zipfile.ZipFile, part: zipfile.ZipInfo) -> int:
    """The number of shared texts in a part of a workbook."""
    with parts.open(part) as source:
        plain = _without_sections(read_blocks(source.read))
        blocks = _rewritten(plain, re.compile(b"<"), bytes)
        return sum(len(SHARED.findall(block)) for block in blocks)


def _without_sections(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The text with escapes in place of CDATA sections, and without comments."""
    waiting = b""
    for block in blocks:
        text = SECTION.sub(_escaped, waiting + block)
        # What begins and has no end yet waits for it, and so does a mark that may begin one.
        begun = text.find(b"<!")
        end = begun if begun >= 0 else len(text) - text.endswith(b"<")
        yield text[:end]
        waiting = text[end:]
    yield waiting


def _escaped(section: re.Match[bytes]) -> bytes:
    text = section[1] or b""
    return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")


def _rewritten(
    blocks: Iterator[bytes], begun: re.Pattern[bytes], rewrite: Callable[[bytes], bytes]
) -> Iterator[bytes]:
    """The text, rewritten piece by piece; no element that `begun` finds is cut."""
    waiting = b""
    for block in blocks:
        text = waiting + block
        starts = [match.start() for match in begun.finditer(text, max(0, len(waiting) - 64))]
        # The name of a tag may be cut off.
        end = min(starts[-1] if starts else len(text), max(text.rfind(b"<"), 0))
        yield rewrite(text[:end])
        waiting = text[end:]
    yield rewrite(waiting)


def _valid_text(text: bytes) -> bytes:
    """Text of XML in UTF-8, in which every character reference is valid."""
    if b"&" in text:
        text = ESCAPE.sub(_valid_reference, text)
    return text if text.isascii() else text.decode("utf-8", "replace").encode()


def _valid_reference(reference: re.Match[bytes]) -> bytes:
    digits, hexadecimal = reference.groups()
    if digits is None and hexadecimal is None:
        return reference[0] if len(reference[0]) > 1 else b"&amp;"
    letter = int(digits) if digits is not None else int(hexadecimal, 16)
    is_letter = letter in (9, 10, 13) or 32 <= letter < 0xD800 or 0xE000 <= letter < 0x110000
    return reference[0] if is_letter else INVALID


class _Cells:
    """Rewrites the cells of one sheet, from its first to its last."""

    def __init__(self, dialect: Dialect, shared: int) -> None:
        self._shared = shared
        self._first, self._lines = dialect.skip_lines + 1, dialect.header_lines
        self._widest = len(dialect.names)
        self._rows = set[int]()
        self._row = self._column = 0
        # The number of the row of cells without an address.
        self._row_number, self._is_row_lost = 0, False
        # With declared names, no row of the sheet decides.
        self._is_known = bool(dialect.names)

    def rewrite(self, text: bytes) -> bytes:
        """The text with its whole cells rewritten."""
        return CELL_OR_ROW.sub(
            lambda match: (self._begun_row if match[3] else self._cell)(match), text
        )

    def _begun_row(self, row: re.Match[bytes]) -> bytes:
        """The beginning of a row, without its number if that is none."""
        number = _attributes(row[4]).get(b"r")
        is_number = number is not None and ROW_NUMBER.fullmatch(number) and int(number) <= LONGEST
        self._row_number = int(number) if number is not None and is_number else self._row_number + 1
        self._column = 0
        self._is_row_lost = number is not None and not is_number
        if not self._is_row_lost:
            return row[0]
        end = b"/>" if row[4].endswith(b"/") else b">"
        return row[0][: row.start(4) - row.start()] + end

    def _cell(self, cell: re.Match[bytes]) -> bytes:
        attributes = _attributes(cell[1])
        address = attributes.get(b"r")
        reference = None if address is None else REFERENCE.fullmatch(address)
        if reference is not None:
            self._row, self._column = int(reference[2]), _column(reference[1])
        elif address is None:
            self._row, self._column = self._row_number, self._column + 1
        is_lost = self._is_row_lost if address is None else reference is None
        if is_lost or not self._is_kept():
            return b""
        value = _value(cell[2] or b"", attributes.get(b"t", b"n"), self._shared)
        if value is None:
            return b"<c/>" if address is None else b'<c r="%b"/>' % address
        if not self._is_known and self._row >= self._first:
            self._rows.add(self._row)
            self._widest = max(self._widest, self._column)
        # Formulas and extensions are left out.
        start, end = cell.start(2) - cell.start(), cell.end(2) - cell.start()
        return cell[0][:start] + _valid_text(value) + cell[0][end:]

    def _is_kept(self) -> bool:
        """Whether a cell is kept: within the header's columns, once these are known."""
        is_record = self._row not in self._rows and len(self._rows) >= self._lines
        self._is_known = self._is_known or is_record
        max_column = max(self._widest, MIN_WIDTH) if self._is_known else WIDEST
        return self._column <= max_column and self._row <= LONGEST


def _value(inner: bytes, kind: bytes, shared: int) -> bytes | None:
    """The XML element of a cell's value; None if not every reader could read it."""
    element = (INLINE if kind == b"inlineStr" else VALUE).search(inner)
    if element is None or kind not in KINDS:
        return None
    value = element[1]
    if kind == b"inlineStr":
        return element[0]
    if kind == b"n" and not NUMBER.fullmatch(value):
        return None
    if kind == b"s" and not (INDEX.fullmatch(value) and int(value) < shared):
        return None
    return None if b"<" in value else element[0]


def _attributes(tag: bytes) -> dict[bytes, bytes]:
    return {name: double or single for name, double, single in ATTRIBUTE.findall(tag)}


@cache
def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


LARGEST_PACKED = 1 << 30
"""Bytes of the largest file: it is held in memory."""

LARGEST_PARTS = 1 << 33
"""The most bytes of all parts of a file after unpacking, as the file states them."""


def sheet_text(blocks: Iterable[bytes], dialect: Dialect, file: str) -> bytes:
    """The rows of a sheet after those to skip, as CSV in UTF-8, from its header on.

    Cells of records that are numbers or times have a mark (`TYPED`). Raises DataError:
    `no-excel` without the library, `not-xlsx`, `sheet-missing`, `data-too-large`.
    """
    sheet = _opened(blocks, dialect, file)
    with redacted_errors("not-xlsx", file=file):
        return interruptible(lambda: _as_csv(sheet, dialect))


def first_rows(
    blocks: Iterable[bytes], dialect: Dialect, file: str, count: int
) -> list[tuple[str, ...]]:
    """The first `count` rows of a sheet, also blank; raises what `sheet_text` raises."""
    sheet = _opened(blocks, dialect, file)
    with redacted_errors("not-xlsx", file=file):
        return interruptible(lambda: sheet.cells("string", count).fill_null("").rows())


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet of a workbook; `name` may be its index."""

    reader: Any
    name: int | str

    @property
    def first(self) -> int:
        """The index of the first column with a cell."""
        return min(self._columns(), default=0)

    def cells(self, kind: str, count: int | None = None) -> pl.DataFrame:
        """All cells, or those of the first `count` rows, of a kind; others are null.

        The library ends at a cell that it cannot write, such as a time before the calendar. Such
        a cell alone is null, so that it changes no other one.
        """
        height = self._table("boolean", 0, count).height
        return self._part(kind, 0, height, None)

    def _columns(self) -> list[int]:
        sheet = self._load("boolean", 0, 1, None)
        return [column.absolute_index for column in sheet.available_columns()]

    def _part(self, kind: str, start: int, count: int, column: int | None) -> pl.DataFrame:
        try:
            return self._table(kind, start, count, column)
        except (KeyboardInterrupt, StoppedBySignal):
            raise
        except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
            # The boolean of the same cell never fails.
            table = self._table("boolean", start, count, column)
        if count > 1:
            half = count // 2
            parts = ((start, half), (start + half, count - half))
            return pl.concat([self._part(kind, *part, column) for part in parts])
        dtype = pl.String if kind == "string" else pl.Duration("ms")
        if column is not None:
            return table.select(pl.lit(None, dtype).alias(name) for name in table.columns)
        return pl.concat(
            [self._part(kind, start, count, at) for at in self._columns()], how="horizontal"
        )

    def _table(
        self, kind: str, start: int, count: int | None, column: int | None = None
    ) -> pl.DataFrame:
        return cast("pl.DataFrame", self._load(kind, start, count, column).to_polars())

    def _load(self, kind: str, start: int, count: int | None, column: int | None) -> Any:
        wanted = None if column is None else [column]
        return self.reader.load_sheet(
            self.name,
            header_row=None,
            skip_rows=start,
            n_rows=count,
            dtypes=kind,
            use_columns=wanted,
        )


def _opened(blocks: Iterable[bytes], dialect: Dialect, file: str) -> _Sheet:
    try:
        import fastexcel
    except ImportError:
        raise DataError.about("no-excel", file=file) from None
    content = _checked(blocks, file)
    with redacted_errors("not-xlsx", file=file):
        reader = fastexcel.read_excel(readable_workbook(content, dialect))
        if dialect.sheet is not None and dialect.sheet not in reader.sheet_names:
            raise DataError.about("sheet-missing", file=file, sheet=dialect.sheet)
        return _Sheet(reader, 0 if dialect.sheet is None else dialect.sheet)


DAY = datetime.timedelta(days=1)


def _as_csv(sheet: _Sheet, dialect: Dialect) -> bytes:
    """The rows of a sheet as CSV; numbers and times of records have the mark `TYPED`."""
    plain, numbers, times = (
        sheet.cells(kind).slice(dialect.skip_lines) for kind in ("string", "boolean", "duration")
    )
    # For the library, numbers and truth values are booleans, and times alone are durations.
    is_typed = [
        number.is_not_null() & ~cells.is_in(["true", "false"]) | time.is_not_null()
        for cells, number, time in zip(plain, numbers, times, strict=True)
    ]
    # A number below one is a time of day; the library writes it as one of 1899-12-31.
    plain = plain.with_columns(
        cells.str.replace("^1899-12-31 ", "").zip_with((time < DAY).fill_null(value=False), cells)
        for cells, time in zip(plain, times, strict=True)
    )
    typed = plain.select(
        (TYPED + cells).alias(cells.name).zip_with(mark, cells)
        for cells, mark in zip(plain, is_typed, strict=True)
    )
    if dialect.names:
        before = [pl.lit(None, pl.String).alias(f"before{at}") for at in range(sheet.first)]
        return _written(_records(typed.select(*before, pl.all())))
    filled = plain.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    lines = filled.arg_true().head(dialect.header_lines)
    header = plain[lines]
    named = [index for index, cells in enumerate(header) if cells.count()]
    kept = slice(min(named, default=0), max(named, default=-1) + 1)
    last = lines[-1] if len(lines) else -1
    return _written(header[:, kept]) + _written(_records(typed[last + 1 :, kept]))


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    filled = ~pl.all_horizontal(pl.all().is_null())
    if rows.width != 1:
        return rows.filter(filled) if rows.width else rows
    # As in a text file of one column, a row without a cell is one, unless none follows.
    last = rows.select(filled).to_series().arg_true()
    return rows.head(last[-1] + 1 if len(last) else 0)


def _written(rows: pl.DataFrame) -> bytes:
    text = io.BytesIO()
    rows.write_csv(text, include_header=False, quote_style="always")
    return text.getvalue()


def _checked(blocks: Iterable[bytes], file: str) -> bytes:
    """The content of the file, whose size and stated sizes of parts are limited.

    Raises DataError `not-xlsx` or `data-too-large`.
    """
    content = io.BytesIO()
    for block in blocks:
        content.write(block)
        if content.tell() > LARGEST_PACKED:
            raise DataError.about("data-too-large.whole", file=file, limit="1 GiB")
    with redacted_errors("not-xlsx", file=file), zipfile.ZipFile(content) as parts:
        if sum(part.file_size for part in parts.infolist()) > LARGEST_PARTS:
            raise DataError.about("data-too-large.whole", file=file, limit="8 GiB when unpacked")
    return content.getvalue()
