"""The types of columns: one model and one registry line for each.

Texts and labels are visible, each once, and harmless in a spreadsheet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field

from dpcli.columns import (
    FORMULA_STARTS,
    CategoryColumn,
    Column,
    IdColumn,
    NumericColumn,
    NumericKind,
    PrivatePartitionColumn,
)
from dpcli.number_syntax import NumberSyntaxError, parse_day, parse_number
from dpcli.spec_values import (
    AlreadyReportedError,
    ByForm,
    Choice,
    Day,
    ExactNumber,
    NumberPair,
    ParsedText,
    SectionModel,
    Text,
    Texts,
    invalid_value,
)
from dpcli.specification.grid import bounds_in_steps, whole_steps
from dpcli.specification.tree import MappingNode, ScalarNode, attempt, read_all, scalars_of
from dpcli.specification.validation import Section

DROP = "drop"
BOOLEAN_LABELS = ("false", "true")

INVISIBLE = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that a text must not hold."""


def _number_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else parse_number(text)


def _day_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else Fraction(parse_day(text))


def _step(text: str, *, whole: bool) -> Fraction:
    step = parse_number(text)
    if step <= 0:
        raise invalid_value("step-not-positive.whole" if whole else "step-not-positive")
    if whole and step.denominator != 1:
        raise invalid_value("step-not-whole")
    return step


TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
NUMBER_SCHEMA = ExactNumber().schema
WholeStep = Annotated[Fraction, ParsedText(partial(_step, whole=True), NUMBER_SCHEMA)]
Step = Annotated[Fraction, ParsedText(partial(_step, whole=False), NUMBER_SCHEMA)]
MissingNumber = Annotated[Fraction | None, ParsedText(_number_or_drop, TEXT_SCHEMA)]
MissingDay = Annotated[Fraction | None, ParsedText(_day_or_drop, TEXT_SCHEMA)]
MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


class ColumnModel(SectionModel):
    """What is declared of a column; one subclass and one registry line for each type."""

    kind: ClassVar[str]

    def column(self, name: str, part: Section[Any]) -> Column:
        """The column, after all of its problems are recorded."""
        raise NotImplementedError


class NumericColumnModel(ColumnModel):
    """A type with numbers or days: they are counted in steps.

    A further type overrides `column`: a `NumericColumn` is an integer, a number or a date.
    """

    def column(self, name: str, part: Section[Any]) -> Column:
        """The column with bounds and constant in whole steps; a constant needs bounds."""
        given: Any = self
        step, kind = getattr(given, "step", Fraction(1)), cast("NumericKind", self.kind)
        limits, (low, high) = None, (part.text("bounds", side) for side in (0, 1))
        if given.bounds is not None:
            lower, upper = map(Fraction, given.bounds)
            if lower >= upper:
                code = "bounds-order.equal" if lower == upper else "bounds-order"
                raise part.report(code, "bounds", low=low, high=high)
            limits = bounds_in_steps(part, (lower, upper), step)
        word = part.node.word("missing")
        if given.missing is None or word is None:
            return NumericColumn(name, kind, step, limits)
        constant = whole_steps(given.missing / step, step, word, "`missing`")
        if limits is None:
            raise part.report_key("missing-bounds.constant", "missing", column=name)
        if not limits[0] <= constant <= limits[1]:
            raise part.report("out-of-bounds.missing", "missing", low=low, high=high)
        return NumericColumn(name, kind, step, limits, constant)


class IntegerColumnModel(NumericColumnModel):
    """Whole numbers between two bounds."""

    kind = "integer"
    type: Literal["integer"]
    bounds: NumberPair | None = None
    step: WholeStep = Fraction(1)
    missing: MissingNumber = None


class NumberColumnModel(NumericColumnModel):
    """Numbers between two bounds, rounded to a grid."""

    kind = "number"
    type: Literal["number"]
    bounds: NumberPair | None = None
    step: Step
    missing: MissingNumber = None


class DateColumnModel(NumericColumnModel):
    """Days between two bounds."""

    kind = "date"
    type: Literal["date"]
    bounds: Annotated[list[Day], Field(min_length=2, max_length=2)] | None = None
    missing: MissingDay = None


