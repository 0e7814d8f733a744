"""What is computed from dates: full years, and parts of the calendar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from dpcli.data.column import Column, Names, Ranges, RangesOf, ValuedColumn, as_ranges
from dpcli.data.date_forms import MONTHS, Part
from dpcli.data.date_options import TimePart
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.derived.arithmetic import Arithmetic, limits_of, texts_of
from dpcli.data.derived.declared import (
    DeclaredDerivation,
    DerivedSection,
    LabelSection,
    NumberSection,
    category_column,
    read_term,
    require_column,
    valued,
)
from dpcli.data.grid_columns import MAX_BINS, NumericColumn, require_numeric
from dpcli.data.polars_text import pl
from dpcli.fields.tree import read_all, scalars_of
from dpcli.fields.values import Choice, Fields, Text
from dpcli.numeric.days import day_of
from dpcli.problems.light_dataclasses import dataclass

PartName = Literal[
    "year", "quarter", "month", "week", "weekday", "hour", "minute", "year-month", "year-quarter",
    "year-week",
]  # fmt: skip

TIME_PARTS: dict[str, int] = {"hour": 24, "minute": 60}
"""The parts of a time of day, each with the number of its values."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

CYCLES: Mapping[str, tuple[Sequence[str], Callable[[date], int]]] = {
    "quarter": (("Q1", "Q2", "Q3", "Q4"), lambda day: (day.month - 1) // 3),
    "month": (MONTHS, lambda day: day.month - 1),
    "week": ([f"W{week:02}" for week in range(1, 54)], lambda day: day.isocalendar().week - 1),
    "weekday": (WEEKDAYS, date.weekday),
}
"""The parts whose labels come again: labels, and the position of a day's."""

PERIODS = {"year": (1, ""), "year-quarter": (4, "-Q{}"), "year-month": (12, "-{:02}")}
"""The parts of whole months: how many a year has, and their labels in it."""

MAX_DAYS = 100_000
"""The most days of bounds that are tried one by one: more than two centuries."""


@dataclass(frozen=True, slots=True)
class Age(Arithmetic):
    """Full years from one date to another; negative if the first is later.

    A person who was born on 29 February becomes older on 1 March of a year without that day.

    >>> birth = DateColumn("birth", bounds=(0, 364))
    >>> Age((birth, Fraction(10_957)), Fraction(1)).limits
    (29, 30)
    """

    key = "age"
    fields: ClassVar[Fields] = {"age": Text, "at": Text}
    section: ClassVar[type[DerivedSection]] = NumberSection
    unit = "years"

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        keys = ("age", "at")
        scalars = (scalar for key in keys for scalar in scalars_of(section.node.value(key)))
        terms = tuple(
            read_all(lambda scalar: read_term(scalar, section, context, ("date",)), scalars)
        )
        require_column(terms, section)
        return cls(terms, Fraction(1)).named(name, section)

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The ages of the latest birth on the first day, and of the earliest on the last."""
        (early, late), (first, last) = map(limits_of, self.terms)
        return Fraction(_years(late, first)), Fraction(_years(early, last))

    @property
    def magnitude(self) -> int:
        """A number above all years that two dates can be apart."""
        return 1 << 20

    @property
    def text(self) -> str:
        birth, day = texts_of(self.terms)
        return f"full years from {birth} to {day}"

    def value(self, names: Names) -> pl.Expr:
        first, last = (
            pl.lit(int(term)) if isinstance(term, Fraction) else pl.col(names[term])
            for term in self.terms
        )
        birth, day = (days.cast(pl.Int32).cast(pl.Date).dt for days in (first, last))
        before_birthday = day.month().cast(pl.Int32) * 32 + day.day() < (
            birth.month().cast(pl.Int32) * 32 + birth.day()
        )
        return (day.year() - birth.year() - before_birthday.cast(pl.Int32)).cast(pl.Int64)


@dataclass(frozen=True, slots=True)
class DatePart(DeclaredDerivation):
    """A part of a date, such as its month. Weeks are those of ISO 8601.

    Its labels are those of the calendar. Hours and minutes are read from the cells of
    the date, because the days of the column have no time.

    >>> when = DateColumn("when", bounds=(0, 100))
    >>> DatePart(when, "year-quarter").labels
    ('1970-Q1', '1970-Q2')
    """

    column: NumericColumn
    part: PartName

    key = "part"
    in_calendar = True
    fields: ClassVar[Fields] = {
        "part": Annotated[str, Choice("unknown-choice", get_args(PartName))], "of": Text,
    }  # fmt: skip
    section: ClassVar[type[DerivedSection]] = LabelSection

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        """The column, a category whose labels are in calendar order."""
        scalar = section.node.scalar("of")
        if section.part in TIME_PARTS and (date := context.column(scalar)).is_date:
            # Hours need no bounds.
            of = require_numeric(date)
            if of.derivation is not None or not of.may_have_time:
                arguments = {"column": of.name, "part": section.part}
                raise scalar.span.report("derived-form.hour", **arguments)
        else:
            of = require_numeric(valued(scalar, section, context, ("date",)))
        part = cls(of, section.part)
        if part.first and part.count > MAX_BINS:
            arguments = {"count": part.count, "most": MAX_BINS, "column": of.name}
            raise section.report("too-many-bins.part", "part", **arguments)
        return category_column(name, section, part, part.labels)

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The date, or the column of its hours or minutes."""
        is_time = self.part in TIME_PARTS
        return (time_part_of(self.column, cast("Part", self.part)) if is_time else self.column,)

    @property
    def text(self) -> str:
        return f"{self.part} of {self.column.name}"

    def value(self, names: Names) -> pl.Expr:
        days = pl.col(names[self.inputs[0]]).cast(pl.Int64)
        day = days.cast(pl.Int32).cast(pl.Date).dt
        month = day.month().cast(pl.Int64) - 1
        if self.part in PERIODS:
            count, _ = PERIODS[self.part]
            return day.year().cast(pl.Int64) * count + month * count // 12 - self.first
        index = {
            "quarter": month // 3,
            "month": month,
            "week": day.week().cast(pl.Int64) - 1,
            # 1970-01-01 was a Thursday.
            "weekday": (days + 3) % 7,
            "year-week": (days + 3) // 7,
        }
        return index.get(self.part, days) - self.first

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in calendar order; years are those of the bounds."""
        if self.part in CYCLES:
            return tuple(CYCLES[self.part][0])
        if self.part in TIME_PARTS:
            return tuple(f"{number:02}" for number in range(TIME_PARTS[self.part]))
        indices = range(self.first, self.first + self.count)
        if self.part in PERIODS:
            count, form = PERIODS[self.part]
            periods = (divmod(index, count) for index in indices)
            return tuple(f"{year:04}{form.format(period + 1)}" for year, period in periods)
        # The Thursday of a week is in the ISO year of that week.
        weeks = (day_of(7 * week).isocalendar() for week in indices)
        return tuple(f"{week.year:04}-W{week.week:02}" for week in weeks)

    @property
    def first(self) -> int:
        """The calendar number of the first label, for parts with a year; else zero."""
        return self.period_index(self.column.lower) if self.part.startswith("year") else 0

    @property
    def count(self) -> int:
        """The number of labels of a part with a year, from the bounds of the date."""
        return self.period_index(self.column.upper) - self.first + 1

    def period_index(self, days: int) -> int:
        """The calendar number of the label of a day, for parts with a year."""
        if self.part not in PERIODS:
            # 1970-01-01 was a Thursday, and weeks begin on Monday.
            return (days + 3) // 7
        day, (count, _) = day_of(days), PERIODS[self.part]
        return day.year * count + (day.month - 1) * count // 12

    def possible(self, ranges_of: RangesOf) -> Ranges | None:
        if self.part in TIME_PARTS:
            return None
        positions, start = _positions(self), self.column.lower
        days = ranges_of(self.column)
        return (
            as_ranges(
                {at for low, high in days for at in positions[low - start : high - start + 1]}
            )
            or None
        )

    def implied(self, ranges: Ranges) -> Mapping[ValuedColumn, Ranges]:
        days = () if self.part in TIME_PARTS else _days(self, ranges)
        return {self.column: days} if days else {}


@lru_cache(maxsize=256)
def _days(part: DatePart, ranges: Ranges) -> Ranges:
    """The days whose labels have positions in some ranges; none if not known."""
    positions = {at for low, high in ranges for at in range(low, high + 1)}
    found = enumerate(_positions(part), part.column.lower)
    return as_ranges(day for day, position in found if position in positions)


@lru_cache(maxsize=32)
def _positions(part: DatePart) -> list[int]:
    """The position of the label of each day within bounds; none if not known."""
    days = range(part.column.lower, part.column.upper + 1)
    if part.inputs != (part.column,) or len(days) > MAX_DAYS:
        return []
    cycle = CYCLES.get(part.part)
    if cycle:
        return [cycle[1](day_of(day)) for day in days]
    return [part.period_index(day) - part.first for day in days]


def time_part_of(date: NumericColumn, part: Part) -> NumericColumn:
    """The hours or minutes in a date's cells; missing without a time."""
    twice_middle = sum(date.bounds) if date.bounds else None
    bounds = (0, TIME_PARTS[part] - 1)
    return replace(date, bounds=bounds, missing=None).with_options(TimePart(part, twice_middle))


def _years(birth: Fraction, day: Fraction) -> int:
    first, last = day_of(int(birth)), day_of(int(day))
    had_no_birthday = (last.month, last.day) < (first.month, first.day)
    return last.year - first.year - had_no_birthday
