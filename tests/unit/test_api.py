"""The public API: the same releases as the command line, from files and tables in memory."""

from __future__ import annotations

import datetime
import doctest
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest
import yaml

import dpcli as package
from dpcli import (
    DpcliError,
    Ledger,
    Release,
    api,
    check,
    estimate,
    load_spec,
    plan,
    randomize,
    release,
    simulate,
)
from dpcli.engine.files.source import MemoryTable
from dpcli.ledger.options import DEFAULT
from dpcli.planning.plan import Plan
from dpcli.privacy.loss import Loss
from dpcli.problems.errors import DataError
from dpcli.problems.shown import as_html
from dpcli.releasing.run import ReleaseRun
from dpcli.report.formats import FORMATS
from tests.support.cli import PEOPLE, ROOT, Command
from tests.support.refusals import refused
from tests.support.rules import mostly_extended

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


def of_pandas(frame: pl.DataFrame) -> Any:
    """The table of pandas that its users have: texts, and None for blank cells."""
    pandas: Any = pytest.importorskip("pandas")
    return pandas.DataFrame({name: column.to_list() for name, column in frame.to_dict().items()})


def of_duckdb(frame: pl.DataFrame) -> Any:
    """A relation of DuckDB, whose Arrow stream can be exported once at a time."""
    duckdb: Any = pytest.importorskip("duckdb")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        frame.write_parquet(path)
        connection = duckdb.connect()
        connection.execute(f"create table people as select * from read_parquet('{path}')")
    return connection.table("people")


FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "DataFrame": lambda frame: frame,
    "LazyFrame": lambda frame: frame.lazy(),
    "Arrow": Stream,
    "pyarrow": lambda frame: frame.to_arrow(),
    "pandas": of_pandas,
    "DuckDB": of_duckdb,
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


@pytest.mark.parametrize(
    ("form", "text"),
    mostly_extended(
        product(FORMS, (ROWS, PERSONS)),
        *((form, ROWS) for form in FORMS),
        ("DataFrame", PERSONS),
        unpack=True,
    ),
    ids=lambda one: {ROWS: "rows", PERSONS: "persons"}.get(one, one),
)
def test_a_table_in_memory_is_released_like_its_file(
    form: str, text: str, people: pl.DataFrame, tmp_path: Path, freeze: Callable[[], None]
) -> None:
    """With the same noise, the numbers are those of the same table as a Parquet file."""
    path, file = tmp_path / "spec.yaml", tmp_path / "people.parquet"
    path.write_text(text, encoding="utf-8")
    people.write_parquet(file)
    wanted = plan(load_spec(path))
    freeze()
    from_file = release(wanted, file, release_id="one")
    freeze()
    from_memory = release(wanted, FORMS[form](people), release_id="one")

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


def test_every_report_can_be_made(spec: Path) -> None:
    """Each format names the dataset."""
    made, forms = release(plan(load_spec(spec)), PEOPLE, release_id="r"), get_args(api.Form)
    assert len(forms) == len(FORMATS)
    assert all("town" in made.report(form) for form in forms)


def test_an_open_ledger_pays_and_stays_open(spec: Path) -> None:
    """A ledger that the caller opened is charged, and closed by the caller."""
    release(plan(load_spec(spec)), PEOPLE, release_id="r")
    with Ledger.open(ledger_of(spec)) as ledger:
        release(plan(load_spec(spec)), PEOPLE, ledger=ledger, release_id="s")

        assert len(ledger.releases("town")) == 2


def test_a_ledger_shows_what_was_charged(spec: Path, tmp_path: Path) -> None:
    """Balances, releases and the stored bytes are those of the releases that were made."""
    with Ledger.create(str(tmp_path / "own.sqlite")) as ledger:
        one = release(plan(load_spec(spec)), PEOPLE, ledger=ledger, release_id="one")
        release(plan(load_spec(spec)), PEOPLE, ledger=ledger, release_id="two")
        balance = ledger.balances()["town"]
        shown = [(each.release_id, each.cost, each.stopped) for each in ledger.releases()]
        stored = ledger.outputs("one")

        assert shown == [("one", one.cost, False), ("two", one.cost, False)]
        assert balance.spent == Loss(Fraction(4))
        assert balance.remaining == Loss(Fraction(6))
        assert stored["report.json"].decode() == one.report("json")
        assert ledger.releases("other") == []
    with refused("no-such-release"), Ledger.open(tmp_path / "own.sqlite") as ledger:
        ledger.outputs("three")
    with refused("ledger-exists"):
        Ledger.create(tmp_path / "own.sqlite")


