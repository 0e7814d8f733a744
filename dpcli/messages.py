"""The words of problems: templates in `reference/codes`, filled with facts.

    [bounds-order]
    message = "the lower bound `{low}` is not below the upper bound `{high}`"
    hint = "write `bounds: [{high}, {low}]`"

    [bounds-order.equal]
    hint = "widen the bounds"

`message_and_hint("bounds-order", low="1", high="0")` fills the first template. The variant
`bounds-order.equal` has the message of the first. In place of a message, a template may say what
was `expected` at the key `name`, where `found` stands.

A fact in braces is a text of the user: cut, with nothing that acts on a terminal. Paths are not
cut, and `{a:text}` stands as it is. `{n:s}` adds a plural, numbers get thousands separators unless
they are written as `{n:d}`, and lists become "`a`, `b` and `c`", with another last word if one is
named: `{all:or}`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from string import Formatter
from typing import Any

from dpcli import reference

MAX_QUOTED = 60
"""Longer words are cut: a message must stay one line that a person reads."""

MAX_LISTED = 20
"""Longer lists are cut, for the same reason."""

INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that are not seen as themselves."""

FOUND = "{name:text} is {found:text}, expected "


class _Words(Formatter):
    """Fills templates; each fact as its type and the template ask for."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """One fact as text."""
        if isinstance(value, int):
            return "s" * (value != 1) if format_spec == "s" else format(value, format_spec or ",")
        if isinstance(value, PurePath):
            return escape_controls(str(value))
        if isinstance(value, str):
            return value if format_spec == "text" else truncated(value)
        return quoted_list(value, format_spec or "and")


class _Sentence(_Words):
    def format_field(self, value: Any, format_spec: str) -> str:
        return value if isinstance(value, str) else super().format_field(value, format_spec)


def message_and_hint(code: str, /, **facts: object) -> tuple[str, str]:
    """The message and the hint of a code, or of a variant `code.variant`, about some facts."""
    template = reference.template(code)
    message = template.get("message") or FOUND + template["expected"]
    fill_in = _Words().vformat
    return fill_in(message, (), facts), fill_in(template.get("hint", ""), (), facts)


def fill_sentence(template: str, /, **facts: object) -> str:
    """A sentence of a plan or report: each text stands as it is, for who shows it escapes it."""
    return _Sentence().vformat(template, (), facts)


def note(name: str, /, **facts: object) -> str:
    """A sentence of `reference/notes.toml`, such as `note("bounding.groups", groups=3)`."""
    table, _, key = name.partition(".")
    return fill_sentence(reference.texts("notes")[table][key], **facts)


def escape_controls(text: str) -> str:
    """A text with an escape for every character that ends a line or acts on a terminal."""
    if text.isprintable():
        return text
    return "".join(
        ascii(character)[1:-1]
        if unicodedata.category(character) in INVISIBLE_CATEGORIES
        else character
        for character in text
    )


def truncated(text: str) -> str:
    """A text of the user, cut, with nothing that acts on a terminal."""
    return escape_controls(text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "...")


def quote(text: str) -> str:
    """The same in backticks; in words if there is nothing in it."""
    return f"`{truncated(text)}`" if text else "the empty text"


def quoted_list(texts: Iterable[str], last: str = "and") -> str:
    """`a`, `b` and `c`; those beyond the twentieth are only counted."""
    given = texts if isinstance(texts, Sequence) else list(texts)
    every = [quote(text) for text in given[:MAX_LISTED]]
    if len(given) > MAX_LISTED:
        return f"{', '.join(every)} and {len(given) - MAX_LISTED} more"
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"
