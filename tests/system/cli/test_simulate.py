"""`dpcli simulate`: no release, no data, no ledger, and the same rows for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dpcli.simulation.report import HEADING
from tests.support.cli import LOCAL, PEOPLE, ROOT, SPECS, Command, copied_spec, edit, table
from tests.support.rules import mostly_extended


def tree(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("path", mostly_extended(SPECS, *SPECS[::5]), ids=lambda path: path.stem)
def test_every_sample_spec_can_be_simulated(path: Path, dpcli: Command, tmp_path: Path) -> None:
    """Each output says what it is, and leaves no file."""
    spec = copied_spec(path, tmp_path)
    copied = tree(tmp_path)
    done = dpcli("simulate", spec, "--rows", 1500, "--runs", 20, "--seed", 3)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == HEADING
    assert "no release" in HEADING
    assert "seed 3, 20 runs" in done.out
    assert tree(tmp_path) == copied


def test_json_says_first_that_it_is_no_release(dpcli: Command, spec: Path) -> None:
    """The first two members state it; predicted errors are those of `plan`."""
    done = dpcli("simulate", spec, "--rows", 400, "--runs", 5, "--seed", 9, "--json").succeeded()
    written: list[str] = []

    def noted(text: str) -> float:
        written.append(text)
        return float(text)

    facts = json.loads(done.out, parse_float=noted)
    assert written
    assert not any("e" in text.lower() for text in written)
    assert list(facts.items())[:2] == [("simulation", True), ("release", False)]
    assert facts["synthetic"] == {
        "rows": 400, "people": None, "people_above_max_rows": None, "seed": 9,
    }  # fmt: skip
    planned = dpcli("plan", spec, "--json").json
    for tried, entry in zip(facts["statistics"], planned["statistics"], strict=True):
        assert tried["name"] == entry["name"]
        predicted = [answer["predicted95"] for answer in tried["answers"]]
        assert predicted == [part["error95"] for part in entry["queries"]]


def test_a_seed_repeats_the_rows_and_never_the_noise(
    dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """The file of rows is the same, byte for byte, and the errors differ; seeds are printed."""
    words = ("simulate", spec, "--rows", 300, "--runs", 5, "--json", "--dummy")
    first = dpcli(*words, tmp_path / "a.csv")
    seed = first.json["synthetic"]["seed"]
    again = dpcli(*words, tmp_path / "b.csv", "--seed", seed)
    assert dpcli(*words, tmp_path / "c.csv").json["synthetic"]["seed"] != seed
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c
    assert first.out != again.out


def test_the_dummy_file_is_marked_and_fits_the_spec(
    dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """Each row is marked as synthetic; `check` and `release` read the file like any other."""
    path = tmp_path / "dummy.csv"
    dpcli("simulate", spec, "--rows", 200, "--runs", 1, "--dummy", path)
    rows = table(path)
    assert len(rows) == 200
    assert list(rows[0])[-1] == "dpcli_simulation"
    assert {row["dpcli_simulation"] for row in rows} == {"dummy"}
    assert dpcli("check", spec, path).status == 0
    assert dpcli("release", spec, path, "-o", tmp_path / "out.csv").status == 0


def test_a_dummy_file_replaces_nothing(dpcli: Command, spec: Path, data: Path) -> None:
    """It replaces neither data, nor the spec, nor the target of a link; nothing is simulated."""
    link = spec.with_name("link.csv")
    link.symlink_to(data)
    before = data.read_bytes(), spec.read_bytes()
    for path, code in ((data, "exists"), (spec, "is-input"), (link, "exists")):
        done = dpcli("simulate", spec, "--rows", 10, "--dummy", path)
        assert (done.status, done.out) == (2, "")
        assert f"error[output-{code}]" in done.err
        assert "--force" not in done.err
    assert (data.read_bytes(), spec.read_bytes()) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows", "0"), "`--rows` takes a whole number from 1 to "),
        (("--rows", "-5"), "`--rows` takes a whole number from 1 to "),
        (("--rows", "10000001"), "error[number-beyond-limits]"),
        (("--rows", "9", "--runs", "0"), "`--runs` takes a whole number from 1 to "),
        (("--rows", "9", "--runs", "10001"), "error[number-beyond-limits]"),
        (("--rows", "9", "--seed", "-1"), "`--seed` takes a whole number from 0 to "),
        (("--rows", "9", "--seed", str(2**53)), "error[number-beyond-limits]"),
        (("--rows", "9", "--dummy", "-"), "error[bad-option]"),
        (("--rows", "9", "--dummy", "no/such/folder/x.csv"), "error[output-folder]"),
    ],
)
def test_impossible_options_are_refused(
    dpcli: Command, spec: Path, words: Sequence[str], said: str
) -> None:
    """With a code, the limits and a hint, before any row is made."""
    done = dpcli("simulate", spec, *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "hint:" in done.err


def test_data_cannot_be_named(dpcli: Command, spec: Path, data: Path) -> None:
    """No second argument or option is accepted."""
    assert dpcli("simulate", spec, data, "--rows", 5).status == 2
    for option in ("--data", "--input", "--epsilon", "--no-noise", "--noise-seed"):
        assert dpcli("simulate", spec, "--rows", 5, option, data).status == 2


def test_only_commands_about_synthetic_rows_have_a_seed(dpcli: Command) -> None:
    """No other command has the option, and its help states its use."""
    from dpcli.cli.commands import COMMANDS

    for command in (*COMMANDS, "local randomize", "local estimate", "ledger init"):
        seeded = "--seed" in dpcli(*command.split(), "--help").out
        assert seeded is (command in ("simulate", "audit")), command


def test_a_local_spec_is_refused(dpcli: Command) -> None:
    """The hint has the command that shows its errors."""
    done = dpcli("simulate", LOCAL, "--rows", 10)
    assert done.status == 2
    assert "error[simulate-local]" in done.err
    assert "--records" in done.err


def test_over_budget_is_simulated_and_refused_like_a_plan(dpcli: Command, spec: Path) -> None:
    """The tables, then status 5."""
    edit(spec, ("epsilon: 10,", "epsilon: 1,"))
    done = dpcli("simulate", spec, "--rows", 50, "--runs", 2)
    assert done.status == 5
    assert done.out.startswith(HEADING)
    assert "error[over-budget-epsilon]" in done.err


def test_quiet_leaves_out_the_notes(dpcli: Command, spec: Path) -> None:
    """The heading stays, so that no reader takes the tables for a release."""
    loud = dpcli("simulate", spec, "--rows", 50, "--runs", 2, "--seed", 1)
    quiet = dpcli("simulate", spec, "--rows", 50, "--runs", 2, "--seed", 1, "--quiet")
    assert "errors are those of the noise" in loud.out
    assert "errors are those of the noise" not in quiet.out
    assert quiet.out.splitlines()[0] == HEADING


def test_the_environment_names_no_data(
    dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulation reads no environment variable."""
    for name in ("DPCLI_DATA", "DPCLI_DUMMY", "DPCLI_SEED", "DPCLI_LEDGER"):
        monkeypatch.setenv(name, str(data))
    done = dpcli("simulate", spec, "--rows", 20, "--runs", 1, "--seed", 1, "--json").succeeded()
    assert done.json["synthetic"]["rows"] == 20


