"""Questions on standard error, and answers that are lines of standard input."""

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

from dpcli.problems.errors import UsageError
from dpcli.problems.messages import closest_match, quote, quoted_list, truncated

T = TypeVar("T")

MAX_LENGTH, MAX_TRIES, WIDTH = 100_000, 100, 78
"""Most characters of an answer, wrong answers to a question, columns of a line."""


class InvalidAnswerError(Exception):
    """An answer that is not accepted, with the reasons; the question is asked again."""


@cache
def question_texts() -> dict[str, dict[str, str]]:
    """The texts of every question, by key."""
    return tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))


def explain(key: str, **arguments: object) -> None:
    """Print the paragraph before a question."""
    if before := question_texts()[key].get("before", ""):
        sys.stderr.write("\n" + fill(before.format(**arguments).strip(), WIDTH) + "\n")


class Prompter:
    """Asks each question until its answer is valid; UsageError when the input ends."""

    def __init__(self, answers: BinaryIO, *, terminal: bool) -> None:
        self._answers, self._terminal = answers, terminal

    def ask(
        self, key: str, check: Callable[[str], T], default: str | None = None, **arguments: object
    ) -> T:
        """The result of `check` for the answer, or for the default if that is empty.

        Raises UsageError when the input ends, and after `MAX_TRIES` invalid answers.
        """
        explain(key, **arguments)
        question = question_texts()[key]
        default = question.get("default", "") if default is None else default
        prompt = f"{question['ask'].format(**arguments)}{f' [{default}]' if default else ''}: "
        for _ in range(MAX_TRIES):
            sys.stderr.write(prompt)
            sys.stderr.flush()
            try:
                return check(self._line() or default)
            except InvalidAnswerError as refused:
                sys.stderr.writelines(f"- {reason}\n" for reason in refused.args)
        sys.stderr.write("\n")
        raise UsageError.about("no-answer")

    def _line(self) -> str:
        line = self._answers.readline(MAX_LENGTH)
        text = line.decode("utf-8", "replace").strip()
        if not self._terminal or not line:
            # Show piped answers, so that the dialogue can be read afterwards.
            sys.stderr.write(f"{truncated(text)}\n")
        if not line:
            raise UsageError.about("no-answer")
        if "\ufffd" in text or not text.isprintable():
            raise InvalidAnswerError("the answer holds characters that cannot be shown")
        return text


def parse_choice(*choices: str) -> Callable[[str], str]:
    """A check that accepts only these words."""

    def check(text: str) -> str:
        if text in choices:
            return text
        near = closest_match(text, choices)
        hint = f"did you mean {quote(near)}?" if near else f"answer {quoted_list(choices, 'or')}"
        raise InvalidAnswerError(f"{quote(text)} is none of the answers; {hint}" if text else hint)

    return check


def parse_yes_or_no(text: str) -> bool:
    """Whether the answer is yes; InvalidAnswerError unless it is yes or no."""
    return parse_choice("yes", "no", "y", "n")(text.casefold()).startswith("y")


def parse_count(text: str) -> int:
    """A whole number from 1 to 999,999; InvalidAnswerError for another text."""
    if re.fullmatch("[1-9][0-9]{0,5}", text):
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


def parse_values(text: str) -> list[str] | dict[str, str]:
    """Texts, in a mapping if any has a label; the loader refuses an empty label."""
    texts = parse_list(text)
    if not any("=" in item for item in texts):
        return texts
    pairs = (item.partition("=") for item in texts)
    return {key.strip(): label.strip() for key, _, label in pairs}
