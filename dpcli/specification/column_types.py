"""The types of columns: one model and one line of `COLUMN_TYPES` for each.

Declared texts and labels must be visible and different, and no spreadsheet may run them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, create_model

from dpcli.data.column import Column, Option
from dpcli.data.csv_dialect import DECIMALS
from dpcli.data.dates import DateColumn
from dpcli.data.declared_texts import require_distinct_texts, require_text
from dpcli.data.ids import IdColumn, PrivatePartitionColumn
from dpcli.data.labels import BooleanColumn, CategoryColumn, LabeledColumn
from dpcli.data.numbers import IntegerColumn, NumberColumn
from dpcli.data.numeric import NumericColumn
from dpcli.data.options.numbers import Decimal
from dpcli.fields.numbers import parse_day, parse_number
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, ScalarNode, attempt, scalars_of
from dpcli.fields.values import (
    ByForm,
    Choice,
    Day,
    ExactNumber,
    NumberPair,
    ParsedText,
    Text,
    Texts,
    invalid_value,
)
from dpcli.specification.choice import ChosenBoundsModel
from dpcli.specification.declarations import Title, UnitText
from dpcli.specification.grid import bounds_in_steps, proposed_step, require_whole_steps

DROP = "drop"
BOOLEAN_LABELS = ("false", "true")


def _parse_number_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else parse_number(text)


def _parse_day_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else Fraction(parse_day(text))


def _parse_step(text: str, *, whole: bool) -> Fraction:
    step = parse_number(text)
    if step <= 0:
        raise invalid_value("step-not-positive.whole" if whole else "step-not-positive")
    if whole and step.denominator != 1:
        raise invalid_value("step-not-whole")
    return step


TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
NUMBER_SCHEMA = ExactNumber().schema
WholeStep = Annotated[Fraction, ParsedText(partial(_parse_step, whole=True), NUMBER_SCHEMA)]
Step = Annotated[Fraction, ParsedText(partial(_parse_step, whole=False), NUMBER_SCHEMA)]
MissingNumber = Annotated[Fraction | None, ParsedText(_parse_number_or_drop, TEXT_SCHEMA)]
MissingDay = Annotated[Fraction | None, ParsedText(_parse_day_or_drop, TEXT_SCHEMA)]
BoundsField = Annotated[NumberPair | ChosenBoundsModel, ByForm]
MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


class ColumnModel(SectionModel):
    """The declaration of a column; each type is a subclass, listed in `COLUMN_TYPES`.

    `made` is the class of the column, which lists its options: `taking_options` adds their fields.
    """

    kind: ClassVar[str]
    made: ClassVar[type[Column]]
    title: Title | None = None

    @property
    def what(self) -> str:
        return f"{'an' if self.kind.startswith('i') else 'a'} `{self.kind}` column"

    def column(self, name: str) -> Column:
        """The declared column without options; raises `AlreadyReportedError` if it has problems."""
        raise NotImplementedError

    def with_options(self, column: Column, decimal: str) -> Column:
        """The column with the declared options, which may have problems with each other.

        `decimal` is the decimal mark of columns without their own.
        """
        values = {kind: getattr(self, kind.field or kind.key) for kind in self.made.takes}
        options = [kind.stated(value) for kind, value in values.items() if value is not None]
        for option in options:
            column = option.applied(column)
        # Cells are compared with marks and texts before decimal marks are exchanged.
        if decimal != DECIMALS[0] and Decimal in values and column.options:
            column = column.with_options(column.option(Decimal) or Decimal(decimal))
        for option in options:
            option.require_fit(column, self)
        return column


M = TypeVar("M", bound=ColumnModel)


def taking_options(model: type[M]) -> type[M]:
    """The model with a field for each option that its column takes."""
    fields: Any = {
        option.field or option.key: (
            option.value_type | None,
            Field(None, alias=option.key if option.field else None, description=_summary(option)),
        )
        for option in model.made.takes
    }
    bases: Any = model, create_model("Options", __base__=model.__base__, **fields)
    made: type[M] = create_model(model.__name__, __base__=bases, __doc__=model.__doc__)
    return made


def _summary(option: type[Option]) -> str:
    """The docstring on one line."""
    return " ".join((option.__doc__ or "").split())


class NumericColumnModel(ColumnModel):
    """A type of numbers or days, which become whole numbers of steps.

    A type that makes no `NumericColumn` overrides `column`.
    """

    made: ClassVar[type[NumericColumn]]

    unit: UnitText | None = None

    def missing_line(self, key: str) -> str:
        step = f"`step: {proposed_step(self.node)}`: values are rounded to multiples of it"
        return step * (key == "step")

    def column(self, name: str) -> Column:
        """The column, with bounds and constant in whole steps. A constant needs bounds."""
        fields: Any = self
        step, made = getattr(fields, "step", Fraction(1)), self.made
        limits, (low, high) = None, (self.text("bounds", side) for side in (0, 1))
        if isinstance(fields.bounds, ChosenBoundsModel):
            limits, (low, high) = fields.bounds.outermost(step)
        elif fields.bounds is not None:
            lower, upper = map(Fraction, fields.bounds)
            if lower >= upper:
                code = "bounds-order.equal" if lower == upper else "bounds-order"
                raise self.report(code, "bounds", low=low, high=high)
            limits = bounds_in_steps(self, (lower, upper), step)
        scalar = self.node.scalar("missing")
        if fields.missing is None or scalar is None:
            return made(name, step, limits)
        constant = require_whole_steps(fields.missing / step, step, scalar, "`missing`")
        if limits is None:
            raise self.report_key("missing-bounds.constant", "missing", column=name)
        if not limits[0] <= constant <= limits[1]:
            raise self.report("out-of-bounds.missing", "missing", low=low, high=high)
        return made(name, step, limits, constant)


@taking_options
class IntegerColumnModel(NumericColumnModel):
    """Whole numbers within bounds."""

    kind = "integer"
    made = IntegerColumn
    type: Literal["integer"]
    bounds: BoundsField | None = None
    step: WholeStep = Fraction(1)
    missing: MissingNumber = None


@taking_options
class NumberColumnModel(NumericColumnModel):
    """Numbers within bounds, rounded to multiples of the step."""

    kind = "number"
    made = NumberColumn
    type: Literal["number"]
    bounds: BoundsField | None = None
    step: Step
    missing: MissingNumber = None


@taking_options
class DateColumnModel(NumericColumnModel):
    """Days within bounds."""

    kind = "date"
    made = DateColumn
    type: Literal["date"]
    bounds: Annotated[list[Day], Field(min_length=2, max_length=2)] | None = None
    missing: MissingDay = None


class LabeledColumnModel(ColumnModel):
    """A type of texts with labels."""

    other: Text | None = None


@taking_options
class CategoryColumnModel(LabeledColumnModel):
    """Declared texts, each published as a label."""

    kind = "category"
    made = CategoryColumn
    type: Literal["category"]
    values: Annotated[Texts | Annotated[dict[str, Text], Field(min_length=1)], ByForm] | None = None
    missing: Text = DROP

    def column(self, name: str) -> Column:
        """The column. Without `values`, it is a column with private partitions."""
        if self.values is None:
            if self.missing != DROP:
                raise self.report("unknown-label.open", "missing")
            self.require()
            if wrong := next((key for key in ("case", "other") if self.has(key)), None):
                raise self.report_key("values-needed", wrong, column=name)
            return PrivatePartitionColumn(name)
        values = self.node.get("values")
        pairs = [(scalar, scalar) for scalar in scalars_of(values)]
        if isinstance(values, MappingNode):
            entries = values.pairs.values()
            pairs = [(text, label) for text, label in entries if isinstance(label, ScalarNode)]
        check_texts = attempt(require_distinct_texts, pairs)
        other = self.node.scalar("other")
        if other is not None:
            require_text(other, "label", published=True)
        labels = tuple((text.text, label.text) for text, label in pairs)
        column = CategoryColumn(name, labels)
        return with_missing(column, self, check_texts)


@taking_options
class BooleanColumnModel(LabeledColumnModel):
    """Two texts: the first means false, the second true."""

    kind = "boolean"
    made = BooleanColumn
    type: Literal["boolean"]
    values: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = None
    missing: Text = DROP

    def column(self, name: str) -> Column:
        """The column, whose labels are `false` and `true`."""
        pairs = tuple(zip(self.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        texts = scalars_of(self.node.get("values"))
        check_texts = attempt(require_distinct_texts, [(text, None) for text in texts])
        if self.other is not None and self.other not in BOOLEAN_LABELS:
            raise self.report("unknown-choice", "other", choices=BOOLEAN_LABELS)
        return with_missing(BooleanColumn(name, pairs), self, check_texts)


@taking_options
class IdColumnModel(ColumnModel):
    """The id of the person of a row. It is never published."""

    kind = "id"
    made = IdColumn
    type: Literal["id"]
    missing: MissingId = DROP

    def column(self, name: str) -> Column:
        """The column; `missing: each` makes a person of each row without an id."""
        return IdColumn(name, singletons_without_id=self.missing == "each")


COLUMN_TYPES: tuple[type[ColumnModel], ...] = (
    IntegerColumnModel,
    NumberColumnModel,
    CategoryColumnModel,
    BooleanColumnModel,
    DateColumnModel,
    IdColumnModel,
)
"""Every type that a column may have."""


def with_missing(
    column: LabeledColumn, section: Any, check_texts: Callable[[], object]
) -> LabeledColumn:
    """The column with the label that `missing` names; `check_texts` raises for wrong texts."""
    column = replace(column, other=getattr(section, "other", None))
    label, position = section.missing, None
    if label != DROP:
        position = column.positions.get(label)
        if position is None:
            raise section.report("unknown-label", "missing", word=label, choices=column.labels)
    check_texts()
    return replace(column, missing=position)
