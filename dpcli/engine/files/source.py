"""The data files: each is opened once, and stays open until the last row is read.

A name means one file, and `-` is standard input; patterns and URLs are not expanded. The engine
always reads a regular file: Parquet, or CSV in UTF-8 whose first line is public. A table in memory
is written to a Parquet file without a name, so the same code reads all rows.

Privacy: the declared types of the columns of a table decide what is refused, with the codes of
Parquet files, not the values in them. A query of polars that is not run yet (`LazyFrame`) is a
program of the caller, which may fail at a value.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.engine.files.dataset import STDIN, Dataset, Source, regular_file
from dpcli.engine.files.decoding import read_blocks, read_header
from dpcli.engine.progress import Progress, redacted_errors
from dpcli.problems.errors import DataError, Problem, describe_system_error, make_problem
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    import polars as pl


BLOCK = 1 << 20
"""How many bytes of a file are hashed at a time."""

CAUSES = {
    "MemoryError": "memory does not suffice",
    "OutOfMemoryException": "memory does not suffice",
    "ConnectionException": "the connection to its database is closed",
    "FileNotFoundError": "a file of its query does not exist",
    "IOException": "a file of its database cannot be read or written",
    "BinderException": "its query does not fit the tables that it names",
    "CatalogException": "its query names a table that does not exist",
    "ParserException": "its query is not SQL",
    "ColumnNotFoundError": "its query names a column that does not exist",
    "DuplicateError": "two of its columns have the same name",
}
"""Errors of polars and DuckDB that no cell causes, by the names of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTable:
    """A table in memory; messages use the name of its type.

    `rows` is a DataFrame or LazyFrame of polars, or an object with an Arrow stream, such as a table
    of pandas or Arrow.
    """

    rows: Any = field(repr=False)
    name: str = "table.parquet"

    @property
    def is_stream(self) -> bool:
        """Whether its rows can be read only once: an Arrow stream that has no length."""
        return not hasattr(self.rows, "sink_parquet") and not hasattr(self.rows, "__len__")

    def open(self) -> BinaryIO:
        """Its rows as a nameless file; raises DataError `data-unreadable` without a cell."""
        with ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile(prefix="dpcli-", buffering=0))
            with redacted_errors("data-unreadable.table"), self._shown_causes():
                self._lazy().sink_parquet(
                    file, compression="uncompressed", statistics=False, engine="streaming"
                )
            stack.pop_all()
        return cast("BinaryIO", file)

    @staticmethod
    @contextmanager
    def _shown_causes() -> Iterator[None]:
        """Raise DataError `data-unreadable.cause` for an error that no cell can cause."""
        try:
            yield
        except Exception as error:
            cause = CAUSES.get(type(error).__name__)
            if isinstance(error, OSError) and error.errno:
                cause, _ = describe_system_error(error)
            if cause:
                raise DataError.about("data-unreadable.cause", cause=cause) from None
            raise

    def _lazy(self) -> pl.LazyFrame:
        # A command without tables in memory must not load polars for this.
        import polars as pl

        rows, pandas = self.rows, sys.modules.get("pandas")
        if pandas is not None and isinstance(rows, pandas.DataFrame):
            # The same: it needs polars.
            from dpcli.engine.files.foreign_tables import polars_frame

            rows = polars_frame(rows)
        if not isinstance(rows, pl.DataFrame | pl.LazyFrame):
            from dpcli.engine.files.foreign_tables import arrow_frame

            rows = arrow_frame(rows)
        lazy: pl.LazyFrame = rows.lazy()
        # A column of Python objects cannot be written. As bytes it is refused if it is declared.
        schema = lazy.collect_schema()
        objects = [name for name, dtype in schema.items() if dtype == pl.Object]
        return lazy.with_columns(pl.lit(None, pl.Binary).alias(name) for name in objects)


Input = str | MemoryTable
"""The name of a data file, or a table in memory."""


