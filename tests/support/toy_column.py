"""Types of columns for tests, in one file; `toy_registry` adds them to the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

import polars as pl
from pydantic import Field

from dpcli.data.cell_options import From, MissingMarks
from dpcli.data.column import Option, Rule
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.fields.values import Fields, whole_number

MAX_DECIMALS = 3

Decimals = Annotated[
    int,
    whole_number(MAX_DECIMALS, "decimals percentages are rounded to"),
    Field(description="How many decimals percentages are rounded to.", examples=[1]),
]


class PercentageColumn(NumberColumn):
    """Percentages from 0 to 100, rounded to some decimals."""

    __slots__ = ()

    key, kind = "percentage", "number"
    fields: ClassVar[Fields] = {"decimals": Decimals}

    @classmethod
    def declared(cls, name: str, section: Any, limits: tuple[int, int] | None = None) -> Self:
        """A number whose bounds follow from its type."""
        steps = 10**section.decimals
        return cls(name, Fraction(1, steps), (0, 100 * steps))


MAX_HOURS = 1000

Hours = Annotated[
    int,
    whole_number(MAX_HOURS, "hours a duration has at most"),
    Field(description="How many hours a duration has at most.", examples=[8]),
]


class DurationColumn(IntegerColumn):
    """Durations in hours and minutes, such as 1:30."""

    __slots__ = ()

    key, kind = "duration", "integer"
    fields: ClassVar[Fields] = {"hours": Hours}
    takes: ClassVar[tuple[type[Option], ...]] = (MissingMarks, From)

    @classmethod
    def declared(cls, name: str, section: Any, limits: tuple[int, int] | None = None) -> Self:
        """A whole number of minutes up to the hours."""
        return cls(name, bounds=(0, 60 * section.hours))

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
