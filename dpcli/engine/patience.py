"""Waiting for native code that may, very rarely, wait for itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

STALLED = 60.0
"""Seconds without any processor time after which work is taken to be stuck."""

IDLE = 0.05
"""Processor seconds that a stuck process may still use in that time."""

ATTEMPTS = 3


class Stuck(Exception):
    """The work came to a standstill, several times over."""


class _Attempt(threading.Thread, Generic[T]):
    """Work on a thread of its own, so that the main one can hear signals."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self.work = work
        self.results: list[T] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Do the work and keep its result or its failure."""
        try:
            self.results.append(self.work())
        except BaseException as failure:  # noqa: BLE001 - raised again by who waits
            self.failure = failure

    def stalls(self) -> bool:
        """Wait for the end; true if the whole process stood still instead."""
        while self.is_alive():
            before = time.process_time()
            self.join(STALLED)
            if self.is_alive() and time.process_time() - before < IDLE:
                return True
        return False


def patiently(work: Callable[[], T]) -> T:
    """The result of `work`, which may be begun anew if it comes to a standstill.

    The streaming engine of polars has been seen with all its threads asleep, once
    in some thousands of runs. A second attempt reads the same file; nothing is
    published before one has ended.
    """
    for _ in range(ATTEMPTS):
        attempt = _Attempt(work)
        attempt.start()
        if attempt.stalls():
            continue
        if attempt.failure is not None:
            raise attempt.failure
        return attempt.results[0]
    raise Stuck
