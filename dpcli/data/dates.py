"""Columns of dates, whose cells become days since 1970-01-01, each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from dpcli.data.cell_options import From, MissingMarks
from dpcli.data.column import Column, Option, Rule
from dpcli.data.date_options import Formats, Zone
from dpcli.data.formats import ISO_TIME, DateForm, DateFormat
from dpcli.data.grid_columns import NumericColumn, NumericKind
from dpcli.data.polars_text import pl
from dpcli.fields.values import parse_day
from dpcli.numeric.days import day_of, days_of
from dpcli.problems.messages import quoted_list

NOON = 12
"""The hour of dates that are examples."""

FIRST_DAY = -719_162
"""0001-01-01 as days since 1970."""

LAST_DAY = 2_932_896
"""9999-12-31 as days since 1970."""


class DateColumn(NumericColumn):
    """Days, or with the part `hour` of its format, the hours of its cells."""

    __slots__ = ()

    kind: ClassVar[NumericKind] = "date"
    takes: ClassVar[tuple[type[Option], ...]] = (Formats, Zone, MissingMarks, From)
    comparison_words: ClassVar[Mapping[str, str]] = {
        "<": "before",
        "<=": "not after",
        "=": "equal to",
        ">=": "not before",
        ">": "after",
    }
    wrong_type: ClassVar[str] = "wrong-column-type.days"
    grid_words: ClassVar[str] = "a whole number of days"
    bounds_example: ClassVar[str] = "[2010-01-01, 2024-12-31]"
    max_outside: ClassVar[float] = 0
    widest: ClassVar[tuple[int, int]] = (FIRST_DAY, LAST_DAY)

    @property
    def format(self) -> DateFormat | None:
        return self.in_form(DateFormat())

    @property
    def mean_decimals(self) -> int:
        return 0

    @property
    def date_range(self) -> int | None:
        return self.upper - self.lower

    def is_like(self, other: Column) -> bool:
        return isinstance(other, DateColumn)

    def text(self, value: int) -> str:
        """A day such as 2024-12-31."""
        return day_of(value).isoformat()

    def parse(self, text: str) -> Fraction:
        return Fraction(parse_day(text))

    def steps_of(self, text: str) -> int:
        return days_of(text)

    def constant_text(self, value: Fraction) -> str:
        return day_of(int(value)).isoformat()

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        if (form := self.format) is not None:
            return [lambda text: self.possible(formatted_dates(text, form))] * 2
        return [
            lambda text: self.possible(iso_days(text)),
            lambda bare: self.possible(iso_days(first_word(bare))),
        ]

    @property
    def needs_plain_text(self) -> bool:
        return bool(self.marks or self.text_options)

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        form = self.format
        return formatted_time(plain, form.forms[0]) if form and form.forms else plain

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        if dtype != pl.Date or not self.reads_types:
            return None
        return within_calendar(cell, dtype, 1).to_physical().cast(pl.Int64)

    def expected(self, decimal: str) -> str:
        day = self.text(self.upper) if self.bounds else "2024-12-31"
        form = self.format
        if form and form.forms:
            examples = quoted_list([pattern.written(day, NOON) for pattern in form.forms], "or")
            return f"expected dates, written like {examples}"
        return f"expected dates, written like {day}; a time may follow"

    def closed_range(self, first: str, end: str) -> str:
        return f"{first}..{end}"


TIME = "%Y-%m-%d %H:%M:%S"
"""How a program writes a time whose type the file states."""


def iso_days(text: pl.Expr) -> pl.Expr:
    """ISO dates as days since 1970, null for all other texts.

    The parser of polars accepts other padding and signs, but the rule does not. So a date must be
    equal to its own formatted text.
    """
    date = text.str.to_date("%Y-%m-%d", strict=False)
    same = date.dt.to_string("%Y-%m-%d") == text
    in_calendar = date.dt.year().is_between(1, 9999)
    return pl.when(same & in_calendar).then(date.to_physical().cast(pl.Int64))


def first_word(text: pl.Expr) -> pl.Expr:
    """A date, without the text after it that begins with a space or a T."""
    after = text.str.slice(10, 1)
    return pl.when(after.is_in(["", " ", "T"])).then(text.str.slice(0, 10))


def formatted_dates(text: pl.Expr, form: DateFormat) -> pl.Expr:
    """Days since 1970, or hours of days, in the declared form; null for other texts."""
    if not form.forms:
        return _iso_dates(text, form)
    if form.part == "day":
        return pl.coalesce(_days_in_form(text, date_form, form.zone) for date_form in form.forms)
    # The first form that reads a text decides it, also if it has no time.
    hours = pl.lit(None, pl.Int8)
    for date_form in reversed(form.forms):
        reads = _days_in_form(text, date_form, form.zone).is_not_null()
        hours = pl.when(reads).then(_hours(text, date_form, form.zone)).otherwise(hours)
    return hours


def _days_in_form(text: pl.Expr, form: DateForm, zone: str | None) -> pl.Expr:
    if zone and form.has("z"):
        days = _clock(text, form, zone).dt.date().to_physical()
    else:
        # A cache of texts costs more than to read a date.
        whole = _with_day(text, form)
        days = whole.str.to_date(form.for_polars, strict=False, cache=False).to_physical()
    is_possible = days.is_between(FIRST_DAY, LAST_DAY)
    return pl.when(text.str.contains(form.pattern) & is_possible).then(days)


def _hours(text: pl.Expr, form: DateForm, zone: str | None) -> pl.Expr:
    if not form.has("HI"):
        return pl.lit(None, pl.Int8)
    if zone or not form.has("z"):
        return _clock(text, form, zone).dt.hour()
    hour = text.str.extract(form.pattern_with_group("H" if form.has("H") else "I")).cast(pl.Int8)
    if form.has("H"):
        return hour
    is_late = text.str.extract(form.pattern_with_group("p")).str.to_lowercase() == "pm"
    return hour % 12 + pl.when(is_late).then(12).otherwise(0).cast(pl.Int8)


def _with_day(text: pl.Expr, form: DateForm) -> pl.Expr:
    return text if form.has("dj") else text + pl.lit(" 01")


def _clock(text: pl.Expr, form: DateForm, zone: str | None) -> pl.Expr:
    """The written time, or for texts with an offset, that instant's time in the zone."""
    whole = _with_day(text, form)
    clock = whole.str.to_datetime(form.for_polars, strict=False, cache=False, time_unit="us")
    return clock.dt.convert_time_zone(zone) if zone and form.has("z") else clock


