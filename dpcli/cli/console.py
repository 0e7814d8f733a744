"""What the command line prints: harmless text that fits its terminal, and errors.

Everything that is printed passes one of two streams. They write control characters, and
characters that change the direction of text, as escapes; on a terminal they also wrap lines
between words. Bytes (tables, drafts, stored outputs) go around them: there the rules of the
format hold. Names of files are the only texts of a user that may contain line ends, so lines
with such names are printed by `say`.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from textwrap import fill
from typing import Any, TextIO, cast

from dpcli.diagnostic import render
from dpcli.errors import Failure
from dpcli.messages import one_line

ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls but for tab and line feed, ends of lines, changes of direction, half characters."""

WIDEST = 100
"""Characters of a line of prose that are easy to read."""

USUAL = 80
"""Columns of a terminal that does not report its width."""

GUTTER, LEAST = 12, 40
"""Columns next to a source line in a message, and the fewest that are shown of it."""

MOST_PAGES = 3
"""Pages that are named below the problems."""


def open_standard_streams() -> None:
    """Have all three streams, in UTF-8, even if the parent process closed some.

    Otherwise the next file to be opened would take the number of a closed one. What
    is written to a closed standard output still fails, and is reported.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def harmless(text: str) -> str:
    """The text with an escape for every character that acts on a terminal."""
    return ACTING.sub(lambda found: ascii(found[0])[1:-1], text)


def say(line: str, *, file: TextIO | None = None) -> None:
    """Print one line, on standard error if `file` is none, whatever names are in it."""
    print(one_line(line), file=file or sys.stderr)


def width_of(stream: TextIO) -> int:
    """The columns of the terminal behind a stream."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL
    except (OSError, ValueError):
        return USUAL


def wrapped(text: str, width: int, column: int = 0) -> str:
    """The text with no line wider than `width`, broken between words alone.

    It begins at `column`. A continued line is indented by two more than the line's own indent.
    """
    lines = text.split("\n")
    for place, line in enumerate(lines):
        before = " " * column if place == 0 else ""
        if len(before + line) > width:
            indent = line[: len(line) - len(line.lstrip())] + "  "
            lines[place] = fill(
                before + line,
                width,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )[len(before) :]
    return "\n".join(lines)


class Guarded:
    """A text stream that is harmless to the terminal behind it, and fits it."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream
        self._column = 0

    def write(self, text: str) -> int:
        """Write the text, harmless, and on a terminal wrapped."""
        shown = harmless(text)
        if self.unguarded.isatty():
            shown = wrapped(shown, min(width_of(self.unguarded), WIDEST), self._column)
            last = shown.rpartition("\n")
            self._column = len(last[2]) + (0 if last[1] else self._column)
        self.unguarded.write(shown)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, harmless."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush; what is typed next begins a line."""
        self._column = 0
        self.unguarded.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def unguarded(stream: TextIO) -> TextIO:
    """The stream itself, for texts that are harmless already and keep their lines."""
    return stream.unguarded if isinstance(stream, Guarded) else stream


@contextmanager
def guarded() -> Iterator[None]:
    """Standard output and standard error take harmless text within."""
    out, err = (cast("TextIO", Guarded(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def coloured(out: TextIO | None = None) -> bool:
    """Whether a stream, standard error if none, is a terminal that welcomes colour."""
    return (out or sys.stderr).isatty() and not os.environ.get("NO_COLOR")


def print_failure(failure: Failure, *, as_json: bool = False) -> None:
    """Every problem of a failure; on a terminal with colour and the page to read."""
    out = unguarded(sys.stderr)
    if as_json:
        out.writelines(json.dumps(facts) + "\n" for facts in problem_facts(failure))
        return
    if sys.stderr.isatty():
        width = min(width_of(out), WIDEST)
        shown = max(width - GUTTER, LEAST)
        problems = [harmless(render(problem, shown)) for problem in failure.problems]
        texts = [wrapped(text, width) for text in problems]
    else:
        texts = [harmless(render(problem)) for problem in failure.problems]
    if coloured():
        texts = [
            text.replace("error[", "\x1b[1;31merror\x1b[0m[", 1).replace(
                "\nhint:", "\n\x1b[36mhint\x1b[0m:", 1
            )
            for text in texts
        ]
    out.write("\n\n".join(texts) + "\n")
    if sys.stderr.isatty():
        codes = list(dict.fromkeys(problem.code for problem in failure.problems))
        gap = "\n" if len(texts) > 1 else ""
        print(f"{gap}more: dpcli explain {' | '.join(codes[:MOST_PAGES])}", file=sys.stderr)


def problem_facts(failure: Failure) -> list[dict[str, object]]:
    """Every problem of a failure, for scripts."""
    return [
        {
            "code": problem.code,
            "message": problem.message,
            "file": problem.place.source if problem.place else None,
            "line": problem.place.line if problem.place else None,
            "column": problem.place.column if problem.place else None,
            "hint": problem.hint,
            "status": failure.status,
        }
        for problem in failure.problems
    ]


def print_json(facts: object) -> None:
    """JSON for scripts."""
    write_json(json.dumps(facts, indent=2) + "\n")


def write_json(text: str) -> None:
    """JSON as it is, whose lines no terminal wraps."""
    unguarded(sys.stdout).write(harmless(text))
