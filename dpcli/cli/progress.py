"""A progress bar of bytes on a terminal, for work that takes time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer

from dpcli.cli.console import is_json
from dpcli.engine.progress import Progress

DELAY = 0.5
"""Seconds of work before the bar is drawn."""

WIDTH = 30
"""The number of characters of the bar."""


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """The progress of the work within, drawn on a terminal; None without one, or if `quiet`."""
    plain = is_json(sys.stderr) or os.environ.get("TERM") in ("dumb", "unknown")
    if quiet or plain or not sys.stderr.isatty():
        yield None
        return
    # Imported here and not in the thread that draws: after an interruption during an import of the
    # main thread, the two threads would wait for each other.
    from rich.console import Console, RenderableType  # noqa: PLC0415 - for terminals alone
    from rich.filesize import decimal  # noqa: PLC0415 - the same
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - the same
    from rich.progress import Progress as Bar  # noqa: PLC0415 - the same

    class Shown(Bar):
        def get_renderables(self) -> Iterator[RenderableType]:
            for task in self.tasks:
                done, total = progress.position(), progress.total
                sizes = (decimal(size) for size in (done, total) if size is not None)
                task.description, task.fields["sizes"] = progress.phase, " of ".join(sizes)
                # Without a position, a part of the bar moves back and forth.
                task.completed, task.total = done or 0, None if done is None else total
            yield from super().get_renderables()

    progress = Progress()
    # Standard error is redirected to nothing while records are read.
    with open(os.dup(2), "w", encoding="utf-8") as terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(WIDTH),
            TextColumn("{task.fields[sizes]}", markup=False),
        )
        bar = Shown(*columns, console=Console(file=terminal), transient=True)
        bar.add_task("", total=None, sizes="")
        drawer = Timer(DELAY, bar.start)
        drawer.daemon = True
        drawer.start()
        try:
            yield progress
        finally:
            drawer.cancel()
            drawer.join()
            # A closed terminal ends the bar, but not the work.
            with suppress(OSError, ValueError):
                bar.stop()