def test_the_face_of_a_ledger_is_small() -> None:
    """What charges and writes is not in it, so that `release` alone does."""
    shown = {name for name in dir(Ledger) if not name.startswith("_")}
    assert shown == {"balances", "close", "create", "open", "outputs", "path", "releases"}


def test_warnings_and_notes_are_data(spec: Path, dpcli: Command) -> None:
    """A release has what the command line prints on standard error."""
    release(plan(load_spec(spec)), PEOPLE, release_id="r")
    other = spec.with_name("other.yaml")
    other.write_text(ROWS.replace("dataset: town", "dataset: village"), encoding="utf-8")
    made = release(plan(load_spec(other)), PEOPLE, release_id="one")
    again = release(plan(load_spec(other)), PEOPLE, release_id="one")
    words = ("--release-id", "one", "-o", spec.with_name("out.csv"))
    printed = dpcli("release", other, PEOPLE, *words).err
    shared, unchecked = made.warnings

    assert "`town` paid for releases of `people.csv` as well" in shared
    assert "this spec has no `quality:`" in unchecked
    first, *numbers = made.notes
    assert first.startswith("first release of the account `village` in the ledger dpcli-ledger.")
    assert [note.split(":")[0] for note in numbers] == ["ages", "income"]
    assert again.notes == ("release one published again, nothing charged", *numbers)
    assert all(text in printed for text in (*again.warnings, *again.notes))
    assert (
        "created the ledger"
        in release(plan(load_spec(_alone(spec))), PEOPLE, release_id="r").notes[0]
    )


def test_notes_say_what_numbers_lack(spec: Path, dpcli: Command) -> None:
    """What the quality check counted, and what is left out, is not only on a terminal."""
    checked = "quality: {epsilon: 1, min_rows: 5000}\ncolumns:\n"
    text = ROWS.replace("columns:\n", checked).replace("[0, 10000]", "[0, 2000]")
    spec.write_text(text, encoding="utf-8")
    made = release(spec, PEOPLE, release_id="one")
    printed = dpcli("release", spec, PEOPLE, "--release-id", "one", "-o", spec.with_name("o.csv"))
    assert all(note in printed.err for note in made.notes[2:])
    assert made.notes[2].startswith("quality check: about ")
    assert any(note.startswith("income: these numbers are not complete") for note in made.notes[3:])


def _alone(spec: Path) -> Path:
    """The same spec in a folder without a ledger."""
    folder = spec.with_name("alone")
    folder.mkdir()
    return spec.rename(folder / spec.name)


def test_a_named_ledger_must_exist(spec: Path, tmp_path: Path) -> None:
    """A new ledger under a wrong name would be a fresh budget."""
    with refused("ledger-missing") as caught:
        release(plan(load_spec(spec)), PEOPLE, ledger=tmp_path / "other.sqlite", release_id="r")
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


@pytest.mark.parametrize("form", FORMS)
def test_a_table_in_memory_needs_a_release_id(
    form: str, spec: Path, people: pl.DataFrame, tmp_path: Path
) -> None:
    """A call that runs twice is charged once, and one without an id not at all."""
    wanted, local = plan(load_spec(spec)), plan(load_spec(ROOT / "specs" / "local-survey.yaml"))
    calls: list[Callable[[], object]] = [
        lambda: release(wanted, FORMS[form](people)),
        lambda: randomize(local, FORMS[form](people), tmp_path / "responses.csv"),
    ]
    for call in calls:
        with refused("release-id-required"):
            call()
    assert not ledger_of(spec).exists()
    charged = [release(wanted, FORMS[form](people), release_id="r").charged for _ in range(2)]
    assert charged == [True, False]


@pytest.mark.parametrize("text", [ROWS, PERSONS], ids=["rows", "people"])
@pytest.mark.parametrize("form", [*FORMS, "file"])
def test_an_engine_that_the_program_chose_changes_nothing(
    form: str, text: str, spec: Path, people: pl.DataFrame
) -> None:
    """A program may want its own queries on a GPU: a release is made, also if there is none."""
    spec.write_text(text, encoding="utf-8")
    data = FORMS[form](people) if form in FORMS else PEOPLE
    with pl.Config():
        pl.Config.set_engine_affinity("gpu")
        assert release(plan(load_spec(spec)), data, release_id="one").charged


