"""Progress of the work on data files; native code, silent and interruptible.

Phases depend on the names of files and on the spec, and totals on the sizes of the named files.
Nothing in a record changes a word or a total: no quote, no letter of two bytes, no cell for which
a piece is read again.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from dpcli.problems.errors import DataError, DpcliError, StoppedBySignal

T = TypeVar("T")

READING = "reading"
"""The phase in which files, or copies of them, are read and summed."""

Position = Callable[[], int | None]


class Progress:
    """The phase of the work, and the number of bytes that are done.

    One thread writes it, and another thread shows it. What is shown depends on the sizes of files
    and on the clock, never on the number of rows.
    """

    def __init__(self) -> None:
        self.phase = ""
        self.total: int | None = None
        self.position: Position = lambda: None

    def begin(self, phase: str, total: int | None, position: Position = lambda: None) -> None:
        """Begin a phase, with its total bytes, if known, and a function for those done."""
        self.phase, self.total, self.position = phase, total, position


def interruptible(work: Callable[[], T]) -> T:
    """The result of `work`, run on its own thread because it may be long native code.

    The main thread waits, so that it can receive signals. A signal abandons the work. Raises the
    errors of `work`.
    """
    # Every command imports this module, and few of them run such work.
    from concurrent.futures import Future

    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as failure:  # noqa: BLE001 - raised again by the main thread
            result.set_exception(failure)

    threading.Thread(target=run, daemon=True).start()
    return result.result()


class _Silence:
    """Discards standard error while a thread asks for it; the last one restores it."""

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


silenced_stderr = _Silence()
"""Discards what native code prints to standard error, and every warning.

A cell may cause a warning, and the environment may turn warnings into errors.
"""


@contextmanager
def redacted_errors(code: str, **arguments: object) -> Iterator[None]:
    """Replace native errors in the body, which may quote cells, by a fixed sentence.

    Raises DataError with the code. A DpcliError passes: it quotes none.
    """
    try:
        with silenced_stderr:
            yield
    except (KeyboardInterrupt, SystemExit, StoppedBySignal, DpcliError):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
        raise DataError.about(code, **arguments) from None
