"""What the command line prints: escaped text that fits the terminal, and errors.

All text passes one of two streams. They escape control characters and characters that change the
direction of text; on a terminal they also wrap lines between words. Bytes (tables, drafts, stored
outputs) bypass them and follow the rules of their format. File names are the only texts of a user
that may contain line ends, so `print_line` prints lines with file names. With `--error-format
json` or `--log-format json`, each line of standard error is a JSON object.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import Any, TextIO, cast

from dpcli.problems.errors import DpcliError, Problem
from dpcli.problems.messages import clauses, escape_controls
from dpcli.problems.reference import wrap_paragraph

LineOfFacts = Callable[[Mapping[str, object]], str]

CONTROL_CHARACTERS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters (no tab, line feed), line ends, direction marks, surrogates."""

MAX_PROSE_WIDTH = 100
"""The largest number of characters in a line of prose."""

DEFAULT_WIDTH = 80

MESSAGE_GUTTER, MIN_SOURCE_WIDTH = 12, 40
"""Columns next to a message's source line, and the fewest columns of it shown."""

MAX_PAGES = 3

QUOTED, KEPT_SPACE = "`[^`]+`", "\0"
"""Commands in a text, and what replaces their spaces while lines are filled."""

WORD = r"(?<![^\s(\[{\"'])`([^`]+)`(?!\w)"
"""A text in backticks that surround a word, not a part of one."""

MESSAGE = r"(error\[[a-z0-9-]+\]|hint|warning|note): "
"""The beginning of a text that is read sentence by sentence."""

EXCERPT = r" *\d* \|"
"""The beginning of a line that shows the source of a problem."""

ARROW = "--> "


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


class _StandardError(io.FileIO):
    """Standard error, which loses what cannot be written.

    A message must not stop a command: after noise is drawn, a release would be charged, and lost.
    """

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        try:
            written = super().write(data)
        except OSError:
            return size
        return size if written is None else written


def open_standard_streams() -> None:
    """Open all standard streams in UTF-8, even if the parent process closed some.

    Otherwise the next file to be opened would take the number of a closed stream. A write to a
    closed standard output still fails and is reported.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    if sys.stdout is not None:
        sys.stdout.flush()
    out = io.BufferedWriter(_StandardOutput(1, "wb", closefd=False))
    err = io.BufferedWriter(_StandardError(2, "wb", closefd=False))
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(stream, "utf-8", "backslashreplace", line_buffering=by_line)
        for stream, by_line in ((out, out.isatty()), (err, True))
    )


def escaped(text: str) -> str:
    """The text with an escape for every character that could control a terminal."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        # The pattern takes long to compile.
        return text
    return re.sub(CONTROL_CHARACTERS, lambda match: ascii(match[0])[1:-1], text)


def print_line(line: str, *, file: TextIO | None = None) -> None:
    """Print `line` as one line, even with line ends; by default on standard error."""
    print(escape_controls(line), file=file or sys.stderr)


def width_of(stream: TextIO) -> int:
    """The number of columns of the terminal of a stream, or the value of COLUMNS."""
    declared = os.environ.get("COLUMNS", "")
    if declared.isdecimal() and int(declared):
        return int(declared)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def wrapped(text: str, width: int, column: int = 0) -> str:
    """The text, from `column` on, wrapped between words to lines of `width` columns.

    Commands in backticks and places in files are not broken, so that they can be copied. A
    continued line is indented by two more columns than the line itself. Each sentence of an error,
    a hint, a warning or a note begins on a line of its own.
    """
    lines = text.split("\n")
    for index, line in enumerate(lines):
        before = " " * column if index == 0 else ""
        if len(before + line) > width and not line.lstrip().startswith(ARROW):
            indent = line[: len(line) - len(line.lstrip())] + "  "
            parts = clauses(line) if re.match(MESSAGE, line) else [line]
            parts = [before + parts[0], *(indent + part for part in parts[1:])]
            # A question ends in a space, before what a person types.
            end = " " * line.endswith(": ")
            filled = "\n".join(_filled(part, width, indent) for part in parts)
            lines[index] = filled[len(before) :] + end
    return "\n".join(lines)


def _filled(line: str, width: int, indent: str) -> str:
    """The line in lines of `width` columns; commands in backticks are not broken."""
    joined = re.sub(QUOTED, lambda match: match[0].replace(" ", KEPT_SPACE), line)
    return wrap_paragraph(joined, width, "", indent).replace(KEPT_SPACE, " ")


