"""Fills the templates of messages in `problems/codes` with arguments.

    [bounds-order]
    message = "the lower bound `{low}` is not below the upper bound `{high}`"
    hint = "write `bounds: [{high}, {low}]`"

    [bounds-order.equal]
    hint = "widen the bounds"

`message_and_hint("bounds-order", low="1", high="0")` fills the first template. The variant
`bounds-order.equal` has the message of the first. In place of a message, a template may say what
was `expected` at the key `name`, where `found` stands.

The type of an argument, and the format in its braces, decide how it is written:

- A text is from the user. It is truncated, and control characters are escaped. Paths are escaped
  but not truncated. `{a:text}` inserts a text of dpcli without change.
- A number gets thousands separators, but not with `{n:d}`. `{n:s}` is the ending of a plural.
- A list becomes "`a`, `b` and `c`", or with `{all:or}` "`a`, `b` or `c`".
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePath
from string import Formatter
from typing import Any, NamedTuple

from dpcli.problems import reference

MAX_QUOTED = 60
"""Longer texts are truncated, so that a message stays one readable line."""

MAX_LISTED = 20
"""Longer lists are truncated in plans and reports."""

MAX_CHOICES = 14
"""Longer lists are truncated in messages: a person reads them on a terminal."""

CLAUSE_END = r"(?<=[^.][.;]) (?=\S)"
"""The space after a sentence, or after a part of one that a semicolon ends."""

INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of characters that are invisible or act on a terminal."""

FOUND = "{name:text} is {found:text}, expected "


class Summary(NamedTuple):
    """A title, a table whose first row has its headings, and sentences below."""

    title: str
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


class Shown(ABC):
    """An object that Python shows by its summary, in Jupyter as a page."""

    __slots__ = ()

    @abstractmethod
    def _summary(self) -> Summary:
        """What is shown."""

    def __repr__(self) -> str:
        # Commands show no object.
        from dpcli.problems.shown import as_text

        return as_text(*self._summary())

    def _repr_html_(self) -> str:
        from dpcli.problems.shown import as_html

        return as_html(*self._summary())


class _MessageFormatter(Formatter):
    """Formats each argument by its type and its format."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """An argument as the text that messages show."""
        if isinstance(value, int):
            return "s" * (value != 1) if format_spec == "s" else format(value, format_spec or ",")
        if isinstance(value, PurePath):
            return escape_controls(str(value))
        if isinstance(value, str):
            return value if format_spec == "text" else truncated(value)
        return quoted_list(value, format_spec or "and", MAX_CHOICES)


class _SentenceFormatter(_MessageFormatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, (str, int, PurePath)):
            return value if isinstance(value, str) else super().format_field(value, format_spec)
        return quoted_list(value, format_spec or "and")


def message_and_hint(code: str, /, **arguments: object) -> tuple[str, str]:
    """The message and the hint of a code or a `code.variant`, filled with arguments.

    Raises `KeyError` if the template is unknown or needs an argument that is missing.
    """
    template = reference.template(code)
    message = template.get("message") or FOUND + template["expected"]
    formatted = _MessageFormatter().vformat
    return formatted(message, (), arguments), formatted(template.get("hint", ""), (), arguments)


def fill_sentence(template: str, /, **arguments: object) -> str:
    """A sentence of a plan or report, not escaped: its callers do that."""
    return _SentenceFormatter().vformat(template, (), arguments)


def escape_controls(text: str) -> str:
    """The text with escapes for all characters that end a line or act on a terminal."""
    if text.isprintable():
        return text
    return "".join(
        ascii(character)[1:-1]
        if unicodedata.category(character) in INVISIBLE_CATEGORIES
        else character
        for character in text
    )


def truncated(text: str) -> str:
    """A text of the user: truncated, with escapes for control characters."""
    return escape_controls(text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "...")


def quote(text: str) -> str:
    """A text of the user in backticks, truncated; "the empty text" if it is empty."""
    return f"`{truncated(text)}`" if text else "the empty text"


def did_you_mean(words: Iterable[str]) -> str:
    """The beginning of a hint that proposes these words; empty without words."""
    listed = quoted_list(words, "or")
    return f"did you mean {listed}? " if listed else ""


def clauses(text: str) -> list[str]:
    """The sentences of a text, also divided at semicolons outside of backticks."""
    parts = [""]
    for piece in re.split(CLAUSE_END, text):
        is_within = parts[-1].count("`") % 2 == 1
        parts = [*parts[:-1], f"{parts[-1]} {piece}"] if is_within else [*parts, piece]
    return parts[1:]


def quoted_list(texts: Iterable[str], last: str = "and", max_items: int = MAX_LISTED) -> str:
    """Quoted texts, as in "`a`, `b` and `c`"; of more than `max_items`, a number.

    One more is quoted.
    """
    items = texts if isinstance(texts, Sequence) else list(texts)
    max_items += len(items) == max_items + 1
    quoted = [quote(text) for text in items[:max_items]]
    if len(items) > max_items:
        return f"{', '.join(quoted)} and {len(items) - max_items} more"
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


MAX_COMPARED = 500
"""With more choices than this, searching for a similar one would take too long."""


MIN_SIMILARITY, MIN_SIMILARITY_OF_SHORT = 0.7, 0.66
"""The smallest share of equal letters; one wrong of three leaves two thirds."""


def closest_match(word: str, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant: equal but for case, or most letters equal."""
    options = choices if isinstance(choices, Sequence) else list(choices)
    if len(options) > MAX_COMPARED or not 2 <= len(word) <= MAX_QUOTED:
        return None
    normalized = {choice.casefold().replace("-", "_"): choice for choice in options}
    folded = word.casefold().replace("-", "_")
    if folded in normalized:
        return normalized[folded]
    for choice in options:
        if min(len(word), len(choice)) > 2 and (choice.startswith(word) or word.startswith(choice)):
            return choice
    cutoff = MIN_SIMILARITY if len(word) > 3 else MIN_SIMILARITY_OF_SHORT
    return next(iter(get_close_matches(word, options, 1, cutoff)), None)


def capitalized(sentence: str) -> str:
    """A sentence with a capital letter, unless it begins with names from the spec."""
    begins_with_names = sentence.split(" ", maxsplit=1)[0].endswith((":", ","))
    return sentence if begins_with_names else sentence[:1].upper() + sentence[1:]


def count_text(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def display_width(characters: Iterable[str]) -> int:
    """Terminal columns: two for a wide character, none for a combining mark."""
    total = 0
    for character in "".join(characters):
        if unicodedata.combining(character) or unicodedata.category(character) == "Me":
            continue
        total += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return total
