"""The digits of numbers that people read, and how they are written.

Two significant digits of half the width of the interval are shown: 65.3271, from 43.1188 to
87.5354, is read as 65, from 43 to 88. The value is rounded to nearest and the ends outward, so that
the shown interval contains the published one. Tables for programs and the JSON report keep all
digits. Rounding depends on published numbers alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from dpcli.numeric.exact import decimal_text
from dpcli.report.numbers import CellText
from dpcli.statistics.postprocessing import Flag

GAP = "\u00a0"
"""A space between thousands, at which no line breaks."""

_DECIMAL = re.compile(r"(-?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(%?)")


def number_writer(example: str | None) -> Callable[[str], str]:
    """A function that writes plain decimals in the form of `example`, for 1234.5.

    It returns any other text unchanged; without an example, every text.
    """
    if not example:
        return lambda text: text
    thousands, point = ("" if example[1].isdigit() else example[1]).replace(" ", GAP), example[-2]

    def written(text: str) -> str:
        match = _DECIMAL.fullmatch(text)
        if match is None:
            return text
        sign, whole, decimals, percent = match.groups("")
        grouped = f"{int(whole.replace(',', '')):,}".replace(",", thousands)
        return f"{sign}{grouped}{point + decimals if decimals else ''}{percent}"

    return written


Digits = Literal["interval", "all"]
"""Which digits people read: those that the interval supports, or all published."""

ERRORS = {"se", "cv"}
"""Added columns that have as many digits as half an interval."""

SHOWN = 2
"""Significant digits that are shown of half the width of an interval.

With one digit, rounding could move the value by up to a quarter of the width.
"""


def supported(cell: CellText) -> CellText:
    """The cell, with the digits that the width of its interval supports.

    A cell without an interval, or with a date, is returned unchanged. If the flag of a cell is
    `NO_INFORMATION`, the ends of its interval are bounds, which are not rounded.
    """
    # A number with an interval; a date has no digits to round.
    if cell.exact or not cell.value or "-" in cell.value[1:]:
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
    if cell.flag == Flag.NO_INFORMATION:
        is_possible = lower <= Fraction(value) <= upper
        return replace(cell, value=value) if is_possible else cell
    ends = text(floor(lower / unit)), text(ceil(upper / unit))
    return replace(cell, value=value, lower=ends[0], upper=ends[1])


def supported_error(text: str) -> str:
    """A standard error or coefficient of variation, rounded up to two digits."""
    number, (_, _, decimals) = Fraction(text or 0), text.partition(".")
    shown = SHOWN - 1 - _order(number) if number else 0
    unit = Fraction(10) ** -shown
    is_short = not number or shown >= len(decimals)
    return text if is_short else decimal_text(ceil(number / unit) * unit, max(shown, 0))


def reader_of(digits: Digits) -> Callable[[CellText], CellText]:
    """The function that gives a cell with these digits; with `all`, unchanged."""
    return _with_short_errors if digits == "interval" else lambda cell: cell


def _with_short_errors(cell: CellText) -> CellText:
    errors = {name: supported_error(cell.optional[name]) for name in ERRORS & cell.optional.keys()}
    return replace(supported(cell), optional=cell.optional | errors)


def any_rounded(cells: Iterable[CellText], digits: Digits) -> bool:
    """Whether people read fewer digits of one of these cells than are published."""
    return digits == "interval" and any(supported(cell) != cell for cell in cells)


def _order(size: Fraction) -> int:
    """The exponent of the greatest power of ten that is at most a positive number."""
    order = len(str(size.numerator)) - len(str(size.denominator))
    return order if Fraction(10) ** order <= size else order - 1
