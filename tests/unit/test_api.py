"""The public API: the same releases as the command line, from files and tables in memory."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dpcli as package
from dpcli import DpcliError, Ledger, Release, api, estimate, load_spec, plan, randomize, release
from dpcli.errors import DataError
from dpcli.ledger.options import DEFAULT
from dpcli.privacy.loss import Loss
from tests.support.cli import PEOPLE, ROOT, Command

SECRET = "a-cell-that-no-one-may-see"

ROWS = """\
dpcli: 1
dataset: town
privacy:
  unit: row
  neighbors: add-remove
  budget: {epsilon: 10}
columns:
  age:    {type: integer, bounds: [0, 110]}
  income: {type: number, bounds: [0, 10000], step: 10, missing: drop}
statistics:
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: income, statistic: mean, column: income, epsilon: 1}
"""

PERSONS = ROWS.replace("unit: row", "unit: {column: person_id, max_rows: 3}").replace(
    "columns:\n", "columns:\n  person_id: {type: id}\n"
)


class Stream:
    """A table of another library, which offers nothing but its columns."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "DataFrame": lambda frame: frame,
    "LazyFrame": lambda frame: frame.lazy(),
    "Arrow": Stream,
}


@pytest.fixture
def people() -> pl.DataFrame:
    """The sample as a table of texts."""
    return pl.read_csv(PEOPLE, infer_schema=False)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec of rows in a folder of its own."""
    path = tmp_path / "spec.yaml"
    path.write_text(ROWS, encoding="utf-8")
    return path


def codes(failure: DpcliError) -> list[str]:
    """What is wrong, in the words of programs."""
    return [one.code for one in failure.problems]


@pytest.mark.parametrize("text", [ROWS, PERSONS], ids=["rows", "persons"])
@pytest.mark.parametrize("form", FORMS)
def test_a_table_in_memory_is_released_like_its_file(
    form: str, text: str, people: pl.DataFrame, tmp_path: Path, freeze: Callable[[], None]
) -> None:
    """With the same noise, the numbers are those of the same table as a Parquet file."""
    path, file = tmp_path / "spec.yaml", tmp_path / "people.parquet"
    path.write_text(text, encoding="utf-8")
    people.write_parquet(file)
    wanted = plan(load_spec(path))
    freeze()
    from_file = release(wanted, file)
    freeze()
    from_memory = release(wanted, FORMS[form](people))

    assert from_memory.table.equals(from_file.table)
    assert from_memory.cost == from_file.cost == Loss(Fraction(2))


def test_a_release_is_that_of_the_command_line(
    spec: Path, dpcli: Command, freeze: Callable[[], None]
) -> None:
    """With the same noise, numbers and the entry of the ledger are the same."""

    def history() -> list[dict[str, object]]:
        shown = json.loads(dpcli("ledger", "history", "--json", "--ledger", ledger_of(spec)).out)
        return [{**one, "head": ""} for one in shown]

    freeze()
    made = release(plan(load_spec(spec)), str(PEOPLE), release_id="one")
    by_program = history()
    freeze()
    table = spec.with_name("out.csv")
    dpcli("release", spec, PEOPLE, "-q", "-o", table, "--release-id", "one")

    assert made.table.equals(pl.read_csv(table, schema_overrides=made.table.schema))
    assert by_program == history()
    assert len(by_program) == 1


def ledger_of(spec: Path) -> Path:
    """The ledger next to a spec."""
    return spec.with_name(DEFAULT)


def test_the_same_id_returns_the_stored_release_and_reads_nothing(
    spec: Path, people: pl.DataFrame
) -> None:
    """A second call is not charged, and its data need not be there."""
    wanted = plan(load_spec(spec))
    first = release(wanted, people, release_id="one")
    again = release(wanted, "nowhere.csv", release_id="one")
    unread = release(wanted, people.lazy().select(pl.col("no such column")), release_id="one")

    assert first.charged and not again.charged and not unread.charged
    assert again.table.equals(first.table) and unread.report("json") == first.report("json")
    assert first.remaining.epsilon == 8


@pytest.mark.parametrize("form", ["html", "markdown", "json", "registry"])
def test_every_report_can_be_made(form: str, spec: Path) -> None:
    """Each format names the dataset."""
    assert "town" in release(plan(load_spec(spec)), PEOPLE).report(form)


def test_an_open_ledger_pays_and_stays_open(spec: Path) -> None:
    """A ledger that the caller opened is charged, and closed by the caller."""
    release(plan(load_spec(spec)), PEOPLE)
    with closing(Ledger.open(ledger_of(spec))) as ledger:
        release(plan(load_spec(spec)), PEOPLE, ledger=ledger)

        assert len(ledger.releases("town")) == 2


def test_a_named_ledger_must_exist(spec: Path, tmp_path: Path) -> None:
    """A new ledger under a wrong name would be a fresh budget."""
    with pytest.raises(DpcliError) as caught:
        release(plan(load_spec(spec)), PEOPLE, ledger=tmp_path / "other.sqlite")
    assert codes(caught.value) == ["ledger-missing"]
    assert caught.value.status == 6
    assert not ledger_of(spec).exists()


UNFIT: dict[str, tuple[Callable[[pl.DataFrame], Any], str]] = {
    "nested": (lambda one: one.with_columns(pl.concat_list("age")), "column-type"),
    "objects": (
        lambda one: one.with_columns(age=pl.Series([object()] * len(one), dtype=pl.Object)),
        "column-type",
    ),
    "absent": (lambda one: one.drop("age"), "missing-column"),
    "empty": (lambda _: pl.DataFrame(), "no-header"),
    "failing": (
        lambda one: one.lazy().with_columns(
            pl.lit(SECRET).str.to_integer(strict=True).alias("age")
        ),
        "data-unreadable",
    ),
}


@pytest.mark.parametrize("case", UNFIT)
def test_an_unfit_table_is_refused_like_a_file(
    case: str, spec: Path, people: pl.DataFrame, capfd: pytest.CaptureFixture[str]
) -> None:
    """The codes are those of files, nothing is charged or printed, and no cell is quoted."""
    make, code = UNFIT[case]
    with pytest.raises(DpcliError) as caught:
        release(plan(load_spec(spec)), make(people))
    assert codes(caught.value) == [code]
    assert SECRET not in f"{caught.value}{caught.value.problems}{caught.value.__cause__}"
    assert caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")
    with closing(Ledger.open(ledger_of(spec))) as ledger:
        assert ledger.release_ids() == []


def test_a_fault_shows_no_words_of_its_error(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error is a DpcliError with its kind and place alone."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(api, "run_release", fail)
    with pytest.raises(DpcliError) as caught:
        release(plan(load_spec(spec)), PEOPLE)
    assert codes(caught.value) == ["internal-fault"]
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, DataError])
def test_an_error_leaves_no_frames_behind(
    error: type[BaseException], spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a notebook shows of an error has no frame in which there are rows or answers."""

    def fail(*_: object, **__: object) -> None:
        answers = SECRET
        raise error(answers if error is not DataError else [])

    monkeypatch.setattr(api, "run_release", fail)
    with pytest.raises((DpcliError, KeyboardInterrupt)) as caught:
        release(plan(load_spec(spec)), PEOPLE)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert not [frame for frame in frames if SECRET in frame.f_locals.values()]
    assert caught.value.__context__ is None


