"""How far the work on data files is, a watchdog for it, and silent native code.

Phases are named by the names of files and by what the spec declares of them, and sizes are
those of the files as they were named: what is found in a record (a quote, a letter that
takes two bytes, a row that makes a plain copy necessary) changes no word and no total.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

READING = "reading"
"""The phase in which files are looked at and summed, by way of copies or not."""

Position = Callable[[], int | None]


class Progress:
    """The phase of the work, and the bytes of the files that are done.

    Written by the one thread that works, read by the one that shows. What is shown is a
    function of the sizes of files and of the clock: never a number of rows. `notice` reports
    that the work seems to stand still; `drawing` is the processor time of showing it, in seconds.
    """

    def __init__(self) -> None:
        self.phase = ""
        self.total: int | None = None
        self.position: Position = lambda: None
        self.notice: Callable[[], None] = lambda: None
        self.drawing = 0.0

    def begin(self, phase: str, total: int | None, position: Position = lambda: None) -> None:
        """A new phase: bytes there are in all, where known, and how to ask how many are done."""
        self.phase, self.total, self.position = phase, total, position


STALLED = 60.0
"""Seconds without any processor time after which work is taken to be deadlocked."""

NOTICED = 5.0
"""Seconds without any processor time after which the wait is reported."""

IDLE = 0.05
"""Processor seconds that a deadlocked process may still use in that time."""

ATTEMPTS = 3


class DeadlockError(Exception):
    """The work made no progress at any attempt."""


def run_with_retry(work: Callable[[], T], progress: Progress | None = None) -> T:
    """The result of `work`, which is started again if the whole process stands still.

    The streaming engine of polars has been seen with all its threads asleep, once
    in some thousands of runs. A second attempt reads the same file; nothing is
    published before one has ended. A wait of some seconds is reported by `progress`: that
    depends on time alone, which is not protected. Raises what `work` raises, and DeadlockError.
    """

    def attempt(result: Future[T]) -> None:
        try:
            result.set_result(work())
        except BaseException as failure:  # noqa: BLE001 - raised again by the main thread
            result.set_exception(failure)

    for _ in range(ATTEMPTS):
        result: Future[T] = Future()
        # On a thread of its own, so that the main one can receive signals.
        threading.Thread(target=attempt, args=(result,), daemon=True).start()
        if not _stalls(result, progress or Progress()):
            return result.result()
    raise DeadlockError


def _stalls(result: Future[T], progress: Progress) -> bool:
    """Wait for a result; true if the whole process makes no progress instead.

    That is reported once, after some seconds without progress.
    """

    def used() -> float:
        return time.process_time() - progress.drawing

    noticed = False
    start, before = time.monotonic(), used()
    while not wait([result], min(NOTICED, STALLED)).done:
        if used() - before >= IDLE:
            start, before = time.monotonic(), used()
            continue
        if not noticed:
            noticed = True
            progress.notice()
        if time.monotonic() - start >= STALLED:
            return True
    return False


@contextmanager
def silenced_stderr() -> Iterator[None]:
    """Send what native code prints, and every warning, to nowhere.

    The environment may turn warnings into errors, and a cell may cause one.
    """
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)
