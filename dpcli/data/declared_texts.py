"""Checks declared texts: visible, different, and run by no spreadsheet."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from dpcli.fields.numbers import NumberSyntaxError, parse_number
from dpcli.fields.tree import ScalarNode, attempt, read_all
from dpcli.fields.values import AlreadyReportedError, invalid_value

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters of cells that a spreadsheet evaluates, or hides.

Declared labels do not begin with them, except for numbers. So a label is the same text in every
format. A private key from the data that begins with one of them gets an apostrophe in CSV.
"""

MAX_FORMS = 100
"""How many affixes, formats or footers are read: each cell is compared with all of them."""

INVISIBLE_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories that a declared text must not contain."""


def is_invisible(text: str) -> bool:
    """Whether a text contains a character that cannot be seen."""
    return any(unicodedata.category(character) in INVISIBLE_CATEGORIES for character in text)


def require_few(texts: list[Any]) -> list[Any]:
    """Raise a problem for more texts than become one pattern."""
    if len(texts) > MAX_FORMS:
        raise invalid_value("too-many-forms", path=(MAX_FORMS,), most=MAX_FORMS)
    return texts


def require_short(text: str, max_length: int) -> str:
    """Raise a problem for a text that is too long to become a part of a pattern."""
    if len(text) > max_length:
        raise invalid_value("too-many-forms.long", most=max_length)
    return text


def require_distinct_texts(pairs: Sequence[tuple[ScalarNode, ScalarNode | None]]) -> None:
    """Checks pairs of a text and its label, and that no text occurs twice."""
    seen: dict[str, ScalarNode] = {}

    def check(pair: tuple[ScalarNode, ScalarNode | None]) -> None:
        text, label = pair
        check_text = attempt(require_text, text, "value", published=label is text)
        if label is not None and label is not text:
            require_text(label, "label", published=True)
        first = seen.setdefault(text.text, text)
        if first is not text:
            line, column = first.span.start
            text.span.report("duplicate-value", value=text.text, line=line, column=column)
        check_text()

    read_all(check, pairs)


def require_text(scalar: ScalarNode, what: str, *, published: bool) -> None:
    """Checks that a cell can contain a text, and that it is safe to publish.

    Raises `AlreadyReportedError` after the problem is recorded.
    """
    text, span = scalar.text, scalar.span
    if span.findings.is_suppressed(span):
        raise AlreadyReportedError
    code = text_fault(text, published=published)
    if code == "formula-label":
        quoted = text.replace("'", "''")
        raise span.report(code, label=text, first=text[0], quoted=quoted)
    if code:
        raise span.report(code, what=what, text=text, stripped=text.strip())


def text_fault(text: str, *, published: bool = False) -> str:
    """The code of what is wrong with a declared text; empty if nothing is."""
    if not text:
        return "empty-text"
    if is_invisible(text):
        return "control-character"
    if text.strip() != text:
        return "surrounding-space"
    if published and text.startswith(FORMULA_STARTS):
        try:
            parse_number(text)
        except NumberSyntaxError:
            return "formula-label"
    return ""
