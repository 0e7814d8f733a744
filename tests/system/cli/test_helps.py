"""Every help has examples, and every example runs as it is written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpcli.cli.commands import COMMANDS, PLACES
from dpcli.problems.reference import Page, word_pages
from tests.support.cli import ROOT, Command
from tests.support.fork_server import fast_dpcli
from tests.support.rules import mostly_extended

LONGEST = 300
"""Seconds for all examples of one help."""

RELEASE_LINES = 40
"""A screen and a half, for the help of the most frequent command."""


COMMAND_LINES = ["", *(name for name in PLACES if name != "help")]
"""All command lines that have a help; the root is the empty one."""


TOP = """
dpcli: 1
dataset: cities
quality: none
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10, delta: 1e-5}}
columns: {region: {type: category}}
statistics:
  - {name: rows, statistic: count, epsilon: 1}
  - {name: cities, statistic: top_k, column: region, k: 2, epsilon: 1, delta: 1e-6}
"""


def examples(text: str) -> list[str]:
    """The lines of a help that can be typed as they are."""
    lines = []
    block = False
    for line in text.splitlines():
        block = line.strip() == "Examples:" or (block and bool(line.strip()))
        if block and line.strip() not in {"Examples:", ""} and not line.lstrip().startswith("#"):
            lines.append(line.strip().removeprefix("$ "))
    return lines


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("DPCLI_LEDGER", raising=False)


@pytest.fixture(scope="session")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that examples use: specs, data, a ledger and past releases."""
    folder = tmp_path_factory.mktemp("kitchen")
    shutil.copytree(ROOT / "specs", folder / "specs")
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    (folder / "published").mkdir()
    for copy, of in (
        ("spec.yaml", "specs/minimal.yaml"),
        ("new.yaml", "specs/minimal.yaml"),
        ("old.yaml", "specs/minimal.yaml"),
        ("local.yaml", "specs/local-survey.yaml"),
        ("data.csv", "sample_data/people.csv"),
        ("nov.csv", "sample_data/people.csv"),
    ):
        shutil.copy(folder / of, folder / copy)
    (folder / "coins.csv").write_text("3/4,1/4\n1/4,3/4\n", encoding="utf-8")
    (folder / "top.yaml").write_text(TOP, encoding="utf-8")
    answers = "yes\n\n\n\n\ndone\nyes\n\n\n\n\n"
    (folder / "answers.txt").write_text(answers, encoding="utf-8")
    command = folder / "bin" / "dpcli"
    command.parent.mkdir()
    command.symlink_to(fast_dpcli())
    for line in (
        "dpcli release spec.yaml data.csv -q -o published/first.csv --release-id 2026-11-21",
        "dpcli release specs/minimal.yaml data.csv -q > published/second.csv",
        "dpcli release top.yaml data.csv -q -o top.csv --report cities.report.json",
        "dpcli ledger open population --epsilon 3 --unit person_id",
        "dpcli ledger init spare.sqlite",
        "dpcli local randomize local.yaml data.csv -q -o collected.csv --ledger spare.sqlite",
        "gzip -k collected.csv",
        "gzip -c data.csv > people.csv.gz",
        "mkdir parts && dpcli aggregate spec.yaml data.csv -q -o parts/data.sealed",
    ):
        shell(line, folder)
    return folder


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in bash; every part of a pipeline must succeed."""
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=LONGEST,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done


def from_cron(line: str) -> str:
    """The command of a crontab line: without the time, and without its escapes."""
    return re.sub(r"^(?:(?:[0-9*/,-]+ +){5}|@daily +)", "", line).replace("\\%", "%")


@pytest.mark.parametrize("words", COMMAND_LINES)
def test_a_help_is_complete(words: str, dpcli: Command) -> None:
    """At 80 columns, each help has a description, at least two examples, and related words.

    The list that it is part of has its name and a short text.
    """
    outcome = dpcli(*words.split(), "--help").succeeded()
    lines, listed = outcome.out.splitlines(), dpcli(*words.split()[:-1], "--help").out

    assert max(map(len, lines)) <= 80
    assert words != "release" or len(lines) <= RELEASE_LINES
    assert len(examples(outcome.out)) >= 2
    assert not re.search(r"^ {10,}[a-z]", listed.split("Commands:")[-1], re.MULTILINE)
    if words:
        assert "See also: " in outcome.out
        assert re.search("spen|charge", outcome.out, re.IGNORECASE)
        assert re.search(
            rf"^  {words.rsplit(maxsplit=1)[-1]} +[A-Z].{{20,}}$", listed, re.MULTILINE
        )


def test_the_root_lists_commands_as_a_newcomer_needs_them(dpcli: Command) -> None:
    """A spec is drafted, checked and planned before anything is released."""
    help_text = dpcli("--help").out.split("Commands:")[1]
    names = re.findall(r"^  ([a-z]+)", help_text, re.MULTILINE)

    assert names == list(COMMANDS)
    assert names[:5] == ["init", "check", "plan", "simulate", "release"]


@pytest.mark.parametrize("words", mostly_extended(COMMAND_LINES, "plan"))
def test_examples_run(words: str, dpcli: Command, kitchen: Path, tmp_path: Path) -> None:
    """Every example in a help succeeds."""
    lines = examples(dpcli(*words.split(), "--help").out)

    for number, line in enumerate(lines):
        folder = tmp_path / f"{number}"
        shutil.copytree(kitchen, folder)
        answers = " < answers.txt" if line.endswith("--ask -o people.yaml") else ""
        shell(from_cron(line) + answers, folder)


@pytest.mark.extended
@pytest.mark.parametrize(
    "page",
    [page for page in word_pages() if page.kind == "command line"],
    ids=lambda page: page.name,
)
def test_examples_of_pages_run(page: Page, kitchen: Path, tmp_path: Path) -> None:
    """Every example on a page of the command line succeeds."""
    folder = tmp_path / "copy"
    shutil.copytree(kitchen, folder)

    shell(page.example, folder)