class CategoryColumnModel(ColumnModel):
    """Known texts, each published under a label."""

    kind = "category"
    type: Literal["category"]
    values: Annotated[Texts | Annotated[dict[str, Text], Field(min_length=1)], ByForm] | None = None
    missing: Text = DROP

    def column(self, name: str, part: Section[Any]) -> Column:
        """The column; without values, one whose groups are private."""
        if self.values is None:
            if self.missing == DROP:
                return PrivatePartitionColumn(name)
            raise part.report("unknown-label.open", "missing")
        values = part.node.get("values")
        pairs = [(word, word) for word in scalars_of(values)]
        if isinstance(values, MappingNode):
            pairs = [
                (key, one) for key, one in values.pairs.values() if isinstance(one, ScalarNode)
            ]
        good = attempt(_require_texts, pairs)
        column = CategoryColumn(name, "category", tuple((key.text, one.text) for key, one in pairs))
        return _with_missing(column, part, good)


class BooleanColumnModel(ColumnModel):
    """Two texts: one for false, one for true."""

    kind = "boolean"
    type: Literal["boolean"]
    values: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = None
    missing: Text = DROP

    def column(self, name: str, part: Section[Any]) -> Column:
        """The column with the labels false and true."""
        pairs = tuple(zip(self.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        texts = scalars_of(part.node.get("values"))
        good = attempt(_require_texts, [(text, None) for text in texts])
        return _with_missing(CategoryColumn(name, "boolean", pairs), part, good)


class IdColumnModel(ColumnModel):
    """Whose row it is; never published."""

    kind = "id"
    type: Literal["id"]
    missing: MissingId = DROP

    def column(self, name: str, part: Section[Any]) -> Column:  # noqa: ARG002
        """The column, and what becomes of rows without an id."""
        return IdColumn(name, each=self.missing == "each")


COLUMN_TYPES: tuple[type[ColumnModel], ...] = (
    IntegerColumnModel,
    NumberColumnModel,
    CategoryColumnModel,
    BooleanColumnModel,
    DateColumnModel,
    IdColumnModel,
)
"""Every type that a column may have."""


def _with_missing(
    column: CategoryColumn, part: Section[Any], good: Callable[[], object]
) -> CategoryColumn:
    label, position = part.values.missing, None
    if label != DROP:
        position = column.positions.get(label)
        if position is None:
            raise part.report("unknown-label", "missing", word=label, choices=column.labels)
    good()
    return CategoryColumn(column.name, column.kind, column.values, position)


def is_invisible(text: str) -> bool:
    """Whether a text holds a character that cannot be seen."""
    return any(unicodedata.category(character) in INVISIBLE for character in text)


def _require_texts(pairs: Sequence[tuple[ScalarNode, ScalarNode | None]]) -> None:
    """Texts, and labels that are published for them, must be good; each text once."""
    seen: dict[str, ScalarNode] = {}

    def require(pair: tuple[ScalarNode, ScalarNode | None]) -> None:
        text, label = pair
        good = attempt(require_text, text, "value", published=label is text)
        if label is not None and label is not text:
            require_text(label, "label", published=True)
        first = seen.setdefault(text.text, text)
        if first is not text:
            line, column = first.span.start
            text.span.report("duplicate-value", value=text.text, line=line, column=column)
        good()

    read_all(require, pairs)


def require_text(word: ScalarNode, what: str, *, published: bool) -> None:
    """The text must be one that a cell can hold; a spreadsheet must show what is published."""
    text, span, code = word.text, word.span, ""
    if span.findings.is_suppressed(span):
        raise AlreadyReportedError
    if not text:
        code = "empty-text"
    elif is_invisible(text):
        code = "control-character"
    elif text.strip() != text:
        code = "surrounding-space"
    if code:
        raise span.report(code, what=what, text=text, stripped=text.strip())
    if published and text.startswith(FORMULA_STARTS):
        try:
            parse_number(text)
        except NumberSyntaxError:
            quoted = text.replace("'", "''")
            raise span.report("formula-label", label=text, first=text[0], quoted=quoted) from None
