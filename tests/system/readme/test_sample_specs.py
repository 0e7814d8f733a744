"""What the comments of the sample specs say to type can be typed again and again."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.cli import LOCAL, ROOT, SPECS, Command
from tests.support.rules import mostly_extended

WITHOUT_DATA = ("pums.yaml",)
"""Specs of files that are not in the repository."""


def documented(spec: Path) -> list[str]:
    """The commands in the comments of a spec."""
    return re.findall(r"^#   (dpcli .+)$", spec.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    "spec", mostly_extended([*SPECS, LOCAL], SPECS[0], LOCAL), ids=lambda path: path.stem
)
def test_documented_commands_run_twice(
    spec: Path, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time is no error either: neither the budget nor a file stands in the way."""
    monkeypatch.chdir(tmp_path)
    for name in ("specs", "sample_data"):
        shutil.copytree(ROOT / name, name, ignore=shutil.ignore_patterns("*.sqlite*"))
    commands = documented(spec)

    assert bool(commands) != (spec.name in WITHOUT_DATA)
    for command in commands:
        for _ in range(2):
            done = dpcli(*shlex.split(command, comments=True)[1:])
            assert done.status == 0, f"{command}\n{done.err}"
