"""Data files as regular files, which are read one after the other, as one.

The ending of the name of a file, which is public, states how it is packed and what is in it. CSV
text in UTF-8 that begins with its header, and Parquet, are read in place. All else is copied to a
temporary file as such text: pipes, packed files, sheets, JSON Lines, text in other encodings, and
text in which other lines precede the header, or no header does.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from typing import BinaryIO, Literal

from dpcli.data.column import Column
from dpcli.data.formats import STANDARD_DIALECT, UTF8, Dialect
from dpcli.engine.files.decoding import (
    PARTIAL_ENDING,
    SIGNATURE_BYTES,
    CountingReader,
    bare_name,
    copy_to_temporary,
    is_parquet,
    read_blocks,
    split_start,
    to_utf8,
)
from dpcli.engine.progress import Progress, silenced_stderr
from dpcli.problems.errors import DataError, DpcliError, StoppedBySignal, make_problem
from dpcli.problems.light_dataclasses import dataclass

STDIN = "-"

Format = Literal["csv", "parquet", "sheet", "json"]

PARQUET_ENDINGS = (".parquet", ".pq")
"""Endings of the names of Parquet files, both data and tables."""

ENDINGS: dict[str, Format] = {
    **dict.fromkeys(PARQUET_ENDINGS, "parquet"),
    ".xlsx": "sheet",
    ".xlsm": "sheet",
    ".jsonl": "json",
    ".ndjson": "json",
}
"""Endings of the names of files that are no CSV text."""

GZIP_ENDING, ZIP_ENDING = ".gz", ".zip"

State = tuple[int, int]
"""The size of a file, and the time of its last change in nanoseconds."""


def format_of(name: str) -> Format:
    """The format that the ending of a name states, without that of gzip."""
    plain = name.lower().removesuffix(GZIP_ENDING)
    return next((kind for ending, kind in ENDINGS.items() if plain.endswith(ending)), "csv")


@dataclass(frozen=True, slots=True)
class Source:
    """One open regular file, and the names of its columns.

    `size` is at least the number of its rows: for CSV the bytes. `bytes` is the size of the named
    file, which may be compressed or in another encoding. `dialect` describes the text, which is
    UTF-8 by now; it is None for Parquet. In a Parquet file, `odd` maps the columns that cannot be
    read to their types, and `unfit_ids` the columns that cannot be ids. `state` is set for a file
    that is read without a copy. If this file has only some columns of the named file, `positions`
    maps positions there to indices here. `kind` is the format before the file was copied as text.
    A table of a program is `in_memory`.
    """

    name: str
    file: BinaryIO
    size: int = 0
    header: tuple[str, ...] = ()
    bytes: int = 0
    dialect: Dialect | None = STANDARD_DIALECT
    odd: Mapping[str, str] = field(default_factory=dict)
    unfit_ids: Mapping[str, str] = field(default_factory=dict)
    state: State | None = None
    positions: Mapping[int, int] = field(default_factory=dict)
    kind: Format = "csv"
    in_memory: bool = False

    def index_of(self, column: Column) -> int:
        """The index of a column that the file has; several columns may share one index."""
        key = column.file_key
        if isinstance(key, int):
            return self.positions.get(key, key - 1)
        return self.header.index(self.own_name(key))

    def own_name(self, name: str) -> str:
        """The name of a column as the header has it, perhaps without blanks."""
        return name if name in self.header else bare_name(name)


def regular_file(name: str, raw: BinaryIO, dialect: Dialect, progress: Progress) -> Source:
    """The file, or a copy of its table, without column names in its first line.

    `raw` is closed if it is not used.
    """
    lower = name.lower()
    if lower.endswith(PARTIAL_ENDING):
        raise DataError.about("not-csv.sealed", file=name)
    status = os.fstat(raw.fileno())
    is_file, kind = stat.S_ISREG(status.st_mode), format_of(name)
    is_packed = lower.endswith((GZIP_ENDING, ZIP_ENDING))
    is_text = kind in ("csv", "parquet") and not is_packed
    if is_file and is_text and not (name == STDIN and raw.tell()):
        parquet = _is_parquet(os.pread(raw.fileno(), SIGNATURE_BYTES, 0), kind, name, dialect)
        if parquet or dialect.is_usual:
            return Source(
                name,
                raw,
                bytes=status.st_size,
                dialect=dialect.of_file(name),
                state=file_state(raw),
                kind="parquet" if parquet else "csv",
            )
    with raw:
        copied = _copy(name, raw, dialect, progress)
        if is_file and file_state(raw) != (status.st_size, status.st_mtime_ns):
            copied.file.close()
            raise DataError.about("data-changed", file=name)
    return copied


def _copy(name: str, raw: BinaryIO, dialect: Dialect, progress: Progress) -> Source:
    """A private temporary copy of the table in a file."""
    from dpcli.engine.files.decompression import decompress, zip_member

    status, packed = os.fstat(raw.fileno()), CountingReader(raw)
    total = status.st_size if stat.S_ISREG(status.st_mode) else None
    progress.begin("copying", total, lambda: packed.count)
    inner, blocks = name, read_blocks(packed.read)
    try:
        if name.lower().endswith(GZIP_ENDING):
            blocks = decompress(packed, name)
        elif name.lower().endswith(ZIP_ENDING):
            # The directory of an archive is at its end.
            whole = packed if total is not None else copy_to_temporary(blocks)
            inner, blocks = zip_member(whole, name)
        copy = _converted(name, format_of(inner), blocks, dialect.of_file(inner))
    except OSError:
        raise DataError.about("no-space", what="the data") from None
    return replace(copy, bytes=packed.count if total is None else total)


def _converted(name: str, kind: Format, blocks: Iterator[bytes], dialect: Dialect) -> Source:
    """A temporary CSV or Parquet file with the table in blocks of this format."""
    from dpcli.engine.files.csv_marks import without_marks

    names: tuple[str, ...] = ()
    as_written = replace(
        without_marks(dialect),
        delimiter=",",
        quote='"',
        encoding=UTF8,
        multiline=True,
        row_names=False,
    )
    if kind == "json":
        from dpcli.engine.files.json_lines import json_table

        keys = dialect.names or dialect.keys
        text = to_utf8(blocks, dialect.encoding, has_header=not keys)
        names, blocks = json_table(text, keys, name)
        dialect = as_written
    else:
        if kind == "sheet":
            # Only a workbook needs native code to be opened.
            from dpcli.engine.files.spreadsheet import sheet_text

            blocks = iter((sheet_text(blocks, dialect, name),))
            dialect = replace(as_written, skip_lines=0)
        start, blocks = split_start(blocks, SIGNATURE_BYTES)
        if _is_parquet(start, kind, name, dialect):
            return Source(name, copy_to_temporary(blocks), kind="parquet")
        from dpcli.engine.files.header_lines import table_text

        names, blocks = table_text(blocks, dialect, name)
        dialect = without_marks(dialect)
    return Source(name, copy_to_temporary(blocks), header=names, dialect=dialect, kind=kind)


def _is_parquet(start: bytes, kind: Format, name: str, dialect: Dialect) -> bool:
    """Whether a file is Parquet. Raises DataError `not-csv` for other formats.

    If a header line is expected, the first bytes identify the format. In a file without one they
    belong to a record, so only the name decides.
    """
    if kind != "csv" or dialect.names:
        return kind == "parquet"
    return is_parquet(start, name, dialect.encoding)


def file_state(file: BinaryIO) -> State:
    """The size of a file, and the time of its last change."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Dataset(AbstractContextManager["Dataset"]):
    """Files that are read one after the other, as one."""

    sources: tuple[Source, ...]
    dialect: Dialect = STANDARD_DIALECT

    @property
    def size(self) -> int:
        """An upper bound on the number of rows."""
        return sum(source.size for source in self.sources)

    @property
    def bytes(self) -> int:
        """The bytes of all named files."""
        return sum(source.bytes for source in self.sources)

    @contextmanager
    def redacted_errors(self) -> Iterator[None]:
        """Replace errors of the body, which may quote a record, by one fixed sentence.

        Raises DataError `data-unreadable`, or `data-changed`. A DpcliError passes: it quotes none.
        """
        try:
            with silenced_stderr:
                yield
            self._require_unchanged()
        except (KeyboardInterrupt, SystemExit, StoppedBySignal, DpcliError):
            raise
        except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
            self._require_unchanged()
            # The message of the reader may quote a record, so no part of it may pass.
            raise DataError.about("data-unreadable") from None

    def _require_unchanged(self) -> None:
        """Raise DataError `data-changed` if the size or time of a file has changed."""
        DataError.require_none(
            make_problem("data-changed", file=source.name)
            for source in self.sources
            if source.state is not None and source.state != file_state(source.file)
        )

    def __exit__(self, *_: object) -> None:
        """Close the files, which deletes temporary copies."""
        for source in self.sources:
            source.file.close()
