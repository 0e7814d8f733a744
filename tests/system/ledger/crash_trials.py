"""A release that is killed at any instant is charged once and published once."""

from __future__ import annotations

import csv
import datetime
import importlib
import os
import pkgutil
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpcli
from dpcli.cli import main
from dpcli.ledger import chain, ledger, store
from dpcli.ledger.ledger import OpenLedger

for _module in pkgutil.walk_packages(dpcli.__path__, "dpcli."):
    # Import everything once, before processes are forked.
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)
importlib.import_module("numpy.ma")  # Numpy imports it when a table is made.

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1000}}
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sex], epsilon: 0.01}]
"""
DATA = "sex\nf\nm\nm\n"

STOPPING = (signal.SIGINT, signal.SIGTERM)

LEDGER = "dpcli-ledger.sqlite"

MESSAGES = "messages.txt"
"""What the last release said; a failed trial shows it."""

POINTS = [
    (os, "fsync"),
    (os, "replace"),
    (os, "write"),
    (os, "open"),
    (store.Store, "_commit"),
    (store.Store, "append"),
    (ledger, "create_anchor"),
    (store, "append_anchor"),
    (chain, "read_anchor"),
]
"""The functions around every sync, commit and rename."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec and a file."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    # What a process makes once, forked ones have: the parsers of specs and of both commands.
    for command in (["plan", str(tmp_path / "spec.yaml")], ["release", "--help"]):
        monkeypatch.setattr(sys, "argv", ["dpcli", *command])
        assert main.run() == 0
    return tmp_path


def words(folder: Path, release_id: str) -> list[str]:
    """The command line of a release; that of a night if the folder has its file."""
    night = folder / f"night-{release_id}.csv"
    data = night if night.exists() else folder / "data.csv"
    period = ["--period", release_id, "--any-period"] if night.exists() else []
    return [
        "dpcli", "release", str(folder / "spec.yaml"), str(data), "-q", "--force", *period,
        "-o", str(folder / f"{release_id}.csv"), "--release-id", release_id,
    ]  # fmt: skip


