"""Dialects, Parquet and several files, as the command line reads them."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from dpcli import Ledger
from tests.laws.test_non_interference import parts, skeleton
from tests.support.cli import LOCAL, PEOPLE, SPEC, Command, remove_ledger
from tests.support.fork_server import fast_dpcli
from tests.support.rules import mostly_extended

Table = list[list[str]]

HEADER = ["age", "income", "sex", "since", "note"]
ROWS = [
    ["30", "1000.5", "f", "2020-03-01", "plain"],
    ["41", "-20", "m", "2020-07-09", "more"],
    ["77", "4999.75", "f", "2020-12-31", "last"],
    ["25", "120", "m", "2020-01-01", "x"],
]


@dataclass(frozen=True)
class Kind:
    """A way to store a table: what the spec says about it, and the files."""

    section: str
    files: Callable[[Table], dict[str, bytes]]


def text(table: Table, mark: str = ",") -> str:
    """A header and rows as plain text."""
    return "".join(mark.join(row) + "\n" for row in table)


def parquet(table: Table) -> bytes:
    """A header and rows as Parquet."""
    header, *rows = table
    file = io.BytesIO()
    pl.DataFrame(
        {name: [row[at] for row in rows] for at, name in enumerate(header)},
        schema=dict.fromkeys(header, pl.String),
    ).write_parquet(file)
    return file.getvalue()


NAMES = f"names: [{', '.join(HEADER)}]"

KINDS = {
    "semicolons": Kind("delimiter: ';'", lambda table: {"a.csv": text(table, ";").encode()}),
    "UTF-16": Kind("encoding: utf-16", lambda table: {"a.csv": text(table).encode("utf-16")}),
    "odd bytes": Kind(
        "encoding: windows-1252",
        lambda table: {"a.csv": text(table).replace("\n", "\x81\n").encode("latin-1")},
    ),
    "no header": Kind(NAMES, lambda table: {"a.csv": text(table[1:]).encode()}),
    "no header, unclosed": Kind(NAMES, lambda table: {"a.csv": b'"' + text(table[1:]).encode()}),
    "no header, ragged": Kind(
        NAMES,
        lambda table: {
            "a.csv": text(
                [row[: 2 + at] * (1 + at % 2) for at, row in enumerate(table[1:])]
            ).encode()
        },
    ),
    "Parquet": Kind("", lambda table: {"a.parquet": parquet(table)}),
    "several": Kind(
        "",
        lambda table: {
            "a.csv": text(table[:2]).encode(),
            "b.parquet": parquet([table[0], table[2]]),
            "c.csv.gz": gzip.compress(text([table[0], *table[3:]]).encode()),
        },
    ),
    "several, no header": Kind(
        NAMES,
        lambda table: {
            "a.csv": text(table[1:2]).encode(),
            "b.parquet": parquet([table[0], table[2]]),
            "c.csv.gz": gzip.compress(text(table[3:]).encode()),
        },
    ),
}


def spec_text(kind: Kind) -> str:
    """The spec for a kind of file."""
    spec = SPEC.replace("NEIGHBORS", "add-remove")
    return spec + (f"csv: {{{kind.section}}}\n" if kind.section else "")


def write_files(kind: Kind, table: Table, folder: Path) -> list[Path]:
    """The files of a table, in a folder of their own."""
    folder.mkdir(exist_ok=True)
    for name, content in kind.files(table).items():
        (folder / name).write_bytes(content)
    return sorted(folder.iterdir())


@pytest.mark.parametrize("name", mostly_extended(KINDS, *[*KINDS][::4]))
def test_a_canary_in_any_cell_of_any_kind_of_file_shows_nowhere(
    name: str, dpcli: Command, tmp_path: Path
) -> None:
    """No message, table, report or remaining file has a cell; the status does not depend on one."""
    kind, data = KINDS[name], tmp_path / "data"
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec_text(kind), encoding="utf-8")
    # Each row has one canary, each time in another column.
    for column in range(len(HEADER)):
        # The first record could look like the beginning of another format.
        is_tried = column % 2 == list(KINDS).index(name) % 2
        for word in ("CANARY7f3a", *(["PAR1"] if is_tried else [])):
            table = [HEADER, *(list(cells) for cells in ROWS)]
            for row, cells in enumerate(table[1:]):
                cells[(column + row) % len(HEADER)] = "CANARY7f3a" if row else word
            files = write_files(kind, table, data)
            remove_ledger(tmp_path)
            words = ["release", spec, *files, "-o", tmp_path / "o.csv", "--force"]
            outcome = dpcli(*words)
            seen = outcome.out + outcome.err
            for path in tmp_path.iterdir():
                if path != data:
                    seen += path.read_text(encoding="utf-8", errors="replace")
            assert outcome.status == 0, outcome.err
            assert "ANARY" not in seen


@pytest.mark.parametrize("name", mostly_extended(KINDS, *[*KINDS][::2]))
def test_a_row_more_changes_released_values_and_nothing_else(
    name: str, dpcli: Command, freeze: Callable[[], None], tmp_path: Path
) -> None:
    """No message depends on the number of rows or their width, in any kind of file."""
    kind = KINDS[name]
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec_text(kind), encoding="utf-8")
    results = tmp_path / "results"
    results.mkdir()
    outcomes = []
    for rows in (ROWS, ROWS[:3], [*ROWS, ["", "x" * 9, "", "\x00", "y"]]):
        files = write_files(kind, [HEADER, *rows], tmp_path / "data")
        freeze()
        output = ["-o", results / "o.csv", "--report", results / "r.json", "--force"]
        outcome = dpcli("release", spec, *files, *output, "--release-id", "r")
        written = {name: skeleton(name, content) for name, content in parts(results).items()}
        err = skeleton("err", outcome.err.encode())
        outcomes.append((outcome.status, outcome.out, err, written))
    assert outcomes[0][0] == 0
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_every_file_needs_every_column(dpcli: Command, spec: Path, tmp_path: Path) -> None:
    """All problems of all files are reported at once, each with the name of its file."""
    good, bare, odd = (tmp_path / name for name in ("good.csv", "bare.csv", "odd.parquet"))
    good.write_text(text([HEADER, *ROWS]), encoding="utf-8")
    bare.write_text("age,income,sex\n1,2,f\n", encoding="utf-8")
    pl.DataFrame({"age": [[1]], "income": [1], "sex": ["f"], "since": ["x"]}).write_parquet(odd)
    for command in ("release", "check"):
        outcome = dpcli(command, spec, good, bare, odd)
        assert outcome.status == 4
        assert f"the header of `{bare}` has no column `since`" in outcome.err
        assert f"the column `age` of `{odd}` has the type List" in outcome.err
        assert "good.csv" not in outcome.err
    outcome = dpcli("release", spec, tmp_path / "none.csv", good, tmp_path / "neither.csv")
    assert outcome.err.count("error[data-missing]") == 2


def test_a_file_that_is_named_twice_is_refused(dpcli: Command, spec: Path, tmp_path: Path) -> None:
    """By its own name, a link, another path, or standard input."""
    data = tmp_path / "a.csv"
    data.write_text(text([HEADER, *ROWS]), encoding="utf-8")
    (tmp_path / "soft.csv").symlink_to(data)
    os.link(data, tmp_path / "hard.csv")
    for other in (data, tmp_path / "soft.csv", tmp_path / "hard.csv", tmp_path / "." / "a.csv"):
        for command in ("release", "check"):
            outcome = dpcli(command, spec, data, other)
            assert outcome.status == 4
            assert "error[data-twice]" in outcome.err
    for names, said in (((data, "-"), "error[data-twice]"), (("-", "-"), "`-` and `-` are one")):
        with data.open("rb") as file:
            done = subprocess.run(
                [fast_dpcli(), "release", spec, *names, "-q"],
                stdin=file, capture_output=True, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == 4
        assert said in done.stderr


def test_standard_input_may_be_one_of_several_files(spec: Path, tmp_path: Path) -> None:
    """A pipe and a file are one dataset, and a pipe may be Parquet."""
    data = tmp_path / "a.csv"
    data.write_text(text([HEADER, *ROWS]), encoding="utf-8")
    for piped in (text([HEADER, *ROWS]).encode(), parquet([HEADER, *ROWS])):
        remove_ledger(tmp_path)
        done = subprocess.run(
            [fast_dpcli(), "release", spec, "-", data, "-q"],
            input=piped, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        counted = float(done.stdout.decode().splitlines()[1].split(",")[-6])
        assert abs(counted - 8) < 40


def test_no_output_replaces_any_of_the_files(dpcli: Command, spec: Path, tmp_path: Path) -> None:
    """The last of several files is an input too."""
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in files:
        path.write_text(text([HEADER, *ROWS]), encoding="utf-8")
    outcome = dpcli("release", spec, *files, "-o", files[1], "--force")
    assert outcome.status == 2
    assert "error[output-is-input]" in outcome.err
    assert files[1].read_text(encoding="utf-8") == text([HEADER, *ROWS])


def test_a_header_in_another_dialect_is_recognized(
    dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """A header that is one long name with semicolons suggests a delimiter."""
    data = tmp_path / "a.csv"
    data.write_text(text([HEADER, *ROWS], ";"), encoding="utf-8")
    outcome = dpcli("check", spec, data)
    assert outcome.status == 4
    assert 'csv: {delimiter: ";"}' in outcome.err


def test_init_writes_the_dialect_into_the_draft(dpcli: Command, tmp_path: Path) -> None:
    """Options of init are in the draft; from Parquet, the names are read."""
    data = tmp_path / "a.csv"
    data.write_bytes("Größe;'x;y'\n1;2\n".encode("utf-16"))
    drafted = dpcli(
        "init", data, "--delimiter", ";", "--quote", "'", "--encoding", "UTF16"
    ).succeeded()
    assert 'csv: {delimiter: ";", quote: "\'", encoding: "utf-16"}' in drafted.out
    assert '"Größe": {type: FILL_IN}' in drafted.out
    assert '"x;y": {type: FILL_IN}' in drafted.out
    (tmp_path / "b.pq").write_bytes(parquet([HEADER, *ROWS]))
    drafted = dpcli("init", tmp_path / "b.pq")
    assert "csv:" not in drafted.out
    assert all(f"{name}: {{type: FILL_IN}}" in drafted.out for name in HEADER)


@pytest.mark.parametrize("mark", ["x", "", ";;", "\n"])
def test_init_refuses_marks_that_no_spec_can_have(
    mark: str, dpcli: Command, tmp_path: Path
) -> None:
    """They are errors of the command line."""
    data = tmp_path / "a.csv"
    data.write_text("a\n", encoding="utf-8")
    outcome = dpcli("init", data, "--delimiter", mark, "--encoding", "nope")
    assert outcome.status == 2
    assert "error[csv-mark]" in outcome.err and "error[unknown-encoding]" in outcome.err


JSON_SPEC = (
    "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}\n"
    "columns: {age: {type: integer, bounds: [0, 9]}, sex: {type: category, values: [f]}}\n"
    "statistics: [{name: n, statistic: count, by: [sex], epsilon: 1}]\n"
)


MINIMUMS = {
    "min_rows: 1": True,
    "min_readable: {age: 0.1}": True,
    "min_readable: {sex: 0.1}": False,
    "min_readable: 0.1": False,
    "": False,
}
"""Minimums of a quality check, "" for none, and whether a key may lack in all records unnoticed."""


@pytest.mark.parametrize("name", ["a.jsonl", "b.ndjson.gz", "c.zip"])
def test_a_release_warns_of_keys_that_json_lines_may_lack(
    name: str, tmp_path: Path, dpcli: Command
) -> None:
    """Whatever the file holds, unless readable cells are counted or no check is meant."""
    spec, data, report = tmp_path / "spec.yaml", tmp_path / name, tmp_path / "r.md"
    words = "a key that a record lacks is a missing cell"
    for number, text in enumerate(('{"age": 1}\n', "", '{"age": 1, "sex": "f"}\n')):
        if name.endswith(".zip"):
            with zipfile.ZipFile(data, "w") as archive:
                archive.writestr("inner.jsonl", text)
        else:
            data.write_bytes(gzip.compress(text.encode()) if ".gz" in name else text.encode())
        spec.write_text(JSON_SPEC, encoding="utf-8")
        outcome = dpcli("release", spec, data, "--report", report, "--force").succeeded()
        assert words in " ".join(outcome.err.split())
        assert words in " ".join(report.read_text("utf-8").split())
        # Each minimum with one of the files.
        for account, (minimum, unnoticed) in list(enumerate(MINIMUMS.items()))[number::3]:
            check = f"{{epsilon: 1, {minimum}}}" if minimum else "none"
            checked = f"{JSON_SPEC}quality: {check}\n"
            spec.write_text(checked.replace("dataset: d", f"dataset: e{account}"), encoding="utf-8")
            outcome = dpcli("release", spec, data, "--report", report, "--force")
            said = " ".join((outcome.err + report.read_text("utf-8")).split())
            assert (words in said) == unnoticed
    spec.write_text(JSON_SPEC, encoding="utf-8")
    (tmp_path / "a.csv").write_text("age,sex\n", encoding="utf-8")
    assert words not in dpcli("release", spec, tmp_path / "a.csv").err


def test_objects_have_no_positions(tmp_path: Path, dpcli: Command) -> None:
    """A column at a position of JSON Lines is refused unless the spec lists the keys."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "a.jsonl"
    text = JSON_SPEC.replace("[f]}}", "[f], from: {column: 2}}}")
    spec.write_text(text, encoding="utf-8")
    data.write_text('{"age": 2, "sex": "f"}\n', encoding="utf-8")
    outcome = dpcli("check", spec, data)
    assert outcome.status == 4 and "no column at position 2" in outcome.err
    spec.write_text(f"{text}csv: {{names: [age, sex]}}\n", encoding="utf-8")
    assert dpcli("check", spec, data).status == 0