@pytest.mark.parametrize("case", UNFIT)
def test_an_unfit_table_is_refused_like_a_file(
    case: str, spec: Path, people: pl.DataFrame, capfd: pytest.CaptureFixture[str]
) -> None:
    """The codes are those of files, nothing is charged or printed, and no cell is quoted."""
    make, code = UNFIT[case]
    with refused(code) as caught:
        release(plan(load_spec(spec)), make(people), release_id="one")
    assert SECRET not in f"{caught.value}{caught.value.problems}{caught.value.__cause__}"
    assert caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")
    with Ledger.open(ledger_of(spec)) as ledger:
        assert ledger.releases() == []


def test_a_table_is_named_by_its_type(spec: Path, people: pl.DataFrame) -> None:
    """Not as the file that it is written to; hints say what to do in pandas."""
    spec.write_text(PERSONS, encoding="utf-8")
    pandas: Any = pytest.importorskip("pandas")
    table = people.to_pandas()
    ids = pandas.to_numeric(table["person_id"].str.extract(r"(\d+)")[0])
    for made, hint in (
        (table.set_index("person_id"), "`reset_index()`"),
        (table.assign(person_id=ids.where(ids > ids.min())), '`astype("Int64")`'),
    ):
        (problem,) = check(spec, made)
        assert "of `DataFrame` has" in problem.message and hint in problem.hint
    assert check(spec, made.assign(person_id=made["person_id"].astype("Int64"))) == ()
    assert check(spec, table.set_index("person_id").reset_index()) == ()


def closed_relation(frame: pl.DataFrame) -> Any:
    """A relation of a connection that is closed."""
    duckdb: Any = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("people", frame)
        return connection.sql("SELECT * FROM people")


