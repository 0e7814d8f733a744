"""Exact rationals as people write them."""

from __future__ import annotations

from fractions import Fraction


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
    scaled = abs(value) * 10**places
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = str(whole).rjust(places + 1, "0")
    sign = "-" if value < 0 and whole else ""
    if not places:
        return sign + digits
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def short_up(value: Fraction, digits: int = 12) -> Fraction:
    """The least decimal of so many significant digits that is at least `value`."""
    if not value:
        return value
    scale = Fraction(10) ** (digits - _magnitude(abs(value)))
    return -((-value * scale).__floor__()) / scale


def short_down(value: Fraction, digits: int = 12) -> Fraction:
    """The greatest decimal of so many significant digits that is at most `value`."""
    return -short_up(-value, digits)


def _magnitude(value: Fraction) -> int:
    """How many digits stand before the point of a positive number; below 0.1 negative."""
    digits = (value.numerator.bit_length() - value.denominator.bit_length()) * 30103 // 100000
    while value >= Fraction(10) ** digits:
        digits += 1
    while value < Fraction(10) ** (digits - 1):
        digits -= 1
    return digits


def plain_text(value: Fraction) -> str:
    """A rational exactly: a decimal if it is one, else a fraction."""
    try:
        return decimal_text(value, decimal_places(value))
    except ValueError:
        return f"{value.numerator}/{value.denominator}"