REMOVED = [
    *("PANIC_ON_ERR=1", "ENGINE_AFFINITY=gpu", "ENGINE_AFFINITY=x", "VERBOSE=1", "FORCE_ASYNC=1"),
    *("MAX_THREADS=0", "MAX_THREADS=x", "MAX_THREADS=-1", "MAX_THREADS=100000", "STRICT_MODE=1"),
    *("PREFER_PKG=x", "FORCE_PKG=x", "FORCE_PKG=compat", "REGEX_SIZE_LIMIT=1"),
    *("OOMKILL_THRESHOLD_MB=1", "IDEAL_MORSEL_SIZE=0", "CSV_CHUNK_SIZE=0"),
    "IGNORE_TIMEZONE_PARSE_ERROR=1",
]
"""Variables of polars that end a release, print what is read, or change how it is read.

The package of polars for old processors is not installed here.
"""


def environment(variables: Sequence[str]) -> dict[str, str]:
    """The environment with these variables of polars."""
    named = dict(variable.split("=") for variable in variables)
    return {**os.environ, **{f"POLARS_{name}": value for name, value in named.items()}}


# Each fourth one: no group has two values of a variable.
GROUPS = [REMOVED[start::4] for start in range(4)]


@pytest.mark.parametrize("variables", mostly_extended([*GROUPS, REMOVED], REMOVED))
def test_no_variable_of_polars_changes_an_outcome(
    variables: list[str], spec: Path, data: Path
) -> None:
    """A byte that is not UTF-8 ends no release, and nothing is printed, in any mode of polars."""
    with data.open("ab") as file:
        file.write(b"\xff,1,f,2020-01-01,x\n")
    done = subprocess.run(
        [sys.executable, "-m", "dpcli", "release", str(spec), str(data), "-q"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(variables),
    )
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if "ledger" not in line]


