"""Texts of a spec: visible, different, run by no spreadsheet; and as YAML."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from dpcli.fields.tree import ScalarNode, attempt, read_all
from dpcli.fields.values import AlreadyReportedError, NumberSyntaxError, invalid_value, parse_number

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters of cells that a spreadsheet evaluates, or hides.

Declared labels do not begin with them, except for numbers. So a label is the same text in every
format. A private key from the data that begins with one of them gets an apostrophe in CSV.
"""

MAX_FORMS = 100
"""How many affixes, formats or footers are read: each cell is compared with all."""

INVISIBLE_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories that a declared text must not contain."""


def is_invisible(text: str) -> bool:
    """Whether a text contains a character that cannot be seen."""
    return any(unicodedata.category(character) in INVISIBLE_CATEGORIES for character in text)


def require_few(texts: list[Any]) -> list[Any]:
    """Raise a problem if there are more than `MAX_FORMS` texts."""
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
    """Checks that a cell can contain a text, and if `published` that it is harmless.

    Raises `AlreadyReportedError` after the problem of this `what` is recorded.
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
    """The code of the fault of a declared text, perhaps `published`; empty if none."""
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


def mapping_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A mapping of YAML on one line; the values are YAML already."""
    return f"{{{', '.join(f'{yaml_text(text)}: {value}' for text, value in pairs)}}}"


def list_text(texts: Iterable[str]) -> str:
    """The texts as a list in YAML; a single text is written without a list."""
    quoted = [yaml_text(text) for text in texts]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def yaml_text(text: str) -> str:
    """A text as a scalar of YAML, between quotes if it needs them."""
    is_plain = re.fullmatch(r"[A-Za-z0-9]([\w ./]*[\w.])?", text) is not None
    return text if is_plain else json.dumps(text, ensure_ascii=False)