def open_dataset(
    inputs: Sequence[Input],
    dialect: Dialect = STANDARD_DIALECT,
    progress: Progress | None = None,
    sha256: Sequence[str] = (),
) -> Dataset:
    """Open the data files, or standard input for `-`, and read their headers.

    Files are refused unless they have the declared `sha256`, in order (`_differing`). Raises
    DataError with the problems of all files: missing, unreadable, named twice, of another
    format, or without a header. Nothing after the first record can cause an error.
    """
    problems: list[Problem] = []
    progress = progress or Progress()
    with ExitStack() as opened:
        raws: list[tuple[str, BinaryIO]] = []
        for data in inputs:
            with DataError.collected(problems):
                if isinstance(data, MemoryTable):
                    name, raw = data.name, data.open()
                elif data != STDIN:
                    name, raw = data, open_file(data)
                elif sys.stdin is None or sys.stdin.isatty():
                    raise DataError.about("data-not-piped")
                else:
                    name, raw = data, sys.stdin.buffer
                opened.callback(raw.close)
                raws.append((name, raw))
        problems += _duplicates(raws)
        problems += _differing(raws, sha256) if sha256 and not problems else ()
        sources = []
        # To copy may take long, so nothing is copied for a command with a problem.
        for data, (name, raw) in () if problems else zip(inputs, raws, strict=True):
            with DataError.collected(problems):
                source = open_source(name, raw, dialect, progress)
                if isinstance(data, MemoryTable):
                    source = replace(source, name=type(data.rows).__name__, in_memory=True)
                opened.callback(source.file.close)
                sources.append(source)
        DataError.require_none(problems)
        opened.pop_all()
    return Dataset(tuple(sources), dialect)


def _duplicates(raws: Sequence[tuple[str, BinaryIO]]) -> Iterator[Problem]:
    """A problem for each file that is opened twice, also under different names."""
    seen: dict[tuple[int, int], str] = {}
    for name, raw in raws:
        status = os.fstat(raw.fileno())
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            yield make_problem("data-twice", file=name, same=seen[identity])
        seen.setdefault(identity, name)


def _differing(raws: Sequence[tuple[str, BinaryIO]], sha256: Sequence[str]) -> Iterator[Problem]:
    """A problem for each file whose bytes are not those with the declared SHA-256.

    Packed files are compared as they are stored, and the open file is read, so that no other file
    can take its place.

    Privacy: the verdict is about the file as a whole: whether its bytes arrived as the sender
    declared them. The text names the file alone, and is the same whatever record, header or byte
    differs; it has no digest, which would confirm a guess of the data. Who declares a digest has it
    from who made the file, and it is as confidential as the file: no report and no ledger has it.
    """
    for (name, raw), declared in zip(raws, sha256, strict=True):
        digest, position = hashlib.sha256(), 0
        try:
            while block := os.pread(raw.fileno(), BLOCK, position):
                digest.update(block)
                position += len(block)
        except OSError as error:
            why, fix = describe_system_error(error)
            yield make_problem("data-unreadable.system", file=name, why=why, fix=fix)
            continue
        if digest.hexdigest() != declared:
            yield make_problem("data-changed.sha256", file=name)


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
    """Raise DataError `data-missing` for names that are no file; nothing is opened."""
    DataError.require_none(
        make_problem("data-missing", file=name)
        for name in names
        if name != STDIN and _is_missing(name)
    )


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
    """Open the named file, also by links, not by patterns or URLs; raises DataError."""
    try:
        file = open(name, "rb", buffering=0)  # noqa: SIM115 - held open by the caller
    except IsADirectoryError:
        raise DataError.about("data-unreadable.kind", file=name, kind="a folder") from None
    except FileNotFoundError:
        raise DataError.about("data-missing", file=name) from None
    except (OSError, ValueError, RuntimeError) as error:
        why, fix = describe_system_error(error)
        raise DataError.about("data-unreadable.system", file=name, why=why, fix=fix) from None
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError.about("data-unreadable.kind", file=name, kind="a device")
    return file


def open_source(
    name: str, raw: BinaryIO, dialect: Dialect, progress: Progress | None = None
) -> Source:
    """The file, or a copy of it, with its header. `raw` is closed if it is not used."""
    opened = regular_file(name, raw, dialect, progress or Progress())
    file = opened.file
    try:
        if opened.kind == "parquet":
            # Only the header of a Parquet file needs native code.
            from dpcli.engine.files.parquet import parquet_source

            source = parquet_source(name, file)
            return replace(source, bytes=opened.bytes, state=opened.state)
        assert opened.dialect is not None
        size = os.fstat(file.fileno()).st_size
        plain = replace(opened.dialect, names=(), skip_lines=0, header_lines=1)
        header = opened.header or read_header(file, name, size, plain)
        return replace(opened, size=size, header=header, dialect=plain)
    except BaseException:
        file.close()
        raise
