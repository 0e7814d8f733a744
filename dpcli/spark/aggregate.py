"""Partials from Apache Spark, which distributes the reading of files.

Noise and ledger stay in this process. Spark hands out bytes, and the local engine reads them in
each task, so both engines read the same rows. Lines of CSV in UTF-8 are distributed over tasks.
Of a local file, Spark hands out positions only, because each line that passes through Java costs
time. Tasks read the lines that begin in their stretch, and so each line is read once.
Other files (Parquet, `.gz`, other encodings) are each read by one task. If a cell may hold line
ends, Spark may cut a file within a record. The first stretch of a file begins with a record. If a
stretch does not end within a quoted cell, the next one begins with a record, too. Each task checks
the end of its stretch. If some stretch ends within a quoted cell, one task reads the whole file.

Rows of users are shuffled as texts, by a hash of the id with a random key. Spark moves them in
packets, because each row costs it as much as a packet. Priorities are assigned after the shuffle,
by the task that has all rows of some users. So a task that is repeated before the shuffle gives the
same rows again. Partials are results of one attempt per task, so each task
counts once.

Privacy: all rows of a user meet in one task, which bounds them like the local engine, by
independent random priorities. Their order in the files decides between equal random bits.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.data.formats import Dialect
from dpcli.engine.files.dataset import (
    PARQUET_ENDINGS,
    STDIN,
    ZIP_ENDING,
    Dataset,
    Source,
    format_of,
)
from dpcli.engine.files.decoding import (
    PARTIAL_ENDING,
    SIGNATURE_BYTES,
    UTF8_BOM,
    WINDOWS,
    is_parquet,
    read_header,
)
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.progress import redacted_errors
from dpcli.engine.sums.aggregate import ConfidentialAnswers
from dpcli.engine.sums.blocks import unpack_blocks
from dpcli.engine.sums.joint_tables import Partial
from dpcli.engine.sums.partials import read_frames
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.errors import DataError, Problem, UsageError, make_problem
from dpcli.queries.query import BoundedQuery
from dpcli.spark.tasks import LINES, RESULT, SHUFFLED, File, Tasks

if TYPE_CHECKING:
    from dpcli.engine.sums.sealed import SealedSums

SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(LINES),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}
"""Lines that a task gets at a time, their types, and that Spark skips no file."""

UNCUT = {"spark.sql.files.maxPartitionBytes": str(1 << 62), "spark.sql.files.minPartitionNum": "1"}

OWN_SESSION = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
"""Settings of a new session: other users of the machine could open its web pages."""

HASHED = 32
"""Numbers that are tried for each task; almost surely each task gets a bucket."""

BYTES_PER_TASK = 1 << 27
"""Bytes of the files for each task after the shuffle."""


def aggregate_with_spark(
    queries: Sequence[BoundedQuery],
    dialect: Dialect,
    columns: Sequence[Column],
    names: Sequence[str],
    only: Filter | None = None,
    sealed: SealedSums | None = None,
) -> ConfidentialAnswers:
    """The confidential answer to every query, from files that Spark reads.

    Rows that do not pass the filter `only` are removed. Answers of series use the `sealed` sums.

    Raises DataError like the local engine, and `spark-failed`, one fixed sentence.
    """
    _refuse_stdin(names)
    key = int.from_bytes(random_bytes(8))
    tasks = Tasks(queries, dialect, columns, key, only)
    with redacted_errors("spark-failed"), _session() as spark:
        files = open_files(spark, names, dialect, columns)
        partials, cut = _partials(spark, tasks, files)
        if cut:
            files = [
                replace(file, whole=file.whole or index in cut) for index, file in enumerate(files)
            ]
            partials, _ = _partials(spark, tasks, files)
        DataError.require_none(
            make_problem("data-changed", file=file.name)
            for file in files
            if file_state(spark, file.address) != file.state
        )
        aggregator = tasks.aggregator
        return aggregator.confidential_answers(aggregator.merge(partials), sealed)


def require_files(names: Sequence[str], dialect: Dialect, columns: Sequence[Column]) -> None:
    """Raise DataError for files that Spark cannot read, as far as headers show it."""
    _refuse_stdin(names)
    with redacted_errors("spark-failed"), _session() as spark:
        open_files(spark, names, dialect, columns)


def _refuse_stdin(names: Sequence[str]) -> None:
    if STDIN in names:
        fix = "name files or addresses that all of its executors can read"
        given = {"given": "`--engine spark`", "other": "DATA from standard input"}
        raise UsageError.about("bad-option", **given, fix=fix)


@contextmanager
def _session() -> Iterator[SparkSession]:
    """The session of this process or of spark-submit, else a new one on this machine."""
    running, builder = SparkSession.getActiveSession(), SparkSession.builder.appName("dpcli")
    if running is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config(map=OWN_SESSION)
        if "PYSPARK_SUBMIT_ARGS" not in os.environ:
            builder = builder.master("local[*]")
    try:
        spark = running or builder.getOrCreate()
    except (Py4JError, PySparkException, OSError):
        # Usually Java is missing or too old.
        raise DataError.about("spark-failed.start") from None
    threads = spark.conf.get("spark.task.cpus", "1")
    spark.sparkContext.environment.setdefault("POLARS_MAX_THREADS", threads)
    try:
        yield spark
    finally:
        if running is None:
            spark.stop()


def _partials(
    spark: SparkSession, tasks: Tasks, files: Sequence[File]
) -> tuple[list[Partial], set[int]]:
    """All tasks' partials, and the indices of files that one task must read whole."""
    cutting, uncut = (_session_with(spark, settings) for settings in ({}, UNCUT))
    is_user = isinstance(tasks.aggregator.unit, PersonUnit)
    count = sum(file.state[0] for file in files) // BYTES_PER_TASK + 1
    count = max(count, spark.sparkContext.defaultParallelism)
    kernel = partial(tasks.rows, _buckets(spark, count)) if is_user else tasks.partial
    schema = SHUFFLED if is_user else RESULT
    stretches = [
        _mapped(
            _bytes(uncut if file.whole else cutting, file), partial(kernel, index, file), schema
        )
        for index, file in enumerate(files)
    ]
    while len(stretches) > 1:
        pairs = zip(stretches[::2], stretches[1::2], strict=False)
        stretches = [first.union(second) for first, second in pairs] + stretches[
            len(stretches) & ~1 :
        ]
    (rows,) = stretches
    if is_user:
        gathered = rows.repartition(count, "bucket").sortWithinPartitions("order")
        rows = _mapped(gathered, tasks.users, RESULT)
    results = rows.collect()
    reports = [json.loads(text) for text, _ in results if text is not None]
    problems = [Problem(*words) for report in reports for words in report["problems"]]
    if problems:
        raise DataError(dict.fromkeys(problems))
    partials = [read_frames(unpack_blocks(bytes(content))) for _, content in results if content]
    read: Counter[int] = Counter()
    for report in reports:
        read[report["file"]] += report["read"]
    for index, file in enumerate(files):
        # Spark removes a byte order mark, and a missing last line feed is added.
        excess = read[index] - file.state[0]
        is_complete = -len(UTF8_BOM) <= excess <= 1 if file.header else excess == 0
        if not is_complete:
            # Each byte of a file must be read exactly once.
            raise DataError.about("spark-failed")
    return partials, {report["file"] for report in reports if report["cut"]}