WATCHED = """
import os, sys
opened = []
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        opened.append(os.fsdecode(args[0]))
    elif event.startswith(("sqlite3", "socket", "subprocess")):
        opened.append(event)
sys.addaudithook(hook)
from dpcli.cli.main import run
sys.argv = ["dpcli", "simulate", "spec.yaml", "--rows", "500", "--runs", "3", "--quiet"]
status = run()
print(status, *sorted(set(opened)), sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize(
    "name", ["town-people", pytest.param("tables", marks=pytest.mark.extended)]
)
def test_nothing_but_the_spec_is_opened(name: str, tmp_path: Path) -> None:
    """Not data, a ledger or a socket: only the spec, and an unnamed temporary file."""
    folder, scratch = tmp_path / "work", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    (folder / "spec.yaml").write_bytes((ROOT / "specs" / f"{name}.yaml").read_bytes())
    for other in ("people.csv", "data.csv", "spec.csv", "dummy.csv"):
        (folder / other).write_bytes(PEOPLE.read_bytes())
    before = tree(tmp_path)
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED],
        cwd=folder,
        env=dict(os.environ, TMPDIR=str(scratch), PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=True,
    )
    status, *opened = done.stderr.splitlines()
    assert status == "0"
    libraries = (sys.prefix, sys.base_prefix, str(ROOT / "dpcli"), "/usr", "/etc", "/proc", "/sys")
    others = {path for path in opened if not path.startswith(libraries)}
    allowed = {"spec.yaml", "/dev/null", str(scratch)}
    assert {path for path in others if not path.startswith(str(scratch))} <= allowed, others
    assert tree(tmp_path) == before
