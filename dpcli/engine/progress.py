"""How far the work on data files is, and native code: silent and interruptible.

Phases are named by the names of files and by what the spec declares of them, and sizes are
those of the files as they were named: what is found in a record (a quote, a letter that
takes two bytes, a cell for which a piece is read again) changes no word and no total.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import TypeVar

T = TypeVar("T")

READING = "reading"
"""The phase in which files are looked at and summed, by way of copies or not."""

Position = Callable[[], int | None]


class Progress:
    """The phase of the work, and the bytes of the files that are done.

    Written by the one thread that works, read by the one that shows. What is shown is a
    function of the sizes of files and of the clock: never a number of rows.
    """

    def __init__(self) -> None:
        self.phase = ""
        self.total: int | None = None
        self.position: Position = lambda: None

    def begin(self, phase: str, total: int | None, position: Position = lambda: None) -> None:
        """A new phase: bytes there are in all, where known, and how to ask how many are done."""
        self.phase, self.total, self.position = phase, total, position


def interruptible(work: Callable[[], T]) -> T:
    """The result of `work`, which may be native code for long, on a thread of its own.

    The main thread waits, so that it can receive signals; they leave the work behind. Raises
    what `work` raises.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as failure:  # noqa: BLE001 - raised again by the main thread
            result.set_exception(failure)

    threading.Thread(target=run, daemon=True).start()
    return result.result()


class _Silence:
    """Standard error leads nowhere while some thread wants that: the last one to leave ends it."""

    def __init__(self) -> None:
        self._lock, self._threads, self._end = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock, ExitStack() as undo:
            if not self._threads:
                kept = os.dup(2)
                undo.callback(os.close, kept)
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 2)
                undo.callback(os.dup2, kept, 2)
                os.close(null)
                undo.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                self._end = undo.pop_all()
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if not self._threads:
                self._end.close()


_silence = _Silence()


@contextmanager
def silenced_stderr() -> Iterator[None]:
    """Send what native code prints, and every warning, to nowhere.

    The environment may turn warnings into errors, and a cell may cause one.
    """
    with _silence:
        yield
