"""Crash trials, in a process of their own, in which polars has started no threads.

The trials fork, and a forked process would wait for native threads that it does not have.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def trials(which: str) -> str:
    """Run the trials that a marker selects, and return the output."""
    words = ["-m", which, "-p", "no:cacheprovider", "-p", "no:xdist", "-rA"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "tests/system/ledger/crash_trials.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.extended
def test_kills_and_signals_lose_nothing() -> None:
    """Around every sync, commit and rename, and at random, there is one charge and one table."""
    assert "6 passed" in trials("not slow")


@pytest.mark.slow
def test_two_thousand_kills(capsys: pytest.CaptureFixture[str]) -> None:
    """The same two thousand times, with the counts printed."""
    printed = trials("slow")
    assert "no loss" in printed
    with capsys.disabled():
        print("\n" + "\n".join(line for line in printed.splitlines() if "kills:" in line))
