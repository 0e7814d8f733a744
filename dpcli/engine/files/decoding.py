"""The content of a data file: its format, its text in UTF-8, its first record.

Copies are private temporary files without a name. A record is what Python's module `csv` reads.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import BinaryIO

from dpcli.data.formats import ENCODINGS, UTF16, UTF32, Dialect, has_unnamed_index
from dpcli.problems.errors import DataError
from dpcli.problems.messages import INVISIBLE_CATEGORIES

TYPED = "\ufdd0"
"""Precedes a cell of stated type (`declared_text`): a noncharacter, in no text."""

UTF8_BOM = b"\xef\xbb\xbf"

LINE_END = re.compile("\r\n|\r|\n")
"""Only these end a line; form feeds and other separators of Unicode do not."""

WINDOWS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes to read, in growing steps, until the first record is certainly whole."""

BLOCK = 1 << 18
"""Bytes that are read at a time."""


SIGNATURE_BYTES = 16
"""Bytes by which formats are identified."""

PARTIAL_MARK = b"DPCLI-SEALED\0\n"
"""The first bytes of files with partials."""

PARTIAL_ENDING = ".sealed"
"""The ending of the names of files with partials."""

PARQUET_STARTS = (b"PAR1", b"PARE")
"""The first bytes of Parquet files; those of the second kind are encrypted."""


COMPRESSED_STARTS = (
    *(b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda"),
    *(b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7z", b"\x04\x22\x4d\x18"),
)
"""First bytes of compressed data; the name of a column may begin with `x^` too."""


OTHER_FORMATS = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive or spreadsheet",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"BZh91AY&SY": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "an SQLite database",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a workbook of an old Excel",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"%PDF-": "a PDF document",
}
"""The first bytes of files that are certainly no CSV text."""

FIRST_LINE = re.compile(rb"[\r\n]*[^\r\n]*")
"""The first line that is not blank, in encodings with these bytes in line ends."""

MARKUP = re.compile(rb"\s*<(html|table|!doctype|[?]xml)", re.IGNORECASE)
"""The beginning of a web page, which some programs name `.xls`, or of XML."""

JSON_START = re.compile(rb'\s*(\{\s*"|\[\s*[{[])')
"""The beginning of a JSON object, or of an array of objects or arrays."""

MARKS = {
    UTF32: {codecs.BOM_UTF32_LE: "utf_32_le", codecs.BOM_UTF32_BE: "utf_32_be"},
    UTF16: {codecs.BOM_UTF16_LE: "utf_16_le", codecs.BOM_UTF16_BE: "utf_16_be"},
}
"""The marks of encodings at the start of a text, longer ones first."""


def is_parquet(start: bytes, name: str, encoding: str) -> bool:
    """Whether first bytes are of a Parquet file, and not of a column named PARENT.

    Raises DataError `not-csv` if they are certainly neither that nor CSV text as declared. After
    its mark, a Parquet file has a number of Thrift, which is no letter. Only the first bytes are
    read, because the last bytes of a CSV file belong to a record.

    Privacy: no byte after the first line counts, because it may belong to a record.
    """
    line = b"".join(FIRST_LINE.findall(start, 0)[:1])
    if line.startswith(PARTIAL_MARK.rstrip()):
        raise DataError.about("not-csv.sealed", file=name)
    for mark, format_name in OTHER_FORMATS.items():
        if line.startswith(mark):
            raise DataError.about("not-csv", file=name, found=format_name)
    text = line.removeprefix(UTF8_BOM)
    if MARKUP.match(text):
        raise DataError.about("not-csv", file=name, found="a web page or XML")
    if JSON_START.match(text):
        raise DataError.about("not-csv.json", file=name)
    other = next((wide for wide in MARKS if start.startswith(tuple(MARKS[wide]))), "")
    if not encoding.startswith(other):
        raise DataError.about("not-csv.utf-16", file=name, encoding=encoding, found=other)
    number = start[len(PARQUET_STARTS[0]) : len(PARQUET_STARTS[0]) + 1]
    return start.startswith(PARQUET_STARTS) and b"" < number < b" " and number not in b"\t\r\n"


class CountingReader:
    """A file that counts the bytes as they are read."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.count = raw, 0

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most `size` unless it is negative."""
        block = self._raw.read(size)
        self.count += len(block)
        return block

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a position in a regular file."""
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        """The position in a regular file."""
        return self._raw.tell()

    def seekable(self) -> bool:
        """Whether it is a regular file."""
        return self._raw.seekable()


def read_blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The content of a file from its method `read`, one block at a time."""
    return iter(partial(read, BLOCK), b"")


def pread_blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The bytes of a file, `size` at a time; the position of the file is not used."""
    position = 0
    while block := os.pread(file.fileno(), size, position):
        position += len(block)
        yield block


def to_utf8(blocks: Iterable[bytes], encoding: str, *, has_header: bool) -> Iterator[bytes]:
    """The text in UTF-8; bytes that cannot be decoded become replacement characters.

    No record decides how a text is decoded. Only in a text that has a header line does its start
    choose the order of bytes in UTF-16 and UTF-32: a mark, or else a zero before a Latin letter.
    """
    codec = ENCODINGS[encoding]
    start, all_blocks = split_start(blocks, 4)
    if has_header and encoding in MARKS:
        little, big = MARKS[encoding].values()
        found = (MARKS[encoding][mark] for mark in MARKS[encoding] if start.startswith(mark))
        codec = next(found, big if start.startswith(b"\0") else little)
    return (
        text.encode("utf-8", "replace") for text in codecs.iterdecode(all_blocks, codec, "replace")
    )


def split_start(blocks: Iterable[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """At least `size` first bytes, or all there are, and all blocks from the start."""
    upcoming = iter(blocks)
    start = b""
    while len(start) < size and (block := next(upcoming, None)) is not None:
        start += block
    return start, chain((start,), upcoming)


def copy_to_temporary(blocks: Iterable[bytes]) -> BinaryIO:
    """A private temporary file without a name that holds the content, at its start."""
    with ExitStack() as opened:
        copy = opened.enter_context(tempfile.TemporaryFile(prefix="dpcli-"))
        copy.writelines(blocks)
        copy.seek(0)
        opened.pop_all()
    return copy


def parse_records(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    """All records of lines with their ends; a blank line is a record without cells."""
    csv.field_size_limit(sys.maxsize)
    if dialect.quote and dialect.delimiter != "\t":
        # The parser skips spaces before a quote, but no tabs.
        blanks = re.compile(
            rf"(?<![^{re.escape(dialect.delimiter)}\r\n])[ \t]+(?={re.escape(dialect.quote)})"
        )
        lines = (blanks.sub(" ", line) if "\t" in line else line for line in lines)
    return csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape,
        # Blanks before a quoted cell are no part of it.
        skipinitialspace=dialect.delimiter != " ",
    )


def parse_line(line: str, dialect: Dialect) -> list[str] | None:
    """The cells of a line without its end; None if it does not close a quoted cell."""
    # After an open quote, the second line is part of the first record.
    cells, *rest = parse_records((f"{line}\n", "\n"), dialect)
    return cells if rest else None


def parse_lines(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str] | None]:
    """The cells of each record, or unless records have several lines, of each line.

    None for a line that does not close a quoted cell.
    """
    if dialect.multiline:
        return parse_records(lines, dialect)
    return (parse_line(line.rstrip("\r\n"), dialect) for line in lines)


def placeholder_header(delimiter: str, width: int) -> str:
    """A header line of invented names: `c0`, `c1` and so on.

    Native readers look for compression in the first bytes, so these must not belong to a record.
    """
    return delimiter.join(f"c{index}" for index in range(width)) + "\n"


def blank_lines(dialect: Dialect) -> str:
    """The pattern of lines of blanks at the start of a text; it matches every text."""
    blanks = " \t".replace(dialect.delimiter, "")
    return rf"\A(?:[{blanks}]*+(?:\r\n?+|\n))*+"


def column_names(cells: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    """The names of columns in a header, without blanks around them."""
    names = tuple(map(bare_name, cells))
    return ("", *names) if dialect.row_names and not has_unnamed_index(names) else names


def bare_name(name: str) -> str:
    """A name without blanks and invisible characters around it."""
    seen = [at for at, letter in enumerate(name) if not _is_unseen(letter)]
    return name[seen[0] : seen[-1] + 1] if seen else ""


def _is_unseen(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter) in INVISIBLE_CATEGORIES


def read_header(file: BinaryIO, name: str, size: int, dialect: Dialect) -> tuple[str, ...]:
    """The names in the first record that is not blank. Raises DataError `no-header`."""
    names = read_first_record(file, size, dialect)
    if names:
        return column_names(names, dialect)
    raise DataError.about("no-header" if names is None else "no-header.open-quote", file=name)


def read_first_record(
    file: BinaryIO, size: int, dialect: Dialect, start: int = 0
) -> list[str] | None:
    """The cells of the first record from `start` on that is not blank.

    None if there is no whole record, and no cells if the line does not close a quote.

    Privacy: a record that ends in a line end outside quotes is whole, whatever follows it. One that
    closes no quote in the largest window has the cells until then, as at the end of the file, so
    that no record decides whether there is a header.
    """
    for window in WINDOWS:
        content = os.pread(file.fileno(), window, start)
        text = content.removeprefix(UTF8_BOM).decode("utf-8", errors="replace")
        text = re.sub(blank_lines(dialect), "", text, count=1)
        if not dialect.multiline:
            line, *rest = LINE_END.split(text, maxsplit=1)
            if line and (rest or start + len(content) >= size):
                return parse_line(line, dialect) or []
            continue
        lines = io.StringIO(text, newline="").readlines()
        is_all = start + len(content) >= size
        if lines and not is_all and not lines[-1].endswith(("\r", "\n")):
            lines.pop()
        # After an open quote, the blank line at the end is part of the record.
        rows = parse_records(chain(lines, ("\n",)), dialect)
        cells = next(filter(None, rows), None)
        if cells and (is_all or next(rows, None) is not None or window == WINDOWS[-1]):
            return cells
    return None
