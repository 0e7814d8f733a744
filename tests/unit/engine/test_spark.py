"""Spark finds the integers of the local engine, whatever the files and however tasks end."""

from __future__ import annotations

import gzip
import io
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

pytest.importorskip("pyspark", reason="Spark is not installed: pip install -e '.[spark]'")

from pyspark import TaskContext

from dpcli.columns import Column, Key, NumericColumn, OpenColumn
from dpcli.dialect import STANDARD, Dialect
from dpcli.engine import spark as runner
from dpcli.engine.tasks import Batches, File, Tasks
from dpcli.errors import DataError, UsageError
from dpcli.privacy.relation import RowUnit, Unit
from dpcli.queries import DistinctQuery, Factor, LinearQuery, Query
from tests.oracles.files import batches, generate, readability
from tests.oracles.opened import engine, opened
from tests.oracles.plain import Answer
from tests.support.spark import spark

__all__ = ["spark"]

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

A = NumericColumn("a", "integer", bounds=(0, 9))
B = OpenColumn("b")
ASKED: list[Query] = [LinearQuery(), LinearQuery(factors=(Factor(A),), by=(Key(B),))]


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even small files are read in stretches, of less than a kilobyte."""
    monkeypatch.setitem(runner.SETTINGS, "spark.sql.files.maxPartitionBytes", "701")


def on_spark(
    queries: Sequence[Query],
    unit: Unit,
    columns: Sequence[Column],
    *paths: Path | str,
    dialect: Dialect = STANDARD,
) -> list[Answer]:
    """What Spark finds in files, opened."""
    names = tuple(map(str, paths))
    return opened(runner.aggregate_with_spark(queries, unit, dialect, columns, names))


@pytest.mark.usefixtures("spark", "short_stretches")
@pytest.mark.parametrize("start", batches(1000, 20, 60))
def test_odd_files_give_the_integers_of_the_local_engine(start: int, tmp_path: Path) -> None:
    """However cells and lines are damaged, and wherever lines are cut apart."""
    path = tmp_path / "data.csv"
    for seed in range(start, start + 20):
        data, columns, asked = generate(seed)
        path.write_bytes(data)
        distinct = DistinctQuery(column=Random(seed).choice(columns), by=asked[-1].by)
        queries = [*asked, readability(seed, columns), distinct]
        assert on_spark(queries, RowUnit(), columns, path) == engine(queries, RowUnit(), path), seed


def forms(folder: Path) -> dict[str, tuple[Dialect, list[Path]]]:
    """The same odd lines in each way in which files may be written."""
    body = b'1,x\n2,"y\n\nz"\n\n3,w\r\n4\n5,"",6\n7,"open\r' + b"8,x\n" * 200 + b'9,"\n'
    data = b"a,b\n" + body
    text = data.decode()
    table = io.BytesIO()
    pl.DataFrame({"b": ["x", None, "y\nz"] * 9, "a": [1, 2, 30] * 9}).write_parquet(table)
    contents = {
        "plain.csv": data, "plain.csv.gz": gzip.compress(data), "wide.csv": text.encode("utf-16"),
        "tabs.tsv": data.replace(b",", b"\t"), "names.csv": b"\xef\xbb\xbf" + body,
        "table": table.getvalue(), "part [1]*.csv": data, "latin.csv": text.encode("latin-1"),
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    folder.joinpath("all").mkdir()
    for name in ("1.csv", "2.csv", "_SUCCESS", ".hidden"):
        (folder / "all" / name).write_bytes(data)
    paths = {name: [folder / name] for name in contents}
    every = [folder / "plain.csv", folder / "table", folder / "plain.csv.gz"]
    return {
        **{name: (STANDARD, found) for name, found in paths.items()},
        "lines": (Dialect(multiline=False), paths["plain.csv"]),
        "unquoted": (Dialect(quote=None), paths["plain.csv"]),
        "wide.csv": (Dialect(encoding="utf-16"), paths["wide.csv"]),
        "latin.csv": (Dialect(encoding="windows-1252"), paths["latin.csv"]),
        "tabs.tsv": (Dialect(by_ending=True), paths["tabs.tsv"]),
        "names.csv": (Dialect(names=("a", "b")), paths["names.csv"]),
        "several": (STANDARD, every),
    }


@pytest.mark.usefixtures("spark", "short_stretches")
def test_every_form_of_file_is_read_as_by_the_local_engine(tmp_path: Path) -> None:
    """Packed, in other encodings, as Parquet, without names, line by line, several as one."""
    for name, (dialect, paths) in forms(tmp_path).items():
        found = on_spark(ASKED, RowUnit(), [A, B], *paths, dialect=dialect)
        assert found == engine(ASKED, RowUnit(), *paths, dialect=dialect), name
    inner = [tmp_path / "all" / name for name in ("1.csv", "2.csv")]
    assert on_spark(ASKED, RowUnit(), [A, B], tmp_path / "all") == engine(ASKED, RowUnit(), *inner)


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


class Unlucky(Tasks):
    """Tasks whose first attempts end badly, at the beginning or when all is done."""

    __slots__ = ()

    def partial(self, place: int, file: File, batches: Batches) -> Batches:
        """The partial of a second attempt."""
        context: Any = TaskContext.get()
        task, attempt = context.partitionId(), context.attemptNumber()
        if not attempt and task % 3 == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().partial(place, file, batches)
        if not attempt and task % 3 == 1:
            raise ValueError("secret")
        if not attempt:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("spark", "short_stretches")
@pytest.mark.parametrize("rows", [2_500, pytest.param(14_000, marks=pytest.mark.slow)])
def test_tasks_that_are_killed_or_repeated_count_once(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some twenty tasks, or a hundred, fail before or after they hand back a partial."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" + b"".join(b"%d,x%d\n" % (at % 10, at % 7) for at in range(rows)))
    expected = engine(ASKED, RowUnit(), path)
    monkeypatch.setattr(runner, "Tasks", Unlucky)
    assert on_spark(ASKED, RowUnit(), [A, B], path) == expected


class Leaking(Tasks):
    """Tasks that never succeed, and say what they have read."""

    __slots__ = ()

    def partial(self, place: int, file: File, batches: Batches) -> Batches:
        """Nothing."""
        raise ValueError(next(batches)["value"].to_pylist())


@pytest.mark.usefixtures("spark")
def test_a_job_that_fails_is_reported_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither the error nor standard error quotes what a task has read."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,secret\n")
    monkeypatch.setattr(runner, "Tasks", Leaking)
    with pytest.raises(DataError) as refused:
        on_spark(ASKED, RowUnit(), [A, B], path)
    assert [one.code for one in refused.value.problems] == ["spark-failed"]
    assert refused.value.__cause__ is None
    assert "secret" not in "".join(capfd.readouterr())


@pytest.mark.usefixtures("spark")
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the local engine: what was read of it is no version."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,x\n")
    whole = runner._partials

    def changing(*arguments: Any) -> Any:
        found = whole(*arguments)
        path.write_bytes(b"a,b\n1,x\n2,y\n")
        return found

    monkeypatch.setattr(runner, "_partials", changing)
    with pytest.raises(DataError) as refused:
        on_spark(ASKED, RowUnit(), [A, B], path)
    assert [one.code for one in refused.value.problems] == ["data-changed"]
