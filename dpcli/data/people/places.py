"""The first, the last and the most frequent value of a person; gaps between days."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from dpcli.data.column import Column, Names, Ranges, RangesOf, require_valued
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.derived.declared import DerivedSection
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.data.people.person_value import (
    Kept,
    LikeColumnSection,
    SomeRowsSection,
    ValueOfRows,
    like_column,
    named_column,
    number_of_person,
    valued_or_private,
)
from dpcli.data.polars_text import pl
from dpcli.fields.statistic_fields import ORDERED
from dpcli.fields.values import Fields, Text
from dpcli.problems.light_dataclasses import dataclass

WORD = 1 << 63
"""Numbers below it fit a machine word."""

PLACE_DIGITS = 20
"""Digits of a number below two to the power of 64."""


@dataclass(frozen=True, slots=True)
class First(ValueOfRows):
    """The value of a column in the first row of a person: `first: region, by: day`.

    `by` is the date or number that orders rows; a date alone orders itself. Rows in which one of
    both is missing do not count. Of rows with equal `by`, the least value counts: of labels, the
    one that is declared first.
    """

    by: NumericColumn | None

    key = words = "first"
    fields: ClassVar[Fields] = {"first": Text, "by": Text | None}
    section: ClassVar[type[DerivedSection]] = LikeColumnSection
    is_last: ClassVar[bool] = False

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = valued_or_private(cls.key, section, context)
        by = named_column("by", section, context, ORDERED) if section.has("by") else None
        if by is None and not column.is_date:
            raise section.report_key("people-form.by", cls.key, key=cls.key, column=column.name)
        where, order = cls.read_rows(section, context), None if by == column else by
        return like_column(name, section, cls(column, where, order), column)

    @property
    def inputs(self) -> tuple[Column, ...]:
        # Zero-argument `super` does not work in data classes with slots.
        own = ValueOfRows.inputs.__get__(self)
        return own if self.by is None else (self.by, *own)

    @property
    def text(self) -> str:
        by = f" by {self.by.name}" if self.by else ""
        return f"{self.words} {self.column.name}{by}{self.rows_text}"

    def counts(self, names: Names) -> pl.Expr:
        known = self.used(names).is_not_null()
        return known if self.by is None else known & pl.col(names[self.by]).is_not_null()

    def kept(self, names: Names) -> Sequence[Kept]:
        value = self.used(names)
        if self.by is None:
            value = value.cast(pl.Int64)
        elif self.column.is_private:
            # Texts of one width are ordered as the numbers are.
            place = pl.col(names[self.by]).cast(pl.Int128) - self.by.limits[0]
            value = place.cast(pl.String).str.zfill(PLACE_DIGITS) + value
        else:
            # One number that is ordered as the pairs are. It is null if one of both is.
            column = require_valued(self.column)
            place, size = pl.col(names[self.by]), column.max_distinct
            dtype = pl.Int64() if self.by.max_distinct * size < WORD else pl.Int128()
            place = (place.cast(dtype) - self.by.limits[0]) * pl.lit(size, dtype)
            value = place + (value.cast(pl.Int64) - column.limits[0]).cast(dtype)
        return (Kept("greatest", value.max()) if self.is_last else Kept("least", value.min()),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        (value,) = kept
        if self.by is None:
            return value
        if self.column.is_private:
            return value.str.slice(PLACE_DIGITS)
        column = require_valued(self.column)
        return (value % column.max_distinct).cast(pl.Int64) + column.limits[0]


class Last(First):
    """The value of a column in the last row of a person: `last: region, by: day`.

    `by` is the date or number that orders rows; a date alone orders itself. Rows in which one of
    both is missing do not count. Of rows with equal `by`, the greatest value counts: of labels, the
    one that is declared last.
    """

    __slots__ = ()

    key = words = "last"
    fields: ClassVar[Fields] = {"last": Text, "by": Text | None}
    is_last: ClassVar[bool] = True


class Most(ValueOfRows):
    """The most frequent value of a column in the rows of a person.

    Of values in equally many rows, the least counts: of labels, the one that is declared first.
    """

    __slots__ = ()

    key = "most"
    words = "most frequent"
    fields: ClassVar[Fields] = {"most": Text}
    section: ClassVar[type[DerivedSection]] = LikeColumnSection
    has_tally = True

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = valued_or_private(cls.key, section, context)
        value = cls(column, cls.read_rows(section, context))
        return like_column(name, section, value, column)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        value, rows = kept
        return value.sort_by(rows, value, descending=[True, False]).first()


class Gap(ValueOfRows):
    """A number of days between one day of a person and the next."""

    __slots__ = ()

    section: ClassVar[type[DerivedSection]] = SomeRowsSection
    has_tally = True
    unit = "days"

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        column = named_column(cls.key, section, context, ("date",))
        value = cls(column, cls.read_rows(section, context))
        return number_of_person(name, section, value, IntegerColumn, Fraction(1))


class LongestGap(Gap):
    """The most days between one row of a person and the next; 0 for one row."""

    __slots__ = ()

    key = "longest_gap"
    fields: ClassVar[Fields] = {"longest_gap": Text}
    words = "longest gap between days of"

    def possible(self, ranges_of: RangesOf) -> Ranges:
        ranges = ranges_of(require_valued(self.column))
        return ((0, ranges[-1][1] - ranges[0][0]),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        return kept[0].cast(pl.Int64).sort().diff().max().fill_null(0)


class ShortestGap(Gap):
    """The fewest days between one day of a person and the next; missing for one day.

    Rows of the same day are one: the shortest gap is at least a day.
    """

    __slots__ = ()

    key = "shortest_gap"
    fields: ClassVar[Fields] = {"shortest_gap": Text}
    words = "shortest gap between days of"
    may_lack = True

    def possible(self, ranges_of: RangesOf) -> Ranges:
        ranges = ranges_of(require_valued(self.column))
        return ((1, ranges[-1][1] - ranges[0][0]),)

    def of_kept(self, kept: Sequence[pl.Expr]) -> pl.Expr:
        return kept[0].cast(pl.Int64).sort().diff().min()
