"""The data files: opened once, by us, and held open until the last row is read.

No globbing, no URLs, no guessing: a name means one file, `-` is standard input.
Pipes, files named `.gz`, text that is not UTF-8 and files without a header line are first
copied to a private temporary file that is deleted at once, so that whatever is read is one
regular file, in UTF-8, whose first line is public.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Self

from dpcli.csv_dialect import STANDARD_DIALECT, UTF8, Dialect
from dpcli.engine.file_content import (
    SEALED_ENDING,
    SIGNATURE_BYTES,
    CountingReader,
    copy_to_temporary,
    decompress,
    is_parquet,
    read_blocks,
    read_header,
    refuse_other_formats,
    split_start,
    with_header_line,
)
from dpcli.engine.memory import MemoryTable
from dpcli.engine.progress import Progress, silenced_stderr
from dpcli.errors import (
    DataError,
    DpcliError,
    Problem,
    StoppedBySignal,
    describe_system_error,
    make_problem,
)

STDIN = "-"

PARQUET_ENDINGS = (".parquet", ".pq")
"""How the names of Parquet files end, of data and of tables."""


State = tuple[int, int]
"""The size of a file, and when it was last changed."""


@dataclass(frozen=True, slots=True)
class Source:
    """One open regular file, and the names of its columns.

    `size` is at least the number of its rows: the bytes, for CSV. `bytes` is the size of the
    file as it was named, packed or in another encoding. `dialect` is how its
    text is written, by now in UTF-8; without one it is a Parquet file, in which `odd` are
    columns of types that hold no texts, and `unfit_ids` those that are no good as ids. `state` is
    that of a named file when it was opened, if it is read where it is.
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


@dataclass(frozen=True, slots=True)
class Dataset:
    """Files that are read one after the other as if they were one."""

    sources: tuple[Source, ...]
    dialect: Dialect = STANDARD_DIALECT

    @property
    def size(self) -> int:
        """At least the number of rows."""
        return sum(source.size for source in self.sources)

    @property
    def bytes(self) -> int:
        """The bytes of all files, as they were named."""
        return sum(source.bytes for source in self.sources)

    @contextmanager
    def redacted_errors(self) -> Iterator[None]:
        """Records may be read within; whatever fails is reported in one fixed sentence.

        DataError `data-unreadable`, or `data-changed` for files that are not what they were when
        they were opened. Our own failures, which quote no record, pass.
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
        """What was read of changed files is no version; only sizes and times are compared."""
        changed = [
            make_problem("data-changed", file=source.name)
            for source in self.sources
            if source.state is not None and source.state != _state(source.file)
        ]
        if changed:
            raise DataError(changed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files; temporary copies vanish with it."""
        for source in self.sources:
            source.file.close()


Input = str | MemoryTable
"""The name of a data file, or a table in memory."""


def open_dataset(
    inputs: Sequence[Input], dialect: Dialect = STANDARD_DIALECT, progress: Progress | None = None
) -> Dataset:
    """Open the data files, or standard input for `-`, and read their headers.

    Raises DataError with the problems of all files: missing, unreadable, named twice, of
    another format, without a header; never because of anything after the first record.
    """
    problems: list[Problem] = []
    progress = progress or Progress()
    with ExitStack() as opened:
        raws: list[tuple[str, BinaryIO]] = []
        for one in inputs:
            with collect_problems(problems):
                raw = _opened(one)
                opened.callback(raw.close)
                raws.append((one.name if isinstance(one, MemoryTable) else one, raw))
        problems += _twice(raws)
        sources = []
        # Nothing is copied, which may take long, for a command that is wrong.
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
    """Keep the problems of one file, and go on to the next."""
    try:
        yield
    except DataError as failure:
        problems += failure.problems


def _twice(raws: Sequence[tuple[str, BinaryIO]]) -> Iterator[Problem]:
    """A problem for every file that was opened before, by whatever name."""
    seen: dict[tuple[int, int], str] = {}
    for name, raw in raws:
        status = os.fstat(raw.fileno())
        place = (status.st_dev, status.st_ino)
        if place in seen:
            code = "data-twice" if name == seen[place] else "data-twice.link"
            yield make_problem(code, file=name, same=seen[place])
        seen.setdefault(place, name)


def _opened(one: Input) -> BinaryIO:
    if isinstance(one, MemoryTable):
        return one.opened()
    return _standard_input() if one == STDIN else open_file(one)


def _standard_input() -> BinaryIO:
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError.about("data-not-piped")
    return sys.stdin.buffer


def drain_stdin(names: Sequence[str]) -> None:
    """Read standard input to its end if it is one of the files, and drop it.

    For a command that needs no data after all: a program that still writes into the pipe would
    be stopped by a signal, and a shell with `pipefail` would call that a failure.
    """
    if STDIN not in names or sys.stdin is None or sys.stdin.isatty():
        return
    with suppress(OSError, ValueError):
        deque(read_blocks(sys.stdin.buffer.read), maxlen=0)


def open_file(name: str) -> BinaryIO:
    """The named file; links are followed, patterns and addresses are not."""
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
    """A file or a copy of it with its header; `raw` is closed if it is not used."""
    dialect = dialect.of_file(name)
    file, is_table, whole = _regular(name, raw, dialect, progress or Progress())
    state = _state(file) if file is raw else None
    try:
        if is_table:
            # Only a file of this kind needs native code to read its header.
            from dpcli.engine.parquet import parquet_source

            return replace(parquet_source(name, file), bytes=whole, state=state)
        size = os.fstat(file.fileno()).st_size
        header = dialect.names or read_header(file, name, size, dialect)
        return Source(name, file, size, header, whole, replace(dialect, names=()), state=state)
    except BaseException:
        file.close()
        raise


def _regular(
    name: str, raw: BinaryIO, dialect: Dialect, progress: Progress
) -> tuple[BinaryIO, bool, int]:
    """A regular file at its start, whether it is Parquet, and the bytes that it had.

    The file is `raw` itself or a copy. Where a header line is to be expected, the first
    bytes identify a Parquet file; in a file without one they belong to a record, and its name
    alone decides.
    """
    packed = name.lower().endswith(".gz")
    by_name = name.lower().removesuffix(".gz").endswith(PARQUET_ENDINGS)
    status = os.fstat(raw.fileno())
    is_file = stat.S_ISREG(status.st_mode)

    if name.lower().endswith(SEALED_ENDING):
        raise DataError.about("not-csv.sealed", file=name)

    def parquet(start: bytes) -> bool:
        if by_name or dialect.names:
            return by_name
        refuse_other_formats(start, name, dialect.encoding)
        return is_parquet(start)

    if is_file and not packed and not (name == STDIN and raw.tell()):
        found = parquet(os.pread(raw.fileno(), SIGNATURE_BYTES, 0))
        if found or (dialect.encoding == UTF8 and not dialect.names):
            return raw, found, status.st_size
    counted = CountingReader(raw)
    progress.begin("copying", status.st_size if is_file else None, counted.position)
    with raw:
        blocks = decompress(counted, name) if packed else read_blocks(counted.read)
        start, content = split_start(blocks, SIGNATURE_BYTES)
        found = parquet(start)
        try:
            copy = copy_to_temporary(content if found else with_header_line(content, dialect))
        except OSError:
            raise DataError.about("no-space") from None
        if is_file and _state(raw) != (status.st_size, status.st_mtime_ns):
            copy.close()
            raise DataError.about("data-changed", file=name)
    return copy, found, counted.passed


def _state(file: BinaryIO) -> State:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns
