"""Spark gives the integers of the local engine for all files and all ends of tasks."""

from __future__ import annotations

import datetime
import gzip
import io
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

pytest.importorskip("pyspark", reason="Spark is not installed: pip install -e '.[spark]'")

from pyspark import TaskContext
from pyspark.sql import SparkSession

from dpcli.data.column import Column
from dpcli.data.date_forms import DateFormat
from dpcli.data.dates import DateColumn
from dpcli.data.derived.arithmetic import Sum
from dpcli.data.derived.calendar import DatePart
from dpcli.data.formats import STANDARD_DIALECT, Dialect, NumberFormat
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn, PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.data.period_filter import period_filter
from dpcli.data.periods import parse_period
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.problems.errors import DataError, UsageError
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.spark import aggregate as runner
from dpcli.spark.tasks import Batches, File, Tasks
from dpcli.statistics.counts.distinct import DistinctQuery
from tests.oracles import users
from tests.oracles.agreement import without_empty
from tests.oracles.files import batches, generate, vectors
from tests.oracles.opened import Units, bounded, engine, opened
from tests.oracles.plain import Answer, evaluate
from tests.support.options import options
from tests.support.priorities import prioritize_by_content
from tests.support.refusals import refused
from tests.support.spark import spark
from tests.unit.engine.sums.test_values_of_people import asked_of as asked_of_people

__all__ = ["spark"]

pytestmark = [pytest.mark.extended, pytest.mark.filterwarnings("ignore::ResourceWarning")]

A = IntegerColumn("a", bounds=(0, 9))
B = PrivatePartitionColumn("b")
ASKED: list[Query] = [LinearQuery(), LinearQuery(factors=(Factor(A),), by=(Axis(B),))]


SPEC = """
dpcli: 1
dataset: visits
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {a: {type: integer, bounds: [0, 9]}}
statistics: [{name: visits, statistic: count, epsilon: 1}]
"""


STRETCH = 701
"""Bytes of a stretch of a small file."""


