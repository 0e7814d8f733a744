"""Work that comes to a standstill is begun anew; other work is left alone."""

from __future__ import annotations

import threading
import time

import pytest

from dpcli.engine import patience
from dpcli.engine.patience import Stuck, patiently


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A standstill is noticed at once."""
    monkeypatch.setattr(patience, "STALLED", 0.2)


def test_results_and_failures_come_through() -> None:
    """What the work returns or raises is what comes out."""
    assert patiently(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        patiently(lambda: 1 // 0)


def test_a_standstill_is_followed_by_another_attempt() -> None:
    """Work that sleeps for ever once succeeds at its second attempt."""
    forever = threading.Event()
    attempts = []

    def work() -> int:
        attempts.append(1)
        if len(attempts) == 1:
            forever.wait(30)
        return 7

    assert patiently(work) == 7
    assert len(attempts) == 2
    forever.set()


def test_a_lasting_standstill_is_told() -> None:
    """Work that sleeps every time ends in words, not in silence."""
    forever = threading.Event()
    with pytest.raises(Stuck):
        patiently(lambda: forever.wait(30))
    forever.set()


def test_slow_work_is_left_alone() -> None:
    """Work that computes for longer than the limit is not begun anew."""
    attempts = []

    def work() -> int:
        attempts.append(1)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass
        return 7

    assert patiently(work) == 7
    assert len(attempts) == 1
