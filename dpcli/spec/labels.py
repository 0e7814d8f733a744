"""Texts and labels of columns: visible, each once, and harmless in a spreadsheet."""

from __future__ import annotations

import unicodedata
from typing import Any

from dpcli.columns import FORMULA, CategoryColumn
from dpcli.messages import listed, shown
from dpcli.numbers import NotReadable, number
from dpcli.spec.findings import Findings, misread
from dpcli.spec.fit import Part
from dpcli.spec.nodes import Mapping, Word

DROP = "drop"
BOOLEAN_LABELS = ("false", "true")

INVISIBLE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that a text must not hold."""


def invisible(text: str) -> bool:
    """Whether a text holds a character that cannot be seen."""
    return any(unicodedata.category(character) in INVISIBLE for character in text)


def written_texts(node: Mapping) -> list[tuple[Word, Word]]:
    """Text and label of `values` as written; in a plain list each is its own label."""
    values = node.get("values")
    if isinstance(values, Mapping):
        return [(key, label) for key, label in values.pairs.values() if isinstance(label, Word)]
    items = () if values is None or isinstance(values, Word) else values.items
    return [(word, word) for word in items if isinstance(word, Word)]


class TextChecks:
    """Checks the texts of a column: each once, visible, and harmless in a spreadsheet."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._seen: dict[str, Word] = {}

    def pair(self, text: Word, label: Word) -> bool:
        """Whether a text and its label are good."""
        if self._findings.full:
            return False
        good = good_text(text, "value", self._findings)
        if label is not text:
            good_label = good_text(label, "label", self._findings)
            good = good_label and no_formula(label, self._findings) and good
        else:
            good = good and no_formula(label, self._findings)
        return self._new(text) and good

    def text(self, text: Word) -> bool:
        """Whether a text is good."""
        good = good_text(text, "value", self._findings)
        return self._new(text) and good

    def _new(self, text: Word) -> bool:
        first = self._seen.setdefault(text.text, text)
        if first is text:
            return True
        self._findings.add(
            "duplicate-value",
            f"{shown(text.text)} is listed twice: first on line {first.span.line} "
            f"(column {first.span.column})",
            "list each text once",
            text.span,
        )
        return False


def good_text(word: Word, what: str, findings: Findings) -> bool:
    """Whether a text can be found in a cell, or published as a label."""
    text = word.text
    if findings.heard(word.span):
        return False
    if not text:
        message = f"a {what} is empty, expected a text"
        hint = "an empty cell is always missing; `missing: LABEL` counts it under a label"
        findings.add("empty-text", message, hint, word.span)
    elif invisible(text):
        message = f"the {what} {shown(text)} holds an invisible character"
        hint = "write the text without that character"
        findings.add("control-character", message, hint, word.span)
    elif text.strip() != text:
        message = f"the {what} {shown(text)} begins or ends with a space"
        hint = f"write {shown(text.strip())}; spaces around a cell are not part of it"
        findings.add("surrounding-space", message, hint, word.span)
    else:
        return True
    return False


def no_formula(label: Word, findings: Findings) -> bool:
    """Whether a spreadsheet will show the label instead of evaluating it."""
    text = label.text
    if not text.startswith(FORMULA) or _is_number(text):
        return True
    quoted = "'" + shown(text).strip("`").replace("'", "''") + "'"
    message = f"the label {shown(text)} begins with {shown(text[0])}: {misread(text, 'it')}"
    hint = f"map the text to another label, as in `values: {{{quoted}: LABEL}}`"
    findings.add("formula-label", message, hint, label.span)
    return False


def _is_number(text: str) -> bool:
    try:
        number(text)
    except NotReadable:
        return False
    return True


def with_missing(
    column: CategoryColumn, missing: str, part: Part[Any], *, good: bool
) -> CategoryColumn | None:
    """The column with the label for missing cells, if it asks for one."""
    if missing == DROP or "missing" in part.bad:
        return column if good else None
    if missing not in column.positions:
        labels = column.labels
        part.findings.unknown(
            "unknown-label",
            f"`missing` is {shown(missing)}, expected `drop` or a label: {listed(labels, 'or')}",
            missing,
            labels,
            part.node.get("missing").span,  # type: ignore[union-attr]
            otherwise=f"write `missing: {DROP}` to leave such rows out",
        )
        return None
    position = column.positions[missing]
    return CategoryColumn(column.name, column.kind, column.values, position) if good else None
