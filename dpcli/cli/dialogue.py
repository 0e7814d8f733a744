"""Questions on standard error, and answers from standard input, line by line.

The questions are in `questions.toml`. Answers that were accepted are kept: `<` drops the last one
and runs the dialogue again with the others, up to the question before.
"""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import BinaryIO, TypeVar

from dpcli.errors import UsageError
from dpcli.messages import quote, quoted_list, truncated
from dpcli.specification.tree import closest_match

T = TypeVar("T")

BACK = "<"
"""Answers that the question before should be asked again."""

MAX_LENGTH = 100_000
"""Characters of an answer; more are no answer."""

MAX_TRIES = 100
"""Wrong answers to one question after which the dialogue ends."""

WIDTH = 78


class InvalidAnswerError(Exception):
    """An answer that will not do, with the reasons; the question is asked again."""


class _GoBack(Exception):
    pass


@cache
def question_texts() -> dict[str, dict[str, str]]:
    """The words of every question."""
    return tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))


class Prompter:
    """Asks until the answer will do; UsageError when there are no more answers."""

    def __init__(self, answers: BinaryIO, *, terminal: bool) -> None:
        self._answers, self._terminal = answers, terminal
        self._accepted: list[str] = []
        self._next = 0

    def run(self, script: Callable[[], T]) -> T:
        """What a script makes of the answers; it runs again when a person goes back."""
        while True:
            self._next = 0
            try:
                return script()
            except _GoBack:
                self._accepted.pop()

    def explain(self, key: str, **facts: object) -> None:
        """The paragraph before a question, if it has one and the question is new."""
        before = question_texts()[key].get("before", "")
        if before and self._next == len(self._accepted):
            sys.stderr.write("\n" + fill(before.format(**facts).strip(), WIDTH) + "\n")

    def ask(
        self, key: str, check: Callable[[str], T], default: str | None = None, **facts: object
    ) -> T:
        """What `check` makes of the answer, or of the default if it is empty."""
        self.explain(key, **facts)
        self._next += 1
        if self._next <= len(self._accepted):
            return check(self._accepted[self._next - 1])
        question = question_texts()[key]
        default = question.get("default", "") if default is None else default
        prompt = f"{question['ask'].format(**facts)}{f' [{default}]' if default else ''}: "
        for _ in range(MAX_TRIES):
            sys.stderr.write(prompt)
            sys.stderr.flush()
            try:
                answer = self._line() or default
                found = check(answer)
            except InvalidAnswerError as refused:
                sys.stderr.writelines(f"- {reason}\n" for reason in refused.args)
            else:
                self._accepted.append(answer)
                return found
        sys.stderr.write("\n")
        raise UsageError.about("no-answer.wrong")

    def _line(self) -> str:
        """One answer, without the spaces around it."""
        line = self._answers.readline(MAX_LENGTH)
        if not line:
            sys.stderr.write("\n")
            raise UsageError.about("no-answer")
        text = line.decode("utf-8", "replace").strip()
        if not self._terminal:
            # What was piped in is shown, so that the dialogue can be read afterwards.
            sys.stderr.write(f"{truncated(text)}\n")
        if text == BACK and self._accepted:
            raise _GoBack
        if text == BACK:
            raise InvalidAnswerError("this is the first question")
        if "\ufffd" in text or not text.isprintable():
            raise InvalidAnswerError("the answer holds characters that cannot be shown")
        return text


def parse_yes_or_no(text: str) -> bool:
    """What a word says."""
    return parse_choice("yes", "no", "y", "n")(text.casefold()).startswith("y")


def parse_choice(*choices: str) -> Callable[[str], str]:
    """A check that takes a few words."""

    def check(text: str) -> str:
        if text in choices:
            return text
        near = closest_match(text, choices)
        hint = f"did you mean {quote(near)}?" if near else f"answer {quoted_list(choices, 'or')}"
        raise InvalidAnswerError(f"{quote(text)} is none of the answers; {hint}" if text else hint)

    return check


def parse_count(text: str) -> int:
    """A check that takes a number of things."""
    if text.isascii() and text.isdigit() and int(text[:9]) >= 1 and len(text) <= 6:
        return int(text)
    raise InvalidAnswerError("answer a whole number from 1 to 999,999")


def parse_list(text: str) -> list[str]:
    """Texts between commas; quotes keep a comma inside."""
    if not text:
        raise InvalidAnswerError("list the texts with commas between; quotes keep a comma inside")
    try:
        (found,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise InvalidAnswerError("a quote is not closed, or stands inside a text") from None
    return [one.strip() for one in found]


def parse_pair(text: str) -> list[str]:
    """Two values, between a comma, a space or `to`."""
    found = [part for part in re.split(r"\s*,\s*|\s+to\s+|\s+", text.strip("[] ")) if part]
    if len(found) == 2:
        return found
    raise InvalidAnswerError(f"{quote(text)} is not two values; the lower first, as in 0, 100")


def parse_values(text: str) -> list[str] | dict[str, str]:
    """A list of texts, or a mapping from text to label."""
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    texts = parse_list(text)
    # As people type it here, and as specs write it.
    mark = "=" if any("=" in one for one in texts) else ": "
    pairs = [one.partition(mark) for one in texts]
    signs = [sign for _, sign, _ in pairs]
    if not any(signs):
        return texts
    if not all(signs):
        raise InvalidAnswerError("give every text a label, as in 0=no, 1=yes, or give none")
    return {key.strip(): label.strip() for key, _, label in pairs}
