"""Exact rationals as people write them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log10


def decimal_places(step: Fraction) -> int:
    """How many decimals write any multiple of `step`; it must be a decimal."""
    places = 0
    while (step * 10**places).denominator != 1:
        places += 1
        if places > 400:
            raise ValueError("not a finite decimal")
    return places


def decimal_text(value: Fraction, places: int) -> str:
    """`value` with exactly `places` decimals, halves away from zero, no exponent."""
    # In whole numbers: a product of rationals would look for a common divisor each time.
    above, below = abs(value.numerator) * 10**places, value.denominator
    whole = (2 * above + below) // (2 * below)
    digits = str(whole).rjust(places + 1, "0")
    sign = "-" if value < 0 and whole else ""
    if not places:
        return sign + digits
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def short_up(value: Fraction, digits: int = 12) -> Fraction:
    """The least decimal of so many significant digits that is at least `value`."""
    above, below = value.numerator, value.denominator
    if not above:
        return value
    # A digit more than asked for, where the logarithm is just below a whole number.
    places = digits - ceil(log10(abs(above)) - log10(below))
    if places >= 0:
        return Fraction(-(-above * 10**places // below), 10**places)
    return Fraction(-(-above // (below * 10**-places)) * 10**-places)


def short_down(value: Fraction, digits: int = 12) -> Fraction:
    """The greatest decimal of so many significant digits that is at most `value`."""
    return -short_up(-value, digits)


def plain_text(value: Fraction) -> str:
    """A rational exactly: a decimal if it is one, else a fraction."""
    try:
        return decimal_text(value, decimal_places(value))
    except ValueError:
        return f"{value.numerator}/{value.denominator}"
