"""The words of problems: templates in `reference/codes`, filled with facts.

    [bounds-order]
    message = "the lower bound `{low}` is not below the upper bound `{high}`"
    hint = "write `bounds: [{high}, {low}]`"

    [bounds-order.equal]
    hint = "widen the bounds"

`words("bounds-order", low="1", high="0")` fills the first, `bounds-order.equal` the second, which
has the message of the first. In place of a message, a template may say what was `expected` at
the key `name`, where `found` stands.

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

SHOWN = 60
"""Longer words are cut: a message must stay one line that a person reads."""

LISTED = 20
"""Longer lists are cut, for the same reason."""

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that are not seen as themselves."""

FOUND = "{name:text} is {found:text}, expected "


class _Words(Formatter):
    """Fills templates; each fact as its type and the template ask for."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """One fact as text."""
        if isinstance(value, int):
            return "s" * (value != 1) if format_spec == "s" else format(value, format_spec or ",")
        if isinstance(value, PurePath):
            return one_line(str(value))
        if isinstance(value, str):
            return value if format_spec == "text" else inline(value)
        return listed(value, format_spec or "and")


class _Sentence(_Words):
    def format_field(self, value: Any, format_spec: str) -> str:
        return value if isinstance(value, str) else super().format_field(value, format_spec)


def words(code: str, /, **facts: object) -> tuple[str, str]:
    """The message and the hint of a code, or of a variant `code.variant`, about some facts."""
    template = reference.template(code)
    message = template.get("message") or FOUND + template["expected"]
    fill_in = _Words().vformat
    return fill_in(message, (), facts), fill_in(template.get("hint", ""), (), facts)


def fill(template: str, /, **facts: object) -> str:
    """A sentence of a plan or report: each text stands as it is, for who shows it escapes it."""
    return _Sentence().vformat(template, (), facts)


def note(name: str, /, **facts: object) -> str:
    """A sentence of `reference/notes.toml`, such as `note("bounding.groups", groups=3)`."""
    table, _, key = name.partition(".")
    return fill(reference.texts("notes")[table][key], **facts)


def one_line(text: str) -> str:
    """A text with an escape for every character that ends a line or acts on a terminal."""
    if text.isprintable():
        return text
    return "".join(
        ascii(character)[1:-1] if unicodedata.category(character) in UNSEEN else character
        for character in text
    )


def inline(text: str) -> str:
    """A text of the user, cut, with nothing that acts on a terminal."""
    return one_line(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def shown(text: str) -> str:
    """The same in backticks; in words if there is nothing in it."""
    return f"`{inline(text)}`" if text else "the empty text"


def listed(words: Iterable[str], last: str = "and") -> str:
    """`a`, `b` and `c`; those beyond the twentieth are only counted."""
    given = words if isinstance(words, Sequence) else list(words)
    every = [shown(word) for word in given[:LISTED]]
    if len(given) > LISTED:
        return f"{', '.join(every)} and {len(given) - LISTED} more"
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"
