"""How far the work on the data files is, for a bar that shows it.

Phases are named by the names of files and by what the spec declares of them, and sizes are
those of the files as they were named: what is found in a record (a quote, a letter that
takes two bytes, a row that makes a plain copy necessary) changes no word and no total.
"""

from __future__ import annotations

from collections.abc import Callable

READING = "reading"
"""The phase in which files are looked at and summed, by way of copies or not."""

Position = Callable[[], int | None]


class Progress:
    """The phase of the work, and the bytes of the files that it has dealt with.

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
