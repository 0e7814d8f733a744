"""What a file holds: its format, its text in UTF-8, its first record.

A copy is a private temporary file that has no name. Python's module `csv` says what a record is.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import BinaryIO, cast

from dpcli.csv_dialect import ENCODINGS, UTF16, Dialect
from dpcli.errors import DataError

UTF8_BOM = b"\xef\xbb\xbf"

LINE_END = re.compile("\r\n|\r|\n")
"""Nothing else ends a line, whatever other readers of text think of form feeds and the like."""

WINDOWS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes to look at, ever more, until the first record is certainly whole."""

BLOCK = 1 << 18
"""Bytes that are read at a time."""

LARGEST_UNPACKED = 1 << 36
"""64 GiB: a compressed file that unpacks to more is refused."""


SIGNATURE_BYTES = 16
"""Bytes by which formats are identified."""

SEALED = b"DPCLI-SEALED\0\n"
"""How sealed parts begin, and `SEALED_ENDING` how their names end."""

SEALED_ENDING = ".sealed"

PARQUET = (b"PAR1", b"PARE")
"""How Parquet files begin, the second kind encrypted."""


PACKED = (
    *(b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda"),
    *(b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7z", b"\x04\x22\x4d\x18"),
)
"""How compressed data begin, of which `x^` may begin the name of a column as well."""


def is_parquet(start: bytes) -> bool:
    """Whether a file begins as Parquet does, and not with a column called PARENT.

    Behind the mark stands a number of Thrift, which is no letter. Nothing past a header line
    is looked at: the last bytes of a file belong to a record.
    """
    number = start[len(PARQUET[0]) : len(PARQUET[0]) + 1]
    return start.startswith(PARQUET) and b"" < number < b" " and number not in b"\t\r\n"


OTHER_FORMATS = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive or spreadsheet",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"BZh91AY&SY": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "an SQLite database",
}
"""How files begin that are certainly no CSV text."""

UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def refuse_other_formats(start: bytes, name: str, encoding: str) -> None:
    """Refuse what is certainly not CSV text as declared, by its first bytes."""
    if start.startswith(SEALED):
        raise DataError.about("not-csv.sealed", file=name)
    for mark, found in OTHER_FORMATS.items():
        if start.startswith(mark):
            raise DataError.about("not-csv", file=name, found=found)
    if start.startswith(UTF16_BOMS) and not encoding.startswith(UTF16):
        raise DataError.about("not-csv.utf-16", file=name, encoding=encoding)


class CountingReader:
    """A file whose bytes are counted as they are read."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.passed = raw, 0

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most this number."""
        block = self._raw.read(size)
        self.passed += len(block)
        return block

    def position(self) -> int:
        """The bytes that were read."""
        return self.passed


def read_blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The content of a file by its method `read`, a block at a time."""
    return iter(partial(read, BLOCK), b"")


def pread_blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The bytes of a file, this many at a time, wherever others read it."""
    position = 0
    while block := os.pread(file.fileno(), size, position):
        position += len(block)
        yield block


def decompress(packed: CountingReader, name: str) -> Iterator[bytes]:
    """The content of gzip data, a block at a time, up to the size limit.

    Members that follow each other are one content. Zeros behind a member are padding, as on
    tapes; any other bytes there, and a member that is not whole, are damage.
    """
    broken = DataError.about("data-not-gzip", file=name)
    total = 0
    try:
        for block in read_blocks(gzip.GzipFile(fileobj=cast("BinaryIO", packed)).read):
            total += len(block)
            if total > LARGEST_UNPACKED:
                raise DataError.about("data-too-large", file=name)
            yield block
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise broken from None
    if not packed.passed:
        raise broken


def with_header_line(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    """The same text in UTF-8, with a header line that stands for declared names."""
    text = decoded(blocks, dialect.encoding, marked=not dialect.names)
    if not dialect.names:
        return text
    start, rest = split_start(text, len(UTF8_BOM))
    header = placeholder_header(dialect.delimiter, len(dialect.names)).encode()
    next(rest)
    return chain((header, start.removeprefix(UTF8_BOM)), rest)


def decoded(blocks: Iterable[bytes], encoding: str, *, marked: bool) -> Iterator[bytes]:
    """The same text in UTF-8; what cannot be decoded becomes the replacement character.

    Nothing that a text holds decides how it is read, but for the mark of UTF-16 at the start
    of a header line, if it is `marked`; without one, the lesser byte comes first.
    """
    codec = ENCODINGS[encoding]
    start, rest = split_start(blocks, 2)
    if marked and encoding == UTF16 and start.startswith(codecs.BOM_UTF16_BE):
        codec = "utf_16_be"
    return (text.encode("utf-8", "replace") for text in codecs.iterdecode(rest, codec, "replace"))


def split_start(blocks: Iterable[bytes], least: int) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, at least this number if there are, and the blocks from the start."""
    upcoming = iter(blocks)
    start = b""
    while len(start) < least and (block := next(upcoming, None)) is not None:
        start += block
    return start, chain((start,), upcoming)


def copy_to_temporary(blocks: Iterable[bytes]) -> BinaryIO:
    """The content in a private temporary file that has no name."""
    with ExitStack() as opened:
        copy = opened.enter_context(tempfile.TemporaryFile(prefix="dpcli-"))
        copy.writelines(blocks)
        copy.seek(0)
        opened.pop_all()
    return copy


def _records(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    """All records, from lines with their ends; a blank line is one without cells."""
    csv.field_size_limit(sys.maxsize)
    if dialect.quote is None:
        return csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)


def parse_line(line: str, dialect: Dialect) -> list[str] | None:
    """The cells of one line without its end; None if a quoted cell is not closed in it."""
    # Behind an open quote the second line is part of the first record.
    cells, *others = _records((f"{line}\n", "\n"), dialect)
    return cells if others else None


def placeholder_header(delimiter: str, width: int) -> str:
    """A header line that stands for names: `c0`, `c1` and so on.

    Native readers look at the first bytes for compression and the like: these must never be
    those of a record.
    """
    return delimiter.join(f"c{place}" for place in range(width)) + "\n"


def is_separator_mark(header: Sequence[str]) -> bool:
    """Whether a first line is the mark by which spreadsheets state what is between cells."""
    rest = "".join(header)
    return rest[:4].lower() == "sep=" and len(rest) <= 5


def read_header(file: BinaryIO, name: str, size: int, dialect: Dialect) -> tuple[str, ...]:
    """The names in the first record that is not blank."""
    names = read_first_record(file, size, dialect)
    if names:
        return tuple(names)
    raise DataError.about("no-header" if names is None else "no-header.open-quote", file=name)


def read_first_record(
    file: BinaryIO, size: int, dialect: Dialect, start: int = 0
) -> list[str] | None:
    """The cells of the first record from `start` on that is not blank, if there is a whole one.

    None at all if a quote is not closed in the line that should hold it.
    """
    for window in WINDOWS:
        content = os.pread(file.fileno(), window, start)
        text = content.removeprefix(UTF8_BOM).decode("utf-8", errors="replace")
        if not dialect.multiline:
            line, *others = LINE_END.split(text.lstrip("\r\n"), maxsplit=1)
            if line and (others or start + len(content) >= size):
                return parse_line(line, dialect) or []
            continue
        found = (row for row in _records(io.StringIO(text, newline=""), dialect) if row)
        cells = next(found, None)
        # A record is known to be whole when another one follows it.
        if cells and (start + len(content) >= size or next(found, None) is not None):
            return cells
    return None