def test_a_stopped_release_is_a_failure(spec: Path) -> None:
    """A quality check that fails raises QualityError, every time, and is charged alone."""
    spec.write_text(ROWS + "quality: {epsilon: 1, min_rows: 1000000}\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(DpcliError) as caught:
            release(plan(load_spec(spec)), PEOPLE, release_id="one")
        assert caught.value.status == 8


def test_wrong_calls_are_refused(spec: Path) -> None:
    """The words of ids, days and forms are checked as on the command line."""
    wanted, local = plan(load_spec(spec)), load_spec(ROOT / "specs" / "local-survey.yaml")
    refused: list[tuple[str, Callable[[], object]]] = [
        ("bad-release-id", lambda: release(wanted, PEOPLE, release_id="two words")),
        ("not-a-day", lambda: release(wanted, PEOPLE, period="yesterday")),
        ("report-format", lambda: release(wanted, PEOPLE).report("pdf")),
        ("wrong-model", lambda: release(plan(local), PEOPLE)),
        ("wrong-model", lambda: randomize(wanted, PEOPLE, "responses.csv")),
        ("wrong-model", lambda: estimate(load_spec(spec), "collected.csv")),
        ("spec-unreadable", lambda: load_spec("nowhere.yaml")),
        ("data-missing", lambda: release(wanted, ["nowhere.csv"])),
    ]
    for code, call in refused:
        with pytest.raises(DpcliError) as caught:
            call()
        assert codes(caught.value) == [code]
    with pytest.raises(TypeError, match="not int"):
        release(wanted, 7)  # type: ignore[arg-type]


def test_estimates_are_those_of_the_command_line(tmp_path: Path, dpcli: Command) -> None:
    """The table has the same numbers as the file that the command writes."""
    spec, collected, table = (tmp_path / name for name in ("s.yaml", "collected.csv", "out.csv"))
    spec.write_bytes((ROOT / "specs" / "local-survey.yaml").read_bytes())
    dpcli("local", "randomize", spec, PEOPLE, "-q", "-o", collected)
    dpcli("local", "estimate", spec, collected, "-q", "-o", table)
    found = estimate(load_spec(spec), collected)

    assert found.height > 0
    assert found.equals(pl.read_csv(table, schema_overrides=found.schema))


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_collection_is_that_of_the_command_line(
    *, shuffle: bool, tmp_path: Path, dpcli: Command, freeze: Callable[[], None]
) -> None:
    """With the same noise the responses are the same, of a file and of a table in memory."""
    spec = tmp_path / "s.yaml"
    spec.write_bytes((ROOT / "specs" / "local-survey.yaml").read_bytes())
    wanted, people = plan(load_spec(spec)), pl.read_csv(PEOPLE, infer_schema=False)
    people.write_parquet(tmp_path / "people.parquet")
    made = [tmp_path / name for name in ("program.csv", "memory.csv", "command.csv")]
    freeze()
    first = randomize(wanted, tmp_path / "people.parquet", made[0], shuffle=shuffle)
    freeze()
    randomize(wanted, people, made[1], shuffle=shuffle)
    freeze()
    words = ["--shuffle"] if shuffle else []
    dpcli("local", "randomize", spec, tmp_path / "people.parquet", "-q", "-o", made[2], *words)

    assert made[0].read_bytes() == made[1].read_bytes() == made[2].read_bytes()
    assert first.charged
    assert "survey" in first.report("markdown")


def test_responses_are_published_once(tmp_path: Path) -> None:
    """The same id returns what was charged; where the responses are gone, that is reported."""
    spec, target = tmp_path / "s.yaml", tmp_path / "out.csv"
    spec.write_bytes((ROOT / "specs" / "local-survey.yaml").read_bytes())
    wanted = plan(load_spec(spec))
    first = randomize(wanted, PEOPLE, target, release_id="one")
    again = randomize(wanted, "nowhere.csv", target, release_id="one")
    refused = {
        "responses-gone": {"responses": tmp_path / "other.csv", "release_id": "one"},
        "release-id-taken": {"responses": target, "release_id": "one", "shuffle": True},
        "output-exists": {"responses": target, "release_id": "two"},
    }

    assert first.charged and not again.charged and again.cost == first.cost
    for code, words in refused.items():
        with pytest.raises(DpcliError) as caught:
            randomize(wanted, PEOPLE, **words)  # type: ignore[arg-type]
        assert codes(caught.value) == [code]
    with closing(Ledger.open(ledger_of(spec))) as ledger:
        assert ledger.release_ids() == ["one"]


def test_names_load_when_they_are_asked_for() -> None:
    """To import the package loads nothing of it, and a wrong name is an AttributeError."""
    code = (
        "import sys, dpcli; "
        "print(*{'polars', 'numpy', 'pydantic', 'yaml', 'dpcli.api'} & {*sys.modules}); "
        "print(dpcli.load_spec.__module__, hasattr(dpcli, 'nothing'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "\ndpcli.api False\n"
    assert {package.plan, package.release, package.Release} == {plan, release, Release}


def test_examples_in_docstrings_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example of the API prints what it states."""
    monkeypatch.chdir(ROOT)
    found = doctest.testmod(api)

    assert found.attempted >= 2 and not found.failed
