"""Rationals as text: plain decimals for programs, short ones for people."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from math import ceil, floor, isqrt

from dpcli.numeric.exact import (
    decimal_places,
    decimal_text,
    plain_text,
    round_half_away,
    with_exponent,
)

MAX_DECIMALS = 60
"""A number with more decimals is rounded."""

ROUNDED_DIGITS = 12
"""Significant digits of a number that is rounded because it has too many decimals."""

MAX_CELL_LENGTH = 10
"""Characters of a number that fits into a column of a table."""


def plain_decimal(value: Fraction, digits: int | None = None) -> str:
    """`value` as a plain decimal: exact if that is short, else rounded up.

    With `digits`, rounded to nearest with that number of significant digits.
    """
    if digits is not None:
        return plain_text(round_half_away(value, _places(value, digits)))
    return _exact(value) or _rounded(value, ceil)


def plain_decimal_down(value: Fraction) -> str:
    """The same, rounded down: what is left must not be stated larger than it is."""
    return _exact(value) or _rounded(value, floor)


def _exact(value: Fraction) -> str:
    """`value` as a decimal if that is short, else empty."""
    with suppress(ValueError):
        places = decimal_places(value)
        if places <= MAX_DECIMALS:
            return decimal_text(value, places)
    return ""


def _rounded(value: Fraction, rounding: Callable[[Fraction], int]) -> str:
    scale = 10 ** _places(value, ROUNDED_DIGITS)
    return plain_text(Fraction(rounding(value * scale), scale))


def _places(value: Fraction, digits: int) -> int:
    """The number of decimals that shows `digits` significant digits."""
    places = 0
    while value and abs(value) * 10**places < 10 ** (digits - 1) and places < MAX_DECIMALS * 2:
        places += 1
    return places


def exact_or_up(value: Fraction) -> str:
    """`value` for people to read: exact if that is short, else rounded up."""
    return with_exponent(plain_decimal(value))


def rounded_text(value: Fraction, digits: int = 4) -> str:
    """`value` for people to read, rounded to nearest with a few significant digits."""
    return with_exponent(plain_decimal(value, digits))


def exact_or_rounded(value: Fraction) -> str:
    """`value` for a column of a table: exact if that is short, else six significant digits."""
    text = exact_or_up(value)
    return text if len(text) <= MAX_CELL_LENGTH else rounded_text(value, 6)


def decimal_sqrt_up(square: Fraction) -> Fraction:
    """The square root of `square`: exact if it is rational, else rounded up."""
    over, under = isqrt(square.numerator), isqrt(square.denominator)
    if over**2 == square.numerator and under**2 == square.denominator:
        return Fraction(over, under)
    places = _places(square, 2 * ROUNDED_DIGITS)
    scaled = square * 100**places
    root = isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1
    return Fraction(root, 10**places)
