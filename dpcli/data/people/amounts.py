"""Amounts of a person: sum, least, greatest, mean and median, and their change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from dpcli.data.candidate_bounds import ChosenBoundsModel
from dpcli.data.column import Column, Names, Ranges, RangesOf
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.derived.arithmetic import MAX_MAGNITUDE, Sum, rounded_ratio
from dpcli.data.derived.declared import DerivedSection, SteppedSection, derived_section
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.data.people.counts import MANY_ROWS, rows_that_count
from dpcli.data.people.person_value import (
    Kept,
    LikeColumnSection,
    SomeRowsSection,
    ValueOfRows,
    like_column,
    named_column,
    number_of_person,
    value_of,
)
from dpcli.data.polars_text import pl
from dpcli.data.steps import Step
from dpcli.fields.statistic_fields import NUMERIC, ORDERED
from dpcli.fields.tree import MappingNode, SequenceNode, read_all
from dpcli.fields.values import Choice, Fields, Text
from dpcli.numeric.exact import readable_text
from dpcli.problems.light_dataclasses import dataclass


def _number_class(step: Fraction) -> type[NumericColumn]:
    return IntegerColumn if step.denominator == 1 else NumberColumn


@dataclass(frozen=True, slots=True)
class Amount(ValueOfRows):
    """A number that follows from the values of one column, in steps of `step`."""

    column: NumericColumn
    step: Fraction

    section: ClassVar[type[DerivedSection]] = LikeColumnSection

    @classmethod
    def of_column(cls, column: NumericColumn, section: Any, context: DeclaredColumns) -> Self:
        """The amount in steps that are not far below those of the column."""
        step = section.step or column.step
        amount = cls(column, cls.read_rows(section, context), step)
        ratio = column.step / amount.step
        largest = max(map(abs, column.limits)) * max(ratio.numerator, ratio.denominator)
        if largest * MANY_ROWS * 4 >= MAX_MAGNITUDE:
            step = readable_text(amount.step)
            raise section.report_key("derived-bounds", section.derivation.key, step=step)
        return amount

    def in_steps(self, above: pl.Expr, below: pl.Expr | int) -> pl.Expr:
        """A ratio of steps of the column in steps of the number, halves to the even one."""
        ratio = self.column.step / self.step
        above = above.cast(pl.Int128) * pl.lit(ratio.numerator, pl.Int128)
        below = pl.lit(ratio.denominator, pl.Int128) * below
        return rounded_ratio(above, below)


class TotalOfPerson(Amount):
    """The sum of a column over all rows of a person; missing without any value."""

    __slots__ = ()

    key = "sum"
    words = "sum of"
    fields: ClassVar[Fields] = {"sum": Text, "step": Step | None}
    section: ClassVar[type[DerivedSection]] = SomeRowsSection

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = require_numeric(named_column(cls.key, section, context, NUMERIC))
        amount = cls.of_column(column, section, context)
        kind = _number_class(amount.step)
        return number_of_person(name, section, amount, kind, amount.step)

    def possible(self, ranges_of: RangesOf) -> None:
        """None: how many rows a person has is not known."""

    def kept(self, names: Names) -> Sequence[Kept]:
        value = self.used(names)
        return Kept("sum", value.cast(pl.Int128).sum()), Kept("sum", value.count().cast(pl.Int64))

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        total, values = kept
        return pl.when(values > 0).then(self.in_steps(total, 1))


class LeastOfPerson(Amount):
    """The least value of a column in the rows of a person."""

    __slots__ = ()

    key = "min"
    words = "least"
    fields: ClassVar[Fields] = {"min": Text}
    is_greatest: ClassVar[bool] = False

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = require_numeric(named_column(cls.key, section, context, ORDERED))
        value = cls(column, cls.read_rows(section, context), column.step)
        return like_column(name, section, value, column)

    def kept(self, names: Names) -> Sequence[Kept]:
        value = self.used(names).cast(pl.Int64)
        return (Kept("greatest", value.max()) if self.is_greatest else Kept("least", value.min()),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        return kept[0]


class GreatestOfPerson(LeastOfPerson):
    """The greatest value of a column in the rows of a person."""

    __slots__ = ()

    key = "max"
    words = "greatest"
    fields: ClassVar[Fields] = {"max": Text}
    is_greatest: ClassVar[bool] = True


class _Middle(Amount):
    """A number between the least and the greatest value, rounded to its step."""

    __slots__ = ()

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = require_numeric(named_column(cls.key, section, context, NUMERIC))
        value = cls.of_column(column, section, context)
        ratio = column.step / value.step
        low, high = (round(end * ratio) for end in column.limits)
        if low == high:
            text = readable_text(value.step)
            raise section.report("people-form.step", "step", step=text, column=column.name)
        kind = _number_class(value.step)
        return number_of_person(name, section, value, kind, value.step, (low, high))

    def possible(self, ranges_of: RangesOf) -> Ranges:
        ranges, ratio = ranges_of(self.column), self.column.step / self.step
        return ((round(ranges[0][0] * ratio), round(ranges[-1][1] * ratio)),)


class MeanOfPerson(_Middle):
    """The mean of a column over the rows of a person, rounded to its `step`.

    Halves are rounded to the even number of steps.
    """

    __slots__ = ()

    key = "mean"
    words = "mean of"
    fields: ClassVar[Fields] = {"mean": Text}

    def kept(self, names: Names) -> Sequence[Kept]:
        value = self.used(names)
        return Kept("sum", value.cast(pl.Int128).sum()), Kept("sum", value.count().cast(pl.Int64))

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        total, values = kept
        return pl.when(values > 0).then(self.in_steps(total, pl.max_horizontal(values, 1)))


class MedianOfPerson(_Middle):
    """The median of a column over the rows of a person, rounded to its `step`.

    Of an even number of values it is the mean of the two in the middle; halves are rounded to the
    even number of steps.
    """

    __slots__ = ()

    key = "median"
    words = "median of"
    fields: ClassVar[Fields] = {"median": Text}
    has_tally = True

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        value, rows = kept
        ordered, upto = value.sort(), rows.sort_by(value).cum_sum()
        low = ordered.filter(2 * upto >= rows.sum()).first()
        high = ordered.filter(2 * upto > rows.sum()).first()
        return self.in_steps(low.cast(pl.Int128) + high, 2)


ABSENT, ZERO = "absent", "zero"


@dataclass(frozen=True, slots=True)
class ChangeOfPerson(Sum):
    """The first of two values of a person minus the second: `last` minus `first`.

    `one_row` says what it is for a person with a single row that counts for one of both: `zero`, or
    `absent`. With `zero`, it is the difference as for others.
    """

    rows: IntegerColumn | None = None

    key = "difference"
    fields: ClassVar[Fields] = {
        "difference": Annotated[list[Any], Field(min_length=2, max_length=2)],
        "one_row": Annotated[str, Choice("unknown-choice", (ZERO, ABSENT))] | None,
    }
    section: ClassVar[type[DerivedSection]] = SteppedSection
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    subtracts: ClassVar[bool] = True
    # A person without a value of both has none; that is one fault, of the difference.
    replaces_blanks = True

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        node = section.node.value(cls.key)
        parts = node.items if isinstance(node, SequenceNode) else ()
        terms = tuple(read_all(lambda part: _read_part(name, part, context), parts))
        if len({term.is_date for term in terms}) > 1:
            raise section.report_key("derived-form.mixed", cls.key)
        step, rows = section.step or cls.usual_step(terms), None
        if section.one_row == ABSENT:
            rows = rows_that_count(map(value_of, terms))
        return cls(terms, step, rows).named(name, section)

    @property
    def unit(self) -> str:
        return "days" if any(column.is_date for column in self.columns) else ""

    @property
    def may_lack(self) -> bool:
        parts = [part for part in self.columns if part.missing is None]
        return self.rows is not None or any(value_of(part).may_lack for part in parts)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (*dict.fromkeys(self.columns), *([self.rows] if self.rows else []))

    @property
    def text(self) -> str:
        first, second = (column.derivation for column in self.columns)
        return f"{first and first.text} - {second and second.text}"

    def value(self, names: Names) -> pl.Expr:
        # Zero-argument `super` does not work in data classes with slots.
        change = Sum.value(self, names)
        return change if self.rows is None else pl.when(pl.col(names[self.rows]) > 1).then(change)


def _read_part(name: str, part: Any, context: DeclaredColumns) -> NumericColumn:
    """One of the two values of a difference, named by what it is."""
    from dpcli.data.derived import PERSON_VALUES

    kinds = {kind.key: kind for kind in PERSON_VALUES if kind is not ChangeOfPerson}
    stated = [key for key in kinds if isinstance(part, MappingNode) and key in part.pairs]
    if len(stated) != 1:
        raise part.span.report("people-form.part", choices=kinds)
    kind = kinds[stated[0]]
    model = derived_section(kind).read(part)
    model.require()
    if isinstance(getattr(model, "bounds", None), ChosenBoundsModel):
        raise part.span.report("bounds-chosen", column=stated[0])
    column = kind.declared(name, model, context)
    if column.kind not in ORDERED:
        raise part.span.report("people-form.part", choices=kinds)
    # A column without a name cannot be taken for a declared one.
    return replace(require_numeric(column), name="")
