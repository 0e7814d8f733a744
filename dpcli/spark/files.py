"""The files that Spark reads, from paths or URLs, and their headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dpcli.data.column import Column
from dpcli.data.csv_dialect import UTF8, Dialect
from dpcli.engine.files.content import (
    PARTIAL_ENDING,
    SIGNATURE_BYTES,
    WINDOWS,
    is_parquet,
    read_header,
    refuse_other_formats,
)
from dpcli.engine.files.dataset import PARQUET_ENDINGS, ZIP_ENDING, Dataset, Source, format_of
from dpcli.engine.files.header import require_columns
from dpcli.engine.files.source import collect_problems
from dpcli.problems.errors import DataError, Problem
from dpcli.spark.tasks import File

COMPRESSED_ENDINGS = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zstd")
"""Endings of names of files that Spark decompresses; the local engine reads them instead."""

HIDDEN = ("_", ".")
"""First characters of the names of files that Spark skips silently."""

WHOLE_ENDINGS = (*COMPRESSED_ENDINGS, ZIP_ENDING)
"""Endings of names of files that one task reads."""

LARGEST = 1 << 30
"""Bytes of the largest file that one task reads: Java holds it in memory as one value."""

LOCAL = "file:"
"""The start of URLs of files on this machine."""


def open_files(
    spark: SparkSession, names: Sequence[str], dialect: Dialect, columns: Sequence[Column]
) -> list[File]:
    """The named files, and the files in named folders. Raises DataError with all problems."""
    problems: list[Problem] = []
    files: dict[str, File] = {}
    for name in names:
        with collect_problems(problems):
            for file in _named(spark, name, dialect, columns):
                same = files.setdefault(_identity(file.address), file)
                if same is not file:
                    code = "data-twice" if same.address == file.address else "data-twice.link"
                    raise DataError.about(code, file=file.name, same=same.name)
    if problems:
        raise DataError(problems)
    return list(files.values())


def _named(
    spark: SparkSession, name: str, dialect: Dialect, columns: Sequence[Column]
) -> Iterator[File]:
    """The file with this name, or all files in the folder that Spark does not skip."""
    try:
        system, status = _find(spark, name)
        if not status.isDirectory():
            yield _file(name, system, status, dialect, columns)
            return
        entries = [entry for entry in system.listStatus(status.getPath()) if not _is_hidden(entry)]
        if not entries or any(entry.isDirectory() for entry in entries):
            raise DataError.about("data-unreadable.folder", file=name)
        for entry in sorted(entries, key=lambda entry: str(entry.getPath().getName())):
            yield _file(entry.getPath().toString(), system, entry, dialect, columns)
    except (Py4JJavaError, PySparkException) as error:
        is_missing = "FileNotFoundException" in str(error)
        code = "data-missing" if is_missing else "data-unreadable.spark"
        raise DataError.about(code, file=name) from None


def _find(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """The file system of a name, and the status of the file; no pattern is expanded."""
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(name)  # noqa: SLF001 - no other way
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001
    return system, system.getFileStatus(path)


def _identity(address: str) -> str:
    """A text that is the same for all names of a local file, including links."""
    path = address.removeprefix(LOCAL)
    if path == address:
        return address
    status = Path(path).stat()
    return f"{status.st_dev}:{status.st_ino}"


def _is_hidden(status: Any) -> bool:
    return str(status.getPath().getName()).startswith(HIDDEN)


def file_state(spark: SparkSession, address: str) -> tuple[int, int]:
    """The size of a file, and the time of its last change."""
    return _state(_find(spark, address)[1])


def _state(status: Any) -> tuple[int, int]:
    return int(status.getLen()), int(status.getModificationTime())


def _file(name: str, system: Any, status: Any, dialect: Dialect, columns: Sequence[Column]) -> File:
    """A file with a header that has all columns, or a file that one task must read."""
    file, lower = File(name, status.getPath().toString(), _state(status), None), name.lower()
    size = file.state[0]
    if _is_hidden(status) or lower.endswith("._copying_"):
        raise DataError.about("data-unreadable.spark", file=name)
    if lower.endswith(PARTIAL_ENDING):
        raise DataError.about("not-csv.sealed", file=name)
    if not size:
        raise DataError.about("no-header", file=name)
    is_whole = (
        lower.endswith(WHOLE_ENDINGS)
        or format_of(name) in ("sheet", "json")
        or dialect.encoding != UTF8
        or dialect.skip_lines > 0
        or dialect.header_lines > 1
    )
    for window in WINDOWS[::2]:
        start = _read(system, status, 0, window)
        if not dialect.names and not is_whole:
            refuse_other_formats(start[:SIGNATURE_BYTES], name, dialect.encoding)
            is_whole = is_parquet(start)
        if is_whole or lower.endswith(PARQUET_ENDINGS):
            if size > LARGEST:
                raise DataError.about("data-too-large.spark", file=name)
            return file
        with TemporaryFile() as copy:
            copy.write(start)
            copy.flush()
            file_dialect = dialect.of_file(name)
            try:
                header = file_dialect.names or read_header(copy, name, size, file_dialect)
            except DataError:
                if window < min(size, WINDOWS[-1]):
                    continue
                raise
            source = Source(name, copy, size, header, dialect=file_dialect)
            require_columns(Dataset((source,)), columns)
            return replace(file, header=header, ended=_read(system, status, size - 1, 1) == b"\n")
    raise AssertionError


def _read(system: Any, status: Any, start: int, max_bytes: int) -> bytes:
    stream = system.open(status.getPath())
    stream.seek(start)
    content = bytes(stream.readNBytes(max_bytes))
    stream.close()
    return content
