"""A type of column for tests, in one file; `toy_registry` adds it to the registry."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.numbers import NumberColumn
from dpcli.fields.values import whole_number
from dpcli.specification.column_types import ColumnModel

MAX_DECIMALS = 3

Decimals = Annotated[
    int,
    whole_number(MAX_DECIMALS, "decimals percentages are rounded to"),
    Field(description="How many decimals percentages are rounded to.", examples=[1]),
]


class Percentage(ColumnModel):
    """Percentages from 0 to 100, rounded to some decimals."""

    kind = "percentage"
    type: Literal["percentage"]
    decimals: Decimals

    def column(self, name: str) -> Column:
        """A number whose bounds follow from its type."""
        step = Fraction(1, 10**self.decimals)
        return NumberColumn(name, step, (0, 100 * 10**self.decimals))
