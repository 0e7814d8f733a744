"""How derived columns follow from other columns: one class for each kind.

A derivation is public: it comes from the spec. The value of a row depends on that row alone, and it
is clamped to the bounds of the derived column, or is one of its labels.

Privacy: the bounds of a derived column are declared, or follow from the declared bounds of its
inputs, never from data. A change of one row changes one value within these bounds, so a query over
a derived column has the sensitivity that its declaration states, as over any other column.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

from dpcli.data.cell_formats import MONTHS
from dpcli.data.column import Column, Derivation
from dpcli.data.derived_numbers import (
    Arithmetic,
    FirstNumber,
    Product,
    Ratio,
    Sum,
    columns_of,
    limits_of,
    texts_of,
)
from dpcli.data.filters import Filter, filtered_columns
from dpcli.data.ids import PrivatePartitionColumn
from dpcli.data.labels import LabeledColumn
from dpcli.data.numeric import NumericColumn
from dpcli.data.options.dates import Hours
from dpcli.numeric.days import day_of
from dpcli.problems.light_dataclasses import dataclass

PartName = Literal[
    "year", "quarter", "month", "week", "weekday", "hour", "year-month", "year-quarter", "year-week"
]

HOURS = 24
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Age(Arithmetic):
    """Full years from the first day to the second; negative if it is later.

    A person who was born on 29 February becomes older on 1 March of a year without that day.

    >>> birth = DateColumn("birth", bounds=(0, 364))
    >>> Age((birth, Fraction(10_957)), Fraction(1)).limits
    (29, 30)
    """

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The ages of the latest birth on the first day, and of the earliest on the last."""
        (early, late), (first, last) = map(limits_of, self.terms)
        return Fraction(_years(late, first)), Fraction(_years(early, last))

    @property
    def magnitude(self) -> int:
        """A limit on the years of the calendar."""
        return 1 << 20

    @property
    def text(self) -> str:
        """Both days."""
        birth, day = texts_of(self.terms)
        return f"full years from {birth} to {day}"


@dataclass(frozen=True, slots=True)
class DatePart(Derivation):
    """A part of a date: a label of the calendar. Weeks, and the years of weeks, are those of ISO.

    The hour is read from the cells of the date, because the days of the column have no time.

    >>> when = DateColumn("when", bounds=(0, 100))
    >>> DatePart(when, "year-quarter").labels
    ('1970-Q1', '1970-Q2')
    """

    column: NumericColumn
    part: PartName

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The date, or the column of its hours."""
        return (hours_of(self.column) if self.part == "hour" else self.column,)

    @property
    def text(self) -> str:
        return f"{self.part} of {self.column.name}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in calendar order; years are those of the bounds."""
        match self.part:
            case "quarter":
                return tuple(f"Q{quarter}" for quarter in range(1, 5))
            case "month":
                return MONTHS
            case "week":
                return tuple(f"W{week:02}" for week in range(1, 54))
            case "weekday":
                return WEEKDAYS
            case "hour":
                return tuple(f"{hour:02}" for hour in range(HOURS))
        first, count = self.first, self.count
        match self.part:
            case "year":
                return tuple(f"{year:04}" for year in range(first, first + count))
            case "year-quarter":
                indices = (divmod(index, 4) for index in range(first, first + count))
                return tuple(f"{year:04}-Q{quarter + 1}" for year, quarter in indices)
            case "year-month":
                indices = (divmod(index, 12) for index in range(first, first + count))
                return tuple(f"{year:04}-{month + 1:02}" for year, month in indices)
        # The Thursday of a week is in the ISO year of that week.
        weeks = (day_of(7 * week).isocalendar() for week in range(first, first + count))
        return tuple(f"{week.year:04}-W{week.week:02}" for week in weeks)

    @property
    def first(self) -> int:
        """The first label: the number of its year, quarter, month or week in the calendar."""
        return self._period_index(self.column.lower) if self.part.startswith("year") else 0

    @property
    def count(self) -> int:
        """The number of labels of a part with a year, from the bounds of the date."""
        return self._period_index(self.column.upper) - self.first + 1

    def _period_index(self, days: int) -> int:
        day = day_of(days)
        match self.part:
            case "year":
                return day.year
            case "year-quarter":
                return day.year * 4 + (day.month - 1) // 3
            case "year-month":
                return day.year * 12 + day.month - 1
        # 1970-01-01 was a Thursday, and weeks begin on Monday.
        return (days + 3) // 7


def hours_of(date: NumericColumn) -> NumericColumn:
    """The hours in the cells of a date: a column of the same cells, missing without a time."""
    return replace(date, bounds=(0, HOURS - 1), missing=None).with_options(Hours())


@dataclass(frozen=True, slots=True)
class Bands(Derivation):
    """The index of a value among bins that begin at `starts`, in steps of the column."""

    column: NumericColumn
    starts: tuple[int, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"bands of {self.column.name}"


@dataclass(frozen=True, slots=True)
class FirstLabel(Derivation):
    """The first label that is not missing, of categories or booleans with any labels."""

    columns: tuple[LabeledColumn, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return columns_of(self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order in which they are declared."""
        return tuple(dict.fromkeys(label for column in self.columns for label in column.labels))

    @property
    def text(self) -> str:
        """The columns in order."""
        names = ", ".join(column.name for column in self.columns)
        return f"the first of {names} that is not missing"


@dataclass(frozen=True, slots=True)
class Satisfies(Derivation):
    """A boolean: whether a filter is true. It is missing where the filter is unknown."""

    test: Filter

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that the filter reads."""
        return self.test.columns

    @property
    def text(self) -> str:
        return self.test.text


@dataclass(frozen=True, slots=True)
class FirstTrue(Derivation):
    """A category: the position of the first filter that is true. It is missing where none is."""

    tests: tuple[Filter, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that the filters read."""
        return filtered_columns(self.tests)

    @property
    def text(self) -> str:
        """The filters in order."""
        return "the first of " + ", ".join(test.text for test in self.tests)


@dataclass(frozen=True, slots=True)
class PositionAmong(Derivation):
    """The position of a text among stated ones, or one past their end for any other text."""

    column: PrivatePartitionColumn
    texts: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"{self.column.name} among {', '.join(self.texts)}"


DERIVATIONS: tuple[type[Derivation], ...] = (
    Sum,
    Product,
    Ratio,
    Age,
    DatePart,
    Bands,
    FirstNumber,
    FirstLabel,
    Satisfies,
    FirstTrue,
    PositionAmong,
)
"""Every kind of derivation."""


def _years(birth: Fraction, day: Fraction) -> int:
    first, last = day_of(int(birth)), day_of(int(day))
    had_no_birthday = (last.month, last.day) < (first.month, first.day)
    return last.year - first.year - had_no_birthday
