"""Temporary files of outputs: what a killed process leaves is removed, and nothing else is."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dpcli.releasing.publishing import publish, require_writable
from tests.support.cli import Command, data, dpcli, spec

__all__ = ["data", "dpcli", "spec"]

KILL = """
import os, signal, sys
from pathlib import Path
from dpcli.cli.main import run
rename = Path.replace
def replace(path, target):
    # The anchor of a new ledger is renamed, too.
    return os.kill(os.getpid(), signal.SIGKILL) if path.suffix == ".tmp" else rename(path, target)
Path.replace = replace
sys.argv = ["dpcli", *sys.argv[1:]]
run()
"""


def test_what_a_killed_release_left_is_removed(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Killed between the sync and the rename; the next run with the same output cleans up."""
    words = ["release", str(spec), str(data), "-q", "-o", str(tmp_path / "t.csv")]
    words += ["--release-id", "r"]
    done = subprocess.run([sys.executable, "-c", KILL, *words], capture_output=True, check=False)
    assert done.returncode == -9
    left = sorted(path.name for path in tmp_path.glob(".*.tmp"))
    assert [name.rpartition(".")[0][:-9] for name in left] == [".t.csv", ".t.report.json"]
    assert dpcli(*words).status == 0
    assert list(tmp_path.glob(".*.tmp")) == []
    assert json.loads((tmp_path / "t.report.json").read_text("utf-8"))["release_id"] == "r"


@pytest.mark.parametrize(
    "name",
    [
        ".t.csv.ab12cd34.tmp.bak", ".t.csv.ab12cd3.tmp", ".t.csv.AB12CD34.tmp",
        "t.csv.ab12cd34.tmp", ".u.csv.ab12cd34.tmp", ".t.csv.mine.tmp", ".txcsv.ab12cd34.tmp",
    ],
)  # fmt: skip
def test_files_of_others_stay(name: str, tmp_path: Path) -> None:
    """Only names of our own form, and of the same output, are removed."""
    other, ours = tmp_path / name, tmp_path / ".t.csv.ab12cd34.tmp"
    for path in (other, ours):
        path.write_text("x", "utf-8")
    publish({tmp_path / "t.csv": b"1"})
    assert other.exists() and not ours.exists()


def test_links_and_folders_stay(tmp_path: Path) -> None:
    """What is no regular file is not ours, whatever its name is."""
    target, link = tmp_path / "target", tmp_path / ".t.csv.ab12cd34.tmp"
    folder = tmp_path / ".t.csv.00000000.tmp"
    target.write_text("x", "utf-8")
    link.symlink_to(target)
    folder.mkdir()
    publish({tmp_path / "t.csv": b"1"})
    assert link.is_symlink() and folder.is_dir() and target.exists()


def test_the_file_of_a_running_process_stays(tmp_path: Path) -> None:
    """It is locked until it is renamed."""
    running = tmp_path / ".t.csv.ab12cd34.tmp"
    with running.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        publish({tmp_path / "t.csv": b"1"})
        assert running.exists()
    publish({tmp_path / "t.csv": b"1"})
    assert not running.exists()


def test_a_file_that_is_removed_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its creation and its lock, another process may take it for one that was left."""
    lock, removed = fcntl.flock, list[Path]()

    def late(descriptor: int, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.glob(".t.csv.*.tmp"))
            removed[0].unlink()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    publish({tmp_path / "t.csv": b"1"})
    assert removed and (tmp_path / "t.csv").read_bytes() == b"1"
    assert list(tmp_path.glob(".*.tmp")) == []


def test_many_at_once_publish_the_same_output(tmp_path: Path) -> None:
    """No run removes the temporary file of another, and one of the contents is there at the end."""
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(40):
                publish({tmp_path / "t.csv": str(number).encode()})
        except BaseException as error:  # noqa: BLE001 - asserted below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (tmp_path / "t.csv").read_text("utf-8") in {"0", "1", "2", "3"}
    assert list(tmp_path.glob(".*.tmp")) == []


def test_an_output_is_not_refused_because_another_run_publishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That run may take the file by which this one tries the folder for one that was left."""
    target, close = tmp_path / "t.csv", os.close

    def closed(descriptor: int) -> None:
        close(descriptor)
        for left in tmp_path.glob(".t.csv.*.tmp"):
            left.unlink()

    monkeypatch.setattr(os, "close", closed)
    require_writable([target], [], force=False)
    assert list(tmp_path.iterdir()) == []
