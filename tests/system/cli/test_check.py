"""`dpcli check SPEC DATA`: where it reads rows, and what may be a list of codes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcli import Ledger, load_spec, plan, release
from dpcli.problems.errors import SpecError
from tests.support.cli import Command, written
from tests.support.terminal import Screen, on_terminal

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
quality: none
columns: {age: {type: integer, bounds: [0, 120]}, area: {type: category, values: [a, b]}}
statistics: [{name: n, statistic: count, epsilon: 1}]
"""

ROWS = "age,area\n30,a\nx,b\n40,b\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A spec and a data file in the current folder, in which one of three ages is a word."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC, "utf-8")
    (tmp_path / "data.csv").write_text(ROWS, "utf-8")
    return tmp_path / "spec.yaml", tmp_path / "data.csv"


def shown(*words: str | Path, rows: str | None = None, folder: Path) -> Screen:
    """The check on a terminal; `rows` come from standard input."""
    if rows is None:
        return on_terminal("check", *words, columns=100, cwd=folder, NO_COLOR="1")
    (folder / "input").write_text(rows, "utf-8")
    with (folder / "input").open("rb") as stdin:
        return on_terminal("check", *words, columns=100, cwd=folder, stdin=stdin, NO_COLOR="1")


def test_a_terminal_shows_the_cells(files: tuple[Path, Path]) -> None:
    """The plain command shows what `--cells` shows, also of standard input."""
    spec, data = files
    plain = shown(spec, data, folder=spec.parent)
    assert plain.status == 0
    assert ["age", "some", "none", "some", "none"] in [line.split() for line in plain.lines]
    asked = shown(spec, data, "--cells", folder=spec.parent)
    piped = shown(spec, "-", rows=ROWS, folder=spec.parent)
    # A bar of the progress may come before it.
    parts = [screen.text.partition("CONF")[2] for screen in (plain, asked, piped)]
    assert parts[0] and len(set(parts)) == 1


@pytest.mark.parametrize("words", [("--header",), ("--json",)])
def test_a_terminal_shows_no_cells_if_it_is_asked_not_to(
    files: tuple[Path, Path], words: tuple[str, ...]
) -> None:
    """`--header` and `--json` read the header alone; so does `head -n 1 DATA | dpcli check -`."""
    spec, data = files
    for screen in (
        shown(spec, data, *words, folder=spec.parent),
        shown(spec, "-", rows="age,area\n", folder=spec.parent),
    ):
        assert screen.status == 0
        assert "CONFIDENTIAL" not in screen.text and "some" not in screen.text
    assert shown(spec, "-", rows="age,town\n", folder=spec.parent).status == 4


def test_the_status_does_not_depend_on_cells(files: tuple[Path, Path]) -> None:
    """A column without a readable cell is shown, and the status is 0."""
    screen = shown(files[0], "-", rows="age,area\nx,y\n", folder=files[0].parent)
    assert screen.status == 0 and "no cell of `age` or `area` can be read" in screen.text


