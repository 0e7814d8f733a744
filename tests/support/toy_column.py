"""Types of columns for tests, in one file; `toy_registry` adds them to the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import polars as pl
from pydantic import Field

from dpcli.data.cell_options import From, MissingMarks
from dpcli.data.column import Column, Option, Rule
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.fields.values import whole_number
from dpcli.specification.column_types.model import ColumnModel, taking_options

MAX_DECIMALS = 3

Decimals = Annotated[
    int,
    whole_number(MAX_DECIMALS, "decimals percentages are rounded to"),
    Field(description="How many decimals percentages are rounded to.", examples=[1]),
]


@taking_options
class Percentage(ColumnModel):
    """Percentages from 0 to 100, rounded to some decimals."""

    kind = "percentage"
    column_class = NumberColumn
    type: Literal["percentage"]
    decimals: Decimals

    def column(self, name: str) -> Column:
        """A number whose bounds follow from its type."""
        step = Fraction(1, 10**self.decimals)
        return NumberColumn(name, step, (0, 100 * 10**self.decimals))


MAX_HOURS = 1000

Hours = Annotated[
    int,
    whole_number(MAX_HOURS, "hours a duration has at most"),
    Field(description="How many hours a duration has at most.", examples=[8]),
]


class DurationColumn(IntegerColumn):
    """Minutes in cells such as `1:30`."""

    __slots__ = ()

    takes: ClassVar[tuple[type[Option], ...]] = (MissingMarks, From)

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        def minutes(text: pl.Expr) -> pl.Expr:
            parts = [text.str.extract(r"^([0-9]{1,6}):([0-5][0-9])$", group) for group in (1, 2)]
            hours, rest = (part.cast(pl.Int64) for part in parts)
            return self.possible(hours * 60 + rest)

        return [minutes, minutes]

    def undecided(self, left: pl.Expr, decided: Mapping[str, int | None]) -> None:
        """Nothing: the rule decides all texts."""

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> None:
        """Nothing: a number is no duration."""

    def text(self, value: int) -> str:
        """Hours and minutes."""
        return f"{value // 60}:{value % 60:02}"

    def steps_of(self, text: str) -> int:
        hours, minutes = text.split(":")
        return int(hours) * 60 + int(minutes)

    def parse(self, text: str) -> Fraction:
        return Fraction(self.steps_of(text))


@taking_options
class Duration(ColumnModel):
    """Durations in hours and minutes, such as 1:30."""

    kind = "duration"
    column_class = DurationColumn
    type: Literal["duration"]
    hours: Hours

    def column(self, name: str) -> Column:
        """A whole number of minutes up to the hours."""
        return DurationColumn(name, bounds=(0, 60 * self.hours))
