"""Partials from Apache Spark, which spreads the reading; noise and ledger stay.

Spark hands out bytes, and in each task the local engine reads them, so that a row is what it is
everywhere. Lines of CSV in UTF-8 are spread over tasks. Other files (Parquet, `.gz`, other
encodings) are read whole, each by one task. Where a cell may hold line ends, a cut may go through
a record. The first stretch of a file begins with a record. If it does not end within a quoted
cell, the next one does so as well, and so on. Each task checks the end of its stretch; a file of
which some stretch ends within a quoted cell is read again, by one task.

Rows of users are shuffled as texts, by a hash of the id with a random key. The task that has all
rows of some users assigns their priorities, so that a repeated task before the shuffle gives the
same rows again. Partials come back as results of one attempt of each task, so that it counts once.

Privacy: all rows of a user meet in one task, which bounds them as the local engine does, by
independent random priorities. What breaks ties between them is their order in the files.
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
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from dpcli.columns import Column
from dpcli.csv_dialect import Dialect
from dpcli.engine.aggregate import SealedAnswers
from dpcli.engine.file_content import UTF8_BOM
from dpcli.engine.partials import read_frames, unpack_blocks
from dpcli.engine.progress import silenced_stderr
from dpcli.engine.rollup import Partial
from dpcli.engine.source import STDIN
from dpcli.engine.spark_files import files_of, place_of, state_of
from dpcli.engine.spark_tasks import LINES, RESULT, File, Tasks
from dpcli.errors import DataError, DpcliError, Problem, StoppedBySignal, UsageError, make_problem
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.queries import Query

SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(LINES),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}
"""How many lines a task gets at a time and in what types, and that Spark leaves out no file."""

UNCUT = {"spark.sql.files.maxPartitionBytes": str(1 << 62), "spark.sql.files.minPartitionNum": "1"}

OWN = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
"""Settings of a session that is made here: its pages would be open to all who use the machine."""

SHARE = 1 << 27
"""Bytes of the files for each task that has users."""


def aggregate_with_spark(
    queries: Sequence[Query],
    unit: Unit,
    dialect: Dialect,
    columns: Sequence[Column],
    names: Sequence[str],
) -> SealedAnswers:
    """The exact answer to every query, sealed, from files that Spark reads.

    Raises DataError as the local engine does, and `spark-failed` in one fixed sentence.
    """
    _refuse_stdin(names)
    tasks = Tasks(queries, unit, dialect, columns, key=int.from_bytes(random_bytes(8)))
    with _redacted(), _session() as spark:
        files = files_of(spark, names, dialect, columns)
        partials, cut = _partials(spark, tasks, files)
        if cut:
            files = [replace(one, whole=one.whole or at in cut) for at, one in enumerate(files)]
            partials, _ = _partials(spark, tasks, files)
        changed = [one for one in files if state_of(place_of(spark, one.address)[1]) != one.state]
        if changed:
            raise DataError(make_problem("data-changed", file=one.name) for one in changed)
        aggregation = tasks.aggregation
        return aggregation.seal(aggregation.merge(partials))


def require_files(names: Sequence[str], dialect: Dialect, columns: Sequence[Column]) -> None:
    """Raise DataError where Spark would not read these files, as far as headers tell."""
    _refuse_stdin(names)
    with _redacted(), _session() as spark:
        files_of(spark, names, dialect, columns)


def _refuse_stdin(names: Sequence[str]) -> None:
    if STDIN in names:
        raise UsageError.about("bad-option.spark-standard-input")


@contextmanager
def _redacted() -> Iterator[None]:
    """Whatever fails within may quote a record; only our own failures pass."""
    try:
        with silenced_stderr():
            yield
    except (KeyboardInterrupt, StoppedBySignal, DpcliError):
        raise
    except BaseException:  # noqa: BLE001 - as of the local engine
        raise DataError.about("spark-failed") from None


@contextmanager
def _session() -> Iterator[SparkSession]:
    """The session of this process or of spark-submit; else a new one on this machine."""
    running, builder = SparkSession.getActiveSession(), SparkSession.builder.appName("dpcli")
    if running is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config(map=OWN)
        if "PYSPARK_SUBMIT_ARGS" not in os.environ:
            builder = builder.master("local[*]")
    try:
        spark = running or builder.getOrCreate()
    except (Py4JError, PySparkException, OSError):
        # Most often there is no Java, or one that is too old.
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
    """The partials of all tasks, and the places of files that must be read whole."""
    cutting, uncut = (_session_with(spark, more) for more in ({}, UNCUT))
    is_user = isinstance(tasks.unit, PersonUnit)
    kernel, schema = (tasks.rows, tasks.rows_schema) if is_user else (tasks.partial, RESULT)
    stretches = [
        _mapped(_bytes(uncut if file.whole else cutting, file), partial(kernel, at, file), schema)
        for at, file in enumerate(files)
    ]
    while len(stretches) > 1:
        pairs = zip(stretches[::2], stretches[1::2], strict=False)
        stretches = [one.union(other) for one, other in pairs] + stretches[len(stretches) & ~1 :]
    (found,) = stretches
    if is_user:
        shares = sum(file.state[0] for file in files) // SHARE + 1
        count = max(shares, spark.sparkContext.defaultParallelism)
        gathered = found.repartition(count, "shard").sortWithinPartitions("row")
        found = _mapped(gathered, tasks.users, RESULT)
    results = found.collect()
    reports = [json.loads(note) for note, _ in results if note is not None]
    problems = [Problem(*words) for report in reports for words in report["problems"]]
    if problems:
        raise DataError(dict.fromkeys(problems))
    partials = [read_frames(unpack_blocks(bytes(content))) for _, content in results if content]
    read: Counter[int] = Counter()
    for report in reports:
        read[report["file"]] += report["read"]
    for at, file in enumerate(files):
        # Spark takes a mark off the start, and a line feed is added where the last one is missing.
        beyond = read[at] - file.state[0]
        fits = -len(UTF8_BOM) <= beyond <= 1 if file.header else beyond == 0
        if not fits:
            # Each byte of a file must be read once, whatever Spark did.
            raise DataError.about("spark-failed")
    return partials, {report["file"] for report in reports if report["cut"]}


def _session_with(spark: SparkSession, more: dict[str, str]) -> SparkSession:
    """The same session with settings of its own."""
    session = spark.newSession()
    for name, value in {**SETTINGS, **more}.items():
        session.conf.set(name, value)
    return session


def _bytes(spark: SparkSession, file: File) -> DataFrame:
    """The lines of a file and where their stretch begins, or all of it as one value."""
    reader = spark.read.options(__globPaths__="false", lineSep="\n")
    if file.header is None:
        return reader.format("binaryFile").load(file.address).selectExpr("content", "0L AS begin")
    table = reader.format("text").load(file.address)
    return table.select(col("value").cast("binary"), col("_metadata.file_block_start"))


def _mapped(frame: DataFrame, kernel: Any, schema: Any) -> DataFrame:
    """What `mapInArrow` gives, which asks for pandas without any need for it."""
    kind = PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    function = UserDefinedFunction(kernel, from_arrow_schema(schema), evalType=kind)
    mapped = frame._jdf.mapInArrow(function(*frame.columns)._jc, False, None)  # noqa: SLF001
    return DataFrame(mapped, frame.sparkSession)
