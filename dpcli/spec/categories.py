"""Category and boolean columns: which texts stand for which labels."""

from __future__ import annotations

import unicodedata

from dpcli.columns import FORMULA, CategoryColumn, OpenColumn
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Listing, Mapping, Word
from dpcli.spec.numbers import NotReadable, number
from dpcli.spec.wording import listed, misread, shown

BOOLEAN_LABELS = ("false", "true")

DROP = "write `missing: drop` to leave such rows out"


def category_column(
    name: str, node: Mapping, findings: Findings
) -> CategoryColumn | OpenColumn | None:
    """The column, or None after its problems are recorded."""
    if node.get("values") is None:
        return _open_column(name, node, findings)
    words = _pairs(node)
    good = True
    seen: dict[str, Word] = {}
    for text, label in words:
        if findings.full:
            return None
        fine = good_text(text, "value", findings)
        if label is not text:
            good &= fine
            fine = good_text(label, "label", findings)
        good &= fine and no_formula(label, findings)
        good &= _new(text, seen, findings)
    pairs = tuple((text.text, label.text) for text, label in words)
    return _with_missing(CategoryColumn(name, "category", pairs), node, findings, good=good)


def _open_column(name: str, node: Mapping, findings: Findings) -> OpenColumn | None:
    """A category without declared values, whose keys are private."""
    word = node.get("missing")
    if not isinstance(word, Word) or word.text == "drop":
        return OpenColumn(name)
    findings.add(
        "unknown-label",
        f"`missing` is {shown(word.text)}, expected `drop`: no labels are declared",
        DROP,
        word.span,
    )
    return None


def boolean_column(name: str, node: Mapping, findings: Findings) -> CategoryColumn | None:
    """The column with the labels false and true, or None after its problems."""
    words = [text for text, _ in _pairs(node)]
    good = True
    seen: dict[str, Word] = {}
    for text in words:
        good &= good_text(text, "value", findings)
        good &= _new(text, seen, findings)
    texts = [word.text for word in words] or list(BOOLEAN_LABELS)
    pairs = tuple(zip(texts, BOOLEAN_LABELS, strict=True))
    return _with_missing(CategoryColumn(name, "boolean", pairs), node, findings, good=good)


def _pairs(node: Mapping) -> list[tuple[Word, Word]]:
    """Text and label as written; in a plain list each is its own label."""
    values = node.get("values")
    if isinstance(values, Mapping):
        return [(key, label) for key, label in values.pairs.values() if isinstance(label, Word)]
    if isinstance(values, Listing):
        return [(word, word) for word in values.items if isinstance(word, Word)]
    return []


def good_text(word: Word, what: str, findings: Findings) -> bool:
    """Whether a text can be found in a cell, or published as a label."""
    text = word.text
    if findings.heard(word.span):
        return False
    if not text:
        findings.add(
            "empty-text",
            f"a {what} is empty, expected a text",
            "an empty cell is always missing; `missing: LABEL` counts it under a label",
            word.span,
        )
    elif any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        findings.add(
            "control-character",
            f"the {what} {shown(text)} holds an invisible character",
            "remove it",
            word.span,
        )
    elif text.strip() != text:
        findings.add(
            "surrounding-space",
            f"the {what} {shown(text)} begins or ends with a space",
            f"write {shown(text.strip())}; spaces around a cell are not part of it",
            word.span,
        )
    else:
        return True
    return False


def no_formula(label: Word, findings: Findings) -> bool:
    """Whether a spreadsheet will show the label instead of evaluating it."""
    if not label.text.startswith(FORMULA) or _is_number(label.text):
        return True
    findings.add(
        "formula-label",
        f"the label {shown(label.text)} begins with {shown(label.text[0])}: "
        f"{misread(label.text, 'it')}",
        f"map the text to another label, as in `values: {{{_quoted(label.text)}: LABEL}}`",
        label.span,
    )
    return False


def _quoted(text: str) -> str:
    """A text in single quotes, short enough for a hint."""
    return "'" + shown(text).strip("`").replace("'", "''") + "'"


def _is_number(text: str) -> bool:
    """Whether a label such as -5 is harmless because it is just a number."""
    try:
        number(text)
    except NotReadable:
        return False
    return True


def _new(text: Word, seen: dict[str, Word], findings: Findings) -> bool:
    """Whether a text occurs for the first time."""
    first = seen.setdefault(text.text, text)
    if first is text:
        return True
    findings.add(
        "duplicate-value",
        f"{shown(text.text)} is listed twice: first on line {first.span.line} "
        f"(column {first.span.column})",
        "remove one of them",
        text.span,
    )
    return False


def _with_missing(
    column: CategoryColumn, node: Mapping, findings: Findings, *, good: bool
) -> CategoryColumn | None:
    """The column with the label for missing cells, if it asks for one."""
    word = node.get("missing")
    if not isinstance(word, Word) or word.text == "drop":
        return column if good else None
    labels = column.labels
    if word.text not in column.positions:
        message = (
            f"`missing` is {shown(word.text)}, expected `drop` or a label: {listed(labels, 'or')}"
        )
        findings.unknown("unknown-label", message, word.text, labels, word.span, otherwise=DROP)
        return None
    if not good:
        return None
    position = column.positions[word.text]
    return CategoryColumn(column.name, column.kind, column.values, position)
