"""The data file: opened once, by us, and held open until the last row is read.

No globbing, no URLs, no guessing: a path names one file, `-` is standard input.
Pipes and files named `.gz` are first copied to a private temporary file that is
deleted at once, so that whatever is read is one regular file that has no name.
"""

from __future__ import annotations

import csv
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dpcli.errors import DataError

BLOCK = 1 << 20
HEADER_WINDOWS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes to look at, ever more, until the first record is certainly whole."""

LARGEST_UNPACKED = 1 << 36
"""64 GiB: a compressed file that unpacks to more is refused."""

UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """An open regular file and the names in its first record."""

    file: BinaryIO
    size: int
    header: tuple[str, ...]

    @property
    def path(self) -> str:
        """A path that opens this very file again, whatever its name now means."""
        return f"/dev/fd/{self.file.fileno()}"

    def close(self) -> None:
        """Close the file; a temporary copy vanishes with it."""
        self.file.close()


def open_source(name: str) -> Source:
    """Open the data file `name`, or standard input for `-`, and read its header.

    Raises DataError when it is missing, unreadable, not text, or has no header;
    never because of anything after the first record.
    """
    file = _regular(_standard_input() if name == "-" else _open(name), name)
    try:
        size = os.fstat(file.fileno()).st_size
        return Source(file, size, _header(file, size))
    except BaseException:
        file.close()
        raise


def _standard_input() -> BinaryIO:
    """Standard input as bytes, or a refusal when it is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError.of(
            "data-not-piped",
            "`-` reads standard input, but nothing is piped into it",
            "pipe the data into the command, as in `cat data.csv | dpcli ...`, or name the file",
        )
    return sys.stdin.buffer


def _open(name: str) -> BinaryIO:
    """The file itself; links are followed, patterns and addresses are not."""
    try:
        file = open(name, "rb", buffering=0)  # noqa: SIM115 - held open by the caller
    except IsADirectoryError:
        raise DataError.of(
            "data-unreadable", f"`{name}` is a folder", "name one CSV file, or `-`"
        ) from None
    except FileNotFoundError:
        raise DataError.of(
            "data-missing",
            f"there is no file `{name}`",
            "check the path; patterns and addresses are not expanded",
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise DataError.of(
            "data-unreadable",
            f"`{name}` cannot be opened: {(reason or 'unreadable').lower()}",
            "check the path and its permissions",
        ) from None
    return file


def _regular(raw: BinaryIO, name: str) -> BinaryIO:
    """`raw` if it is a plain regular file at its start, else a copy of its content."""
    packed = name.lower().endswith(".gz")
    mode = os.fstat(raw.fileno()).st_mode
    if name != "-" and stat.S_ISCHR(mode):
        raw.close()
        raise DataError.of("data-unreadable", f"`{name}` is a device", "name one CSV file, or `-`")
    regular = stat.S_ISREG(mode)
    if regular and not packed and not (name == "-" and raw.tell()):
        return raw
    with raw:
        return _copied(_unpacked(raw) if packed else _blocks(raw))


def _blocks(raw: BinaryIO) -> Iterator[bytes]:
    """The content, a block at a time."""
    while block := raw.read(BLOCK):
        yield block


def _unpacked(raw: BinaryIO) -> Iterator[bytes]:
    """The decompressed content, a block at a time, up to the size limit."""
    broken = DataError.of(
        "data-not-gzip",
        "the file is named `.gz` but does not hold whole gzip data",
        "compress it with gzip, or drop the `.gz` from its name",
    )
    total = 0
    unpack: zlib._Decompress | None = None
    for block in _blocks(raw):
        rest = block
        while rest:
            unpack = unpack or zlib.decompressobj(wbits=31)
            try:
                plain = unpack.decompress(rest, BLOCK)
            except zlib.error:
                raise broken from None
            total += len(plain)
            if total > LARGEST_UNPACKED:
                raise DataError.of(
                    "data-too-large",
                    "the file unpacks to more than 64 GiB",
                    "unpack it yourself and name the plain file",
                )
            yield plain
            rest = unpack.unconsumed_tail
            if unpack.eof:
                rest, unpack = unpack.unused_data, None
    if unpack is not None:
        raise broken


def _copied(blocks: Iterator[bytes]) -> BinaryIO:
    """The content in a private temporary file that has no name."""
    copy = tempfile.TemporaryFile(prefix="dpcli-")  # noqa: SIM115 - closed by the caller
    try:
        for block in blocks:
            copy.write(block)
        copy.flush()
    except OSError:
        copy.close()
        raise DataError.of(
            "no-space",
            "there is no room for a temporary copy of the data",
            "free space in the temporary folder, or set TMPDIR to a roomier one",
        ) from None
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def _header(file: BinaryIO, size: int) -> tuple[str, ...]:
    """The names in the first record that is not blank."""
    csv.field_size_limit(sys.maxsize)
    for window in HEADER_WINDOWS:
        start = os.pread(file.fileno(), window, 0)
        _refuse_other_formats(start)
        text = start.removeprefix(UTF8_MARK).decode("utf-8", errors="replace")
        records = (row for row in csv.reader(io.StringIO(text, newline="")) if row)
        names = next(records, None)
        # A record is known to be whole when another one follows it.
        if names and (len(start) == size or next(records, None) is not None):
            return tuple(names)
    raise DataError.of(
        "no-header",
        "the file has no header line",
        "the first line must name the columns, separated by commas",
    )


def _refuse_other_formats(start: bytes) -> None:
    """Refuse what is certainly not CSV text, by its first bytes."""
    kinds = (
        (b"\x1f\x8b", "gzip data", "name the file `.gz`, or unpack it"),
        (b"PK\x03\x04", "a zip archive or spreadsheet", "save the table as CSV"),
        (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
        (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
        (b"PAR1", "a Parquet file", "save the table as CSV"),
        (b"\x28\xb5\x2f\xfd", "zstd data", "unpack it first"),
        (b"BZh", "bzip2 data", "unpack it first"),
        (b"\xfd7zXZ", "xz data", "unpack it first"),
        (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    )
    for mark, found, hint in kinds:
        if start.startswith(mark):
            raise DataError.of("not-csv", f"the file is {found}, not CSV text", hint)