def _iso_dates(text: pl.Expr, form: DateFormat) -> pl.Expr:
    date = text.str.slice(0, 10)
    days = date.str.to_date("%Y-%m-%d", strict=False, cache=False).to_physical()
    hours = text.str.slice(11, 2).cast(pl.Int8, strict=False)
    if form.zone:
        second = pl.when(text.str.slice(16, 1) == ":").then(text.str.slice(16, 3))
        written = date + " " + text.str.slice(11, 5) + second.fill_null(":00")
        clock = written.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
        there = (clock - _offset(text)).dt.replace_time_zone("UTC").dt.convert_time_zone(form.zone)
        days = pl.coalesce(there.dt.date().to_physical(), days)
        hours = pl.coalesce(there.dt.hour(), hours)
    is_possible = text.str.contains(ISO_TIME) & days.is_between(FIRST_DAY, LAST_DAY)
    return pl.when(is_possible).then(days if form.part == "day" else hours)


def _offset(text: pl.Expr) -> pl.Expr:
    """The offset from UTC at the end of a text; null without one."""
    found = text.str.extract(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
    hours, minutes = (
        part.cast(pl.Int32, strict=False) for part in (found.str.slice(1, 2), found.str.slice(-2))
    )
    size = pl.duration(hours=hours, minutes=minutes)
    return (
        pl.when(found == "Z")
        .then(pl.duration(hours=0))
        .when(found.str.starts_with("-"))
        .then(-size)
        .otherwise(size)
    )


def formatted_time(plain: pl.Expr, form: DateForm) -> pl.Expr:
    """A plain time as this form writes it; null if the day may be lost."""
    if form.has("yzf") or not (form.has("dj") and form.has("Y")):
        return pl.lit(None, pl.String)
    return plain.str.to_datetime(TIME, strict=False, cache=False).dt.to_string(form.text)


def within_calendar(column: pl.Expr, dtype: pl.DataType, day: int) -> pl.Expr:
    """Days, or times of `day` units a day; null outside the years 1 to 9999."""
    # In nanoseconds, the type ends before the calendar does.
    first = max(FIRST_DAY * day, -(1 << 63))
    last = min((LAST_DAY + 1) * day, 1 << 63) - 1
    number = column.to_physical().cast(pl.Int64)
    inside = number.clip(first, last).cast(pl.Int32 if isinstance(dtype, pl.Date) else pl.Int64)
    return pl.when(number.is_between(first, last)).then(inside.cast(dtype))
