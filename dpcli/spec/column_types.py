"""The types of columns: one model and one registry line for each."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Tag

from dpcli.columns import CategoryColumn, Column, IdColumn, OpenColumn
from dpcli.messages import shown
from dpcli.spec.fit import Part
from dpcli.spec.grid import numeric_column
from dpcli.spec.labels import BOOLEAN_LABELS, DROP, TextChecks, with_missing, written_texts
from dpcli.values import (
    LIST_TAG,
    MAPPING_TAG,
    Choice,
    Day,
    Exact,
    Forms,
    Pair,
    Read,
    Shape,
    Text,
    Texts,
    read_day,
    refusal,
)


def _number_or_drop(text: str) -> Fraction | None:
    """The constant for missing cells; None to drop their rows."""
    return None if text == DROP else Exact().read(text)


def _day_or_drop(text: str) -> Fraction | None:
    """The same for days."""
    return None if text == DROP else Fraction(read_day(text))


def _step(text: str, *, whole: bool) -> Fraction:
    """The width of the grid: above zero, and whole for integers."""
    step: Fraction = Exact().read(text)
    if step <= 0:
        raise refusal("step-not-positive.whole" if whole else "step-not-positive")
    if whole and step.denominator != 1:
        raise refusal("step-not-whole")
    return step


TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
NUMBER_SCHEMA = Exact().schema
WholeStep = Annotated[Fraction, Read(lambda text: _step(text, whole=True), NUMBER_SCHEMA)]
Step = Annotated[Fraction, Read(lambda text: _step(text, whole=False), NUMBER_SCHEMA)]
MissingNumber = Annotated[Fraction | None, Read(_number_or_drop, TEXT_SCHEMA)]
MissingDay = Annotated[Fraction | None, Read(_day_or_drop, TEXT_SCHEMA)]
MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


class ColumnShape(Shape):
    """What is declared of a column; one subclass and one registry line for each type."""

    kind: ClassVar[str]

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:
        """The column, or None after its problems are recorded."""
        raise NotImplementedError


class IntegerColumn(ColumnShape):
    """Whole numbers between two bounds."""

    kind = "integer"
    type: Literal["integer"]
    bounds: Pair | None = None
    step: WholeStep = Fraction(1)
    missing: MissingNumber = None

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:
        """The column on its grid."""
        return numeric_column(name, "integer", part, self.bounds, self.step, self.missing)


class NumberColumn(ColumnShape):
    """Numbers between two bounds, rounded to a grid."""

    kind = "number"
    type: Literal["number"]
    bounds: Pair | None = None
    step: Step
    missing: MissingNumber = None

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:
        """The column on its grid."""
        return numeric_column(name, "number", part, self.bounds, self.step, self.missing)


class DateColumn(ColumnShape):
    """Days between two bounds."""

    kind = "date"
    type: Literal["date"]
    bounds: Annotated[list[Day], Field(min_length=2, max_length=2)] | None = None
    missing: MissingDay = None

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:
        """The column, in days."""
        days = None if self.bounds is None else [Fraction(one) for one in self.bounds]
        return numeric_column(name, "date", part, days, Fraction(1), self.missing)


class CategoryShape(ColumnShape):
    """Known texts, each published under a label."""

    kind = "category"
    type: Literal["category"]
    values: (
        Annotated[
            Annotated[Texts, Tag(LIST_TAG)]
            | Annotated[Annotated[dict[str, Text], Field(min_length=1)], Tag(MAPPING_TAG)],
            Forms,
        ]
        | None
    ) = None
    missing: Text = DROP

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:
        """The column; without values, one whose groups are private."""
        if "values" in part.bad:
            return None
        if self.values is None:
            if self.missing == DROP:
                return OpenColumn(name)
            message = f"`missing` is {shown(self.missing)}, expected `drop`: no labels are declared"
            hint = f"write `missing: {DROP}` to leave such rows out"
            part.refuse("unknown-label", message, hint, "missing")
            return None
        words = written_texts(part.node)
        checks = TextChecks(part.findings)
        good = [checks.pair(text, label) for text, label in words]
        if part.findings.full:
            return None
        pairs = tuple((text.text, label.text) for text, label in words)
        column = CategoryColumn(name, "category", pairs)
        return with_missing(column, self.missing, part, good=all(good))


class BooleanColumn(ColumnShape):
    """Two texts: one for false, one for true."""

    kind = "boolean"
    type: Literal["boolean"]
    values: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = None
    missing: Text = DROP

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:
        """The column with the labels false and true."""
        checks = TextChecks(part.findings)
        good = [checks.text(text) for text, _ in written_texts(part.node)]
        pairs = tuple(zip(self.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        column = CategoryColumn(name, "boolean", pairs)
        return with_missing(column, self.missing, part, good=all(good))


class IdShape(ColumnShape):
    """Whose row it is; never published."""

    kind = "id"
    type: Literal["id"]
    missing: MissingId = DROP

    def column(self, name: str, part: Part[ColumnShape]) -> Column | None:  # noqa: ARG002
        """The column, and what becomes of rows without an id."""
        return IdColumn(name, each=self.missing == "each")


COLUMN_TYPES: tuple[type[ColumnShape], ...] = (
    IntegerColumn, NumberColumn, CategoryShape, BooleanColumn, DateColumn, IdShape,
)  # fmt: skip
"""Every type that a column may have."""
