"""Waiting for native code that may, very rarely, wait for itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from dpcli.engine.progress import Progress

T = TypeVar("T")

STALLED = 60.0
"""Seconds without any processor time after which work is taken to be stuck."""

NOTICED = 5.0
"""Seconds without any processor time after which the wait is reported."""

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

    def stalls(self, progress: Progress) -> bool:
        """Wait for the end; true if the whole process stood still instead.

        It is reported once, when it has stood still for some seconds.
        """

        def used() -> float:
            return time.process_time() - progress.drawing

        noticed = False
        start, before = time.monotonic(), used()
        while self.is_alive():
            self.join(min(NOTICED, STALLED))
            if used() - before >= IDLE:
                start, before = time.monotonic(), used()
                continue
            if self.is_alive() and not noticed:
                noticed = True
                progress.notice()
            if self.is_alive() and time.monotonic() - start >= STALLED:
                return True
        return False


def patiently(work: Callable[[], T], progress: Progress | None = None) -> T:
    """The result of `work`, which may be begun again if it comes to a standstill.

    The streaming engine of polars has been seen with all its threads asleep, once
    in some thousands of runs. A second attempt reads the same file; nothing is
    published before one has ended. A wait of some seconds is reported by `progress`: that
    depends on time alone, which is not protected.
    """
    for _ in range(ATTEMPTS):
        attempt = _Attempt(work)
        attempt.start()
        if attempt.stalls(progress or Progress()):
            continue
        if attempt.failure is not None:
            raise attempt.failure
        return attempt.results[0]
    raise Stuck
