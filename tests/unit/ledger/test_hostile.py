"""Ledgers that were changed, lost or locked, and other files in their place."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dpcli.ledger.ledger import create_ledger
from dpcli.releasing import run, steps
from tests.support.cli import Command, data, dpcli, spec
from tests.support.rules import mostly_extended

__all__ = ["data", "dpcli", "spec"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a person."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(path: Path, *statements: str) -> None:
    """Run statements on the ledger file like another program."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER x BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END"],
        ["CREATE TRIGGER x BEFORE INSERT ON outputs BEGIN SELECT RAISE(IGNORE); END"],
        ["CREATE INDEX x ON entries (dataset) WHERE kind = 'open'"],
        ["DROP TRIGGER entries_no_update"],
        ["DROP TRIGGER entries_no_update", "UPDATE entries SET period = ''"],
        ["DROP TRIGGER meta_no_insert", "INSERT INTO meta VALUES ('network', 'allowed')"],
    ],
)
def test_a_changed_schema_stops_every_command(
    statements: list[str], dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Triggers and indexes of another program are detected before anything is charged."""
    dpcli("release", spec, data, "-q", "--release-id", "one")
    changed(folder / "dpcli-ledger.sqlite", *statements)
    refused = dpcli("release", spec, data, "-q", "--release-id", "two")
    verified = dpcli("ledger", "verify")

    assert (refused.status, refused.out, verified.status) == (6, "", 6)
    assert "tables or triggers were changed" in refused.err


@pytest.mark.parametrize("lost", ["removed", "emptied"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_lost_ledger_is_not_replaced_by_an_empty_one(
    lost: str, elsewhere: bool, dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """With its anchor in any folder, a lost ledger does not become a new budget."""
    if elsewhere:
        (folder / "far").mkdir()
        dpcli("ledger", "init", "dpcli-ledger.sqlite", "--anchor", "far/anchor")
    assert dpcli("release", spec, data, "-q").status == 0
    (folder / "dpcli-ledger.sqlite").unlink()
    if lost == "emptied":
        (folder / "dpcli-ledger.sqlite").touch()
    refused = dpcli("release", spec, data, "-q")

    assert (refused.status, refused.out) == (6, "")


def test_a_rollback_during_a_release_is_detected(
    dpcli: Command, folder: Path, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is checked again within the transaction that charges."""
    dpcli("ledger", "open", "town", "--epsilon", "10", "--delta", "1e-5")
    path = folder / "dpcli-ledger.sqlite"
    old = path.read_bytes()
    real = steps.aggregate_data

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.setattr(run, "aggregate_data", real)
        assert dpcli("release", spec, data, "-q", "--release-id", "other").status == 0
        path.write_bytes(old)
        return real(*arguments)

    monkeypatch.setattr(run, "aggregate_data", meanwhile)
    refused = dpcli("release", spec, data, "-q", "--release-id", "one")

    assert (refused.status, refused.out) == (6, "")
    assert "older copy" in refused.err


def test_the_same_command_again_changes_nothing(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """A retry after success, or after half of the files, succeeds without --force."""
    words = ["release", spec, data, "-q", "--release-id", "r", "-o", "o.csv"]
    first = dpcli(*words)
    table = (folder / "o.csv").read_bytes()
    again = dpcli(*words)
    (folder / "o.report.json").unlink()
    half = dpcli(*words)
    (folder / "o.csv").write_text("mine\n", encoding="utf-8")
    other = dpcli(*words)

    assert (first.status, again.status, half.status, other.status) == (0, 0, 0, 2)
    assert (folder / "o.csv").read_text(encoding="utf-8") == "mine\n"
    assert table.startswith(b"statistic")
    assert (folder / "o.report.json").exists()


def test_an_id_keeps_its_period(dpcli: Command, folder: Path, spec: Path, data: Path) -> None:
    """A fixed id does not publish the numbers of last month for this month."""
    dpcli("ledger", "open", "town", "--epsilon", "10", "--delta", "1e-5", "--window", "3")
    words = ["release", spec, data, "-q", "--release-id", "r"]
    first = dpcli(*words, "--period", "2026-01-01")
    again = dpcli(*words, "--period", "2026-01-01")
    other = dpcli(*words, "--period", "2026-02-01")

    assert (first.status, again.status, other.status) == (0, 0, 6)
    assert "for the period 2026-01-01" in other.err


def test_an_edited_report_is_detected(dpcli: Command, folder: Path, spec: Path, data: Path) -> None:
    """A report agrees with the ledger to the byte, or not at all."""
    dpcli("release", spec, data, "-q", "--report", "r.json")
    report = folder / "r.json"
    text = report.read_text(encoding="utf-8")
    report.write_text(text.replace('"value":', '"value":1', 1), encoding="utf-8")
    refused = dpcli("ledger", "verify", "--against", "r.json")
    foreign = dpcli("ledger", "verify", "--against", "spec.yaml")

    assert (refused.status, foreign.status) == (6, 2)
    assert "its text was changed" in refused.err


def test_a_release_creates_a_ledger_whose_creation_was_interrupted(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """A process that was killed while it filled the new file leaves a journal next to it."""
    begun = sqlite3.connect(folder / "begun", isolation_level=None)
    # With a small cache, pages are written before the transaction ends.
    begun.execute("PRAGMA cache_size = 1")
    begun.execute("BEGIN IMMEDIATE")
    begun.execute("CREATE TABLE pages (content)")
    for _ in range(20):
        begun.execute("INSERT INTO pages VALUES (zeroblob(4000))")
    shutil.copy(folder / "begun", folder / "dpcli-ledger.sqlite")
    shutil.copy(folder / "begun-journal", folder / "dpcli-ledger.sqlite-journal")
    begun.close()
    assert (folder / "dpcli-ledger.sqlite").stat().st_size

    assert dpcli("release", spec, data).status == 0
    assert dpcli("ledger", "verify").status == 0


@pytest.mark.extended
def test_waiting_is_reported_and_can_be_interrupted(folder: Path, spec: Path, data: Path) -> None:
    """While others lock the ledger, a notice is printed, and a signal ends the wait."""
    path = folder / "dpcli-ledger.sqlite"
    create_ledger(path).close()
    lock = sqlite3.connect(path)
    lock.execute("BEGIN EXCLUSIVE")
    command = [sys.executable, "-m", "dpcli", "release", str(spec), str(data)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stderr is not None
    line = process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    lock.close()

    assert line == b"waiting for other processes that use the ledger ...\n"
    assert (process.returncode, out) == (128 + signal.SIGTERM, b"")


@pytest.mark.parametrize(
    "number",
    mostly_extended([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], signal.SIGINT, signal.SIGTERM),
)
def test_a_signal_ends_a_release_with_its_status(
    number: signal.Signals, folder: Path, spec: Path
) -> None:
    """The status of a release shows that it was stopped."""
    command = [sys.executable, "-m", "dpcli", "release", str(spec), "-", "--release-id", "s"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 20
    while not (folder / "dpcli-ledger.sqlite").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    out, message = process.communicate(timeout=20)

    assert (process.returncode, out) == (128 + number, b"")
    assert b"--release-id s" in message


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--ledger", "x" * 300],
        ["show", "--ledger", "no/such/folder/l.sqlite"],
        ["show", "--ledger", "."],
        ["init", "folder/l.sqlite"],
        ["init", "l.sqlite", "--anchor", "folder/anchor"],
        ["export", "a\udcff"],
        ["verify", "--against", "odd.json"],
        ["verify", "--against", "/dev/zero"],
    ],
)
def test_odd_arguments_have_a_documented_status(
    words: list[str], dpcli: Command, folder: Path
) -> None:
    """For any arguments, a message and a documented status are returned."""
    (folder / "odd.json").write_text('{"ledger": {"entry": [1], "head": 1}, "release_id": "a"}')
    create_ledger(folder / "dpcli-ledger.sqlite").close()
    outcome = dpcli("ledger", *words)

    assert outcome.status in {2, 6}
    assert "error[" in outcome.err
    assert not (folder / "l.sqlite").exists()


def test_a_link_to_a_ledger_is_that_ledger(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Through any link, a ledger is found with its anchor."""
    (folder / "real").mkdir()
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "linked").symlink_to("deep/er")
    dpcli("ledger", "init", "real/l.sqlite")
    (folder / "link.sqlite").symlink_to("real/l.sqlite")
    far = dpcli("ledger", "init", "linked/m.sqlite", "--anchor", "real/anchor")
    taken = dpcli("ledger", "init", "n.sqlite", "--anchor", "real/anchor")

    assert dpcli("release", spec, data, "-q", "--ledger", "link.sqlite").status == 0
    assert far.status == 0
    assert dpcli("ledger", "verify", "--ledger", "linked/m.sqlite").status == 0
    assert taken.status == 6


def test_a_clock_that_goes_back_is_reported_and_restores_no_budget(
    dpcli: Command, folder: Path, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dates are for readers; the order of entries and the balance do not depend on them."""
    monkeypatch.setattr("dpcli.ledger.charge.now", lambda: "2030-01-01T00:00:00Z")
    dpcli("release", spec, data, "-q")
    monkeypatch.setattr("dpcli.ledger.charge.now", lambda: "2019-01-01T00:00:00Z")
    refused = dpcli("release", spec, data, "-q")
    text = spec.read_text(encoding="utf-8")
    start = text.index("  - {name: by_sex")
    spec.write_text(text[:start], encoding="utf-8")
    late = dpcli("release", spec, data, "-q")

    assert (refused.status, late.status) == (5, 0)
    assert "warning: the clock is behind" in late.err
