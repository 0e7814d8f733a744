"""The types of columns: one model and one registry line for each.

Texts and labels are visible, each once, and harmless in a spreadsheet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dpcli.columns import FORMULA, CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.numbers import NotReadable, day, number
from dpcli.spec.findings import Findings
from dpcli.spec.fit import Part
from dpcli.spec.grid import bounds_in_steps, whole_steps
from dpcli.spec.nodes import Mapping, Word, words_of
from dpcli.values import Choice, Day, Exact, Forms, Pair, Read, Shape, Text, Texts, refusal

DROP = "drop"
BOOLEAN_LABELS = ("false", "true")

INVISIBLE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that a text must not hold."""


def _number_or_drop(text: str) -> Fraction | None:
    """The constant for missing cells; None to drop their rows."""
    return None if text == DROP else number(text)


def _day_or_drop(text: str) -> Fraction | None:
    """The same for days."""
    return None if text == DROP else Fraction(day(text))


def _step(text: str, *, whole: bool) -> Fraction:
    """The width of the grid: above zero, and whole for integers."""
    step = number(text)
    if step <= 0:
        raise refusal("step-not-positive.whole" if whole else "step-not-positive")
    if whole and step.denominator != 1:
        raise refusal("step-not-whole")
    return step


TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
NUMBER_SCHEMA = Exact().schema
WholeStep = Annotated[Fraction, Read(partial(_step, whole=True), NUMBER_SCHEMA)]
Step = Annotated[Fraction, Read(partial(_step, whole=False), NUMBER_SCHEMA)]
MissingNumber = Annotated[Fraction | None, Read(_number_or_drop, TEXT_SCHEMA)]
MissingDay = Annotated[Fraction | None, Read(_day_or_drop, TEXT_SCHEMA)]
MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


class ColumnShape(Shape):
    """What is declared of a column; one subclass and one registry line for each type."""

    kind: ClassVar[str]

    def column(self, name: str, part: Part[Any]) -> Column | None:
        """The column, or None after its problems are recorded."""
        raise NotImplementedError


class OnGrid(ColumnShape):
    """A type with numbers or days: they are counted in steps."""

    def column(self, name: str, part: Part[Any]) -> Column | None:
        """The column with bounds and constant in whole steps."""
        return _numeric(self, name, part)


class IntegerColumn(OnGrid):
    """Whole numbers between two bounds."""

    kind = "integer"
    type: Literal["integer"]
    bounds: Pair | None = None
    step: WholeStep = Fraction(1)
    missing: MissingNumber = None


class NumberColumn(OnGrid):
    """Numbers between two bounds, rounded to a grid."""

    kind = "number"
    type: Literal["number"]
    bounds: Pair | None = None
    step: Step
    missing: MissingNumber = None


class DateColumn(OnGrid):
    """Days between two bounds."""

    kind = "date"
    type: Literal["date"]
    bounds: Annotated[list[Day], Field(min_length=2, max_length=2)] | None = None
    missing: MissingDay = None


class CategoryShape(ColumnShape):
    """Known texts, each published under a label."""

    kind = "category"
    type: Literal["category"]
    values: Annotated[Texts | Annotated[dict[str, Text], Field(min_length=1)], Forms] | None = None
    missing: Text = DROP

    def column(self, name: str, part: Part[Any]) -> Column | None:
        """The column; without values, one whose groups are private."""
        if "values" in part.bad:
            return None
        if self.values is None:
            if self.missing == DROP:
                return OpenColumn(name)
            part.report("unknown-label.open", "missing")
            return None
        values = part.node.get("values")
        pairs = [(word, word) for word in words_of(values)]
        if isinstance(values, Mapping):
            pairs = [(key, one) for key, one in values.pairs.values() if isinstance(one, Word)]
        good = good_texts(pairs, part.findings)
        column = CategoryColumn(name, "category", tuple((key.text, one.text) for key, one in pairs))
        return None if part.findings.full else _with_missing(column, part, good=good)


