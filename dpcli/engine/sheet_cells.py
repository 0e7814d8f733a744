"""Sheets of a workbook without what a reader may refuse because of one cell.

The reader of sheets ends at an error value or a type of cell that it does not know, at a number or
an index that is none, at a text with half a character reference. A cell far to the right makes it
reserve memory for all cells before, and a row far below ends the process. Here such a cell becomes
blank, such a reference becomes the replacement character, and cells to the right of the header, and
of `LEAST_WIDTH` columns, are left out. So are cells in rows at no place. All other values are
copied byte by byte, so that dates and formats are those of the library.

Privacy: each cell is treated by itself. Only the header decides how many columns are kept.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial

from dpcli.data.csv_dialect import Dialect

START = 1 << 12
"""Bytes at the start of a part that show what it is."""

BLOCK = 1 << 20
"""Bytes of a part that are read at a time."""

LEAST_WIDTH = 64
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
"""A text without escapes, or a comment: either may hold what looks like the end of a cell."""

ESCAPE = re.compile(rb"&(?:(?:amp|lt|gt|quot|apos|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));)?")
"""A reference to a character, or an ampersand that begins none."""

INVALID = "\N{REPLACEMENT CHARACTER}".encode()


def readable_workbook(content: bytes, dialect: Dialect) -> bytes:
    """The workbook with cells and texts that every reader reads. Raises zipfile.BadZipFile."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as parts,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy,
    ):
        kinds = {part: _kind(parts, part) for part in parts.infolist() if not part.is_dir()}
        shared = sum(_count(parts, part) for part, kind in kinds.items() if kind == b"sst")
        for part, kind in kinds.items():
            with parts.open(part) as source, copy.open(part.filename, "w") as target:
                blocks: Iterator[bytes] = iter(partial(source.read, BLOCK), b"")
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
    """The number of shared texts."""
    with parts.open(part) as source:
        plain = _without_sections(iter(partial(source.read, BLOCK), b""))
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
    """The text in pieces, each rewritten; none ends within what begins last."""
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
    """Text of XML whose references are of characters, in UTF-8."""
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
        # The number of the row of cells that state no place.
        self._place, self._is_row_lost = 0, False
        # With declared names, no row of the sheet decides.
        self._is_known = bool(dialect.names)

    def rewrite(self, text: bytes) -> bytes:
        """The text with its whole cells rewritten."""
        return CELL_OR_ROW.sub(lambda one: (self._begun_row if one[3] else self._cell)(one), text)

    def _begun_row(self, row: re.Match[bytes]) -> bytes:
        """The beginning of a row, without its number if that is none."""
        number = _attributes(row[4]).get(b"r")
        is_place = number is not None and ROW_NUMBER.fullmatch(number) and int(number) <= LONGEST
        self._place = int(number) if number is not None and is_place else self._place + 1
        self._column = 0
        self._is_row_lost = number is not None and not is_place
        if not self._is_row_lost:
            return row[0]
        end = b"/>" if row[4].endswith(b"/") else b">"
        return row[0][: row.start(4) - row.start()] + end

    def _cell(self, cell: re.Match[bytes]) -> bytes:
        attributes = _attributes(cell[1])
        place = attributes.get(b"r")
        reference = None if place is None else REFERENCE.fullmatch(place)
        if reference is not None:
            self._row, self._column = int(reference[2]), _column(reference[1])
        elif place is None:
            self._row, self._column = self._place, self._column + 1
        is_lost = self._is_row_lost if place is None else reference is None
        if is_lost or not self._is_kept():
            return b""
        value = _value(cell[2] or b"", attributes.get(b"t", b"n"), self._shared)
        if value is None:
            return b"<c/>" if place is None else b'<c r="%b"/>' % place
        if not self._is_known and self._row >= self._first:
            self._rows.add(self._row)
            self._widest = max(self._widest, self._column)
        # Formulas and extensions are left out.
        start, end = cell.start(2) - cell.start(), cell.end(2) - cell.start()
        return cell[0][:start] + _valid_text(value) + cell[0][end:]

    def _is_kept(self) -> bool:
        """Whether a cell is within the columns of the header, if that is known already."""
        is_record = self._row not in self._rows and len(self._rows) >= self._lines
        self._is_known = self._is_known or is_record
        most = max(self._widest, LEAST_WIDTH) if self._is_known else WIDEST
        return self._column <= most and self._row <= LONGEST


def _value(inner: bytes, kind: bytes, shared: int) -> bytes | None:
    """The element with the value of a cell; None if there is none that can be read."""
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
