"""How derived columns follow from other columns: one class for each kind.

A derivation is public: it comes from the spec. The value of a row depends on that row alone. A
number is the rational value of its terms, rounded to the grid of the derived column (halves to the
even number of steps), then clamped to its bounds; other values are labels.

Privacy: the bounds of a derived column are declared, or follow from the declared bounds of its
inputs by interval arithmetic, never from data. A change of one row changes one value within these
bounds, so a query over a derived column has the sensitivity that its declaration states, as over
any other column.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import product
from math import gcd, lcm, prod
from operator import mul
from typing import Literal, cast

from dpcli.data.column import (
    Column,
    Derivation,
    Names,
    Ranges,
    RangesOf,
    ValuedColumn,
    as_ranges,
    common_ranges,
    merged_ranges,
)
from dpcli.data.date_forms import MONTHS, Part
from dpcli.data.date_options import TimePart
from dpcli.data.filters import Filter, filtered_columns
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn, PrivatePartitionColumn
from dpcli.data.polars_text import pl
from dpcli.numeric.days import day_of
from dpcli.problems.light_dataclasses import dataclass

Term = NumericColumn | Fraction
"""A column, or a constant: a number or a day."""


@dataclass(frozen=True, slots=True)
class Arithmetic(Derivation):
    """A number computed from numbers or dates; missing if one of its columns is.

    `step` is that of the derived column.
    """

    terms: tuple[Term, ...]
    step: Fraction

    @property
    def inputs(self) -> tuple[Column, ...]:
        return columns_of(self.terms)

    @property
    def columns(self) -> list[NumericColumn]:
        """The columns among the terms, as often as they occur."""
        return [term for term in self.terms if not isinstance(term, Fraction)]

    @property
    @abstractmethod
    def span(self) -> tuple[Fraction, Fraction]:
        """The minimum and the maximum of the value, before it is rounded to steps."""

    @property
    @abstractmethod
    def magnitude(self) -> int:
        """An upper bound of all intermediate integers, by which the engine chooses types."""

    @property
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum in steps; rounding keeps the order."""
        low, high = (round(side / self.step) for side in self.span)
        return low, high

    def possible(self, ranges_of: RangesOf) -> Ranges:
        """The limits that follow from those of the columns."""
        narrowed = {}
        for column in self.columns:
            ranges = ranges_of(column) or (column.limits,)
            bounds = ranges[0][0], ranges[-1][1]
            narrowed[column] = replace(column, bounds=bounds, missing=None)
        terms = (term if isinstance(term, Fraction) else narrowed[term] for term in self.terms)
        return (replace(self, terms=tuple(terms)).limits,)

    @property
    def dtype(self) -> pl.DataType:
        """An integer type that fits all intermediate values, and two bits for rounding."""
        return pl.Int64() if self.magnitude < 1 << 61 else pl.Int128()

    def cells(self, names: Names) -> list[pl.Expr]:
        """The values of the columns among the terms, in a type that fits all."""
        return [pl.col(names[column]).cast(self.dtype) for column in self.columns]


def _times(cell: pl.Expr, factor: int, dtype: pl.DataType) -> pl.Expr:
    return cell if factor == 1 else cell * pl.lit(factor, dtype=dtype)


def _divided(value: pl.Expr, divisor: int, dtype: pl.DataType) -> pl.Expr:
    return value if divisor == 1 else _rounded(value, pl.lit(divisor, dtype=dtype))


