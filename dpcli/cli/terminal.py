"""Text for people: no character of a name, a path or a label acts on a terminal.

Everything that is printed passes one of two streams, which write control characters, and
characters that turn the direction of text, as escapes. Bytes (tables, drafts, stored outputs)
go around them: there the rules of the format hold. Names of files are the only texts of a user
that may hold line ends, so that lines with such names are printed by `say`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from dpcli.diagnostic import one_line

ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls but for tab and line feed, ends of lines and turns of direction, half characters."""


def harmless(text: str) -> str:
    """The text with an escape for every character that acts on a terminal."""
    return ACTING.sub(lambda found: ascii(found[0])[1:-1], text)


def say(line: str, *, file: TextIO | None = None) -> None:
    """Print one line, on standard error if `file` is none, whatever names are in it."""
    print(one_line(line), file=file or sys.stderr)


class Guarded:
    """A text stream that is harmless to the terminal behind it."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        """Write the text, harmless."""
        self.unguarded.write(harmless(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, harmless."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def unguarded(stream: TextIO) -> TextIO:
    """The stream itself, for colors of our own around texts that are harmless already."""
    return stream.unguarded if isinstance(stream, Guarded) else stream


@contextmanager
def guarded() -> Iterator[None]:
    """Standard output and standard error take harmless text within."""
    out, err = (cast("TextIO", Guarded(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield
