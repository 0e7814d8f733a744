"""Every command of the README runs as it is written, from top to bottom."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpcli.cli.main import COMMANDS
from tests.cli.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
INSTALLING = "python3 -m venv .venv && "
"""What the commands begin with that `.ci/run` executes."""

SCHEDULE = re.compile(r"^(\S+\s+){5}")


@dataclass(frozen=True)
class Block:
    """Lines of a shell, and where they stand."""

    line: int
    script: str


def blocks() -> Iterator[Block]:
    """Every block of commands, those of a crontab as cron would run them."""
    for match in FENCE.finditer(README):
        if match["language"] not in ("sh", "crontab"):
            continue
        indent = match["indent"]
        script = "".join(
            line.removeprefix(indent) for line in match["text"].splitlines(keepends=True)
        )
        if match["language"] == "crontab":
            script = SCHEDULE.sub("", script).replace("\\%", "%")
        if not script.startswith(INSTALLING):
            yield Block(README.count("\n", 0, match.start()) + 2, script)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample files, and a `dpcli` that is this one."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("specs", "sample_data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.sqlite*"))
    command = folder / "bin" / "dpcli"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpcli "$@"\n', encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return folder


def test_every_command_of_the_readme_runs(place: Path) -> None:
    """A newcomer who types them in order gets through without one failing."""
    path = (
        f"{place / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    environment = {"PATH": path, "HOME": str(place), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    run = 0
    for block in blocks():
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.script],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"README line {block.line}: {done.stdout}\n{done.stderr}"
        run += 1
    assert run >= 10
    made = {path.name for path in place.iterdir()}
    assert {"survey.csv", "survey.html", "survey.json", "again.csv", "collected.csv"} <= made
    assert "people," in (place / "people.txt").read_text(encoding="utf-8")


def test_commands_stand_where_they_are_run() -> None:
    """A line that begins with `dpcli` is in a block that this test runs, or in a spec."""
    rest = FENCE.sub("", README)

    assert not re.findall(rf"^\s*\$? ?dpcli ({'|'.join(COMMANDS)}) ", rest, re.MULTILINE)
    for match in FENCE.finditer(README):
        if match["language"] not in ("sh", "crontab"):
            assert "dpcli " not in match["text"]


def test_continuous_integration_runs_the_two_others() -> None:
    """Both commands that install are taken from the README by `.ci/run`."""
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    for marker in ("first command", "test command"):
        assert f"<!-- {marker} -->\n```sh\n{INSTALLING}" in README
        assert marker in run


def test_pictures_are_there() -> None:
    """Every picture that the README shows is in the repository, and is a picture."""
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)

    assert shown
    for name in shown:
        assert (ROOT / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("anchor", sorted(set(re.findall(r"\]\(#([^)]+)\)", README))) or [""])
def test_links_within_lead_somewhere(anchor: str) -> None:
    """Each link to a section has one."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", README), re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}

    assert not anchor or anchor in slugs
