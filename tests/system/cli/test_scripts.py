"""What scripts rely on: JSON results, errors as JSON, usage errors, dry runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpcli import __version__
from dpcli.cli.commands import PLACES, help_brief
from tests.support.cli import ROOT, SPEC, Command, edit
from tests.support.fork_server import fast_dpcli

KEYS = {"level", "code", "message", "file", "line", "column", "hint", "status"}


@pytest.fixture(autouse=True)
def same_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No named ledger, and `--no-color` has no effect on other tests."""
    monkeypatch.delenv("DPCLI_LEDGER", raising=False)
    before = os.environ.pop("NO_COLOR", None)
    yield
    os.environ.pop("NO_COLOR", None)
    if before is not None:
        os.environ["NO_COLOR"] = before


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A spec with several problems."""
    path = tmp_path / "broken.yaml"
    text = SPEC.replace("NEIGHBORS", "neither").replace("statistic: mean", "statistic: average")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("place", [0, 1, 2])
def test_errors_as_json_are_one_object_on_a_line(place: int, dpcli: Command, broken: Path) -> None:
    """With the option at any position, each problem has code, message, place, hint and status.

    So has an unknown option.
    """
    words: list[str | Path] = ["check", broken]
    words[place:place] = ["--error-format", "json"]
    done, unknown = dpcli(*words), dpcli("release", "--error-format=json", "--bogus")
    problems = [json.loads(line) for line in done.err.splitlines()]
    (problem,) = (json.loads(line) for line in unknown.err.splitlines())

    assert done.status == 3
    assert len(problems) == 2
    assert all(set(problem) == KEYS for problem in problems)
    assert {problem["status"] for problem in problems} == {3}
    assert [problem["line"] for problem in problems] == [5, 17]
    assert all(problem["file"] == str(broken) and problem["column"] for problem in problems)
    assert unknown.status == problem["status"] == 2
    assert set(problem) == KEYS and problem["code"] == "unknown-option"


def test_notices_as_json_have_a_level(dpcli: Command, spec: Path, data: Path) -> None:
    """A release with `--error-format json` writes only objects on standard error."""
    out = spec.parent / "o.csv"
    done = dpcli("release", spec, data, "-o", out, "--error-format", "json")
    notices = [json.loads(line) for line in done.err.splitlines()]

    assert done.status == 0
    assert all(set(notice) == {"level", "message"} for notice in notices)
    assert "created the ledger" in notices[0]["message"]
    copy = spec.with_name("other.yaml")
    copy.write_text(spec.read_text("utf-8").replace("dataset: town", "dataset: village"), "utf-8")
    dpcli("release", copy, data, "-q")
    shared = dpcli("plan", copy, "--error-format", "json")
    warning, refusal = [json.loads(line) for line in shared.err.splitlines()]
    assert warning["level"] == "warning" and "`data.csv`" in warning["message"]
    assert refusal["level"] == "error"


@pytest.mark.parametrize("words", [(), ("ledger",), ("local",)], ids=repr)
def test_a_group_needs_a_command(words: tuple[str, ...], dpcli: Command) -> None:
    """Without a command, text has an error and the list of commands, and JSON only the error."""
    plain, script = dpcli(*words), dpcli(*words, "--error-format", "json")

    assert plain.status == script.status == 2 and not plain.out
    assert plain.err.startswith(f"error[command-line]: `{' '.join(('dpcli', *words))}` needs")
    prefix = " ".join((*words, ""))
    names = [name.removeprefix(prefix) for name in PLACES if name.startswith(prefix)]
    assert all(f"\n  {name} " in plain.err for name in names if " " not in name)
    (problem,) = (json.loads(line) for line in script.err.splitlines())
    assert set(problem) == KEYS and problem["code"] == "command-line"


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["relaese"], "unknown-command", "did you mean `release`?"),
        (["ledger", "histroy"], "unknown-command", "did you mean `history`?"),
        (["help", "chekc"], "unknown-command", "did you mean `check`?"),
        (["plan", "--row", "9", "s.yaml"], "unknown-option", "did you mean `--rows`"),
        (["plan", "--jsno", "s.yaml"], "unknown-option", "did you mean `--json`?"),
        (["simulate", "s", "--into", "f"], "unknown-option", "--json > FILE`"),
        (["release", "s", "d", "--simulation", "f"], "unknown-option", "leave it out"),
        (["plan"], "command-line", "`dpcli plan --help`"),
        (["plan", "s.yaml", "t.yaml"], "command-line", "`dpcli plan --help`"),
        (["simulate", "s.yaml", "--rows", "many"], "number-beyond-limits", "write `--rows`"),
        (["release", "s", "d", "--layout", "tall"], "command-line", "`dpcli release --help`"),
        (["plan", "s.yaml", "--error-format", "xml"], "command-line", "`--error-format json`"),
    ],
)
def test_usage_errors_have_one_style(
    words: list[str], code: str, hint: str, dpcli: Command
) -> None:
    """A wrong command line has a code, a hint that can be followed, and status 2."""
    done = dpcli(*words)

    assert done.status == 2 and not done.out
    assert done.err.startswith(f"error[{code}]: ")
    assert not re.search("Input should|Value error|<|<=", done.err)
    assert hint in done.err.split("\nhint: ")[1]


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_one_line(option: str, dpcli: Command) -> None:
    """Both options print name and version."""
    assert dpcli(option).out == f"dpcli {__version__}\n"


@pytest.mark.parametrize("name", PLACES)
def test_help_is_a_command_too(name: str, dpcli: Command) -> None:
    """`dpcli help COMMAND` prints the same as `dpcli COMMAND --help`."""
    assert dpcli("help", *name.split()).out == dpcli(*name.split(), "--help").out
    assert dpcli("help").out == dpcli("help", "help").out == dpcli("--help").out
    assert help_brief(name) in dpcli("help", *name.split()).out


def test_check_reports_as_json(dpcli: Command, spec: Path, data: Path, broken: Path) -> None:
    """With or without problems, standard output is one object; the status is the same."""
    good = dpcli("check", spec, data, "--json")
    bad = dpcli("check", broken, "--json")
    result = good.json

    assert good.status == 0 and bad.status == 3
    assert result["dataset"] == "town" and result["statistics"] == 6
    assert result["problems"] == result["warnings"] == []
    assert [problem["line"] for problem in bad.json["problems"]] == [5, 17]
    assert "error[" in bad.err


def test_release_reports_as_json(dpcli: Command, spec: Path, data: Path) -> None:
    """Id, outputs, cost and what is left; a second publication charges nothing."""
    out = spec.parent / "o.csv"
    words = ("release", spec, data, "-o", out, "--release-id", "a", "--json", "-q")
    first, again = dpcli(*words), dpcli(*words)
    found, repeated = first.json, again.json

    assert first.status == again.status == 0
    assert found["release_id"] == "a"
    assert found["charged"] and not repeated["charged"]
    assert found["outputs"] == [str(out), str(out.with_name("o.report.json"))]
    assert found["cost"]["epsilon"] == 6
    assert found["remaining"]["epsilon"] == 4
    assert found["quality"] is None and found["warnings"] == []


def test_release_as_json_names_its_table(dpcli: Command, spec: Path, data: Path) -> None:
    """Standard output cannot hold both the table and the result; nothing is charged."""
    done = dpcli("release", spec, data, "--json")

    assert done.status == 2 and "-o OUT.csv --json" in done.err
    assert not list(spec.parent.glob("*.sqlite"))


def test_a_dry_run_plans_and_leaves_nothing(dpcli: Command, spec: Path, data: Path) -> None:
    """The plan is printed; afterwards there is no ledger, no output and no charge."""
    before = sorted(spec.parent.iterdir())
    done = dpcli("release", spec, data, "-o", spec.parent / "o.csv", "--dry-run").succeeded()

    assert "epsilon 6 of 10 allowed: fits" in done.out
    assert "dry run" in done.err
    assert sorted(spec.parent.iterdir()) == before
    assert dpcli("release", spec, data, "--dry-run", "--json").json["fits"] is True


def test_a_dry_run_of_a_known_id_says_that_nothing_is_charged(
    dpcli: Command, spec: Path, data: Path
) -> None:
    """Standard output has an object with what would be published again."""
    words = ("release", spec, data, "-o", spec.parent / "o.csv", "--release-id", "known")
    assert dpcli(*words).status == 0

    again = dpcli(*words, "--dry-run", "--json")

    assert again.json == {"release_id": "known", "charged": False}


def test_a_dry_run_reads_no_row(dpcli: Command, spec: Path, data: Path) -> None:
    """The output is the same for any rows after the header."""
    first = dpcli("release", spec, data, "--dry-run")
    header = data.read_text(encoding="utf-8").split("\n", 1)[0]
    data.write_text(f'{header}\n\x00\n"\n{"x," * 99}\n', encoding="utf-8")

    assert dpcli("release", spec, data, "--dry-run") == first


def test_a_dry_run_ends_as_the_release_would(
    dpcli: Command, spec: Path, data: Path, broken: Path, tmp_path: Path
) -> None:
    """Status 2 to 6 if no row decides it, and 0 for a release that exists."""
    release = ("release", spec, data)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    out = tmp_path / "o.csv"
    cases: tuple[tuple[tuple[str | Path, ...], int], ...] = (
        ((*release, "-o", spec), 2),
        (("release", broken, data), 3),
        (("release", spec, other), 4),
        (("release", spec, tmp_path / "none.csv"), 4),
        ((*release, "--ledger", tmp_path / "none.sqlite"), 6),
        ((*release, "-o", out, "--release-id", "a"), 0),
    )
    for words, status in cases:
        assert dpcli(*words, "--dry-run").status == status, words
        assert dpcli(*words, "-q").status == status, words
    assert dpcli(*release, "--dry-run").status == dpcli(*release, "-q").status == 5
    again = dpcli(*release, "-o", out, "--release-id", "a", "--dry-run")
    assert again.status == 0 and "would be published again, nothing charged" in again.err


def test_a_failing_check_prints_its_json_and_the_status_of_each_problem(
    tmp_path: Path, spec: Path
) -> None:
    """In one output, a refusal of the budget has status 5 and a missing column 4."""
    edit(spec, ("budget: {epsilon: 10,", "budget: {epsilon: 1,"))
    (tmp_path / "other.csv").write_text("a,b\n", encoding="utf-8")
    done = subprocess.run(
        [fast_dpcli(), "check", spec, tmp_path / "other.csv", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    statuses = [problem["status"] for problem in json.loads(done.stdout)["problems"]]

    assert done.returncode == 5
    assert statuses == [5, *[4] * (len(statuses) - 1)] and len(statuses) > 1


def test_all_values_out_of_range_are_reported_at_once(dpcli: Command) -> None:
    """Each with its option; --help still shows the help."""
    words = ("simulate", "s.yaml", "--rows", "0", "--seed", "-4", "--runs", "many")
    err = dpcli(*words).err

    assert err.count("error[number-beyond-limits]") == 3
    assert all(f"`--{name}` takes" in err for name in ("rows", "seed", "runs"))
    assert dpcli(*words, "--help").status == 0