class BooleanColumn(ColumnShape):
    """Two texts: one for false, one for true."""

    kind = "boolean"
    type: Literal["boolean"]
    values: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = None
    missing: Text = DROP

    def column(self, name: str, part: Part[Any]) -> Column | None:
        """The column with the labels false and true."""
        if "values" in part.bad:
            return None
        texts = words_of(part.node.get("values"))
        good = good_texts([(text, None) for text in texts], part.findings)
        pairs = tuple(zip(self.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        return _with_missing(CategoryColumn(name, "boolean", pairs), part, good=good)


class IdShape(ColumnShape):
    """Whose row it is; never published."""

    kind = "id"
    type: Literal["id"]
    missing: MissingId = DROP

    def column(self, name: str, part: Part[Any]) -> Column | None:  # noqa: ARG002
        """The column, and what becomes of rows without an id."""
        return IdColumn(name, each=self.missing == "each")


COLUMN_TYPES: tuple[type[ColumnShape], ...] = (
    IntegerColumn, NumberColumn, CategoryShape, BooleanColumn, DateColumn, IdShape,
)  # fmt: skip
"""Every type that a column may have."""


def _numeric(shape: Any, name: str, part: Part[Any]) -> NumericColumn | None:
    limits, bounds, missing = None, shape.bounds, shape.missing
    kind, step = shape.kind, getattr(shape, "step", Fraction(1))
    low, high = (part.text("bounds", side) for side in (0, 1))
    if bounds is not None:
        if bounds[0] >= bounds[1]:
            code = "bounds-order.equal" if bounds[0] == bounds[1] else "bounds-order"
            part.report(code, "bounds", low=low, high=high)
            return None
        if "step" in part.bad:
            return None
        exact = [Fraction(one) for one in bounds]
        limits = bounds_in_steps(exact, step, part.report, whole=kind == "integer")
        if limits is None:
            return None
    word = part.node.word("missing")
    if missing is None or word is None:
        return NumericColumn(name, kind, step, limits)
    steps = whole_steps(missing / step, step, word, "`missing`", part.findings)
    if steps is None:
        return None
    if limits is None:
        if "bounds" not in part.bad:
            part.report_key("missing-bounds.constant", "missing", column=name)
        return None
    if not limits[0] <= steps <= limits[1]:
        part.report("out-of-bounds.missing", "missing", low=low, high=high)
        return None
    return NumericColumn(name, kind, step, limits, steps)


def _with_missing(column: CategoryColumn, part: Part[Any], *, good: bool) -> CategoryColumn | None:
    """The column with the label for missing cells, if it asks for one."""
    missing = part.node.word("missing")
    if missing is None or missing.text == DROP or "missing" in part.bad:
        return column if good else None
    position = column.positions.get(missing.text)
    if position is None:
        part.findings.report_unknown("unknown-label", missing.text, column.labels, missing.span)
        return None
    return CategoryColumn(column.name, column.kind, column.values, position) if good else None


def is_invisible(text: str) -> bool:
    """Whether a text holds a character that cannot be seen."""
    return any(unicodedata.category(character) in INVISIBLE for character in text)


def good_texts(pairs: Sequence[tuple[Word, Word | None]], findings: Findings) -> bool:
    """Whether texts, and labels that are published for them, are good; each text once."""
    seen: dict[str, Word] = {}
    good = True
    for text, label in pairs:
        if findings.full:
            return False
        fine = good_text(text, "value", findings)
        if label is text:
            fine = fine and no_formula(text, findings)
        elif label is not None:
            fine = good_text(label, "label", findings) and no_formula(label, findings) and fine
        first = seen.setdefault(text.text, text)
        if first is not text:
            line, column, _ = first.span
            findings.report("duplicate-value", text.span, value=text.text, line=line, column=column)
        good = good and fine and first is text
    return good


def good_text(word: Word, what: str, findings: Findings) -> bool:
    """Whether a text can be found in a cell, or published as a label."""
    text, code = word.text, ""
    if findings.heard(word.span):
        return False
    if not text:
        code = "empty-text"
    elif is_invisible(text):
        code = "control-character"
    elif text.strip() != text:
        code = "surrounding-space"
    if code:
        findings.report(code, word.span, what=what, text=text, stripped=text.strip())
    return not code


def no_formula(label: Word, findings: Findings) -> bool:
    """Whether a spreadsheet will show the label instead of evaluating it."""
    text = label.text
    if not text.startswith(FORMULA):
        return True
    try:
        number(text)
    except NotReadable:
        quoted = text.replace("'", "''")
        findings.report("formula-label", label.span, label=text, first=text[0], quoted=quoted)
        return False
    return True
