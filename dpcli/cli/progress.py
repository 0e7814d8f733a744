"""A bar of bytes on standard error, where somebody looks and work takes a while."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TextIO

from dpcli.engine.progress import Progress

PATIENCE = 0.5
"""Seconds after which somebody who looks begins to wonder."""

PACE = 0.1
"""Seconds between two looks at the position."""


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Progress that is drawn while the work within goes on; None where nobody would see it."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield None
        return
    progress, done = Progress(), Event()
    # The standard error of the process leads nowhere while records are read.
    with open(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as terminal:
        drawer = Thread(target=_draw, args=(terminal, progress, done), daemon=True)
        drawer.start()
        try:
            yield progress
        finally:
            done.set()
            drawer.join()


def _draw(terminal: TextIO, progress: Progress, done: Event) -> None:
    """Wait; then draw until the work is done, and take the bar away again."""
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.filesize import decimal
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(file=terminal, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    # A terminal that goes away takes nothing but the bar with it.
    with (
        suppress(OSError, ValueError),
        Bar(*columns, console=console, transient=True, auto_refresh=False) as bar,
    ):
        drawn, task = "", None
        while True:
            phase, total, passed = progress.phase, progress.total, progress.position()
            if total is not None and passed is not None:
                passed = min(passed, total)
            sizes = [decimal(size) for size in (passed, total) if size is not None]
            told = " of ".join(sizes)
            if task is None or phase != drawn:
                if task is not None:
                    bar.remove_task(task)
                # Without a position the bar pulses; a total cannot be taken back.
                known = None if passed is None else total
                drawn, task = phase, bar.add_task(phase, total=known, told=told)
            bar.update(task, told=told, completed=passed or 0)
            bar.refresh()
            if done.wait(PACE):
                return
