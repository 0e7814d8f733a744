"""What the command line prints: harmless text that fits its terminal, and errors.

Everything that is printed passes one of two streams. They write control characters, and
characters that change the direction of text, as escapes; on a terminal they also wrap lines
between words. Bytes (tables, drafts, stored outputs) go around them: there the rules of the
format hold. Names of files are the only texts of a user that may contain line ends, so lines
with such names are printed by `print_line`. With `--error-format json`, standard error has an object in
JSON on each line.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import Any, TextIO, cast

from dpcli.diagnostics import render_problem
from dpcli.errors import DpcliError, Problem
from dpcli.messages import escape_controls, note
from dpcli.reference import wrap_paragraph

CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls but for tab and line feed, ends of lines, changes of direction, half characters."""

MAX_PROSE_WIDTH = 100
"""Characters of a line of prose that are easy to read."""

DEFAULT_WIDTH = 80
"""Columns of a terminal that does not report its width."""

MESSAGE_GUTTER, LEAST = 12, 40
"""Columns next to a source line in a message, and the fewest that are shown of it."""

MAX_PAGES = 3
"""Pages that are named below the problems."""

QUOTED, KEPT_SPACE = re.compile("`[^`]+`"), "\0"
"""Commands in a text, and what stands for their spaces while lines are filled."""

WORD = re.compile(r"(?<![^\s(\[{\"'])`([^`]+)`(?!\w)")
"""A text in backticks that stand around a word, not within one."""

EXCERPT = re.compile(r" *\d* \|")
"""How the lines begin that show the source of a problem."""

ARROW = "--> "
"""What stands before the place of a problem in a file."""


class OutputLost(OSError):
    """Standard output cannot be written: its disk is full, or it is closed."""


class _StandardOutput(io.FileIO):
    """Standard output, whose failures are distinct from those of other files."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from None


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
    if sys.stdout is not None:
        sys.stdout.flush()
    out = io.BufferedWriter(_StandardOutput(1, "wb", closefd=False))
    err = open(2, "wb", closefd=False)  # noqa: SIM115 - for good
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(stream, "utf-8", "backslashreplace", line_buffering=by_line)
        for stream, by_line in ((out, out.isatty()), (err, True))
    )


def escaped(text: str) -> str:
    """The text with an escape for every character that acts on a terminal."""
    return CONTROL_CHARACTERS.sub(lambda found: ascii(found[0])[1:-1], text)


def notify(name: str, /, **facts: object) -> None:
    """Print a notice of `reference/notes.toml` on standard error."""
    print_line(note(f"notice.{name}", **facts))


def print_line(line: str, *, file: TextIO | None = None) -> None:
    """Print one line, on standard error if `file` is none, whatever names are in it."""
    print(escape_controls(line), file=file or sys.stderr)


def width_of(stream: TextIO) -> int:
    """The columns of the terminal behind a stream."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def wrapped(text: str, width: int, column: int = 0) -> str:
    """The text, beginning at `column`, with no line wider than `width` if words allow it.

    Commands in backticks and places in files stay whole, so that they can be copied. A continued
    line is indented by two more than the line itself.
    """
    lines = text.split("\n")
    for place, line in enumerate(lines):
        before = " " * column if place == 0 else ""
        if len(before + line) > width and not line.lstrip().startswith(ARROW):
            whole = QUOTED.sub(lambda found: found[0].replace(" ", KEPT_SPACE), before + line)
            indent = line[: len(line) - len(line.lstrip())] + "  "
            lines[place] = wrap_paragraph(whole, width, "", indent).replace(KEPT_SPACE, " ")[len(before) :]
    return "\n".join(lines)


class EscapedStream:
    """A text stream that is harmless to the terminal behind it, and fits it.

    If it is `as_json`, each line becomes an object with its level and its message.
    """

    def __init__(self, stream: TextIO, *, as_json: bool = False) -> None:
        self.raw_stream = stream
        self.as_json = as_json
        self._column = 0
        self._rest = ""

    def write(self, text: str) -> int:
        """Write the text, harmless, and on a terminal wrapped."""
        if self.as_json:
            *lines, self._rest = (self._rest + text).split("\n")
            self.raw_stream.writelines(_json_notice(line) for line in lines if line.strip())
            return len(text)
        shown = escaped(text)
        if self.raw_stream.isatty():
            shown = wrapped(shown, min(width_of(self.raw_stream), MAX_PROSE_WIDTH), self._column)
            last = shown.rpartition("\n")
            self._column = len(last[2]) + (0 if last[1] else self._column)
        self.raw_stream.write(emphasized(shown, self.raw_stream))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, harmless."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush; what is typed next begins a line."""
        self._column = 0
        self.raw_stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw_stream, name)


