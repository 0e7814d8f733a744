"""Whole processes, timed in turn: wall time, processor time and peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process: seconds on the wall, of processors, and peak megabytes."""

    wall: float
    cpu: float
    megabytes: float


def run(command: Sequence[str]) -> Run:
    """Run a command to its end, throwing its output away; it must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed: {told.decode(errors='replace')}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def in_turn(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Run]]:
    """Every command once per round, after one round that is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            finished = run(command)
            if number:
                runs[name].append(finished)
    return runs


def show(runs: Mapping[str, Sequence[Run]], base: str) -> None:
    """Medians of each command, and the median of its ratio to `base`, pair by pair."""
    print(f"{'':24}{'wall s':>9}{'cpu s':>9}{'peak MB':>9}{'wall ratio':>12}{'min..max':>14}")
    for name, every in runs.items():
        ratios = sorted(one.wall / other.wall for one, other in zip(every, runs[base], strict=True))
        print(
            f"{name:24}"
            f"{statistics.median(one.wall for one in every):9.3f}"
            f"{statistics.median(one.cpu for one in every):9.3f}"
            f"{max(one.megabytes for one in every):9.0f}"
            f"{statistics.median(ratios):12.2f}"
            f"{ratios[0]:8.2f}..{ratios[-1]:.2f}"
        )


def regions(count: int) -> str:
    """The names of so many regions, as a spec lists them."""
    return ", ".join(f"region-{number}" for number in range(count))


def against_polars(
    name: str, make_file: Callable[[Path, int], None], spec_text: str, fused: str
) -> None:
    """Time a release against a fused query in polars, on a file that is made if missing.

    The command line gives the number of rows, 10 million unless told otherwise, and the
    folder of the file. `fused` reads the file that it calls PATH.
    """
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir())
    data, spec = folder / f"dpcli-{name}-{rows}.csv", folder / f"dpcli-{name}.yaml"
    if not data.exists():
        make_file(data, rows)
    for ledger in folder.glob("dpcli-ledger.sqlite*"):
        ledger.unlink()
    spec.write_text(spec_text, encoding="utf-8")
    print(f"{rows} rows, {data.stat().st_size / 1e6:.0f} MB")
    commands = {
        "fused polars": [sys.executable, "-c", fused.replace("PATH", repr(str(data)))],
        "dpcli release": [sys.executable, "-m", "dpcli", "release", str(spec), str(data)],
    }
    show(in_turn(commands, rounds=5), base="fused polars")