def _rounded(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """The nearest integer of a ratio with a positive denominator, halves to even."""
    # The floor of the ratio and a half; a tie has no rest, and is one too many if odd.
    shifted, twice = above * 2 + below, below * 2
    # Division and remainder are those of floors, also below zero.
    return shifted // twice - (shifted % (twice * 2) == twice).cast(pl.Int8)


@dataclass(frozen=True, slots=True)
class Sum(Arithmetic):
    """The sum of all terms, or the first one minus the second.

    >>> hours = NumberColumn("hours", step=Fraction(1, 2), bounds=(0, 48))
    >>> Sum((hours, Fraction(2)), Fraction(1, 2)).limits
    (4, 52)
    """

    subtracts: bool = False

    @property
    def scaled(self) -> tuple[tuple[int, ...], int, int]:
        """The integers by which the cells are multiplied, the constant, and the divisor.

        The value in steps is the sum of these products and of the constant, divided by the divisor.
        """
        signs = [-1 if self.subtracts and index else 1 for index in range(len(self.terms))]
        pairs = list(zip(signs, self.terms, strict=True))
        units = [
            sign * term.step / self.step for sign, term in pairs if not isinstance(term, Fraction)
        ]
        constants = [sign * term / self.step for sign, term in pairs if isinstance(term, Fraction)]
        constant = sum(constants, Fraction(0))
        divisor = lcm(*(unit.denominator for unit in (*units, constant)))
        return tuple(int(unit * divisor) for unit in units), int(constant * divisor), divisor

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        ends = [limits_of(term) for term in self.terms]
        if self.subtracts:
            (low, high), (min_term, max_term) = ends
            return low - max_term, high - min_term
        return sum((low for low, _ in ends), Fraction(0)), sum((hi for _, hi in ends), Fraction(0))

    @property
    def magnitude(self) -> int:
        """The sum of the largest products, or twice the divisor."""
        factors, constant, divisor = self.scaled
        products = (
            abs(factor) * _max_size(column)
            for factor, column in zip(factors, self.columns, strict=True)
        )
        return max(sum(products) + abs(constant) + 1, *map(abs, factors), 2 * divisor)

    @property
    def text(self) -> str:
        return (" - " if self.subtracts else " + ").join(texts_of(self.terms))

    def value(self, names: Names) -> pl.Expr:
        factors, constant, divisor = self.scaled
        total = pl.lit(constant, dtype=self.dtype)
        for cell, factor in zip(self.cells(names), factors, strict=True):
            total = total + _times(cell, factor, self.dtype)
        return _divided(total, divisor, self.dtype)


@dataclass(frozen=True, slots=True)
class Product(Arithmetic):
    """The product of all terms.

    >>> hours = IntegerColumn("hours", bounds=(-2, 10))
    >>> Product((hours, hours), Fraction(1)).limits
    (-20, 100)
    """

    @property
    def grid(self) -> Fraction:
        """The step of which all products are whole multiples."""
        return abs(prod(map(_unit, self.terms), start=Fraction(1))) or Fraction(1)

    @property
    def scaled(self) -> tuple[int, int]:
        """Factor and divisor: the value in steps is the product times factor / divisor."""
        factor = prod(map(_unit, self.terms), start=1 / self.step)
        return factor.numerator, factor.denominator

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        corners = [prod(ends, start=Fraction(1)) for ends in product(*map(limits_of, self.terms))]
        return min(corners), max(corners)

    @property
    def magnitude(self) -> int:
        factor, divisor = self.scaled
        # A later factor may be zero, so each counts as at least one.
        cells = prod(max(_max_size(column), 1) for column in self.columns)
        return 2 * max(abs(factor) * cells, cells, divisor)

    @property
    def text(self) -> str:
        return " * ".join(texts_of(self.terms))

    def value(self, names: Names) -> pl.Expr:
        factor, divisor = self.scaled
        product = reduce(mul, self.cells(names))
        return _divided(_times(product, factor, self.dtype), divisor, self.dtype)


@dataclass(frozen=True, slots=True)
class Ratio(Arithmetic):
    """The first term divided by the second; missing where the second is zero.

    >>> cases = IntegerColumn("cases", bounds=(0, 10))
    >>> Ratio((Fraction(5), cases), Fraction(1, 2)).limits
    (1, 10)
    """

    @property
    def scaled(self) -> tuple[int, int]:
        """The factors of numerator and denominator with which their ratio is in steps."""
        above, below = map(_unit, self.terms)
        factor = above / below / self.step
        return factor.numerator, factor.denominator

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The minimum and the maximum of the ratios, from the ends of both terms.

        If the denominator can be near zero, its ends include one step above and below zero.
        """
        above, below = self.terms
        low, high = limits_of(below)
        ends = {low, high} | {side for side in (-_unit(below), _unit(below)) if low <= side <= high}
        corners = [side / end for side in limits_of(above) for end in ends if end]
        return min(corners, default=Fraction(0)), max(corners, default=Fraction(0))

    @property
    def magnitude(self) -> int:
        pairs = zip(self.scaled, self.terms, strict=True)
        return 2 * max(
            abs(factor) if isinstance(term, Fraction) else abs(factor) * max(_max_size(term), 1)
            for factor, term in pairs
        )

    @property
    def text(self) -> str:
        return " / ".join(texts_of(self.terms))

    def value(self, names: Names) -> pl.Expr:
        above, below = (
            pl.lit(factor, dtype=self.dtype)
            if isinstance(term, Fraction)
            else _times(pl.col(names[term]).cast(self.dtype), factor, self.dtype)
            for factor, term in zip(self.scaled, self.terms, strict=True)
        )
        sign = pl.when(below < 0).then(-1).otherwise(1).cast(self.dtype)
        return pl.when(below != 0).then(_rounded(above * sign, below * sign))


@dataclass(frozen=True, slots=True)
class FirstNumber(Arithmetic):
    """The first number or date that is not missing; the terms are columns.

    >>> wage = IntegerColumn("wage", bounds=(0, 10))
    >>> salary = IntegerColumn("salary", bounds=(5, 20))
    >>> FirstNumber((wage, salary), Fraction(1)).limits
    (0, 20)
    """

    @property
    def parts(self) -> tuple[Product, ...]:
        """The columns in steps of the derived column."""
        return tuple(Product((term,), self.step) for term in self.terms)

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        ends = [limits_of(term) for term in self.terms]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def magnitude(self) -> int:
        return max(part.magnitude for part in self.parts)

    @property
    def text(self) -> str:
        return f"the first of {', '.join(texts_of(self.terms))} that is not missing"

    def value(self, names: Names) -> pl.Expr:
        return pl.coalesce(part.value(names).cast(self.dtype) for part in self.parts)


def common_step(terms: Sequence[Term]) -> Fraction:
    """The largest number of which all values of all terms are whole multiples."""
    units = list(map(_unit, terms))
    units = [unit for unit in units if unit] or [Fraction(1)]
    divisor = lcm(*(unit.denominator for unit in units))
    return Fraction(gcd(*(int(unit * divisor) for unit in units)), divisor)


def limits_of(term: Term) -> tuple[Fraction, Fraction]:
    """The minimum and the maximum of a term."""
    if isinstance(term, Fraction):
        return term, term
    return term.lower * term.step, term.upper * term.step


def columns_of(terms: Sequence[Term | LabeledColumn]) -> tuple[Column, ...]:
    """The different columns among terms."""
    return tuple(dict.fromkeys(term for term in terms if not isinstance(term, Fraction)))


def texts_of(terms: Sequence[Term]) -> list[str]:
    """Names of the columns, and constants: days if there is a date among the columns."""
    column = next(term for term in terms if not isinstance(term, Fraction))
    return [
        column.constant_text(term) if isinstance(term, Fraction) else term.name for term in terms
    ]


def _unit(term: Term) -> Fraction:
    return term if isinstance(term, Fraction) else term.step


def _max_size(column: NumericColumn) -> int:
    return max(map(abs, column.limits))


PartName = Literal[
    "year", "quarter", "month", "week", "weekday", "hour", "minute", "year-month", "year-quarter",
    "year-week",
]  # fmt: skip

TIME_PARTS: dict[str, int] = {"hour": 24, "minute": 60}
"""The parts of a time of day, each with the number of its values."""

CYCLES: Mapping[str, Callable[[date], int]] = {
    "quarter": lambda day: (day.month - 1) // 3,
    "month": lambda day: day.month - 1,
    "week": lambda day: day.isocalendar().week - 1,
    "weekday": date.weekday,
}
"""The positions of labels that come again, by the part of a date."""

MAX_DAYS = 100_000
"""The most days of bounds that are tried one by one: more than two centuries."""

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
class DatePart(Derivation):
    """A part of a date: a label of the calendar.

    Weeks, and the years of weeks, are those of ISO. Hours and minutes are read from the cells of
    the date, because the days of the column have no time.

    >>> when = DateColumn("when", bounds=(0, 100))
    >>> DatePart(when, "year-quarter").labels
    ('1970-Q1', '1970-Q2')
    """

    column: NumericColumn
    part: PartName

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
        year, month = day.year().cast(pl.Int64), day.month().cast(pl.Int64)
        index = {
            "year": year,
            "quarter": (month - 1) // 3,
            "month": month - 1,
            "week": day.week().cast(pl.Int64) - 1,
            # 1970-01-01 was a Thursday.
            "weekday": (days + 3) % 7,
            "hour": days,
            "minute": days,
            "year-month": year * 12 + month - 1,
            "year-quarter": year * 4 + (month - 1) // 3,
            "year-week": (days + 3) // 7,
        }
        return index[self.part] - self.first

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
            case "hour" | "minute" as part:
                return tuple(f"{number:02}" for number in range(TIME_PARTS[part]))
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
        """The calendar number of the first label, for parts with a year; else zero."""
        return self.period_index(self.column.lower) if self.part.startswith("year") else 0

    @property
    def count(self) -> int:
        """The number of labels of a part with a year, from the bounds of the date."""
        return self.period_index(self.column.upper) - self.first + 1

    def period_index(self, days: int) -> int:
        """The calendar number of the label of a day, for parts with a year."""
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
    return [cycle(day_of(day)) if cycle else part.period_index(day) - part.first for day in days]


def time_part_of(date: NumericColumn, part: Part) -> NumericColumn:
    """The hours or minutes in a date's cells; missing without a time."""
    twice_middle = sum(date.bounds) if date.bounds else None
    bounds = (0, TIME_PARTS[part] - 1)
    return replace(date, bounds=bounds, missing=None).with_options(TimePart(part, twice_middle))


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

    def value(self, names: Names) -> pl.Expr:
        # The last start that is not above the value; missing cells stay null.
        value, starts = pl.col(names[self.column]), pl.Series(self.starts, dtype=pl.Int64)
        index = pl.lit(starts).search_sorted(value.cast(pl.Int64), side="right")
        return pl.when(value.is_not_null()).then(index.cast(pl.Int64) - 1)

    def possible(self, ranges_of: RangesOf) -> Ranges:
        at = partial(bisect_right, self.starts)
        return merged_ranges((at(low) - 1, at(high) - 1) for low, high in ranges_of(self.column))

    def implied(self, ranges: Ranges) -> Mapping[ValuedColumn, Ranges]:
        starts = [*self.starts, self.column.upper + 1]
        return {self.column: tuple((starts[low], starts[high + 1] - 1) for low, high in ranges)}


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
        names = ", ".join(column.name for column in self.columns)
        return f"the first of {names} that is not missing"

    def value(self, names: Names) -> pl.Expr:
        labels = {label: index for index, label in enumerate(self.labels)}
        return pl.coalesce(
            pl.col(names[column]).replace_strict(
                list(range(len(column.labels))),
                [labels[label] for label in column.labels],
                return_dtype=pl.Int64,
            )
            for column in self.columns
        )


@dataclass(frozen=True, slots=True)
class Satisfies(Derivation):
    """A boolean: whether a filter is true. It is missing where the filter is unknown."""

    test: Filter

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self.test.columns

    @property
    def text(self) -> str:
        return self.test.text

    def value(self, names: Names) -> pl.Expr:
        return self.test.truth(names).cast(pl.Int8)

    def possible(self, ranges_of: RangesOf) -> Ranges:
        return tuple(
            (outcome, outcome)
            for outcome in (0, 1)
            if (implied := self.test.implied(outcome=bool(outcome))) is not None
            and all(common_ranges(ranges_of(column), implied[column]) for column in implied)
        )

    def implied(self, ranges: Ranges) -> Mapping[ValuedColumn, Ranges] | None:
        outcomes = [outcome for outcome in (0, 1) if common_ranges(ranges, ((outcome, outcome),))]
        return {} if len(outcomes) > 1 else self.test.implied(outcome=outcomes == [1])


@dataclass(frozen=True, slots=True)
class FirstTrue(Derivation):
    """A category: the position of the first filter that is true; missing if none is."""

    tests: tuple[Filter, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return filtered_columns(self.tests)

    @property
    def text(self) -> str:
        return "the first of " + ", ".join(test.text for test in self.tests)

    def value(self, names: Names) -> pl.Expr:
        return pl.coalesce(
            pl.when(test.truth(names)).then(pl.lit(index, dtype=pl.Int32))
            for index, test in enumerate(self.tests)
        )


@dataclass(frozen=True, slots=True)
class PositionAmong(Derivation):
    """A text's position among stated ones, or one past their end for any other text."""

    column: PrivatePartitionColumn
    texts: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"{self.column.name} among {', '.join(self.texts)}"

    def value(self, names: Names) -> pl.Expr:
        text = pl.col(names[self.column])
        # Of equal texts, the last one counts.
        indices = {one: index for index, one in enumerate(self.column.compared(self.texts))}
        index = text.replace_strict(indices, default=len(self.texts), return_dtype=pl.Int64)
        return pl.when(text.is_not_null()).then(index)


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