def _json_notice(line: str) -> str:
    first, found, rest = line.partition(": ")
    level, message = ("warning", rest) if found and first == "warning" else ("notice", line)
    return json.dumps({"level": level, "message": message}) + "\n"


def raw_stream(stream: TextIO) -> TextIO:
    """The stream itself, for texts that are harmless already and keep their lines."""
    return stream.raw_stream if isinstance(stream, EscapedStream) else stream


def is_json(stream: TextIO) -> bool:
    """Whether the lines of a stream are objects in JSON."""
    return isinstance(stream, EscapedStream) and stream.as_json


def use_json(stream: TextIO) -> None:
    """From now on, the lines of a guarded stream are objects in JSON."""
    assert isinstance(stream, EscapedStream)
    stream.as_json = True


@contextmanager
def escaped_streams() -> Iterator[None]:
    """Standard output and standard error take harmless text within."""
    out, err = (cast("TextIO", EscapedStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def accepts_color(out: TextIO | None = None) -> bool:
    """Whether a stream, standard error if none, is a terminal that accepts color."""
    unwelcome = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return (out or sys.stderr).isatty() and not unwelcome


def print_styled(word: str, style: str, rest: str) -> None:
    """Print a line on standard output that begins with a word in a style, if there are any."""
    out = raw_stream(sys.stdout)
    line = escaped(word + rest)
    line = wrapped(line, min(width_of(out), MAX_PROSE_WIDTH)) if out.isatty() else line
    print(styled(line[: len(word)], style, out) + line[len(word) :], file=out)


def styled(text: str, style: str, out: TextIO | None = None) -> str:
    """The text in a style, if a stream welcomes that: standard error if none is given."""
    return f"\x1b[{style}m{text}\x1b[0m" if accepts_color(out) else text


def emphasized(text: str, out: TextIO | None = None) -> str:
    """The text with bold words in place of backticks, if a stream welcomes that.

    Lines with other backticks, which a text of the user may contain, stay as they are.
    """
    if not accepts_color(out):
        return text
    return "\n".join(_emphasized(line) for line in text.split("\n"))


def _emphasized(line: str) -> str:
    bold = WORD.sub("\x1b[1m\\1\x1b[0m", line)
    return line if "`" in bold or EXCERPT.match(line) else bold


def print_failure(failure: DpcliError) -> None:
    """Every problem of a failure; on a terminal with color and the page to read."""
    out, terminal = raw_stream(sys.stderr), sys.stderr.isatty()
    if is_json(sys.stderr):
        for facts in problem_facts(failure):
            out.write(json.dumps({"level": "error", **facts}) + "\n")
        return
    width = min(width_of(out), MAX_PROSE_WIDTH)
    texts, hints = [], {""}
    for problem in failure.problems:
        # What several problems have in common is said with the first.
        one = replace(problem, hint="") if problem.hint in hints else problem
        hints.add(problem.hint)
        text = escaped(render_problem(one, max(width - MESSAGE_GUTTER, LEAST)) if terminal else render_problem(one))
        text = emphasized(wrapped(text, width)) if terminal else text
        text = text.replace("error", styled("error", "1;31"), 1)
        texts.append(text.replace("\nhint:", f"\n{styled('hint', '36')}:", 1))
    out.write("\n\n".join(texts) + "\n")
    if terminal:
        codes = dict.fromkeys(problem.code for problem in failure.problems)
        gap = "\n" if len(texts) > 1 else ""
        print(f"{gap}more: dpcli explain {' | '.join([*codes][:MAX_PAGES])}", file=sys.stderr)


def problem_facts(failure: DpcliError) -> list[dict[str, object]]:
    """Every problem of a failure, for scripts."""
    return [_problem_facts(one) for one in failure.problems]


def _problem_facts(problem: Problem) -> dict[str, object]:
    place = problem.place
    where = (place.source, place.line, place.column) if place else (None, None, None)
    return {
        "code": problem.code,
        "message": problem.message,
        **dict(zip(("file", "line", "column"), where, strict=True)),
        "hint": problem.hint,
        "status": problem.status,
    }


def print_json(facts: object) -> None:
    """JSON for scripts."""
    write_json(json.dumps(facts, indent=2) + "\n")


def write_json(text: str) -> None:
    """JSON as it is, whose lines no terminal wraps."""
    raw_stream(sys.stdout).write(escaped(text))