@pytest.mark.parametrize("command", mostly_extended(["check", "local", "api"], "local"))
def test_no_variable_of_polars_changes_other_commands(
    command: str, spec: Path, data: Path, tmp_path: Path
) -> None:
    """A check, a local collection and a release of a program are as without any of them."""
    book = tmp_path / "book.sqlite"
    program = (
        "import dpcli, polars\n"
        f"with dpcli.Ledger.create({str(book)!r}) as book:\n"
        f"    table = polars.read_csv({str(data)!r}, infer_schema=False)\n"
        f"    plan = dpcli.plan(dpcli.load_spec({str(spec)!r}))\n"
        '    made = dpcli.release(plan, table, ledger=book, release_id="r")\n'
        "    print(made.table.height)\n"
    )
    out = str(tmp_path / "responses.csv")
    local = ["-m", "dpcli", "local", "randomize", str(LOCAL), str(PEOPLE), "-q", "-o", out]
    words = {
        "check": ["-m", "dpcli", "check", str(spec), str(data)],
        "local": [*local, "--ledger", str(book)],
        "api": ["-c", program],
    }
    if command == "local":
        with Ledger.create(book):
            pass
    done = subprocess.run(
        [sys.executable, *words[command]],
        capture_output=True, text=True, check=False, env=environment(REMOVED),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "POLARS" not in done.stderr


KEPT = ["MAX_THREADS=2", "TEMP_DIR=x", "FMT_MAX_COLS=3", "PREFER_PKG=32", "FORCE_PKG=32"]


def test_variables_that_change_no_outcome_are_kept() -> None:
    """Threads, folders and printed tables of other programs stay as they are asked for."""
    variables = [*REMOVED, *KEPT, "SKIP_CPU_CHECK=1"]
    code = (
        "import importlib, os, dpcli\n"
        f"for variable in {variables}:\n"
        "    name, value = f'POLARS_{variable}'.split('=')\n"
        "    os.environ[name] = value\n"
        "    importlib.reload(dpcli)\n"
        "    print(os.environ.pop(name, None) == value)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept = [line == "True" for line in done.stdout.splitlines()]

    assert kept == [variable not in REMOVED for variable in variables]
