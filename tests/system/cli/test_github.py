"""Messages as GitHub reads them, and the files for its actions and for pre-commit."""

from __future__ import annotations

import doctest
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

from dpcli.cli import console
from tests.support.cli import ROOT, Command

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sexx], epsilon: 1}]
"""


def test_a_problem_is_marked_at_its_line(dpcli: Command, tmp_path: Path) -> None:
    """It has the file, the line and the column; line ends and marks are escaped."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    done = dpcli("check", spec, "--error-format", "github")
    assert done.status == 3
    (line,) = done.err.splitlines()
    assert line.startswith(f"::error file={spec},line=5,col=")
    assert "title=unknown-column::`sexx` is not a declared column%0Adid you mean" in line


def test_warnings_are_warnings(dpcli: Command, tmp_path: Path) -> None:
    """Each line of standard error is a workflow command."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC.replace("sexx", "sex"), encoding="utf-8")
    done = dpcli("plan", spec, "--error-format=github").succeeded()
    assert all(line.startswith(("::warning::", "::notice::")) for line in done.err.splitlines())


def test_examples_of_lines_hold() -> None:
    """The docstring shows a line."""
    found = doctest.testmod(console)
    assert found.attempted and not found.failed


def test_the_action_and_the_hook_name_commands_that_exist(tmp_path: Path) -> None:
    """They check each spec, and compare it with that of the target branch."""
    action = yaml.safe_load(
        (ROOT / ".github" / "actions" / "specs" / "action.yml").read_text("utf-8")
    )
    steps = "\n".join(step.get("run", "") for step in action["runs"]["steps"])
    assert "dpcli check" in steps and "--fail-on-weaker" in steps and "--diff" in steps
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["language"] == "python"
    wrong = tmp_path / "spec.yaml"
    wrong.write_text(SPEC, encoding="utf-8")
    good = [ROOT / "specs" / "town.yaml", ROOT / "specs" / "health.yaml"]
    for specs, status in ((good, 0), ([*good, wrong], 1)):
        command = [*shlex.split(hook["entry"]), *map(str, specs)]
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        done = subprocess.run(
            command, capture_output=True, check=False, env={"PATH": path, "PYTHONPATH": str(ROOT)}
        )
        assert done.returncode == status, done.stderr
