"""Columns of numbers: whole multiples of a step between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal, Self

from dpcli.cell_formats import DateFormat, NumberFormat
from dpcli.data.column import Column, Derivation, Source
from dpcli.light_dataclasses import dataclass
from dpcli.numeric.days import day_of
from dpcli.numeric.exact import decimal_places, decimal_text

NumericKind = Literal["integer", "number", "date"]


@dataclass(frozen=True, slots=True)
class NumericColumn(Column):
    """Integers, numbers or dates: whole multiples of `step` between two bounds.

    `bounds` and `missing` are numbers of steps. A date is a number of days since 1970-01-01. A
    column without bounds can be declared, but no statistic can use it. A column with a `derivation`
    is computed from other columns instead of being read. `na` are texts that mark missing cells;
    for numbers, they mark equal numbers too. `format` is how cells are written, if not plainly.
    """

    name: str
    kind: NumericKind
    step: Fraction = Fraction(1)
    bounds: tuple[int, int] | None = None
    missing: int | None = None
    source: Source = None
    derivation: Derivation | None = None
    na: tuple[str, ...] = ()
    format: NumberFormat | DateFormat | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError(f"the lower bound of column {self.name} is above the upper one")
        low, high = self.bounds or (self.missing, self.missing)
        # The constant is not clamped, and sensitivities follow from the bounds.
        if self.missing is not None and not (low or 0) <= self.missing <= (high or 0):
            raise ValueError(f"the constant of column {self.name} is not within its bounds")

    @property
    def lower(self) -> int:
        """The least value in steps; the column must have bounds."""
        return self.limits[0]

    @property
    def upper(self) -> int:
        """The greatest value in steps; the column must have bounds."""
        return self.limits[1]

    @property
    def limits(self) -> tuple[int, int]:
        """The bounds in steps; `ValueError` when none are declared."""
        if self.bounds is None:
            raise ValueError(f"column {self.name} has no bounds")
        return self.bounds

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers or days."""
        return self.step.denominator == 1

    def without_missing_constant(self) -> Self:
        return replace(self, bounds=self.bounds or (0, 0), missing=None)

    def text(self, steps: int) -> str:
        """The text of a number of steps in published tables: a plain decimal or a date."""
        if self.kind == "date":
            return day_of(steps).isoformat()
        return decimal_text(steps * self.step, decimal_places(self.step))


def bin_label(column: NumericColumn, starts: Sequence[int], place: int) -> str:
    """The label of one bin, with the values from its start to below the next start.

    The last bin includes the upper bound of the column. Labels of whole numbers and days are closed
    ranges; labels of finer numbers are intervals:

    =====================================  ==================================
    column                                 labels
    =====================================  ==================================
    whole numbers, none below zero         ``0-9``, ``10-19``, ``20``
    whole numbers, some below zero         ``[-10,-1]``, ``[0,9]``, ``10``
    dates                                  ``2024-03-01..2024-03-31``
    numbers whose step is not whole        ``[0.0,0.5)``, ``[0.5,1.0]``
    =====================================  ==================================

    No label begins with a character that starts a formula in a spreadsheet. The exception is the
    minus of a negative number, which a spreadsheet reads as a number too. So a label is the same
    text in CSV, Parquet, JSON and HTML.
    """
    low, last = starts[place], place == len(starts) - 1
    high = column.upper if last else starts[place + 1] - int(column.whole)
    first, end = column.text(low), column.text(high)
    if not column.whole:
        return f"[{first},{end}{']' if last else ')'}"
    if low == high:
        return first
    if column.kind == "date":
        return f"{first}..{end}"
    return f"[{first},{end}]" if column.lower < 0 else f"{first}-{end}"
