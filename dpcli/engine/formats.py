"""What the first bytes of a file say: its format, and the names of its columns."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import BinaryIO

from dpcli.dialect import UTF16, Dialect
from dpcli.engine.records import LINES_END, UTF8_MARK, record_of, records
from dpcli.errors import DataError

WINDOWS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes to look at, ever more, until the first record is certainly whole."""

MARKS = 16
"""Bytes by which formats are told apart."""

PARQUET = (b"PAR1", b"PARE")
"""How Parquet files begin, the second kind encrypted."""

PACKED = (
    *(b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda"),
    *(b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7z", b"\x04\x22\x4d\x18"),
)
"""How compressed data begin, of which `x^` may begin the name of a column as well."""


def seems_packed(file: BinaryIO) -> bool:
    """Whether a native reader could take a header line for compressed data."""
    return os.pread(file.fileno(), MARKS, 0).startswith(PACKED)


def is_parquet(start: bytes) -> bool:
    """Whether a file begins as Parquet does, and not with a column called PARENT.

    Behind the mark stands a number of Thrift, which is no letter. Nothing past a header line
    is looked at: the last bytes of a file belong to a record.
    """
    number = start[len(PARQUET[0]) : len(PARQUET[0]) + 1]
    return start.startswith(PARQUET) and b"" < number < b" " and number not in b"\t\r\n"


OTHERS = (
    (b"\x1f\x8b", "gzip data", "name the file `.gz`, or unpack it"),
    (b"PK\x03\x04", "a zip archive or spreadsheet", "save the table as CSV"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unpack it first"),
    (b"BZh91AY&SY", "bzip2 data", "unpack it first"),
    (b"\xfd7zXZ", "xz data", "unpack it first"),
    (b"ARROW1", "an Arrow file", "save the table as Parquet or CSV"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
)

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def refuse_other_formats(start: bytes, name: str, encoding: str) -> None:
    """Refuse what is certainly not CSV text as declared, by its first bytes."""
    for mark, found, hint in OTHERS:
        if start.startswith(mark):
            raise DataError.of("not-csv", f"`{name}` is {found}, not CSV text", hint)
    if start.startswith(UTF16_MARKS) and not encoding.startswith(UTF16):
        raise DataError.of(
            "not-csv",
            f"`{name}` is UTF-16 text, expected {encoding}",
            "write `csv: {encoding: utf-16}` in the spec (`--encoding utf-16` for `dpcli init`), "
            "or save the file as UTF-8",
        )


def is_separator_mark(header: Sequence[str]) -> bool:
    """Whether a first line is the mark by which spreadsheets state what is between cells."""
    rest = "".join(header)
    return rest[:4].lower() == "sep=" and len(rest) <= 5


def header_of(file: BinaryIO, name: str, size: int, dialect: Dialect) -> tuple[str, ...]:
    """The names in the first record that is not blank."""
    names = first_record(file, size, dialect)
    if names:
        return tuple(names)
    if names is not None:
        raise DataError.of(
            "no-header",
            f"a quote is not closed in the header line of `{name}`",
            "write `csv: {quote: none}` if quotes mean nothing in the file, or `multiline: true` "
            "if names have line ends in them",
        )
    raise DataError.of(
        "no-header",
        f"`{name}` has no header line",
        "the first line must name the columns; for a file without one, list them in the spec: "
        "`csv: {names: [...]}`, as `dpcli init DATA --no-header` does",
    )


def first_record(file: BinaryIO, size: int, dialect: Dialect, start: int = 0) -> list[str] | None:
    """The cells of the first record from `start` on that is not blank, if there is a whole one.

    None at all if a quote is not closed in the line that should hold it.
    """
    for window in WINDOWS:
        content = os.pread(file.fileno(), window, start)
        text = content.removeprefix(UTF8_MARK).decode("utf-8", errors="replace")
        if not dialect.multiline:
            line, *others = LINES_END.split(text.lstrip("\r\n"), maxsplit=1)
            if line and (others or start + len(content) >= size):
                return record_of(line, dialect) or []
            continue
        found = (row for row in records(io.StringIO(text, newline=""), dialect) if row)
        cells = next(found, None)
        # A record is known to be whole when another one follows it.
        if cells and (start + len(content) >= size or next(found, None) is not None):
            return cells
    return None
