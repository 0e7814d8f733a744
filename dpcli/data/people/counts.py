"""Counts of rows and values of a person, and whether any or all rows are such."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from dpcli.data.column import Column, Names, Ranges, RangesOf, require_valued
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.derived.declared import DerivedSection, TruthSection, category_column
from dpcli.data.filters import Filter
from dpcli.data.labels import BOOLEAN_LABELS, BooleanColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.data.people.person_value import (
    Conditions,
    CountSection,
    HeldConditions,
    Kept,
    PersonSection,
    PersonValue,
    ValueOfRows,
    number_of_person,
    read_conditions,
    valued_or_private,
)
from dpcli.data.polars_text import pl
from dpcli.fields.tree import ScalarNode
from dpcli.fields.values import ByForm, Fields, Text
from dpcli.problems.light_dataclasses import dataclass

ROWS = "rows"
"""The word for all rows of a person."""

MANY_ROWS = 1 << 32
"""More rows than a file has."""


@dataclass(frozen=True, slots=True)
class RowsOfPerson(PersonValue):
    """How many rows a person has, or how many of them satisfy conditions.

    `count: rows` counts all rows, and `count: {kind: [emergency]}` those whose conditions hold. A
    person without such a row has zero.
    """

    test: Filter | None = None

    key = "count"
    of_nothing = 0
    fields: ClassVar[Fields] = {"count": Annotated[Text | Conditions, ByForm]}
    section: ClassVar[type[DerivedSection]] = PersonSection

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        node, test = section.node.value(cls.key), None
        if not isinstance(node, ScalarNode):
            test = read_conditions(cls.key, section, context)
        elif node.text != ROWS:
            raise node.span.report("people-form.count", found=node.text)
        return number_of_person(name, section, cls(test), IntegerColumn, Fraction(1))

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self.test.columns if self.test else ()

    @property
    def text(self) -> str:
        return f"number of rows where {self.test.text}" if self.test else "number of rows"

    def possible(self, ranges_of: RangesOf) -> Ranges:
        return ((0 if self.test else 1, MANY_ROWS),)

    def counts(self, names: Names) -> pl.Expr:
        return pl.lit(value=True) if self.test is None else self.test.truth(names)

    def kept(self, names: Names) -> Sequence[Kept]:
        # A literal would count once for all rows.
        rows = pl.len() if self.inputs == () else self.counts(names).sum()
        return (Kept("sum", rows.cast(pl.Int64)),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        return kept[0]


@dataclass(frozen=True, slots=True)
class InAnyRow(PersonValue):
    """Whether conditions hold in any row of a person.

    Rows in which that is unknown, because a cell is missing, do not count.
    """

    test: Filter

    key = "any"
    fields: ClassVar[Fields] = {"any": HeldConditions}
    section: ClassVar[type[DerivedSection]] = TruthSection
    in_all: ClassVar[bool] = False

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        value = cls(read_conditions(cls.key, section, context))
        return category_column(name, section, value, BOOLEAN_LABELS, BooleanColumn)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self.test.columns

    @property
    def text(self) -> str:
        return f"{self.test.text} in {'each' if self.in_all else 'any'} row"

    @property
    def misled_by_clamped(self) -> bool:
        return any(test.misled_by for test in self.test.single_tests)

    def counts(self, names: Names) -> pl.Expr:
        return self.test.truth(names).is_not_null()

    def kept(self, names: Names) -> Sequence[Kept]:
        truth = self.test.truth(names).cast(pl.Int8)
        return (Kept("least", truth.min()) if self.in_all else Kept("greatest", truth.max()),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        return kept[0]


class InAllRows(InAnyRow):
    """Whether conditions hold in all rows of a person.

    Rows in which that is unknown, because a cell is missing, do not count.
    """

    __slots__ = ()

    key = "all"
    fields: ClassVar[Fields] = {"all": HeldConditions}
    in_all: ClassVar[bool] = True


class DifferentValues(ValueOfRows):
    """How many different values a column has in the rows of a person."""

    __slots__ = ()

    key = "distinct"
    fields: ClassVar[Fields] = {"distinct": Text}
    section: ClassVar[type[DerivedSection]] = CountSection
    words = "number of different values of"
    has_tally = True
    of_nothing = 0

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = valued_or_private(cls.key, section, context)
        value = cls(column, cls.read_rows(section, context))
        return number_of_person(name, section, value, IntegerColumn, Fraction(1))

    def possible(self, ranges_of: RangesOf) -> Ranges:
        if self.column.is_private:
            return ((0, MANY_ROWS),)
        return ((0, sum(high - low + 1 for low, high in ranges_of(require_valued(self.column)))),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        return kept[0].len()


@dataclass(frozen=True, slots=True)
class RowsThatCount(RowsOfPerson):
    """How many rows of a person count for any of some values; no spec declares it."""

    values: tuple[PersonValue, ...] = ()

    text = "number of rows that count"

    @property
    def inputs(self) -> tuple[Column, ...]:
        return tuple(dict.fromkeys(one for value in self.values for one in value.inputs))

    def counts(self, names: Names) -> pl.Expr:
        return pl.any_horizontal(value.counts(names) for value in self.values)


def rows_that_count(values: Iterable[PersonValue]) -> IntegerColumn:
    """The number of rows of a person that count for any of some values."""
    return IntegerColumn(
        "rows", bounds=(0, MANY_ROWS), derivation=RowsThatCount(values=tuple(values))
    )