def cut(patch: pytest.MonkeyPatch, size: int) -> None:
    """Read files of this size in stretches: many tasks take long, so at most about twelve."""
    stretch = str(max(STRETCH, size // 12 + 1))
    patch.setitem(runner.SETTINGS, "spark.sql.files.maxPartitionBytes", stretch)


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are read in stretches of less than a kilobyte, too."""
    cut(monkeypatch, STRETCH)


def read_lines(patch: pytest.MonkeyPatch, *, by_spark: bool) -> None:
    """Get lines from Spark, as for remote files, or let tasks read them."""
    patch.setattr(runner, "LOCAL", "no scheme:" if by_spark else "file:")


def on_spark(
    queries: Sequence[Query],
    unit: Units,
    columns: Sequence[Column],
    *paths: Path | str,
    dialect: Dialect = STANDARD_DIALECT,
) -> list[Answer]:
    """The answers of Spark from files, opened."""
    names = tuple(map(str, paths))
    return opened(runner.aggregate_with_spark(bounded(queries, unit), dialect, columns, names))


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("start", batches(1000, 5, 0, 5))
def test_odd_files_give_the_integers_of_the_local_engine(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all damaged cells and lines, and all places where Spark cuts a file."""
    path = tmp_path / "data.csv"
    for seed in range(start, start + 5):
        data, columns, generated = generate(seed)
        path.write_bytes(data)
        cut(monkeypatch, len(data))
        read_lines(monkeypatch, by_spark=seed % 2 == 1)
        distinct = DistinctQuery(column=Random(seed).choice(columns), by=generated[-1].by)
        queries = [*generated, *vectors(seed, columns), distinct]
        assert on_spark(queries, RowUnit(), columns, path) == engine(queries, RowUnit(), path), seed


class ByContent(Tasks):
    """Tasks that keep rows of users by their content, like the test."""

    __slots__ = ()

    def users(self, batches: Batches) -> Batches:
        """The partial of some users."""
        prioritize_by_content(pytest.MonkeyPatch())
        yield from super().users(batches)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("start", batches(400, 5, 0, 5))
def test_users_keep_the_rows_that_the_local_engine_keeps(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With equal priorities for equal rows, in all stretches of the file."""
    monkeypatch.setattr(runner, "Tasks", ByContent)
    prioritize_by_content(monkeypatch)
    path = tmp_path / "data.csv"
    for seed in range(start, start + 5):
        data, unit, queries = users.generate(seed)
        columns = [*dict.fromkeys(column for query in queries for column in query.columns)]
        path.write_bytes(data)
        cut(monkeypatch, len(data))
        read_lines(monkeypatch, by_spark=seed % 2 == 1)
        units = users.limits_of_each(seed, unit, queries)
        actual = without_empty(on_spark(queries, units, columns, path))
        assert actual == without_empty(engine(queries, units, path)), seed
        if seed != start:
            continue
        data, queries, units = asked_of_people(seed)
        columns = [*dict.fromkeys(column for query in queries for column in query.columns)]
        path.write_bytes(data)
        cut(monkeypatch, len(data))
        actual = without_empty(on_spark(queries, units, columns, path))
        assert actual == without_empty(engine(queries, units, path)), seed


def forms(folder: Path) -> dict[str, tuple[Dialect, list[Path]]]:
    """The same odd lines in every form of files."""
    body = b'1,x\n2,"y\n\nz"\n\n3,w\r\n4\n5,"",6\n7,"open\r' + b"8,x\n" * 200 + b'9,"\n'
    data = b"a,b\n" + body
    text = data.decode()
    table = io.BytesIO()
    pl.DataFrame({"b": ["x", None, "y\nz"] * 9, "a": [1, 2, 30] * 9}).write_parquet(table)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("plain.csv", data)
    contents = {
        "plain.csv": data, "plain.csv.gz": gzip.compress(data), "wide.csv": text.encode("utf-16"),
        "tabs.tsv": data.replace(b",", b"\t"), "names.csv": b"\xef\xbb\xbf" + body,
        "table": table.getvalue(), "part [1]*.csv": data, "latin.csv": text.encode("latin-1"),
        "titles.csv": b'"title\n\n' + data, "two.csv": b"a,b\n,\n" + body,
        "lines.jsonl": b'{"a": 1, "b": "x"}\nodd\n{"a": 30}\n' * 9, "one.zip": packed.getvalue(),
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    folder.joinpath("all").mkdir()
    for name in ("1.csv", "2.csv", "_SUCCESS", ".hidden"):
        (folder / "all" / name).write_bytes(data)
    paths = {name: [folder / name] for name in contents}
    every = [folder / "plain.csv", folder / "table", folder / "plain.csv.gz"]
    return {
        **{name: (STANDARD_DIALECT, actual) for name, actual in paths.items()},
        "lines": (Dialect(multiline=False), paths["plain.csv"]),
        "unquoted": (Dialect(quote=None), paths["plain.csv"]),
        "wide.csv": (Dialect(encoding="utf-16"), paths["wide.csv"]),
        "latin.csv": (Dialect(encoding="windows-1252"), paths["latin.csv"]),
        "tabs.tsv": (Dialect(by_ending=True), paths["tabs.tsv"]),
        "names.csv": (Dialect(names=("a", "b")), paths["names.csv"]),
        "titles.csv": (Dialect(skip_lines=2), paths["titles.csv"]),
        "two.csv": (Dialect(header_lines=2), paths["two.csv"]),
        "footers": (Dialect(footer=("3", "8")), paths["plain.csv"]),
        "footers by line": (Dialect(footer=("3",), multiline=False), paths["plain.csv"]),
        "several": (STANDARD_DIALECT, every),
    }


@pytest.mark.usefixtures("spark", "short_stretches")
@pytest.mark.parametrize("by_spark", [False, True])
def test_every_form_of_file_is_read_as_by_the_local_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_spark: bool
) -> None:
    """Compressed, in other encodings, Parquet, without names, line by line, several files."""
    read_lines(monkeypatch, by_spark=by_spark)
    for name, (dialect, paths) in forms(tmp_path).items():
        actual = on_spark(ASKED, RowUnit(), [A, B], *paths, dialect=dialect)
        assert actual == engine(ASKED, RowUnit(), *paths, dialect=dialect), name
    inner = [tmp_path / "all" / name for name in ("1.csv", "2.csv")]
    assert on_spark(ASKED, RowUnit(), [A, B], tmp_path / "all") == engine(ASKED, RowUnit(), *inner)


@pytest.mark.usefixtures("spark")
def test_values_of_users_pass_the_shuffle_as_they_are(tmp_path: Path) -> None:
    """Numbers and dates of Parquet, decimal commas, and ids in two kinds of files."""
    day = DateColumn("day", bounds=(0, 30_000))
    price = NumberColumn("price", Fraction(1, 10), (0, 1000))
    queries: list[Query] = [LinearQuery(factors=(Factor(column),)) for column in (A, day, price)]
    queries.append(LinearQuery(by=(Axis(B),)))
    days = [datetime.date(2021, 3, 7), None, datetime.date(1950, 1, 1)]
    table = {"who": [1, 1, 2], "a": [3, 40, None], "b": ["x", None, "y"], "day": days}
    pl.DataFrame({**table, "price": [1.5, 2.25, None]}).write_parquet(tmp_path / "1.parquet")
    text = 'who,a,b,day,price\n 1,5,x,2021-03-07 10:00,"1,5"\n1.0,5,,2021-03-08,1.5\n,1,x,,7\n'
    (tmp_path / "2.csv").write_text(text, encoding="utf-8")
    paths, dialect = (tmp_path / "1.parquet", tmp_path / "2.csv"), Dialect(decimal=",")
    for singletons in (False, True):
        unit = PersonUnit("who", 9, 9, 9, singletons_without_id=singletons)
        actual = on_spark(queries, unit, [A, B, day, price], *paths, dialect=dialect)
        assert actual == engine(queries, unit, *paths, dialect=dialect)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("unit", [RowUnit(), PersonUnit("who", 50, 50, 50)])
def test_rows_of_other_days_are_removed(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the rows of the period are aggregated, before the shuffle and after it."""
    path, day = tmp_path / "data.csv", DateColumn("day", bounds=(0, 30_000), missing=19_800)
    days = ("2024-03-01", "2024-03-31", "2024-02-29", "2024-04-01", "", "soon")
    rows = [f"{row % 7},{days[row % 6]},{row % 11}" for row in range(600)]
    path.write_text("\n".join(["who,day,a", *rows, ""]), encoding="utf-8")
    cut(monkeypatch, 2000)
    queries: list[Query] = [LinearQuery(), LinearQuery(factors=(Factor(A),))]
    only = period_filter(day, parse_period("2024-03"))
    asked, columns = bounded(queries, unit), [A, day]
    found = opened(runner.aggregate_with_spark(asked, STANDARD_DIALECT, columns, [str(path)], only))
    kept = [row % 11 for row in range(600) if row % 6 < 2]
    assert found == [[len(kept)], [sum(min(a, 9) for a in kept)]]


@pytest.mark.usefixtures("spark")
def test_declared_forms_and_derived_columns_pass_the_shuffle(tmp_path: Path) -> None:
    """Marks, formats, zones, hours and sums are those of the plain rules, by row and user."""
    prices = NumberFormat(",", ".", ("€",), brackets=True, values=(("85+", "85"),))
    price = NumberColumn("price", Fraction(1, 100), (-(10**6), 10**6), options=options(prices))
    other = replace(price, name="other", source=3, options=options(prices, ("-99",)))
    total = NumberColumn(
        "total", price.step, (-(10**6), 10**6), derivation=Sum((price, other), price.step)
    )
    day = DateColumn(
        "day", bounds=(0, 30_000), options=options(DateFormat(zone="Europe/Rome"), ("-",))
    )
    hour = DatePart(day, "hour")
    hours = CategoryColumn("h", tuple((x, x) for x in hour.labels), derivation=hour)
    sex = CategoryColumn(
        "sex", (("M", "m"), ("F", "f")), options=options(na=("NA",), any_case=True), other="?"
    )
    columns: list[Column] = [total, day, hours, sex]
    queries: list[Query] = [
        LinearQuery(factors=(Factor(total),)),
        LinearQuery(factors=(Factor(day),)),
        LinearQuery(by=(Axis(hours),)),
        LinearQuery(by=(Axis(sex),)),
    ]
    rows = [
        ["1", "1.234,50", "€ 1", "2024-03-05T23:30Z", "m"],
        ["0", "(12,5)", "-99", "2024-03-05 10:00", "F"],
        ["0", "85+", "7", "2024-03-05", "x"],
        ["NA", "1.23", "-99,0", "-", "na"],
        ["2", "-3 €", "1,5", "2024-03-05 10:00 +0900", "NA"],
    ]
    text = "who,price,other,day,sex\n" + "".join(
        ",".join(f'"{cell}"' for cell in row) + "\n" for row in rows
    )
    csv, table = tmp_path / "d.csv", tmp_path / "d.parquet"
    csv.write_text(text, encoding="utf-8")
    pl.read_csv(csv, infer_schema=False).write_parquet(table)
    units: list[Unit] = [
        RowUnit(),
        PersonUnit("who", 9, 9, 9, options=(("na", ("0", "NA")),)),
        PersonUnit("who", 9, 9, 9, singletons_without_id=True, options=(("na", ("0", "NA")),)),
        PersonUnit("who", 9, 9, 9, options=(("case",), ("blanks",), ("number", True))),
    ]
    for unit in units:
        expected = evaluate(queries, text.encode(), unit)
        for path in (csv, table):
            assert engine(queries, unit, path) == expected
            assert on_spark(queries, unit, columns, path) == expected


@pytest.mark.usefixtures("spark")
def test_files_are_refused_as_by_the_local_engine(tmp_path: Path) -> None:
    """Each problem has its code; all are reported, and none quotes a record."""
    contents = {
        "a.csv": b"a,b\n1,x\n", "empty.csv": b"", "b.csv": b"b\nx\n", "zip.csv": b"PK\x03\x04",
        "b.csv.gz": gzip.compress(b"b\nsecret\n"), "broken.gz": b"secret", "_a.csv": b"a,b\n1,x\n",
        "open.csv": b'"a', "part.sealed": b"a,b\n", "b.parquet": b"secret",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()

    def codes(*names: str) -> list[str]:
        with pytest.raises((DataError, UsageError)) as refused:
            on_spark(ASKED, RowUnit(), [A, B], *(tmp_path / name for name in names))
        assert "secret" not in str(refused.value)
        return [one.code for one in refused.value.problems]

    wrong = ("none.csv", "empty.csv", "b.csv", "zip.csv", "_a.csv", "open.csv", "folder")
    assert codes("a.csv", *wrong, "part.sealed", "a.csv") == [
        "data-missing", "no-header", "missing-column", "not-csv", "data-unreadable",
        "missing-column", "data-unreadable", "not-csv", "data-twice",
    ]  # fmt: skip
    assert codes("b.csv.gz", "broken.gz", "b.parquet") == [
        "missing-column", "data-not-gzip", "not-parquet",
    ]  # fmt: skip
    with pytest.raises(UsageError):
        on_spark(ASKED, RowUnit(), [A, B], "-")


@pytest.mark.usefixtures("spark")
def test_a_file_by_several_names_is_refused(tmp_path: Path) -> None:
    """A link is the file that it points to, whose rows would count twice."""
    path, folder = tmp_path / "a.csv", tmp_path / "folder"
    path.write_bytes(b"a,b\n1,x\n")
    folder.mkdir()
    (folder / "b.csv").symlink_to(path)
    (tmp_path / "c.csv").hardlink_to(path)
    for other in (path, path.as_uri(), folder, folder / "b.csv", tmp_path / "c.csv"):
        with refused("data-twice"):
            on_spark(ASKED, RowUnit(), [A, B], path, other)


@pytest.mark.usefixtures("spark")
def test_a_dry_run_reads_headers_where_spark_reads(tmp_path: Path) -> None:
    """URLs are resolved, no job runs, and files that Spark would refuse are refused."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,x\n")
    runner.require_files([path.as_uri()], STANDARD_DIALECT, [A, B])
    for wrong, column, code in (
        (path, "c", "missing-column"), (tmp_path / "b.csv", "a", "data-missing"),
    ):  # fmt: skip
        with pytest.raises(DataError) as refused:
            runner.require_files([wrong.as_uri()], STANDARD_DIALECT, [IdColumn(column)])
        assert [one.code for one in refused.value.problems] == [code]
    with pytest.raises(UsageError):
        runner.require_files(["-"], STANDARD_DIALECT, [A, B])


@pytest.mark.parametrize("unit", [RowUnit(), PersonUnit("b", 9, 9, 9)])
def test_settings_of_a_session_change_no_answer(
    unit: Unit, spark: SparkSession, tmp_path: Path
) -> None:
    """For all settings of a cluster on the types of bytes and texts in its tasks."""
    path, name = tmp_path / "a.csv", "spark.sql.execution.arrow.useLargeVarTypes"
    path.write_bytes(b"a,b\n1,x\n2,x\n")
    spark.conf.set(name, "true")
    try:
        actual = on_spark([LinearQuery(factors=(Factor(A),))], unit, [A, B], path)
    finally:
        spark.conf.unset(name)
    assert actual == [[3]]


def test_spark_that_does_not_start_is_reported_as_that(tmp_path: Path) -> None:
    """Without Java, the message does not blame the executors."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(SPEC)
    data.write_bytes(b"a,b\n1,x\n")
    done = subprocess.run(
        [sys.executable, "-m", "dpcli", "release", spec, data, "--engine", "spark"],
        env={**os.environ, "JAVA_HOME": str(tmp_path / "none")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert "Spark could not be started" in done.stderr
    assert "java" in done.stderr
    assert "Traceback" not in done.stderr


class Unlucky(Tasks):
    """Tasks whose first attempts fail, at the start or after all work is done."""

    __slots__ = ()

    def partial(self, file_index: int, file: File, batches: Batches) -> Batches:
        """The partial of a second attempt."""
        context: Any = TaskContext.get()
        task, attempt = context.partitionId(), context.attemptNumber()
        if not attempt and task % 3 == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().partial(file_index, file, batches)
        if not attempt and task % 3 == 1:
            raise ValueError("secret")
        if not attempt:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("spark", "short_stretches")
@pytest.mark.parametrize("rows", [1_200, pytest.param(14_000, marks=pytest.mark.slow)])
def test_tasks_that_are_killed_or_repeated_count_once(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About ten tasks, or a hundred, fail before or after they return a partial."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" + b"".join(b"%d,x%d\n" % (at % 10, at % 7) for at in range(rows)))
    expected = engine(ASKED, RowUnit(), path)
    monkeypatch.setattr(runner, "Tasks", Unlucky)
    assert on_spark(ASKED, RowUnit(), [A, B], path) == expected


class Leaking(Tasks):
    """Tasks that always fail, with an error that quotes what they have read."""

    __slots__ = ()

    def partial(self, file_index: int, file: File, batches: Batches) -> Batches:
        """Nothing."""
        raise ValueError(next(batches)["value"].to_pylist())


class UnluckyUsers(Tasks):
    """Tasks whose first attempts are killed while their results are sent, on either side."""

    __slots__ = ()

    def rows(
        self, buckets: Sequence[int], file_index: int, file: File, batches: Batches
    ) -> Batches:
        """The rows of a second attempt."""
        yield from super().rows(buckets, file_index, file, batches)
        kill_first_attempt()

    def users(self, batches: Batches) -> Batches:
        """The partial of a second attempt."""
        yield from super().users(batches)
        kill_first_attempt()


def kill_first_attempt() -> None:
    """Kill the worker at the first attempt of a task."""
    context: Any = TaskContext.get()
    if not context.attemptNumber():
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("spark", "short_stretches")
@pytest.mark.parametrize("rows", [500, pytest.param(8_000, marks=pytest.mark.slow)])
def test_users_of_repeated_tasks_keep_one_choice_of_rows(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each user has as many rows as allowed, although all tasks ran twice."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"who,a\n" + b"".join(b"p%d,1\n" % (row % 50) for row in range(rows)))
    monkeypatch.setattr(runner, "Tasks", UnluckyUsers)
    queries: list[Query] = [
        LinearQuery(), LinearQuery(factors=(Factor(A),)), DistinctQuery(column=IdColumn("who"))
    ]  # fmt: skip
    unit = PersonUnit("who", 2, 1, 2)
    assert on_spark(queries, unit, [A], path) == [[100], [100], [50]]


@pytest.mark.usefixtures("spark")
def test_a_job_that_fails_is_reported_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither the error nor standard error quotes data that a task has read."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,secret\n")
    monkeypatch.setattr(runner, "Tasks", Leaking)
    with refused("spark-failed") as caught:
        on_spark(ASKED, RowUnit(), [A, B], path)
    assert caught.value.__cause__ is None
    assert "secret" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("spark")
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the local engine, because the rows may be of two versions."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,x\n")
    whole = runner._partials

    def changing(*arguments: Any) -> Any:
        actual = whole(*arguments)
        path.write_bytes(b"a,b\n1,x\n2,y\n")
        return actual

    monkeypatch.setattr(runner, "_partials", changing)
    with refused("data-changed"):
        on_spark(ASKED, RowUnit(), [A, B], path)
