"""Columns of dates: numbers of days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from dpcli.data.cell_formats import DateFormat
from dpcli.data.column import Column, Option, Rule
from dpcli.data.date_cells import (
    first_word,
    formatted_dates,
    formatted_time,
    iso_days,
    within_calendar,
)
from dpcli.data.lazy_polars import pl
from dpcli.data.numeric import NumericColumn, NumericKind
from dpcli.data.options.dates import Formats, Zone
from dpcli.data.options.every import From, Marks
from dpcli.fields.numbers import parse_day
from dpcli.numeric.days import day_of, days_of
from dpcli.problems.messages import quoted_list

NOON = 12
"""The hour of dates that are examples."""


class DateColumn(NumericColumn):
    """Days. With the part `hour` of its format, it has the hours of its cells instead."""

    __slots__ = ()

    kind: ClassVar[NumericKind] = "date"
    takes: ClassVar[tuple[type[Option], ...]] = (Formats, Zone, Marks, From)
    comparison_words: ClassVar[Mapping[str, str]] = {
        "<": "before",
        "<=": "not after",
        "=": "equal to",
        ">=": "not before",
        ">": "after",
    }
    wrong_type: ClassVar[str] = "wrong-column-type.days"
    grid_words: ClassVar[str] = "a whole number of days"

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

    def text_rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
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
