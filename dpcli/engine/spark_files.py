"""The files that Spark reads, by paths or addresses, and their headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dpcli.columns import Column
from dpcli.csv_dialect import UTF8, Dialect
from dpcli.engine.file_content import (
    SEALED_ENDING,
    SIGNATURE_BYTES,
    WINDOWS,
    is_parquet,
    read_header,
    refuse_other_formats,
)
from dpcli.engine.header import require_columns
from dpcli.engine.source import PARQUET_ENDINGS, Dataset, Source, collect_problems
from dpcli.engine.spark_tasks import File
from dpcli.errors import DataError, Problem

PACKED = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zstd")
"""Endings by which Spark unpacks text; what they hold the local engine decides."""

HIDDEN = ("_", ".")
"""How the names of files begin that Spark leaves out without a word."""

LARGEST = 1 << 30
"""Bytes of a file that is read whole: it passes through the memory of Java as one value."""

LOCAL = "file:"
"""How the addresses of files of this machine begin."""


def files_of(
    spark: SparkSession, names: Sequence[str], dialect: Dialect, columns: Sequence[Column]
) -> list[File]:
    """The named files, and those in named folders. DataError with the problems of all."""
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
    """The file of a name, or all in the folder of that name but those that Spark hides."""
    try:
        system, status = place_of(spark, name)
        if not status.isDirectory():
            yield _file(name, system, status, dialect, columns)
            return
        inner = [one for one in system.listStatus(status.getPath()) if not _is_hidden(one)]
        if not inner or any(one.isDirectory() for one in inner):
            raise DataError.about("data-unreadable.folder", file=name)
        for one in sorted(inner, key=lambda one: str(one.getPath().getName())):
            yield _file(one.getPath().toString(), system, one, dialect, columns)
    except (Py4JJavaError, PySparkException) as error:
        missing = "FileNotFoundException" in str(error)
        code = "data-missing" if missing else "data-unreadable.spark"
        raise DataError.about(code, file=name) from None


def place_of(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """The file system of a name and what it says of the file; no pattern is expanded."""
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(name)  # noqa: SLF001 - no other way
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001
    return system, system.getFileStatus(path)


def _identity(address: str) -> str:
    """What is the same for all names of a file of this machine, links among them."""
    path = address.removeprefix(LOCAL)
    if path == address:
        return address
    status = Path(path).stat()
    return f"{status.st_dev}:{status.st_ino}"


def _is_hidden(status: Any) -> bool:
    return str(status.getPath().getName()).startswith(HIDDEN)


def state_of(status: Any) -> tuple[int, int]:
    """The size of a file, and when it was last changed."""
    return int(status.getLen()), int(status.getModificationTime())


def _file(name: str, system: Any, status: Any, dialect: Dialect, columns: Sequence[Column]) -> File:
    """A file whose header is known and has all columns, or which a task reads whole."""
    file, lower = File(name, status.getPath().toString(), state_of(status), None), name.lower()
    size = file.state[0]
    if _is_hidden(status) or lower.endswith("._copying_"):
        raise DataError.about("data-unreadable.spark", file=name)
    if lower.endswith(SEALED_ENDING):
        raise DataError.about("not-csv.sealed", file=name)
    if not size:
        raise DataError.about("no-header", file=name)
    packed = lower.endswith(PACKED) or dialect.encoding != UTF8
    for window in WINDOWS[::2]:
        start = _read(system, status, 0, window)
        if not dialect.names and not packed:
            refuse_other_formats(start[:SIGNATURE_BYTES], name, dialect.encoding)
            packed = is_parquet(start)
        if packed or lower.endswith(PARQUET_ENDINGS):
            if size > LARGEST:
                raise DataError.about("data-too-large.spark", file=name)
            return file
        with TemporaryFile() as copy:
            copy.write(start)
            copy.flush()
            own = dialect.of_file(name)
            try:
                header = own.names or read_header(copy, name, size, own)
            except DataError:
                if window < min(size, WINDOWS[-1]):
                    continue
                raise
            require_columns(Dataset((Source(name, copy, size, header, dialect=own),)), columns)
            return replace(file, header=header, ended=_read(system, status, size - 1, 1) == b"\n")
    raise AssertionError


def _read(system: Any, status: Any, start: int, most: int) -> bytes:
    stream = system.open(status.getPath())
    stream.seek(start)
    found = bytes(stream.readNBytes(most))
    stream.close()
    return found
