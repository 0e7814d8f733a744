"""A bar of bytes on a terminal, for work that takes a while."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TextIO

from dpcli.cli.console import is_json
from dpcli.engine.progress import Progress

PATIENCE = 0.5
"""Seconds of work before a bar is drawn."""

PACE = 0.1
"""Seconds between two looks at the position."""

WIDTH, PIECE = 30, 6
"""Characters of the bar, and of what moves where no position is known."""

FULL, EMPTY = "\u2501", "\u2500"
ERASE = "\r\x1b[2K"


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Progress of the work within, drawn on a terminal; None if it is not, or if `quiet`."""
    plain = is_json(sys.stderr) or os.environ.get("TERM") in ("dumb", "unknown")
    if quiet or plain or not sys.stderr.isatty():
        yield None
        return
    progress, done = Progress(), Event()
    # The standard error of the process leads nowhere while records are read.
    with open(os.dup(2), "w", encoding="utf-8") as terminal:
        drawer = Thread(target=_draw, args=(terminal, progress, done), daemon=True)
        drawer.start()
        try:
            yield progress
        finally:
            done.set()
            drawer.join(PATIENCE * 4)


def _draw(terminal: TextIO, progress: Progress, done: Event) -> None:
    """Wait; then draw until the work is done, and erase the bar.

    Nothing is imported here: an interruption that comes while the main thread imports
    would leave both waiting for each other.
    """
    if done.wait(PATIENCE):
        return
    beats = 0
    # A terminal that is closed ends the bar, and not the work.
    with suppress(OSError, ValueError):
        while True:
            terminal.write(f"{ERASE}{_line(progress, beats)}")
            terminal.flush()
            beats += 1
            if done.wait(PACE):
                break
        terminal.write(ERASE)
        terminal.flush()


def _line(progress: Progress, beats: int) -> str:
    total, passed = progress.total, progress.position()
    if total is not None and passed is not None:
        passed = min(passed, total)
        full = WIDTH * passed // max(total, 1)
        bar = FULL * full + EMPTY * (WIDTH - full)
    else:
        # The end is unknown: a short piece moves to and fro.
        place = abs(beats % (2 * (WIDTH - PIECE)) - (WIDTH - PIECE))
        bar = EMPTY * place + FULL * PIECE + EMPTY * (WIDTH - PIECE - place)
    sizes = " of ".join(_size(size) for size in (passed, total) if size is not None)
    return f"{progress.phase} {bar} {sizes}".strip()


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
