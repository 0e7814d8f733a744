"""The data files: each is opened once, and stays open until the last row is read.

A name means one file, and `-` is standard input; patterns and URLs are not expanded. The engine
always reads a regular file: Parquet, or CSV in UTF-8 whose first line is public.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import BinaryIO, Self

from dpcli.columns import Column
from dpcli.csv_dialect import STANDARD_DIALECT, Dialect
from dpcli.engine.file_content import read_blocks, read_header
from dpcli.engine.memory import MemoryTable
from dpcli.engine.progress import Progress, silenced_stderr
from dpcli.engine.regular_file import STDIN, Format, State, file_state, regular_file
from dpcli.errors import (
    DataError,
    DpcliError,
    Problem,
    StoppedBySignal,
    describe_system_error,
    make_problem,
)
from dpcli.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One open regular file, and the names of its columns.

    `size` is at least the number of its rows: for CSV the bytes. `bytes` is the size of the named
    file, which may be compressed or in another encoding. `dialect` describes the text, which is
    UTF-8 by now; it is None for Parquet. In a Parquet file, `odd` maps the columns that cannot be
    read to their types, and `unfit_ids` the columns that cannot be ids. `state` is that of a file
    that is read without a copy. `positions` are indices in a file with some columns of another.
    `kind` is the format before the file was copied as text.
    """

    name: str
    file: BinaryIO
    size: int
    header: tuple[str, ...]
    bytes: int = 0
    dialect: Dialect | None = STANDARD_DIALECT
    odd: Mapping[str, str] = field(default_factory=dict)
    unfit_ids: Mapping[str, str] = field(default_factory=dict)
    state: State | None = None
    positions: Mapping[int, int] = field(default_factory=dict)
    kind: Format = "csv"

    def place(self, column: Column) -> int:
        """The index of a column, which the file has; several columns may have one."""
        key = column.source or column.name
        return self.positions.get(key, key - 1) if isinstance(key, int) else self.header.index(key)


@dataclass(frozen=True, slots=True)
class Dataset:
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
            with silenced_stderr():
                yield
            self._require_unchanged()
        except (KeyboardInterrupt, SystemExit, StoppedBySignal, DpcliError):
            raise
        except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
            self._require_unchanged()
            # The message of the reader may quote a record, so no part of it may pass.
            raise DataError.about("data-unreadable") from None

    def _require_unchanged(self) -> None:
        """Raise DataError `data-changed` if the size or time of a file is no longer the same."""
        changed = [
            make_problem("data-changed", file=source.name)
            for source in self.sources
            if source.state is not None and source.state != file_state(source.file)
        ]
        if changed:
            raise DataError(changed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files, which deletes temporary copies."""
        for source in self.sources:
            source.file.close()


Input = str | MemoryTable
"""The name of a data file, or a table in memory."""


def open_dataset(
    inputs: Sequence[Input], dialect: Dialect = STANDARD_DIALECT, progress: Progress | None = None
) -> Dataset:
    """Open the data files, or standard input for `-`, and read their headers.

    Raises DataError with the problems of all files: missing, unreadable, named twice, of another
    format, or without a header. Nothing after the first record can cause an error.
    """
    problems: list[Problem] = []
    progress = progress or Progress()
    with ExitStack() as opened:
        raws: list[tuple[str, BinaryIO]] = []
        for data in inputs:
            with collect_problems(problems):
                raw = _open_input(data)
                opened.callback(raw.close)
                raws.append((data.name if isinstance(data, MemoryTable) else data, raw))
        problems += _duplicates(raws)
        sources = []
        # To copy may take long, so nothing is copied for a command with a problem.
        for name, raw in () if problems else raws:
            with collect_problems(problems):
                source = open_source(name, raw, dialect, progress)
                opened.callback(source.file.close)
                sources.append(source)
        if problems:
            raise DataError(problems)
        opened.pop_all()
    return Dataset(tuple(sources), dialect)


@contextmanager
def collect_problems(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of one file to the list instead of raising them."""
    try:
        yield
    except DataError as failure:
        problems += failure.problems


def _duplicates(raws: Sequence[tuple[str, BinaryIO]]) -> Iterator[Problem]:
    """A problem for each file that is opened twice, also under different names."""
    seen: dict[tuple[int, int], str] = {}
    for name, raw in raws:
        status = os.fstat(raw.fileno())
        place = (status.st_dev, status.st_ino)
        if place in seen:
            code = "data-twice" if name == seen[place] else "data-twice.link"
            yield make_problem(code, file=name, same=seen[place])
        seen.setdefault(place, name)


def _open_input(data: Input) -> BinaryIO:
    if isinstance(data, MemoryTable):
        return data.open()
    return _standard_input() if data == STDIN else open_file(data)


def _standard_input() -> BinaryIO:
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError.about("data-not-piped")
    return sys.stdin.buffer


def drain_stdin(names: Sequence[str]) -> None:
    """Read standard input to its end and discard it, if it is one of the files.

    For a command that needs no data after all: otherwise a signal would stop the program that
    writes into the pipe, and a shell with `pipefail` would report a failure.
    """
    if STDIN not in names or sys.stdin is None or sys.stdin.isatty():
        return
    with suppress(OSError, ValueError):
        deque(read_blocks(sys.stdin.buffer.read), maxlen=0)


def require_files(names: Sequence[str]) -> None:
    """Raise DataError `data-missing` for the names of no file; nothing is opened."""
    problems = [
        make_problem("data-missing", file=name)
        for name in names
        if name != STDIN and _is_missing(name)
    ]
    if problems:
        raise DataError(problems)


def _is_missing(name: str) -> bool:
    try:
        Path(name).stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        # To open it gives the reason.
        return False
    return False


def open_file(name: str) -> BinaryIO:
    """Open the named file; links are followed, patterns and URLs are not. Raises DataError."""
    try:
        file = open(name, "rb", buffering=0)  # noqa: SIM115 - held open by the caller
    except IsADirectoryError:
        raise DataError.about("data-unreadable.folder", file=name) from None
    except FileNotFoundError:
        raise DataError.about("data-missing", file=name) from None
    except (OSError, ValueError, RuntimeError) as error:
        why, fix = describe_system_error(error)
        raise DataError.about("data-unreadable.system", file=name, why=why, fix=fix) from None
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError.about("data-unreadable.device", file=name)
    return file


def open_source(
    name: str, raw: BinaryIO, dialect: Dialect, progress: Progress | None = None
) -> Source:
    """The file, or a copy of it, with its header. `raw` is closed if it is not used."""
    opened = regular_file(name, raw, dialect, progress or Progress())
    file, dialect = opened.file, opened.dialect
    try:
        if opened.kind == "parquet":
            # Only the header of a Parquet file needs native code.
            from dpcli.engine.parquet import parquet_source

            source = parquet_source(name, file)
            return replace(source, bytes=opened.bytes, state=opened.state)
        size = os.fstat(file.fileno()).st_size
        plain = replace(dialect, names=(), skip_lines=0, header_lines=1)
        header = opened.names or read_header(file, name, size, plain)
        state = opened.state
        return Source(name, file, size, header, opened.bytes, plain, state=state, kind=opened.kind)
    except BaseException:
        file.close()
        raise
