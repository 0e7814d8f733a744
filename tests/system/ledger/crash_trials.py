"""A release that is killed at any instant is charged once and published once."""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpcli
from dpcli.cli import main
from dpcli.ledger import anchor, ledger, store
from dpcli.ledger.ledger import Ledger

for _module in pkgutil.walk_packages(dpcli.__path__, "dpcli."):
    # Children are forked from here, and shall not all load the same.
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1000}}
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sex], epsilon: 0.01}]
"""
DATA = "sex\nf\nm\nm\n"

POINTS = [
    (os, "fsync"),
    (os, "replace"),
    (os, "write"),
    (os, "open"),
    (store.Store, "_commit"),
    (store.Store, "append"),
    (ledger, "create_anchor"),
    (store, "append_anchor"),
    (anchor, "read_anchor"),
]
"""What is done around every sync, commit and rename."""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with a spec and a file."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


def words(folder: Path, release_id: str) -> list[str]:
    """The command line of a release."""
    return [
        "dpcli", "release", str(folder / "spec.yaml"), str(folder / "data.csv"), "-q", "--force",
        "-o", str(folder / f"{release_id}.csv"), "--release-id", release_id,
    ]  # fmt: skip


def begin(folder: Path, release_id: str, prepare: Callable[[], None] = lambda: None) -> int:
    """Start a release in a forked process, and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        sys.argv = words(folder, release_id)
        prepare()
        main.main()
    finally:
        os._exit(99)


def ended(child: int) -> int:
    """Wait for a process: its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def visible(folder: Path, release_id: str) -> set[bytes]:
    """Every table of that release that could have been seen."""
    path = folder / f"{release_id}.csv"
    return {path.read_bytes()} if path.exists() else set()


def count(events: list[str]) -> None:
    """Note from now on every event of a release made in this process."""
    for owner, name in POINTS:
        setattr(owner, name, noted(getattr(owner, name), name, events))


def noted(original: Callable[..., Any], name: str, events: list[str]) -> Callable[..., Any]:
    """A function that notes its beginning and its end."""

    def call(*arguments: Any, **named: Any) -> Any:
        events.append(f"before {name}")
        result = original(*arguments, **named)
        events.append(f"after {name}")
        return result

    return call


class Suicide(list[str]):
    """A list of events that kills the process at the event of a given number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def append(self, event: str) -> None:
        """Note the event, or die."""
        if len(self) == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(event)


def settled(folder: Path, release_id: str, seen: set[bytes]) -> None:
    """A clean retry succeeds, and one table was ever visible, for one charge."""
    assert ended(begin(folder, release_id)) == 0
    seen |= visible(folder, release_id)
    assert len(seen) == 1
    book = Ledger.open(folder / "dpcli-ledger.sqlite")
    charges = [entry for entry in book.releases("town") if entry.release_id == release_id]
    book.close()
    assert len(charges) == 1


def intact(folder: Path) -> None:
    """The ledger verifies, and no temporary file is left but those of the killed."""
    book = Ledger.open(folder / "dpcli-ledger.sqlite")
    assert not book.all_faults()
    book.close()


def events_of(folder: Path) -> list[str]:
    """What happens, in order, in a whole first release."""
    events: list[str] = []
    reader, writer = os.pipe()

    def prepare() -> None:
        count(events)
        status = main.run()
        os.write(writer, "\n".join(events).encode())
        os._exit(status)

    assert ended(begin(folder, "rehearsal", prepare)) == 0
    os.close(writer)
    with os.fdopen(reader) as lines:
        return lines.read().split("\n")


def killed_at(folder: Path, release_id: str, number: int) -> bool:
    """Kill a release at one named point, then retry it; whether it got there."""
    status = ended(begin(folder, release_id, lambda: count(Suicide(number))))
    assert status in {0, -signal.SIGKILL}
    settled(folder, release_id, visible(folder, release_id))
    return status != 0


def killed_after(folder: Path, release_id: str, seconds: float, number: int) -> bool:
    """Send a signal to a release after some time, then retry it; whether it hit."""
    child = begin(folder, release_id)
    time.sleep(seconds)
    os.kill(child, number)
    status = ended(child)
    assert status in {0, -number, 128 + number}
    if status == 0:
        assert visible(folder, release_id), "a release that was stopped claims to have ended"
    settled(folder, release_id, visible(folder, release_id))
    return status != 0


def fresh(folder: Path) -> None:
    """Forget the ledger and the outputs."""
    for path in folder.iterdir():
        if path.name not in {"spec.yaml", "data.csv"}:
            path.unlink()


def test_a_kill_around_every_sync_commit_and_rename(world: Path) -> None:
    """At each named point, on a new ledger and on an old one, a kill loses nothing."""
    events = events_of(world)
    assert {"before _commit", "after _commit", "before replace", "before fsync"} <= set(events)
    for number in range(len(events)):
        fresh(world)
        assert killed_at(world, "new", number)
        killed_at(world, "old", number)
        intact(world)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_signals_at_random_instants(world: Path, number: int) -> None:
    """All or nothing: a documented status, and a retry that costs nothing more."""
    draw = random.Random(number)
    for trial in range(15):
        killed_after(world, f"r{trial}", draw.uniform(0, 0.12), number)
    intact(world)


@pytest.mark.slow
def test_two_thousand_kills(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For every id, distinct bytes ever visible and charges are one."""
    draw = random.Random(1)
    events = len(events_of(world))
    named = hit = 0
    for round_number in range(10):
        fresh(world)
        for number in range(events):
            named += killed_at(world, f"n{round_number}-{number}", number)
    while named + hit < 2000:
        if hit % 200 == 0:
            fresh(world)
        hit += killed_after(world, f"k{hit}-{draw.random()}", draw.uniform(0, 0.12), signal.SIGKILL)
    intact(world)
    with capsys.disabled():
        print(f"\nkills: {named} at named points, {hit} at random instants, all settled")