def _buckets(spark: SparkSession, count: int) -> list[int]:
    """Numbers that Spark's hash gives different tasks, one for each of `count` tasks."""
    numbers = f"sequence(0L, {HASHED * count}L)"
    (hashed,) = spark.sql(f"SELECT transform({numbers}, x -> pmod(hash(x), {count}))").first()
    return [hashed.index(task) for task in set(hashed)]


def _session_with(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    """A new session of the same application, with separate settings."""
    session = spark.newSession()
    for name, value in {**SETTINGS, **settings}.items():
        session.conf.set(name, value)
    return session


def _bytes(spark: SparkSession, file: File) -> DataFrame:
    """The lines of a file with the start of their stretch, or the file in one row.

    For a local file, the start and the end of each stretch; tasks read the lines themselves.
    """
    if file.path is not None:
        size = file.state[0]
        step = size if file.whole else _stretch(spark, size)
        starts = spark.range(0, size, step, numPartitions=-(-size // step))
        return starts.select(col("id").alias("begin"), (col("id") + step).alias("end"))
    reader = spark.read.options(__globPaths__="false", lineSep="\n")
    if file.header is None:
        return reader.format("binaryFile").load(file.address).selectExpr("content", "0L AS begin")
    table = reader.format("text").load(file.address)
    return table.select(col("value").cast("binary"), col("_metadata.file_block_start"))


def _stretch(spark: SparkSession, size: int) -> int:
    """Bytes of the stretches in which Spark would cut a file of this size."""
    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001 - no other way
    share: int = -(-size // spark.sparkContext.defaultParallelism)
    return min(int(conf.filesMaxPartitionBytes()), max(int(conf.filesOpenCostInBytes()), share))


def _mapped(frame: DataFrame, kernel: Any, schema: Any) -> DataFrame:
    """The result of `mapInArrow`, which itself would require pandas without need."""
    kind = PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    function = UserDefinedFunction(kernel, from_arrow_schema(schema), evalType=kind)
    mapped = frame._jdf.mapInArrow(function(*frame.columns)._jc, False, None)  # noqa: SLF001
    return DataFrame(mapped, frame.sparkSession)


COMPRESSED_ENDINGS = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zstd")
"""Endings of files that Spark decompresses; the local engine reads them instead."""

HIDDEN = ("_", ".")
"""First characters of the names of files that Spark skips silently."""

WHOLE_ENDINGS = (*COMPRESSED_ENDINGS, ZIP_ENDING)
"""Endings of names of files that one task reads."""

LARGEST = 1 << 30
"""Bytes of the largest file that one task reads: Java holds it as one value."""

LOCAL = "file:"
"""The start of URLs of files on this machine."""


def open_files(
    spark: SparkSession, names: Sequence[str], dialect: Dialect, columns: Sequence[Column]
) -> list[File]:
    """Named files, and files in named folders; raises DataError with all problems."""
    problems: list[Problem] = []
    files: dict[str, File] = {}
    for name in names:
        with DataError.collected(problems):
            for file in _named(spark, name, dialect, columns):
                same = files.setdefault(_identity(file.address), file)
                if same is not file:
                    raise DataError.about("data-twice", file=file.name, same=same.name)
    DataError.require_none(problems)
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
            raise DataError.about("data-unreadable.kind", file=name, kind="a folder")
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
    """The file with a header that has all columns, or without one for a single task."""
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
        or not replace(dialect, names=()).is_usual
    )
    for window in WINDOWS[::2]:
        start = _read(system, status, 0, window)
        if not dialect.names and not is_whole:
            is_whole = is_parquet(start[:SIGNATURE_BYTES], name, dialect.encoding)
        if is_whole or lower.endswith(PARQUET_ENDINGS):
            if size > LARGEST:
                raise DataError.about("data-too-large.whole", file=name, limit="1 GiB")
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
            ended = _read(system, status, size - 1, 1) == b"\n"
            path = file.address.removeprefix(LOCAL) if file.address.startswith(LOCAL) else None
            return replace(file, header=header, ended=ended, path=path)
    raise AssertionError


def _read(system: Any, status: Any, start: int, max_bytes: int) -> bytes:
    stream = system.open(status.getPath())
    stream.seek(start)
    content = bytes(stream.readNBytes(max_bytes))
    stream.close()
    return content
