"""Messages as GitHub reads them, and the files for its actions and for pre-commit."""

from __future__ import annotations

import doctest
import shlex
import subprocess
from pathlib import Path

import yaml

from dpcli.cli import console
from tests.support.cli import ROOT, Command
from tests.support.fork_server import fast_dpcli

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


def search_path() -> str:
    """Where a shell finds `dpcli` and the tools of the system."""
    return f"{Path(fast_dpcli()).parent}:/usr/bin:/bin"


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
        done = subprocess.run(
            command, capture_output=True, check=False, env={"PATH": search_path()}
        )
        assert done.returncode == status, done.stderr


def _git(*words: str, folder: Path) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_action_compares_specs_with_their_files(tmp_path: Path) -> None:
    """Lists are those of each commit, and specs that are new, equal or local are no fault."""
    specs, summary = tmp_path / "specs", tmp_path / "summary.md"
    specs.mkdir()
    listed = SPEC.replace("[f, m]", "{file: codes.csv, key: code}").replace("sexx", "sex")
    listed = listed.replace("dataset", "quality: none\ndataset").replace(
        "epsilon: 1}]", "EPSILON}]"
    )
    (specs / "codes.csv").write_text("code\nf\nm\n", encoding="utf-8")
    (specs / "listed.yaml").write_text(listed.replace("EPSILON", "epsilon: 0.5"), encoding="utf-8")
    local = (ROOT / "specs" / "local-survey.yaml").read_text("utf-8")
    (specs / "local.yaml").write_text(local, encoding="utf-8")
    _git("init", "-q", folder=tmp_path)
    _git("add", "-A", folder=tmp_path)
    _git("commit", "-qm", "first", folder=tmp_path)
    base = _git("rev-parse", "HEAD", folder=tmp_path)
    action = yaml.safe_load(
        (ROOT / ".github" / "actions" / "specs" / "action.yml").read_text("utf-8")
    )
    script = action["runs"]["steps"][2]["run"]

    def compared(commit: str = base) -> tuple[int, str, str]:
        summary.write_text("", encoding="utf-8")
        environment = {
            "PATH": search_path(),
            "SPECS": "specs/*.yaml", "BASE": commit, "RUNNER_TEMP": str(tmp_path),
            "GITHUB_STEP_SUMMARY": str(summary),
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, summary.read_text("utf-8"), done.stderr

    assert compared() == (0, "", "")
    (specs / "codes.csv").write_text("code\nf\nm\nx\n", encoding="utf-8")
    (specs / "local.yaml").write_text(local.replace("survey", "other"), encoding="utf-8")
    (specs / "new.yaml").write_text(listed.replace("EPSILON", "epsilon: 1"), encoding="utf-8")
    status, text, _ = compared()
    assert status == 0 and "SHA-256 of codes.csv" in text
    (specs / "listed.yaml").write_text(listed.replace("EPSILON", "epsilon: 1"), encoding="utf-8")
    status, text, said = compared()
    assert status == 1 and "**Weaker:**" in text and "::error title=weaker-privacy::" in said
    assert compared("0" * 40)[0] != 0


def test_the_container_is_used_as_its_file_says(dpcli: Command, tmp_path: Path) -> None:
    """The commands after the name of the image make a first release."""
    text = (ROOT / "docs" / "container" / "Containerfile").read_text("utf-8")
    runs = text.replace("\\\n#", "").split("docker run --rm ")[1:]
    assert runs
    (tmp_path / "ledger").mkdir()
    named = {"/ledger/": f"{tmp_path}/ledger/", "/specs/spec": f"{ROOT}/specs/minimal"}
    named["/data/"] = f"{ROOT}/sample_data/"
    for run in runs:
        words = run.split("\n")[0].partition(" dpcli ")[2].partition("#")[0]
        for old, new in named.items():
            words = words.replace(old, new)
        dpcli(*shlex.split(words)).succeeded()
