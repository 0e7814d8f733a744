"""What values of people have in common, and how their columns are declared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from dpcli.data.candidate_bounds import ChosenBoundsModel
from dpcli.data.column import Column, Names, Ranges, RangesOf, require_valued
from dpcli.data.conditions import read_where
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.declared_texts import DROP
from dpcli.data.derived.declared import DeclaredDerivation, DerivedSection, category_column, valued
from dpcli.data.filters import AllOf, Filter
from dpcli.data.grid_columns import NumericColumn, numeric_columns
from dpcli.data.labels import labeled_columns, require_text_column
from dpcli.data.polars_text import pl
from dpcli.data.steps import Step, bounds_in_steps, read_number
from dpcli.fields.statistic_fields import VALUED
from dpcli.fields.tree import scalars_of
from dpcli.fields.values import ByForm, GridNumber, Text
from dpcli.problems.light_dataclasses import dataclass

Conditions = Annotated[dict[str, Any], Field(min_length=1)]
HeldConditions = Annotated[Conditions, Field(examples=[{"age": {"min": 65}}])]

PersonBounds = Annotated[
    Annotated[list[GridNumber], Field(min_length=2, max_length=2)] | ChosenBoundsModel, ByForm
]
"""The bounds of a value of a person, which noisy counts of people may choose."""

Merge = Literal["sum", "least", "greatest"]
"""How two numbers that are kept of the rows of one person become one."""


class Kept(NamedTuple):
    """A number that is kept of the rows of a person."""

    merge: Merge
    of_rows: pl.Expr
    """The number, as an aggregate of some rows."""


class PersonValue(DeclaredDerivation):
    """A value of a person, which follows from all rows of that person.

    Either a few numbers are `kept` of the rows, or the different values that `tallied` has in them,
    each with the number of its rows. Both are kept for some rows first, and merged.
    """

    __slots__ = ()

    of_person = replaces_blanks = True

    has_tally: ClassVar[bool] = False
    """Whether different values are tallied."""

    of_nothing: ClassVar[int | None] = None
    """The value of a person of whom nothing was tallied; None if it is missing."""

    @property
    def may_lack(self) -> bool:
        return self.of_nothing is None

    def kept(self, names: Names) -> Sequence[Kept]:
        """The numbers that are kept of some rows, with the columns in `names`."""
        return ()

    @abstractmethod
    def counts(self, names: Names) -> pl.Expr:
        """Whether each row counts for the value: it has one, and satisfies conditions."""

    def tallied(self, names: Names) -> pl.Expr:
        """The value of each row that is tallied; null for a row that does not count."""
        raise TypeError("only some kinds tally values")

    @abstractmethod
    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        """The value from the numbers that are kept of all rows of a person.

        Of a tally, an aggregate of the values and their numbers of rows, one line for each value.
        """

    def value(self, names: Names) -> pl.Expr:
        raise TypeError("the value of a person follows from all rows of that person")


def value_of(column: Column) -> PersonValue:
    """How the value of a column of people follows from rows; TypeError for any other."""
    value = column.derivation
    if not isinstance(value, PersonValue):
        raise TypeError("the column has no value of people")
    return value


def read_conditions(key: str, section: Any, context: DeclaredColumns) -> Filter:
    """The conditions of a key, which are about the columns of one row."""
    tests = read_where(section, context, key)
    for column in (column for test in tests for column in test.columns):
        if column.uses_people:
            raise section.report_key("people-form.nested", key, column=column.name, key=key)
    return tests[0] if len(tests) == 1 else AllOf(tests)


@dataclass(frozen=True, slots=True)
class ValueOfRows(PersonValue):
    """A value of a person from one column, in the rows that satisfy conditions.

    Rows in which a condition is unknown, because a cell is missing, do not count.
    """

    column: Column
    where: Filter | None

    words: ClassVar[str]

    @classmethod
    def read_rows(cls, section: Any, context: DeclaredColumns) -> Filter | None:
        """The conditions that a declaration states; None without."""
        return read_conditions("where", section, context) if section.has("where") else None

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column, *(self.where.columns if self.where else ()))

    @property
    def text(self) -> str:
        return f"{self.words} {self.column.name}{self.rows_text}"

    @property
    def rows_text(self) -> str:
        """The rows that count, in words; empty for all rows."""
        return f" where {self.where.text}" if self.where else ""

    @property
    def may_lack(self) -> bool:
        """Whether a person may have no row that counts, or none with a value.

        If the column always has a value, each person has one.
        """
        is_known = self.where is None and all(one.missing is not None for one in self.inputs)
        return self.of_nothing is None and not is_known

    @property
    def misled_by_clamped(self) -> bool:
        return self.where is not None and any(one.misled_by for one in self.where.single_tests)

    def possible(self, ranges_of: RangesOf) -> Ranges | None:
        return ranges_of(require_valued(self.column))

    def used(self, names: Names) -> pl.Expr:
        """The value, or private label, of each row; null in one that does not count."""
        value = pl.col(names[self.column])
        return value if self.where is None else pl.when(self.where.truth(names)).then(value)

    def counts(self, names: Names) -> pl.Expr:
        return self.used(names).is_not_null()

    def tallied(self, names: Names) -> pl.Expr:
        return self.used(names)


class PersonSection(DerivedSection):
    """The declaration of a number of a person, between bounds that are required."""

    missing_lines: ClassVar[dict[str, str]] = {
        "bounds": "`bounds: [0, 20]`: the value of each person is clamped to them"
    }
    bounds: PersonBounds


class CountSection(PersonSection):
    """The declaration of a count, which is never missing, of some rows."""

    where: Conditions | None = None


class SomeRowsSection(CountSection):
    """The declaration of a number of a person, from the rows that satisfy conditions."""

    missing: Text = DROP


class LikeColumnSection(DerivedSection):
    """The declaration of a value of a person that is like one of a column.

    Numbers have the bounds of the column unless others are declared, and labels those of the
    column.
    """

    bounds: PersonBounds | None = None
    step: Step | None = None
    missing: Text = DROP
    where: Conditions | None = None


def named_column(
    key: str, section: Any, context: DeclaredColumns, kinds: Sequence[str] = VALUED
) -> Any:
    """The column of rows that a key names, if it is of one of the `kinds`."""
    scalar = section.node.scalar(key)
    column = valued(scalar, section, context, kinds)
    if column.uses_people:
        raise scalar.span.report("people-form.nested", column=column.name, key=key)
    return column


def valued_or_private(key: str, section: Any, context: DeclaredColumns) -> Any:
    """The column of rows that a key names, whose labels may be private."""
    scalar = section.node.scalar(key)
    column = context.columns.get(scalar.text)
    is_private = column is not None and column.is_private
    return column if is_private else named_column(key, section, context)


def number_of_person(
    name: str,
    section: Any,
    value: PersonValue,
    column_class: type[NumericColumn],
    step: Fraction,
    limits: tuple[int, int] | None = None,
) -> NumericColumn:
    """The column of numbers or days of people; declared bounds come before `limits`."""
    column = column_class(name, step, derivation=value)
    if isinstance(section.bounds, ChosenBoundsModel):
        if column.is_date:
            raise section.report("bounds-chosen.days", "bounds")
        limits, _ = section.bounds.outermost(step)
    elif section.bounds is not None:
        scalars = scalars_of(section.node.value("bounds"))
        low, high = (read_number(scalar, "the bound", column.parse) for scalar in scalars)
        if low >= high:
            code = "bounds-order.equal" if low == high else "bounds-order"
            raise section.report(code, "bounds", low=scalars[0].text, high=scalars[1].text)
        limits = bounds_in_steps(section, (low, high), step)
    column = replace(column, bounds=limits)
    missing = section.node.scalar("missing") if hasattr(section, "missing") else None
    if missing is None or missing.text == DROP:
        return column
    return replace(column, missing=column.read_within_bounds(missing, "`missing`"))


def like_column(name: str, section: Any, value: PersonValue, column: Column) -> Column:
    """The column of values of people that are values of a column of rows."""
    for number in numeric_columns([column]):
        if section.step is not None:
            raise section.report_key("derived-form.unneeded", "step", key="step", kind="values")
        return number_of_person(name, section, value, type(number), number.step, number.limits)
    for key in ("bounds", "step"):
        if section.has(key):
            raise section.report_key("derived-form.unneeded", key, key=key, kind="labels")
    if column.is_private:
        if section.missing != DROP:
            raise section.report("unknown-label.open", "missing")
        return replace(
            require_text_column(column), name=name, source=None, options=(), derivation=value
        )
    (labeled,) = labeled_columns([column])
    return category_column(name, section, value, labeled.labels, type(labeled))
