"""The digits of a published number that its interval supports, for readers.

Two significant digits of half the width of the interval are shown: 65.3271, from 43.1188 to
87.5354, is read as 65, from 43 to 88. The value is rounded to nearest and the ends outward, so that
the interval still contains what it contained. Tables for programs and the JSON report keep all
digits. Rounding depends on published numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from dpcli.numeric.exact import decimal_text
from dpcli.report.document import CellText
from dpcli.statistics.postprocessing import Flag

Digits = Literal["interval", "all"]
"""Which digits people read: those that the interval supports, or all that are published."""

SHOWN = 2
"""Significant digits of half the width of an interval; with one, an error may be half off."""


def supported(cell: CellText) -> CellText:
    """The cell as people read it; without an interval, or of dates, it is the same.

    Where an interval is all that is possible, its ends are bounds, which are not rounded.
    """
    if cell.exact or not cell.value or _is_date(cell.value):
        return cell
    lower, upper = Fraction(cell.lower), Fraction(cell.upper)
    shown = SHOWN - 1 - _order((upper - lower) / 2)
    _, _, decimals = cell.value.partition(".")
    if shown >= len(decimals):
        return cell
    unit = Fraction(10) ** -shown

    def text(units: int) -> str:
        return decimal_text(units * unit, max(shown, 0))

    value = text(floor(Fraction(cell.value) / unit + Fraction(1, 2)))
    if cell.flag is Flag.NO_INFORMATION:
        is_possible = lower <= Fraction(value) <= upper
        return replace(cell, value=value) if is_possible else cell
    ends = text(floor(lower / unit)), text(ceil(upper / unit))
    return replace(cell, value=value, lower=ends[0], upper=ends[1])


def reader_of(digits: Digits) -> Callable[[CellText], CellText]:
    """The function that gives a cell as people read it."""
    return supported if digits == "interval" else lambda cell: cell


def any_rounded(cells: Iterable[CellText], digits: Digits) -> bool:
    """Whether people read fewer digits of one of these cells than are published."""
    return digits == "interval" and any(supported(cell) != cell for cell in cells)


def _order(size: Fraction) -> int:
    """The power of ten of the first digit of a positive number."""
    order = len(str(size.numerator)) - len(str(size.denominator))
    return order if Fraction(10) ** order <= size else order - 1


def _is_date(text: str) -> bool:
    return "-" in text[1:]