class EscapedStream:
    """A text stream that escapes control characters, and wraps lines on a terminal.

    With `facts`, each line is written by that function, from its level and its message, or none if
    it gives an empty text.
    """

    def __init__(self, stream: TextIO, facts: LineOfFacts | None = None) -> None:
        self.raw_stream = stream
        self.facts = facts
        self._column = 0
        self._rest = ""

    def write(self, text: str) -> int:
        """Write the text escaped, and wrapped on a terminal."""
        if self.facts is not None:
            *lines, self._rest = (self._rest + text).split("\n")
            written = (self.facts(_notice(line)) for line in lines if line.strip())
            self.raw_stream.writelines(f"{line}\n" for line in written if line)
            return len(text)
        shown = escaped(text)
        if self.raw_stream.isatty():
            shown = wrapped(shown, min(width_of(self.raw_stream), MAX_PROSE_WIDTH), self._column)
            last = shown.rpartition("\n")
            self._column = len(last[2]) + (0 if last[1] else self._column)
        self.raw_stream.write(emphasized(shown, self.raw_stream))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush; a user's input moves the cursor to a new line."""
        self._column = 0
        self.raw_stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw_stream, name)


def _notice(line: str) -> dict[str, object]:
    first, colon, message = line.partition(": ")
    level, message = ("warning", message) if colon and first == "warning" else ("notice", line)
    return {"level": level, "message": message}


def github_line(facts: Mapping[str, object]) -> str:
    """The facts of a message as a workflow command of GitHub, which marks a line.

    >>> github_line({"level": "error", "message": "50% off", "file": "a.yaml", "line": 3})
    '::error file=a.yaml,line=3::50%25 off'
    """
    names = {"file": "file", "line": "line", "column": "col", "code": "title"}
    shown = {name: str(facts[key]) for key, name in names.items() if facts.get(key) is not None}
    for mark in ("%", "\r", "\n", ":", ","):
        shown = {name: value.replace(mark, f"%{ord(mark):02X}") for name, value in shown.items()}
    properties = ",".join(f"{name}={value}" for name, value in shown.items())
    message = "\n".join(str(facts[key]) for key in ("message", "hint") if facts.get(key))
    for mark in ("%", "\r", "\n"):
        message = message.replace(mark, f"%{ord(mark):02X}")
    return f"::{facts['level']}{' ' * bool(properties)}{properties}::{message}"


LINES_OF_FACTS: dict[str, LineOfFacts] = {"json": json.dumps, "github": github_line}
"""How the facts of a message are written in a line, by the name of the format."""


def raw_stream(stream: TextIO) -> TextIO:
    """The stream without escaping and wrapping, for texts that are escaped already."""
    return stream.raw_stream if isinstance(stream, EscapedStream) else stream


def is_for_programs(stream: TextIO) -> bool:
    """Whether each line of a stream has the facts of a message, for programs."""
    return isinstance(stream, EscapedStream) and stream.facts is not None


def use_facts(stream: TextIO, line_of: LineOfFacts) -> None:
    """From now on, write each line of an escaped stream by this function."""
    assert isinstance(stream, EscapedStream)
    stream.facts = line_of


READING = ("choose", "aggregate", "answer")
"""The steps of a release whose time depends on records."""