def test_nothing_else_reads_a_row(
    files: tuple[Path, Path], dpcli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe the cells are not read, and `--cells` is refused."""
    spec, data = files
    monkeypatch.setattr("dpcli.cli.check._read_cells", lambda *_: pytest.fail("rows are read"))
    outcome = dpcli("check", spec, data)
    assert (outcome.status, outcome.out) == (0, f"{spec}: 1 statistic, no problems\n")
    assert dpcli("check", spec, data, "--header").out == outcome.out
    for words in (("--cells",), ("--cells", "--header"), ("--cells", "--json")):
        assert dpcli("check", spec, data, *words).status == 2


LISTED = SPEC.replace("[a, b]", "{file: list.csv, key: area}")


def link_hard(data: Path, name: Path) -> None:
    """Another name of the same file."""
    os.link(data, name)


def link(data: Path, name: Path) -> None:
    """A symbolic link to a symbolic link to the file."""
    middle = data.with_name("middle")
    middle.symlink_to(data)
    name.symlink_to(middle)


@pytest.mark.parametrize("named", [link_hard, link])
@pytest.mark.parametrize(
    "words", [("check",), ("release",), ("release", "--dry-run"), ("aggregate", "-o", "p.sealed")]
)
def test_a_list_that_is_a_data_file_is_refused(
    files: tuple[Path, Path],
    dpcli: Command,
    named: Callable[[Path, Path], None],
    words: tuple[str, ...],
) -> None:
    """By any name, as any of the data files; no cell is in the message, and nothing is written."""
    spec, data = files
    spec.write_text(LISTED, "utf-8")
    # A code that occurs twice would be refused with the number of its line.
    data.write_text("age,area\n1,SECRET\n2,SECRET\n", "utf-8")
    named(data, data.with_name("list.csv"))
    (data.parent / "other.csv").write_text(ROWS, "utf-8")
    before = sorted(data.parent.iterdir())
    for names in (["data.csv"], ["./other.csv", "./../" + data.parent.name + "/data.csv"]):
        outcome = dpcli(words[0], spec, *names, *words[1:])
        assert (outcome.status, outcome.out) == (3, "")
        assert "error[named-file]: `list.csv` is a data file" in outcome.err
        assert "line 3" not in outcome.err and "SECRET" not in outcome.err
    assert sorted(data.parent.iterdir()) == before


LOCAL = """\
dpcli: 1
dataset: d
model: local
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 3}}
columns: {area: {type: category, values: [a, b], missing: a}}
responses: [{column: area, mechanism: matrix, matrix: list.csv}]
"""


def test_a_table_of_probabilities_is_no_data_file(files: tuple[Path, Path], dpcli: Command) -> None:
    """Its outputs are published in the local model, so it is refused as a list is."""
    spec, data = files
    spec.write_text(LOCAL, "utf-8")
    data.with_name("list.csv").symlink_to(data)
    for words in (("check",), ("local", "randomize"), ("local", "estimate")):
        outcome = dpcli(*words, spec, data)
        assert outcome.status == 3 and "error[named-file]" in outcome.err


def test_standard_input_may_be_the_list(files: tuple[Path, Path]) -> None:
    """Standard input from the file is that file."""
    spec, data = files
    spec.write_text(LISTED.replace("list.csv", "input"), "utf-8")
    assert "error[named-file]" in shown(spec, "-", rows=ROWS, folder=data.parent).text


def test_a_program_cannot_release_by_its_data(files: tuple[Path, Path]) -> None:
    """The spec may have been loaded before the data are named; then nothing is charged."""
    spec, data = written(files[0].parent, LISTED, "age,area\n1,a\n2,b\n")
    data.with_name("list.csv").symlink_to(data)
    wanted = plan(load_spec(spec))
    with Ledger.create(spec.with_name("l.sqlite")) as ledger:
        with pytest.raises(SpecError, match=r"`list\.csv` is a data file"):
            release(wanted, ["data.csv"], ledger=ledger, release_id="r")
        assert ledger.releases() == []


def test_equal_columns_are_warned_of_and_equal_contents_are_not(
    files: tuple[Path, Path], dpcli: Command
) -> None:
    """A copy of the data is accepted as a list: only its header is compared."""
    spec, data = written(files[0].parent, LISTED, "age,area\n1,a\n2,b\n")
    listed = data.with_name("list.csv")
    shutil.copy(data, listed)
    outcome = dpcli("check", spec, data, "--json")
    (warning,) = outcome.json["warnings"]
    assert outcome.status == 0
    assert "is this list the data file?" in warning and warning in outcome.err
    listed.write_text("area;age \nq;w\n", "utf-8")
    assert "is this list the data file?" in dpcli("check", spec, data).err
    listed.write_text("area\na\n", "utf-8")
    assert "is this list" not in dpcli("check", spec, data).err
