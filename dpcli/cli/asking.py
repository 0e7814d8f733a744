"""Questions on standard error, and answers from standard input, line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from textwrap import fill
from typing import BinaryIO, TypeVar

from dpcli.errors import Problem, UsageError
from dpcli.messages import inline, shown
from dpcli.spec.findings import similar

T = TypeVar("T")

LONGEST = 100_000
"""Characters of an answer; more are no answer."""

MOST_TRIES = 100
"""Wrong answers to one question after which the dialogue ends."""

WIDTH = 78


class Refused(Exception):
    """An answer that will not do, and why; the question is asked again."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__()


def refuse(problems: Iterable[Problem]) -> None:
    """Raise Refused if there are problems, in the words of the loader."""
    reasons = [
        problem.message + (f"\n  {problem.hint}" if problem.hint else "") for problem in problems
    ]
    if reasons:
        raise Refused(reasons)


class Asker:
    """Asks until the answer will do; UsageError when there are no more answers."""

    def __init__(self, answers: BinaryIO, *, terminal: bool) -> None:
        self._answers, self._terminal = answers, terminal

    def say(self, text: str) -> None:
        """A paragraph that explains what comes."""
        sys.stderr.write("\n" + fill(text, WIDTH) + "\n")

    def ask(self, question: str, check: Callable[[str], T], default: str = "") -> T:
        """What `check` makes of the answer, or of the default if it is empty."""
        for _ in range(MOST_TRIES):
            sys.stderr.write(f"{question}{f' [{default}]' if default else ''}: ")
            sys.stderr.flush()
            try:
                return check(self._line() or default)
            except Refused as refused:
                for reason in refused.reasons:
                    sys.stderr.write(f"- {reason}\n")
        raise _ended("there were only wrong answers")

    def _line(self) -> str:
        """One answer, without the spaces around it."""
        line = self._answers.readline(LONGEST)
        if not line:
            raise _ended("the answers ended before the questions")
        text = line.decode("utf-8", "replace").strip()
        if not self._terminal:
            # What was piped in is shown, so that the dialogue can be read afterwards.
            sys.stderr.write(f"{inline(text)}\n")
        if "\ufffd" in text or not text.isprintable():
            raise Refused(["the answer holds characters that cannot be shown"])
        return text


def yes_or_no(text: str) -> bool:
    """What a word says."""
    if text.casefold() in {"y", "yes"}:
        return True
    if text.casefold() in {"n", "no"}:
        return False
    raise Refused(["answer `yes` or `no`"])


def one_of(*choices: str) -> Callable[[str], str]:
    """A check that takes a few words."""

    def check(text: str) -> str:
        if text in choices:
            return text
        near = similar(text, choices)
        hint = f"did you mean {near}?" if near else f"answer one of {', '.join(choices)}"
        raise Refused([f"{shown(text)} is none of the answers; {hint}"])

    return check


def _ended(message: str) -> UsageError:
    """The error of a dialogue without an answer."""
    sys.stderr.write("\n")
    return UsageError.of(
        "no-answer",
        f"{message}; nothing was written",
        "run `dpcli init DATA --ask` in a terminal, or pipe in one answer per line",
    )