def log_time() -> str:
    """The time of a line, in UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Log:
    """Writes facts of messages as lines of a log; `context` has facts of each line.

    Privacy: how long a step takes depends on records. Unless `with_durations`, each line has the
    time of the start, and notices of a step that reads records wait for the next other line.
    """

    def __init__(self, *, with_durations: bool) -> None:
        self.with_durations, self.quiet = with_durations, False
        self.context: dict[str, object] = {}
        self._start, self._held = log_time(), list[str]()

    def __call__(self, facts: Mapping[str, object]) -> str:
        """The line of a message, after lines that waited; empty if it waits itself."""
        time_shown = log_time() if self.with_durations else self._start
        first = {"time": time_shown, "level": facts["level"], "message": facts["message"]}
        self._held.append(json.dumps(first | self.context | dict(facts)))
        is_reading = self.context.get("step") in READING and not self.with_durations
        return "" if is_reading and facts["level"] == "notice" else self.waiting()

    def waiting(self) -> str:
        """The lines that wait, which then wait no more."""
        held, self._held = self._held, []
        return "\n".join(held)

    def add(self, message: str, **facts: object) -> None:
        """Write a notice, unless the command is quiet."""
        if not self.quiet and (line := self({"level": "notice", "message": message, **facts})):
            raw_stream(sys.stderr).write(f"{line}\n")


def current_log() -> Log | None:
    """The log that standard error is; None if it is none."""
    facts = sys.stderr.facts if isinstance(sys.stderr, EscapedStream) else None
    return facts if isinstance(facts, Log) else None


def begin_log(**context: str) -> None:
    """Add facts to the lines from now on, and log that a release has started."""
    log = current_log()
    if log is not None:
        log.context |= context
        log.add("started")


@contextmanager
def logged_step(step: str, ended: str) -> Iterator[dict[str, object]]:
    """Name the step in lines of the block, and log its end with the facts yielded."""
    log, facts, begun = current_log(), dict[str, object](), time.monotonic()
    if log is not None:
        log.context["step"] = step
    yield facts
    if log is not None:
        if log.with_durations:
            facts["seconds"] = round(time.monotonic() - begun, 3)
        log.add(ended, **facts)


def end_log() -> None:
    """Write the lines of the log that still wait."""
    log = current_log()
    if log is not None and (lines := log.waiting()):
        raw_stream(sys.stderr).write(f"{lines}\n")


@contextmanager
def escaped_streams() -> Iterator[None]:
    """Replace standard output and standard error by escaped streams within."""
    out, err = (cast("TextIO", EscapedStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def accepts_color(out: TextIO | None = None) -> bool:
    """Whether a stream (by default standard error) is a terminal that accepts color."""
    is_refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return (out or sys.stderr).isatty() and not is_refused


def print_styled(word: str, style: str, text: str) -> None:
    """Print `word` in a style, where color is accepted, and `text` on the same line."""
    out = raw_stream(sys.stdout)
    line = escaped(word + text)
    line = wrapped(line, min(width_of(out), MAX_PROSE_WIDTH)) if out.isatty() else line
    print(styled(line[: len(word)], style, out) + line[len(word) :], file=out)


def styled(text: str, style: str, out: TextIO | None = None) -> str:
    """The text in a style, if the stream (by default standard error) accepts color."""
    return f"\x1b[{style}m{text}\x1b[0m" if accepts_color(out) else text


def emphasized(text: str, out: TextIO | None = None) -> str:
    """The text with bold words in place of backticks, if the stream accepts color.

    A line with other backticks stays as it is: a text of the user may contain them.
    """
    if not accepts_color(out):
        return text
    return "\n".join(_emphasized(line) for line in text.split("\n"))


def _emphasized(line: str) -> str:
    bold = re.sub(WORD, "\x1b[1m\\1\x1b[0m", line)
    return line if "`" in bold or re.match(EXCERPT, line) else bold


def print_failure(failure: DpcliError) -> None:
    """Print each problem of a failure; on a terminal with color and pages to read."""
    out, terminal = raw_stream(sys.stderr), sys.stderr.isatty()
    if isinstance(sys.stderr, EscapedStream) and sys.stderr.facts is not None:
        for report in problem_facts(failure):
            out.write(sys.stderr.facts({"level": "error", **report}) + "\n")
        return
    from dpcli.problems.excerpts import WIDTH, render_problem

    width = min(width_of(out), MAX_PROSE_WIDTH)
    texts, hints = [], {""}
    for problem in failure.problems:
        # A hint that several problems share is printed once.
        shown = replace(problem, hint="") if problem.hint in hints else problem
        hints.add(problem.hint)
        room = max(width - MESSAGE_GUTTER, MIN_SOURCE_WIDTH) if terminal else WIDTH
        text = escaped(render_problem(shown, room))
        text = emphasized(wrapped(text, width)) if terminal else text
        text = text.replace("error", styled("error", "1;31"), 1)
        texts.append(text.replace("\nhint:", f"\n{styled('hint', '36')}:", 1))
    out.write("\n\n".join(texts) + "\n")
    if terminal:
        codes = dict.fromkeys(problem.code for problem in failure.problems)
        gap = "\n" if len(texts) > 1 else ""
        print(f"{gap}more: dpcli explain {' | '.join([*codes][:MAX_PAGES])}", file=sys.stderr)


def problem_facts(failure: DpcliError) -> list[dict[str, object]]:
    """Every problem of a failure, as data for JSON."""
    return [_problem_facts(problem) for problem in failure.problems]


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


def print_json(value: object) -> None:
    """Print data as indented JSON on standard output."""
    write_json(json.dumps(value, indent=2) + "\n")


def write_json(text: str) -> None:
    """Write JSON text on standard output; lines are not wrapped, also on a terminal."""
    raw_stream(sys.stdout).write(escaped(text))
