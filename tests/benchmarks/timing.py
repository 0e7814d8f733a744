"""Whole processes, timed in turn: wall time, processor time and peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""That of an ordinary user: Python keeps what it has compiled, and a second run is faster."""


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process: seconds on the wall, of processors, and peak megabytes."""

    wall: float
    cpu: float
    megabytes: float


def run(command: Sequence[str]) -> Run:
    """Run a command to its end and discard its output; it must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    assert process.stderr is not None
    with process.stderr:
        errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed: {errors.decode(errors='replace')}")
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
        ratios = sorted(
            process.wall / other.wall for process, other in zip(every, runs[base], strict=True)
        )
        print(
            f"{name:24}"
            f"{statistics.median(process.wall for process in every):9.3f}"
            f"{statistics.median(process.cpu for process in every):9.3f}"
            f"{max(process.megabytes for process in every):9.0f}"
            f"{statistics.median(ratios):12.2f}"
            f"{ratios[0]:8.2f}..{ratios[-1]:.2f}"
        )
