"""Questions on standard error, and answers from standard input, line by line.

The questions are in `questions.toml`. Accepted answers are kept. `<` drops the last one and runs
the dialogue again with the others, up to the previous question.
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
"""The answer that goes back to the previous question."""

MAX_LENGTH = 100_000
"""The largest number of characters in an answer."""

MAX_TRIES = 100
"""Wrong answers to one question after which the dialogue ends."""

WIDTH = 78


class InvalidAnswerError(Exception):
    """An answer that is not accepted, with the reasons; the question is asked again."""


class _GoBack(Exception):
    pass


@cache
def question_texts() -> dict[str, dict[str, str]]:
    """The texts of every question, by key."""
    return tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))


class Prompter:
    """Asks each question until its answer is valid; UsageError when the input ends."""

    def __init__(self, answers: BinaryIO, *, terminal: bool) -> None:
        self._answers, self._terminal = answers, terminal
        self._accepted: list[str] = []
        self._next = 0

    def run(self, script: Callable[[], T]) -> T:
        """The result of a script that asks questions; it runs again when the user goes back."""
        while True:
            self._next = 0
            try:
                return script()
            except _GoBack:
                self._accepted.pop()

    def explain(self, key: str, **facts: object) -> None:
        """Print the paragraph before a question, unless the question was answered before."""
        before = question_texts()[key].get("before", "")
        if before and self._next == len(self._accepted):
            sys.stderr.write("\n" + fill(before.format(**facts).strip(), WIDTH) + "\n")

    def ask(
        self, key: str, check: Callable[[str], T], default: str | None = None, **facts: object
    ) -> T:
        """The result of `check` for the answer, or for the default if the answer is empty.

        Raises UsageError when the input ends, and after `MAX_TRIES` invalid answers.
        """
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
                result = check(answer)
            except InvalidAnswerError as refused:
                sys.stderr.writelines(f"- {reason}\n" for reason in refused.args)
            else:
                self._accepted.append(answer)
                return result
        sys.stderr.write("\n")
        raise UsageError.about("no-answer.wrong")

    def _line(self) -> str:
        line = self._answers.readline(MAX_LENGTH)
        if not line:
            sys.stderr.write("\n")
            raise UsageError.about("no-answer")
        text = line.decode("utf-8", "replace").strip()
        if not self._terminal:
            # Show piped answers, so that the dialogue can be read afterwards.
            sys.stderr.write(f"{truncated(text)}\n")
        if text == BACK and self._accepted:
            raise _GoBack
        if text == BACK:
            raise InvalidAnswerError("this is the first question")
        if "\ufffd" in text or not text.isprintable():
            raise InvalidAnswerError("the answer holds characters that cannot be shown")
        return text


def parse_yes_or_no(text: str) -> bool:
    """Whether the answer is yes; InvalidAnswerError unless it is yes or no."""
    return parse_choice("yes", "no", "y", "n")(text.casefold()).startswith("y")


def parse_choice(*choices: str) -> Callable[[str], str]:
    """A check that accepts only these words."""

    def check(text: str) -> str:
        if text in choices:
            return text
        near = closest_match(text, choices)
        hint = f"did you mean {quote(near)}?" if near else f"answer {quoted_list(choices, 'or')}"
        raise InvalidAnswerError(f"{quote(text)} is none of the answers; {hint}" if text else hint)

    return check


def parse_count(text: str) -> int:
    """A whole number from 1 to 999,999; InvalidAnswerError for another text."""
    if text.isascii() and text.isdigit() and int(text[:9]) >= 1 and len(text) <= 6:
        return int(text)
    raise InvalidAnswerError("answer a whole number from 1 to 999,999")


def parse_list(text: str) -> list[str]:
    """Texts between commas; InvalidAnswerError for none. A comma may stand in quotes."""
    if not text:
        raise InvalidAnswerError("list the texts with commas between; quotes keep a comma inside")
    try:
        (texts,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise InvalidAnswerError("a quote is not closed, or stands inside a text") from None
    return [item.strip() for item in texts]


def parse_pair(text: str) -> list[str]:
    """Two values, separated by a comma, a space or `to`; InvalidAnswerError for other texts."""
    parts = [part for part in re.split(r"\s*,\s*|\s+to\s+|\s+", text.strip("[] ")) if part]
    if len(parts) == 2:
        return parts
    raise InvalidAnswerError(f"{quote(text)} is not two values; the lower first, as in 0, 100")


def parse_values(text: str) -> list[str] | dict[str, str]:
    """A list of texts, or a mapping from text to label; InvalidAnswerError for a mixture."""
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    texts = parse_list(text)
    # `=` is what users type, `: ` what specs write.
    mark = "=" if any("=" in item for item in texts) else ": "
    pairs = [item.partition(mark) for item in texts]
    signs = [sign for _, sign, _ in pairs]
    if not any(signs):
        return texts
    if not all(signs):
        raise InvalidAnswerError("give every text a label, as in 0=no, 1=yes, or give none")
    return {key.strip(): label.strip() for key, _, label in pairs}
