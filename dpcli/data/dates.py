"""Columns of dates, whose cells become days since 1970-01-01, each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Annotated, ClassVar

from pydantic import Field

from dpcli.data.cell_options import From, MissingMarks
from dpcli.data.column import Column, Option, Rule
from dpcli.data.date_forms import FIRST_DAY, LAST_DAY, DateFormat, cell_of_two
from dpcli.data.date_options import CenturyFrom, Formats, Months, TimePart, Zone
from dpcli.data.declared_texts import DROP
from dpcli.data.grid_columns import NumericColumn, NumericKind
from dpcli.data.polars_text import pl
from dpcli.fields.values import TEXT_SCHEMA, Day, Fields, ParsedText, parse_day
from dpcli.numeric.days import day_of, days_of
from dpcli.problems.messages import quoted_list

CLOCK = (
    "[ T] ?(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-6][0-9])?(?:[.,:][0-9]+)?(?i: ?[ap][.]?m[.]?)?"
    "|T(?:[01][0-9]|2[0-4])(?:[0-5][0-9]){0,2}(?:[.,][0-9]+)?"
)
ZONE_WORD = r"(?i:Z|UTC|GMT)|(?:[AC-Z][A-Z]|B[ABD-Z])[A-Z]{1,3}"
AREA = "[A-Z][A-Za-z0-9_+-]*"
DAY_WITH_TIME = (
    rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:(?:{CLOCK})(?: ?(?:{ZONE_WORD}))?"
    rf"(?: ?[+-][0-9]{{1,2}}(?::?[0-9]{{2}}){{0,2}})?(?: (?:{ZONE_WORD}))?"
    rf"(?: ?\[{AREA}(?:/{AREA})*\]| {AREA}(?:/{AREA})+)?)?$"
)
"""A date, perhaps with a time that may name a zone; `BC` and `BCE` are none."""

NOON = 12
"""The hour of dates that are examples."""


def _day_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else Fraction(parse_day(text))


class DateColumn(NumericColumn):
    """Days within bounds.

    With a `TimePart`, the hours or minutes of its cells.
    """

    __slots__ = ()

    key = "date"
    kind: ClassVar[NumericKind] = "date"
    fields: ClassVar[Fields] = {
        "bounds": Annotated[list[Day], Field(min_length=2, max_length=2)] | None,
        "missing": Annotated[Fraction | None, ParsedText(_day_or_drop, TEXT_SCHEMA)] | None,
    }
    takes: ClassVar[tuple[type[Option], ...]] = (
        Formats,
        Months,
        CenturyFrom,
        Zone,
        MissingMarks,
        From,
    )
    comparison_words: ClassVar[Mapping[str, str]] = {
        "<": "before",
        "<=": "not after",
        "=": "equal to",
        ">=": "not before",
        ">": "after",
    }
    wrong_type: ClassVar[str] = "wrong-column-type.days"
    grid_words: ClassVar[str] = "a whole number of days"
    mean_decimals = 0
    bounds_example: ClassVar[str] = "[2010-01-01, 2024-12-31]"
    is_date = True
    max_outside: ClassVar[float] = 0
    widest: ClassVar[tuple[int, int]] = (FIRST_DAY, LAST_DAY)

    @property
    def format(self) -> DateFormat | None:
        form = self.in_form(DateFormat())
        if form is None or self.bounds is None or self.option(TimePart):
            return form
        return replace(form, years=replace(form.years, twice_middle=sum(self.bounds)))

    @property
    def has_days(self) -> bool:
        return self.derivation is None and (self.format is None or self.format.has_date)

    @property
    def unusable(self) -> str:
        has_days = self.bounds or self.format is None or self.format.has_date
        return super().unusable if has_days else "date-format.no-day"

    @property
    def may_have_time(self) -> bool:
        return self.format is None or self.format.has_time

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
            return [lambda text: self.possible(form.read(text))] * 2
        return [
            lambda text: self.possible(iso_days(text)),
            lambda bare: self.possible(iso_days(day_before_time(bare))),
        ]

    @property
    def needs_plain_text(self) -> bool:
        return bool(self.marks or self.text_options)

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        return self.format.typed_text(plain) if self.format else plain

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        if dtype != pl.Date or not self.reads_types:
            return None
        return within_calendar(cell, dtype, 1).to_physical().cast(pl.Int64)

    def expected(self, decimal: str) -> str:
        day = self.text(self.upper) if self.bounds else "2024-12-31"
        form = self.format
        if form is None or not form.forms:
            return f"expected dates, written like {day}; a time may follow"
        months = self.option(Months)
        examples = [one.written(day, NOON) for one in form.forms]
        others = ""
        if months:
            examples = list(map(months.listed, examples))
        elif any(one.has("bB") for one in form.forms):
            others = "; `months` lists names in another language"
        what, like = "dates" if form.has_date else "times", quoted_list(examples, "or")
        return f"expected {what}, written like {like}{others}"

    def cautions(self, decimal: str) -> Iterator[str]:
        for first, second in combinations(self.format.forms if self.format else (), 2):
            if cell := cell_of_two(first, second):
                yield (
                    f"a cell of `{self.name}` such as `{cell}` fits two formats: it is read by the "
                    f"first, `{first.text}`, and not by `{second.text}`"
                )

    def closed_range(self, first: str, end: str) -> str:
        return f"{first}..{end}"


def iso_days(text: pl.Expr) -> pl.Expr:
    """ISO dates as days since 1970, null for all other texts.

    The parser of polars accepts other padding and signs, but the rule does not. So a date must be
    equal to its own formatted text.
    """
    date = text.str.to_date("%Y-%m-%d", strict=False)
    same = date.dt.to_string("%Y-%m-%d") == text
    in_calendar = date.dt.year().is_between(1, 9999)
    return pl.when(same & in_calendar).then(date.to_physical().cast(pl.Int64))


def day_before_time(text: pl.Expr) -> pl.Expr:
    """A date, without the time after it; null if another text is after it."""
    return pl.when(text.str.contains(DAY_WITH_TIME)).then(text.str.slice(0, 10))


def within_calendar(column: pl.Expr, dtype: pl.DataType, day: int) -> pl.Expr:
    """Days, or times of `day` units a day; null outside the years 1 to 9999."""
    # In nanoseconds, the type ends before the calendar does.
    first = max(FIRST_DAY * day, -(1 << 63))
    last = min((LAST_DAY + 1) * day, 1 << 63) - 1
    number = column.to_physical().cast(pl.Int64)
    inside = number.clip(first, last).cast(pl.Int32 if isinstance(dtype, pl.Date) else pl.Int64)
    return pl.when(number.is_between(first, last)).then(inside.cast(dtype))
