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


def plain_text(value: Fraction) -> str:
    """A rational exactly: a decimal if it is one, else a fraction."""
    try:
        return decimal_text(value, decimal_places(value))
    except ValueError:
        return f"{value.numerator}/{value.denominator}"
