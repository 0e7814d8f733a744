"""Shell completion: an environment variable, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dpcli.cli.commands import COMMANDS
from dpcli.cli.explain import complete_words
from tests.support.cli import Command
from tests.support.fork_server import fast_dpcli

pytestmark = pytest.mark.extended


def run(cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The program as a shell starts it to complete a word."""
    return subprocess.run(
        [fast_dpcli()],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def offered(line: str, shell: str, cwd: Path) -> set[str]:
    """The completions of the last word of a line, without an error and with status 0."""
    if shell == "bash":
        complete_words = line.split(" ")
        done = run(
            cwd,
            _DPCLI_COMPLETE="complete_bash",
            COMP_WORDS="\n".join(complete_words),
            COMP_CWORD=str(len(complete_words) - 1),
        )
    else:
        done = run(
            cwd,
            _DPCLI_COMPLETE=f"complete_{shell}",
            _TYPER_COMPLETE_ARGS=line,
            _TYPER_COMPLETE_FISH_ACTION="get-args",
        )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line]
    if shell == "zsh":
        if lines == ["_files"]:
            return set()
        return {line.split('"')[1] for line in lines}
    return {line.split("\t")[0] for line in lines}


SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete_commands_options_and_words(shell: str, tmp_path: Path) -> None:
    """Commands, options, choices and words of `explain`, in each shell."""
    assert offered("dpcli ", shell, tmp_path) == set(COMMANDS)
    assert offered("dpcli ledger ex", shell, tmp_path) == {"export"}
    assert offered("dpcli release --lay", shell, tmp_path) == {"--layout"}
    assert offered("dpcli release --layout ", shell, tmp_path) == {"long", "wide"}
    assert offered("dpcli explain max_", shell, tmp_path) == {
        "max_limited", "max_rows", "max_groups", "max_rows_per_group", "max_selected"
    }  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_left_to_the_shell(shell: str, tmp_path: Path) -> None:
    """Where a file is expected there are no completions, so the shell completes file names."""
    assert offered("dpcli release sp", shell, tmp_path) == set()


def test_the_status_says_to_fish_whether_there_are_words(tmp_path: Path) -> None:
    """The status is zero if there are words, and one if a file is expected."""

    def status(line: str) -> int:
        return run(
            tmp_path,
            _DPCLI_COMPLETE="complete_fish",
            _TYPER_COMPLETE_ARGS=line,
            _TYPER_COMPLETE_FISH_ACTION="is-args",
        ).returncode

    assert (status("dpcli explain "), status("dpcli release ")) == (0, 1)


def test_every_word_of_explain_is_completed(tmp_path: Path) -> None:
    """All pages of `explain` can be completed, and no name has a special character of shells."""
    names = dict(complete_words(""))

    assert offered("dpcli explain ", "bash", tmp_path) == set(names)
    assert not [name for name in names if set(name) & set(" :'\"$`\n")]
    assert all("\n" not in brief and len(brief) < 60 for brief in names.values())


def test_accounts_are_completed(dpcli: Command, spec: Path, data: Path, tmp_path: Path) -> None:
    """The ledger in this folder has the names; other files give none."""
    assert dpcli("release", spec, data, "-q").status == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "dpcli-ledger.sqlite").write_text("no ledger", encoding="utf-8")

    assert offered("dpcli ledger history ", "bash", tmp_path) == {"town"}
    assert offered("dpcli ledger history x", "bash", tmp_path) == set()
    assert offered("dpcli ledger history ", "bash", other) == set()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_completes_dpcli(shell: str, tmp_path: Path) -> None:
    """The name is `dpcli`, however the program was started."""
    shown = run(tmp_path, _DPCLI_COMPLETE=f"source_{shell}")

    assert shown.returncode == 0
    assert f"_DPCLI_COMPLETE=complete_{shell}" in shown.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes(tmp_path: Path) -> None:
    """The script works in a real bash."""
    script = tmp_path / "completion.sh"
    script.write_text(run(tmp_path, _DPCLI_COMPLETE="source_bash").stdout, encoding="utf-8")
    command = tmp_path / "dpcli"
    command.symlink_to(fast_dpcli())
    line = (
        f"source {script}; COMP_WORDS=(dpcli explain neigh); COMP_CWORD=2; "
        f'_dpcli_completion {command}; echo "${{COMPREPLY[*]}}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", line],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "neighbors"