def start_release(folder: Path, release_id: str, prepare: Callable[[], None] = lambda: None) -> int:
    """Start a release in a forked process, and return its process id."""
    # A signal within fork would end neither process as intended.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        return child
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(null, stream)
        os.dup2(os.open(folder / MESSAGES, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
        sys.argv = words(folder, release_id)
        prepare()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        main.main()
    except KeyboardInterrupt:
        # Before the program begins, it is Python that ends.
        os._exit(128 + signal.SIGINT)
    finally:
        os._exit(99)


def exit_status(child: int) -> int:
    """Wait for a process, and return its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def visible_tables(folder: Path, release_id: str) -> set[bytes]:
    """Every table of that release that could have been read."""
    path = folder / f"{release_id}.csv"
    return {path.read_bytes()} if path.exists() else set()


def record_events(events: list[str]) -> None:
    """From now on, record every event of a release made in this process."""
    for owner, name in POINTS:
        setattr(owner, name, recorded(getattr(owner, name), name, events))


def recorded(original: Callable[..., Any], name: str, events: list[str]) -> Callable[..., Any]:
    """A function that records its beginning and its end."""

    def call(*arguments: Any, **named: Any) -> Any:
        events.append(f"before {name}")
        result = original(*arguments, **named)
        events.append(f"after {name}")
        return result

    return call


class KillingList(list[str]):
    """A list of events that kills the process at the event with a given number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def append(self, event: str) -> None:
        """Record the event, or kill the process."""
        if len(self) == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(event)


def check_retry(folder: Path, release_id: str, seen: set[bytes]) -> None:
    """A retry succeeds, and one table was ever visible, for one charge."""
    status = exit_status(start_release(folder, release_id))
    assert status == 0, (folder / MESSAGES).read_text("utf-8", "replace")
    seen |= visible_tables(folder, release_id)
    assert len(seen) == 1
    book = OpenLedger.open(folder / "dpcli-ledger.sqlite")
    charges = [entry for entry in book.releases("town") if entry.release_id == release_id]
    book.close()
    assert len(charges) == 1


def check_ledger(folder: Path) -> None:
    """The ledger verifies."""
    book = OpenLedger.open(folder / "dpcli-ledger.sqlite")
    assert not book.all_faults()
    book.close()


def events_of(folder: Path) -> list[str]:
    """The events of a complete first release, in order."""
    events: list[str] = []
    reader, writer = os.pipe()

    def prepare() -> None:
        record_events(events)
        status = main.run()
        os.write(writer, "\n".join(events).encode())
        os._exit(status)

    assert exit_status(start_release(folder, "rehearsal", prepare)) == 0
    os.close(writer)
    with os.fdopen(reader) as lines:
        return lines.read().split("\n")


def kill_at(folder: Path, release_id: str, number: int) -> bool:
    """Kill a release at a given event, then retry it; returns whether it was killed."""
    status = exit_status(
        start_release(folder, release_id, lambda: record_events(KillingList(number)))
    )
    assert status in {0, -signal.SIGKILL}
    check_retry(folder, release_id, visible_tables(folder, release_id))
    return status != 0


def kill_after(folder: Path, release_id: str, seconds: float, number: int) -> bool:
    """Send a signal to a release after some time, then retry it; returns whether it was hit."""
    child = start_release(folder, release_id)
    time.sleep(seconds)
    os.kill(child, number)
    status = exit_status(child)
    assert status in {0, -number, 128 + number}
    if status == 0:
        assert visible_tables(folder, release_id), "a release that was stopped claims to have ended"
    check_retry(folder, release_id, visible_tables(folder, release_id))
    return status != 0


def remove_outputs(folder: Path) -> None:
    """Remove the ledger and the outputs."""
    for path in folder.iterdir():
        if path.name not in {"spec.yaml", "data.csv"}:
            path.unlink()


def test_a_kill_around_every_sync_commit_and_rename(world: Path) -> None:
    """At each event, on a new ledger and on an old one, a kill loses nothing."""
    events = events_of(world)
    assert {"before _commit", "after _commit", "before replace", "before fsync"} <= set(events)
    for number in range(len(events)):
        remove_outputs(world)
        assert kill_at(world, "new", number)
        kill_at(world, "old", number)
        check_ledger(world)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_signals_at_random_instants(world: Path, number: int) -> None:
    """A documented status, and a retry that costs nothing more."""
    draw = random.Random(number)
    # With the extended kills around every event, and the slow ones, eight instants are enough.
    for trial in range(8):
        kill_after(world, f"r{trial}", draw.uniform(0, 0.12), number)
    check_ledger(world)


SERIES = """\
dpcli: 1
dataset: town
privacy:
  unit: {column: who, max_rows: 1}
  neighbors: add-remove
  budget: {rho: 1000, delta: 1e-3}
  composition: zcdp
period: {column: day}
columns: {who: {type: id}, day: {type: date, bounds: [2026-01-01, 2030-12-31]}}
statistics:
  - {name: n, statistic: count, rho: 20, mechanism: gaussian,
     series: {every: day, show: [period, to_date]}}
"""
NEAR = 8


def open_series(world: Path) -> None:
    """Write the spec of a series, and open an account with a window for it."""
    (world / "spec.yaml").write_text(SERIES, encoding="utf-8")
    opened = (
        *("ledger", "open", "town", "--rho", "1000", "--delta", "1e-3", "--window", "1"),
        *("--composition", "zcdp", "--unit", "who", "--ledger", str(world / LEDGER)),
    )
    for words in (("ledger", "init", str(world / LEDGER)), opened):
        subprocess.run([sys.executable, "-m", "dpcli", *words], check=True, capture_output=True)


def write_night(world: Path, night: int, rows: int) -> str:
    """Write the file of a night, and return its day."""
    day = (datetime.date(2026, 1, 1) + datetime.timedelta(night)).isoformat()
    lines = [f"{at},{day}" for at in range(rows)]
    (world / f"night-{day}.csv").write_text("\n".join(["who,day", *lines]), encoding="utf-8")
    return day


def check_night(world: Path, day: str, rows: int, total: int) -> None:
    """The published numbers of a night are right, and no sealed sum was lost."""
    assert "sealed sums" not in (world / MESSAGES).read_text("utf-8", "replace")
    with (world / f"{day}.csv").open(encoding="utf-8", newline="") as published:
        values = [float(row["value"]) for row in csv.DictReader(published)]
    assert values == pytest.approx([rows, total], abs=NEAR)


def kill_nights(world: Path, nights: int, tries: int, seed: int) -> int:
    """Kill releases of a series at random instants, then retry; returns how many were hit.

    After each night, the total to date is right, no sealed sum is lost, and each night is charged
    once.
    """
    open_series(world)
    draw, hit, total = random.Random(seed), 0, 0
    for night in range(nights):
        rows, seen = draw.randint(20, 90), set[bytes]()
        day = write_night(world, night, rows)
        total += rows
        for _ in range(tries):
            child = start_release(world, day)
            time.sleep(draw.uniform(0, 0.2))
            os.kill(child, signal.SIGKILL)
            hit += exit_status(child) != 0
            seen |= visible_tables(world, day)
        check_retry(world, day, seen | visible_tables(world, day))
        check_night(world, day, rows, total)
    check_ledger(world)
    return hit


def test_nights_of_a_series_that_are_killed_around_every_event(world: Path) -> None:
    """Also between the file of sums and the charge, and between the charge and its outputs."""
    open_series(world)
    night = total = killed = 0
    number, was_hit = 0, True
    while was_hit:
        rows = 20 + night
        day, total = write_night(world, night, rows), total + rows
        was_hit = kill_at(world, day, number)
        check_night(world, day, rows, total)
        night, number, killed = night + 1, number + 1, killed + was_hit
    assert killed > 30
    check_ledger(world)


def test_nights_of_a_series_that_are_killed(world: Path) -> None:
    """Nothing is lost, charged twice or published in two ways."""
    assert kill_nights(world, nights=6, tries=2, seed=1)


@pytest.mark.slow
def test_a_thousand_kills_of_a_series(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for forty nights, each with 25 kills."""
    hit = kill_nights(world, nights=40, tries=25, seed=2)
    with capsys.disabled():
        print(f"\nkills: {hit} of 1,000 releases of a series were hit, no loss")


@pytest.mark.slow
def test_two_thousand_kills(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For every release id, there is one table and one charge."""
    draw = random.Random(1)
    events = len(events_of(world))
    named = hit = 0
    for round_number in range(10):
        remove_outputs(world)
        for number in range(events):
            named += kill_at(world, f"n{round_number}-{number}", number)
    while named + hit < 2000:
        if hit % 200 == 0:
            remove_outputs(world)
        hit += kill_after(world, f"k{hit}-{draw.random()}", draw.uniform(0, 0.12), signal.SIGKILL)
    check_ledger(world)
    with capsys.disabled():
        print(f"\nkills: {named} at named points, {hit} at random instants, no loss")
