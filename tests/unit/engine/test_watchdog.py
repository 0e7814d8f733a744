"""Work that stands still is started again; other work is left alone."""

from __future__ import annotations

import threading
import time

import pytest

from dpcli.engine import progress as module
from dpcli.engine.progress import DeadlockError, Progress, run_with_retry


@pytest.fixture(autouse=True)
def quick_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    """A standstill is noticed at once."""
    monkeypatch.setattr(module, "STALLED", 0.6)
    monkeypatch.setattr(module, "NOTICED", 0.2)
    monkeypatch.setattr(module, "IDLE", 0.02)


def test_results_and_failures_come_through() -> None:
    """What the work returns or raises is what comes out."""
    assert run_with_retry(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        run_with_retry(lambda: 1 // 0)


def test_a_standstill_is_followed_by_another_attempt() -> None:
    """Work that sleeps for ever once succeeds at its second attempt."""
    forever = threading.Event()
    attempts = []

    def work() -> int:
        attempts.append(1)
        if len(attempts) == 1:
            forever.wait(30)
        return 7

    assert run_with_retry(work) == 7
    assert len(attempts) == 2
    forever.set()


def test_a_lasting_standstill_is_an_error() -> None:
    """Work that stands still at every attempt ends with an error."""
    forever = threading.Event()
    with pytest.raises(DeadlockError):
        run_with_retry(lambda: forever.wait(30))
    forever.set()


def test_slow_work_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that computes for longer than the limit is not begun again."""
    # Other processes may leave this one little time, but not none.
    monkeypatch.setattr(module, "IDLE", 0.001)
    attempts = []

    def work() -> int:
        attempts.append(1)
        end = time.process_time() + 1
        while time.process_time() < end:
            pass
        return 7

    assert run_with_retry(work) == 7
    assert len(attempts) == 1


def reporting(noticed: list[float]) -> Progress:
    """Progress that notes when a standstill is reported."""
    progress = Progress()
    progress.notice = lambda: noticed.append(time.monotonic())
    return progress


def test_a_standstill_is_reported_once_and_early() -> None:
    """Each attempt that stands still is reported once, long before it is given up."""
    forever = threading.Event()
    noticed: list[float] = []
    attempts: list[float] = []

    def work() -> int:
        attempts.append(time.monotonic())
        if len(attempts) == 1:
            forever.wait(30)
        return 7

    assert run_with_retry(work, reporting(noticed)) == 7
    assert len(noticed) == 1
    assert noticed[0] - attempts[0] < attempts[1] - noticed[0]
    forever.set()


def test_work_that_goes_on_is_not_reported() -> None:
    """Work that computes is not taken for work that stands still."""
    noticed: list[float] = []

    def work() -> int:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass
        return 7

    assert run_with_retry(work, reporting(noticed)) == 7
    assert not noticed


def test_drawing_is_not_taken_for_work() -> None:
    """Processor time of what shows the progress does not hide a standstill."""
    forever = threading.Event()
    progress = Progress()
    ended = threading.Event()

    def draw() -> None:
        while not ended.is_set():
            progress.drawing = time.thread_time()

    drawer = threading.Thread(target=draw)
    drawer.start()
    try:
        with pytest.raises(DeadlockError):
            run_with_retry(lambda: forever.wait(30), progress)
    finally:
        ended.set()
        forever.set()
        drawer.join()