BROKEN: dict[str, tuple[Callable[[pl.DataFrame], Any], str]] = {
    "closed": (closed_relation, "the connection to its database is closed"),
    "column": (lambda one: one.lazy().select("nobody"), "a column that does not exist"),
    "file": (lambda _: pl.scan_parquet("nowhere.parquet"), "a file of its query does not exist"),
    "names": (lambda one: one.lazy().select("age", pl.col("sex").alias("age")), "the same name"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_cause_that_is_not_a_cell_is_stated(case: str, spec: Path, people: pl.DataFrame) -> None:
    """What the caller can correct stands in the message, without a name or a cell."""
    make, cause = BROKEN[case]
    with refused("data-unreadable") as caught:
        release(plan(load_spec(spec)), make(people), release_id="one")
    assert cause in str(caught.value)
    assert "nobody" not in str(caught.value) and "nowhere" not in str(caught.value)


def test_a_fault_shows_no_words_of_its_error(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error is a DpcliError with its kind and place alone."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(ReleaseRun, "aggregate", fail)
    with refused("internal-fault") as caught:
        release(plan(load_spec(spec)), PEOPLE, release_id="r")
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_error_keeps_no_error_of_the_reader(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error that was replaced, whose words may quote a cell, cannot be reached."""

    def fail(*_: object, **__: object) -> None:
        failure = DataError.about("data-unreadable")
        failure.__context__ = RuntimeError(SECRET)
        raise failure

    monkeypatch.setattr(ReleaseRun, "aggregate", fail)
    with pytest.raises(DataError) as caught:
        release(plan(load_spec(spec)), PEOPLE, release_id="r")
    assert caught.value.__context__ is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, DataError])
def test_an_error_leaves_no_frames_behind(
    error: type[BaseException], spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a notebook shows of an error has no frame in which there are rows or answers."""

    def fail(*_: object, **__: object) -> None:
        answers = SECRET
        raise error(answers if error is not DataError else [])

    monkeypatch.setattr(ReleaseRun, "aggregate", fail)
    with pytest.raises((DpcliError, KeyboardInterrupt, SystemExit)) as caught:
        release(plan(load_spec(spec)), PEOPLE, release_id="r")
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert not [frame for frame in frames if SECRET in frame.f_locals.values()]
    assert caught.value.__context__ is None


class Own(BaseException):
    """An error of a program, which has a text of its own."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Failing:
    """A table whose stream fails, or does not even exist."""

    def __init__(self, error: BaseException, *, at: str) -> None:
        self.error, self.at = error, at

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        if self.at == "attribute":
            raise self.error
        return self._stream

    def _stream(self, requested_schema: object = None) -> object:
        raise self.error


@pytest.mark.parametrize("at", ["attribute", "stream"])
@pytest.mark.parametrize(
    ("kind", "word", "kinds"),
    [
        (SystemExit, SECRET, SystemExit),
        (SystemExit, 3, SystemExit),
        (KeyboardInterrupt, SECRET, KeyboardInterrupt),
        (Own, SECRET, (Own, DataError)),
        (GeneratorExit, SECRET, (GeneratorExit, DataError)),
        (ValueError, SECRET, DpcliError),
    ],
)
def test_no_error_of_a_table_passes_its_words_on(
    kind: type[BaseException],
    word: str | int,
    kinds: type[BaseException] | tuple[type[BaseException], ...],
    at: str,
    spec: Path,
) -> None:
    """A stream that ends the program ends it, and what it says is left out."""
    with pytest.raises(kinds) as caught:
        release(plan(load_spec(spec)), Failing(kind(word), at=at), release_id="r")
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in f"{shown}{caught.value!r}{caught.value.args}{vars(caught.value)}"
    if isinstance(caught.value, SystemExit):
        assert caught.value.code == (3 if word == 3 else 1)


def test_a_stopped_release_is_a_failure(spec: Path) -> None:
    """A quality check that fails raises QualityError, every time, and is charged alone."""
    spec.write_text(ROWS + "quality: {epsilon: 1, min_rows: 1000000}\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(DpcliError) as caught:
            release(plan(load_spec(spec)), PEOPLE, release_id="one")
        assert caught.value.status == 8


def test_threads_release_at_the_same_time(tmp_path: Path) -> None:
    """Each is charged, and standard error is what it was when the last one is done."""
    specs = [tmp_path / str(number) / "spec.yaml" for number in range(4)]
    for path in specs:
        path.parent.mkdir()
        path.write_text(ROWS, encoding="utf-8")

    def released(one: tuple[int, Path]) -> Release:
        return release(plan(one[1]), PEOPLE, release_id=f"r{one[0]}")

    before = os.fstat(2)
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(released, enumerate(specs * 3)))
    after = os.fstat(2)

    assert all(one.charged for one in made)
    assert (before.st_dev, before.st_ino) == (after.st_dev, after.st_ino)


def test_a_ledger_is_of_one_thread_and_open(spec: Path) -> None:
    """A ledger that was closed, or that another thread opened, is reported as that."""
    release(plan(load_spec(spec)), PEOPLE, release_id="r")
    ledger, failures = Ledger.open(ledger_of(spec)), list[DpcliError]()

    def use() -> None:
        try:
            release(plan(load_spec(spec)), PEOPLE, ledger=ledger, release_id="s")
        except DpcliError as failure:
            failures.append(failure)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    ledger.close()
    use()
    assert ["another thread" in str(one) for one in failures] == [True, True]


def test_a_declared_checksum_is_that_of_the_file(spec: Path, people: pl.DataFrame) -> None:
    """Another file is refused before it is charged, and a table has no checksum."""
    right = hashlib.sha256(PEOPLE.read_bytes()).hexdigest()
    calls: list[tuple[str, Any, Any]] = [
        ("data-changed", PEOPLE, "0" * 64),
        ("bad-option", PEOPLE, [right, right]),
        ("bad-option", people, right),
        ("bad-option", PEOPLE, "no digest"),
    ]
    for code, data, declared in calls:
        with refused(code):
            release(spec, data, sha256=declared, release_id="r")
    assert release(spec, PEOPLE, sha256=right.upper(), release_id="r").charged


def test_a_release_is_charged_for_its_recipient(spec: Path) -> None:
    """The budget of the recipient refuses, as on the command line, and others go on."""
    text = ROWS.replace("{epsilon: 10}", "{epsilon: 10, recipients: {press: 2}}")
    spec.write_text(text, encoding="utf-8")
    assert release(spec, PEOPLE, recipient="press", release_id="r").charged
    with refused("account-exhausted"):
        release(spec, PEOPLE, recipient="press", release_id="s")
    with refused("bad-dataset"):
        release(spec, PEOPLE, recipient="the press", release_id="s")


def test_wrong_calls_are_refused(spec: Path) -> None:
    """The words of ids, days and forms are checked as on the command line."""
    wanted, local = plan(load_spec(spec)), load_spec(ROOT / "specs" / "local-survey.yaml")
    calls: list[tuple[str, Callable[[], object]]] = [
        ("bad-release-id", lambda: release(wanted, PEOPLE, release_id="two words")),
        ("not-a-period", lambda: release(wanted, PEOPLE, period="yesterday", release_id="r")),
        ("report-format", lambda: release(wanted, PEOPLE, release_id="r").report("pdf")),  # type: ignore[arg-type]
        ("wrong-model", lambda: release(plan(local), PEOPLE, release_id="r")),
        ("wrong-model", lambda: randomize(wanted, PEOPLE, "responses.csv")),
        ("wrong-model", lambda: estimate(load_spec(spec), "collected.csv")),
        ("spec-unreadable", lambda: load_spec("nowhere.yaml")),
        ("data-missing", lambda: release(wanted, ["nowhere.csv"], release_id="s")),
    ]
    for code, call in calls:
        with refused(code):
            call()


WRONG: dict[str, Callable[[Any], object]] = {
    "path": load_spec,
    "spec": plan,
    "plan": lambda wrong: release(wrong, PEOPLE, release_id="r"),
    "data": lambda wrong: release(_minimal(), wrong, release_id="r"),
    "release_id": lambda wrong: release(_minimal(), PEOPLE, release_id=wrong),
    "period": lambda wrong: release(_minimal(), PEOPLE, period=wrong, release_id="r"),
    "ledger": lambda wrong: release(_minimal(), PEOPLE, ledger=wrong, release_id="r"),
    "sha256": lambda wrong: release(_minimal(), PEOPLE, sha256=wrong, release_id="r"),
    "recipient": lambda wrong: release(_minimal(), PEOPLE, recipient=wrong, release_id="r"),
    "responses": lambda wrong: randomize(_local(), PEOPLE, wrong, release_id="r"),
    "collected": lambda wrong: estimate(_local().spec, wrong),
    "rows": lambda wrong: simulate(ROOT / "specs" / "minimal.yaml", wrong),
    "runs": lambda wrong: simulate(ROOT / "specs" / "minimal.yaml", 10, runs=wrong),
    "seed": lambda wrong: simulate(ROOT / "specs" / "minimal.yaml", 10, seed=wrong),
}


def _minimal() -> Plan:
    return plan(load_spec(ROOT / "specs" / "minimal.yaml"))


def _local() -> Plan:
    return plan(load_spec(ROOT / "specs" / "local-survey.yaml"))


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_another_type_is_named(name: str) -> None:
    """A TypeError says which argument it is, its type, and what was expected."""
    other = ["age"] if name in ("path", "spec", "plan") else {"age": [1]}
    for wrong in (0.5 if name in ("rows", "runs", "seed") else 7, other):
        with pytest.raises(TypeError, match=rf"^`{name}` is of type {type(wrong).__name__}, exp"):
            WRONG[name](wrong)


def test_a_spec_has_several_forms(spec: Path, tmp_path: Path) -> None:
    """A file, a text, a mapping and a loaded spec are the same to all functions."""
    text = spec.read_text("utf-8")
    mapping = yaml.safe_load(text)
    forms = [spec, str(spec), mapping, load_spec(spec), load_spec(text=text), load_spec(mapping)]
    assert {plan(form).cost for form in forms} == {plan(load_spec(spec)).cost}
    with Ledger.create(tmp_path / "other.sqlite") as ledger:
        made = release(mapping, PEOPLE, release_id="r", ledger=ledger)
    assert made.charged and check(mapping, PEOPLE) == ()
    for words in ({}, {"path": spec, "text": text}):
        with pytest.raises(TypeError, match="name a file"):
            load_spec(**words)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`path` .* use `load_spec\(text=\.\.\.\)`"):
        load_spec(text)
    with pytest.raises(TypeError, match=r"value of type object at `columns\.age`, expected"):
        plan(mapping | {"columns": {"age": object()}})
    with pytest.raises(TypeError, match="expected names of files"):
        release(_minimal(), [], release_id="r")


def test_a_mapping_may_have_values_of_programs() -> None:
    """Exact numbers, arrays, days with a time of zero, and one list in two places."""
    numpy: Any = pytest.importorskip("numpy")
    spec = yaml.safe_load((ROOT / "specs" / "town.yaml").read_text("utf-8"))
    usual, first = load_spec(spec), spec["statistics"][0]
    day, both = datetime.date(2021, 1, 1), [0, 110]
    spec["columns"] |= {
        "a": {
            "type": "date",
            "bounds": [day, datetime.datetime(2021, 12, 31, tzinfo=datetime.UTC)],
        },
        "b": {"type": "date", "bounds": [day, "2021-12-31"]},
        "c": {"type": "integer", "bounds": both},
        "d": {"type": "integer", "bounds": both},
        "e": {"type": "integer", "bounds": numpy.array(both)},
    }
    epsilon = Fraction(str(first["epsilon"]))
    for written in (epsilon, Decimal(str(first["epsilon"])), numpy.float64(first["epsilon"])):
        first["epsilon"] = written
        assert plan(spec).cost == plan(usual).cost
    for wrong in (None, {1}, float, datetime.datetime(2021, 1, 1, 5, tzinfo=datetime.UTC)):
        with pytest.raises(TypeError, match=r"`statistics\.0\.epsilon`"):
            plan(spec | {"statistics": [first | {"epsilon": wrong}]})


def test_problems_are_data(spec: Path, tmp_path: Path) -> None:
    """A check returns what the command line prints, and reads no row."""
    assert check(spec) == check(spec, PEOPLE) == ()
    (problem,) = check(spec, tmp_path / "nowhere.csv")
    assert problem.code == "data-missing"
    text = spec.read_text("utf-8").replace("statistic: mean", "statistic: meen")
    (problem,) = check(yaml.safe_load(text))
    assert problem.code == "unknown-statistic" and "mean" in problem.hint


def test_problems_print_as_on_the_command_line(spec: Path) -> None:
    """Message, place and hint of the first few; a mapping has no lines that are worth naming."""
    assert repr(check(spec)) == "no problems"
    text = spec.read_text("utf-8").replace("statistic: mean", "statistic: meen")
    broken = yaml.safe_load(text)
    shown = repr(check(broken))
    assert (
        shown.startswith("error[unknown-statistic]: ") and "\nhint: did you mean `mean`?" in shown
    )
    with refused("unknown-statistic") as caught:
        load_spec(broken)
    assert "(line" not in str(caught.value)
    with refused("unknown-statistic") as caught:
        load_spec(text=text)
    assert "(line " in str(caught.value)
    many = check({"dpcli": 1, **{f"key{number}": number for number in range(30)}})
    assert len(repr(many).splitlines()) <= 25 and repr(many).endswith(
        f"{len(many)} problems in all"
    )


def test_a_simulation_is_a_table(spec: Path) -> None:
    """It has a line for each number."""
    made = simulate(spec, 500, runs=5, seed=1)
    assert made.document["synthetic"]["rows"] == 500
    assert {"statistic", "held"} <= {*made.table.columns}
    assert {*made.table["statistic"]} == {"ages", "income"}
    for words in ({"rows": 0}, {"rows": 10**9}, {"rows": 9, "runs": 0}, {"rows": 9, "seed": -1}):
        with refused("number-beyond-limits"):
            simulate(spec, **words)
    with refused("wrong-model"):
        simulate(ROOT / "specs" / "local-survey.yaml", 10)


@pytest.mark.parametrize("numbers", [{"rows": 0}, {"rows": 9, "runs": 0}, {"rows": 9, "seed": -1}])
def test_a_simulation_takes_the_numbers_of_the_command(spec: Path, numbers: dict[str, int]) -> None:
    """Others are refused before a row is invented, and a number of rows is needed."""
    with refused("number-beyond-limits"):
        simulate(spec, **numbers)
    with pytest.raises(TypeError, match=r"simulate\(\): .*'rows'"):
        simulate(spec)  # type: ignore[call-arg]


def test_what_is_printed_is_short(spec: Path) -> None:
    """At most fifteen lines of a hundred columns; in Jupyter a table, with texts escaped."""
    wanted = plan(spec)
    made = release(wanted, PEOPLE, release_id="r")
    for shown in (load_spec(spec), wanted, made, simulate(spec, 100, runs=2), _local()):
        lines = repr(shown).splitlines()
        assert 3 <= len(lines) <= 15 and max(map(len, lines)) <= 100
        assert shown._repr_html_().count("<table>") == 1
    assert "spent epsilon 2; epsilon 8 left" in repr(made)
    assert str(made.cost) == "epsilon 2"
    assert "<b>" not in as_html("<b>", [("a",), ("<i>",)]).replace("<b>&lt;b&gt;</b>", "")


def test_a_statistic_is_a_table_of_its_own(spec: Path) -> None:
    """It has its groups, its numbers and their intervals; another name is an error."""
    made = release(spec, PEOPLE, release_id="r")
    ages = made["ages"]
    assert ages.columns[:4] == ["item", "value", "lower", "upper"] and len(ages) == 12
    assert ages["value"].dtype == pl.Float64
    with pytest.raises(KeyError, match="did you mean `ages`"):
        made["age"]
    dated = spec.read_text("utf-8").replace(
        "statistics:", "  visit: {type: date, bounds: [2021-01-01, 2021-12-31]}\nstatistics:"
    )
    entry = "\n  - {name: first, statistic: mean, column: visit, epsilon: 1}\n"
    days = release(load_spec(text=dated + entry), PEOPLE, release_id="s", ledger=ledger_of(spec))
    assert days["first"]["value"].dtype == pl.Date


def test_a_release_has_the_names_of_its_statistics(spec: Path) -> None:
    """They can be listed, counted, asked for and completed, and each has a table."""
    made = release(spec, PEOPLE, release_id="r")
    assert tuple(made) == made.statistics == made._ipython_key_completions_()
    assert len(made) == len(made.statistics) and made.statistics[0] in made and "x" not in made
    assert {name: len(table) for name, table in dict(made).items()} == {
        name: len(made[name]) for name in made
    }


def test_a_release_is_saved_and_given_to_pandas(spec: Path, tmp_path: Path) -> None:
    """The ending of a file says what is written."""
    made = release(spec, PEOPLE, release_id="r")
    for ending in ("csv", "parquet", "html", "md", "json"):
        assert made.save(tmp_path / f"out.{ending}").stat().st_size > 100
    assert pl.read_csv(tmp_path / "out.csv").height == made.table.height
    with refused("report-format"):
        made.save(tmp_path / "out.pdf")
    frame = made.to_pandas()
    assert list(frame.columns) == made.table.columns and len(frame) == made.table.height


def test_nothing_replaces_what_a_release_was_made_of(spec: Path, tmp_path: Path) -> None:
    """Not the data, the spec or the ledger, by whatever name; a former output is replaced."""
    data, other = tmp_path / "people.csv", tmp_path / "spec.json"
    data.write_bytes(PEOPLE.read_bytes())
    other.write_bytes(spec.read_bytes())
    book = tmp_path / "books.json"
    Ledger.create(book).close()
    made = release(other, data, ledger=book, release_id="r")
    (tmp_path / "link.csv").symlink_to(data)
    for name in ("people.csv", "link.csv", "spec.json", "books.json"):
        with refused("output-is-input"):
            made.save(tmp_path / name)
    assert data.read_bytes() == PEOPLE.read_bytes() and other.read_bytes() == spec.read_bytes()
    assert made.save(tmp_path / "out.csv") == made.save(tmp_path / "out.csv")


KEYS = """
dpcli: 1
dataset: keys
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10}}
quality: none
columns:
  date: {type: category, values: [mon, tue]}
  unit: {type: category, values: [a, b]}
  flag: {type: category, values: [x, y]}
  day: {type: date, bounds: [2020-01-01, 2020-12-31]}
statistics:
  - {name: n, statistic: count, by: [date], epsilon: 1}
  - {name: date, statistic: count, by: [unit, flag], epsilon: 1}
  - {name: none, statistic: count, by: [unit], epsilon: 1, post: [{suppress_below: 1000}]}
  - {name: middle, statistic: mean, column: day, epsilon: 1}
"""


@pytest.mark.extended
def test_keys_may_have_the_names_of_columns_of_numbers(tmp_path: Path) -> None:
    """Each key stands under its name before the numbers, in each table and on each plot."""
    pytest.importorskip("matplotlib").use("Agg")
    data = tmp_path / "data.csv"
    data.write_text("date,unit,flag,day\nmon,a,x,2020-02-02\n", encoding="utf-8")
    with Ledger.create(tmp_path / "l.sqlite") as ledger:
        made = release(load_spec(text=KEYS), data, ledger=ledger, release_id="r")
    assert made["n"].columns[:2] == ["date", "value"]
    assert made["date"].columns[:3] == ["unit", "flag", "value"]
    assert made["date"]["flag"].to_list() == ["x", "y"] * 2
    assert made["none"]["flag"].to_list() == ["suppressed"] * 2
    assert made["middle"]["value"].dtype == pl.Date
    assert made.table["date"].to_list()[:2] == ["mon", "tue"]
    assert made.table["date_2"].dtype == pl.Float64
    shown = [made.plot(name) for name in made.statistics]
    assert [axes.get_xlabel() for axes in shown] == ["rows"] * 3 + ["date"]
    labels = [[text.get_text() for text in axes.get_yticklabels()] for axes in shown]
    assert labels == [["mon", "tue"], ["a, x", "a, y", "b, x", "b, y"], [], ["middle"]]


def test_only_public_names_are_offered() -> None:
    """What a console completes is what the package promises."""
    assert dir(package) == sorted([*package.__all__, "__version__"])
    assert all(hasattr(package, name) for name in dir(package))


def test_a_wrong_call_is_no_fault(spec: Path) -> None:
    """Arguments that a function does not have are reported as Python does."""
    with pytest.raises(TypeError, match=r"^release\(\): too many positional arguments"):
        release(plan(load_spec(spec)), PEOPLE, "ledger.sqlite")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^release\(\): got an unexpected keyword argument 'seed'"):
        release(plan(load_spec(spec)), PEOPLE, seed=1)  # type: ignore[call-arg]


def test_a_release_takes_five_lines(spec: Path) -> None:
    """A program of five lines prints the table of a release and what it cost."""
    program = f"""
from dpcli import load_spec, plan, release

town = plan(load_spec({str(spec)!r}))
made = release(town, {str(PEOPLE)!r}, release_id="first")
print(made.table.height, made.cost.epsilon)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("13 2\n", "")


def test_an_empty_name_is_no_ledger(spec: Path) -> None:
    """A variable that is not set must not lead to a new ledger with a fresh budget."""
    with pytest.raises(DpcliError) as caught:
        release(plan(load_spec(spec)), PEOPLE, ledger="", release_id="r")
    assert caught.value.status == 6
    assert not ledger_of(spec).exists()


def test_a_period_is_a_day_or_its_text(spec: Path) -> None:
    """A date is as good as its text, and a release of both is one release."""
    charged = [
        release(plan(load_spec(spec)), PEOPLE, period=period, release_id="r").charged
        for period in ("2026-01-01", datetime.date(2026, 1, 1))
    ]
    assert charged == [True, False]


def test_no_frame_of_an_error_holds_the_table(spec: Path, people: pl.DataFrame) -> None:
    """A notebook that shows the variables of each frame shows no row that the caller does not."""
    with pytest.raises(DpcliError) as caught:
        release(plan(load_spec(spec)), people.drop("age"), release_id="one")
    _, *frames = traceback.walk_tb(caught.value.__traceback__)
    found = [value for frame, _ in frames for value in frame.f_locals.values()]
    tables = (pl.DataFrame, pl.LazyFrame, MemoryTable, tuple, dict)
    assert frames
    assert not [value for value in found if isinstance(value, tables)]


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
    first = randomize(
        wanted, tmp_path / "people.parquet", made[0], shuffle=shuffle, release_id="file"
    )
    freeze()
    randomize(wanted, people, made[1], shuffle=shuffle, release_id="one")
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
    again = randomize(spec, "nowhere.csv", target, release_id="one")
    wrong = {
        "responses-gone": {"responses": tmp_path / "other.csv", "release_id": "one"},
        "release-id-taken": {"responses": target, "release_id": "one", "shuffle": True},
        "output-exists": {"responses": target, "release_id": "two"},
    }

    assert first.charged and not again.charged and again.cost == first.cost
    for code, words in wrong.items():
        with refused(code):
            randomize(wanted, PEOPLE, **words)  # type: ignore[arg-type]
    with Ledger.open(ledger_of(spec)) as ledger:
        assert [each.release_id for each in ledger.releases()] == ["one"]


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


def test_an_engine_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A word that names no engine is no local release."""
    wanted = plan(load_spec(ROOT / "specs/minimal.yaml"))
    for engine in ("nope", "partials"):
        words: dict[str, Any] = {"engine": engine, "release_id": "r"}
        with pytest.raises(TypeError, match="expected `local` or `spark`"):
            release(wanted, PEOPLE, ledger=tmp_path / "ledger.sqlite", **words)
    assert not (tmp_path / "ledger.sqlite").exists()
