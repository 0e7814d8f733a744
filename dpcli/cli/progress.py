"""A bar of bytes on a terminal, for work that takes a while."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer

from dpcli.cli.console import is_json
from dpcli.engine.progress import Progress

PATIENCE = 0.5
"""Seconds of work before a bar is drawn."""

WIDTH = 30
"""Characters of the bar."""


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Progress of the work within, drawn on a terminal; None if it is not, or if `quiet`."""
    plain = is_json(sys.stderr) or os.environ.get("TERM") in ("dumb", "unknown")
    if quiet or plain or not sys.stderr.isatty():
        yield None
        return
    # Not on the thread that draws: an interruption that comes while the main thread imports
    # would leave both waiting for each other.
    from rich.console import Console, RenderableType  # noqa: PLC0415 - for terminals alone
    from rich.filesize import decimal  # noqa: PLC0415 - the same
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - the same
    from rich.progress import Progress as Bar  # noqa: PLC0415 - the same

    class Shown(Bar):
        def get_renderables(self) -> Iterator[RenderableType]:
            for task in self.tasks:
                done, whole = progress.position(), progress.total
                sizes = (decimal(size) for size in (done, whole) if size is not None)
                task.description, task.fields["sizes"] = progress.phase, " of ".join(sizes)
                # Without a position a part of the bar moves to and fro.
                task.completed, task.total = done or 0, None if done is None else whole
            yield from super().get_renderables()

    progress = Progress()
    # The standard error of the process leads nowhere while records are read.
    with open(os.dup(2), "w", encoding="utf-8") as terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(WIDTH),
            TextColumn("{task.fields[sizes]}", markup=False),
        )
        bar = Shown(*columns, console=Console(file=terminal), transient=True)
        bar.add_task("", total=None, sizes="")
        drawer = Timer(PATIENCE, bar.start)
        drawer.daemon = True
        drawer.start()
        try:
            yield progress
        finally:
            drawer.cancel()
            drawer.join()
            # A terminal that is closed ends the bar, and not the work.
            with suppress(OSError, ValueError):
                bar.stop()
