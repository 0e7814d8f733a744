"""Numbers as they are published: plain decimals, never an exponent."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpcli.privacy.decimals import decimal_places, decimal_text

PLACES = 12
"""Decimals of a number that has no short exact decimal."""


def exact_or_up(value: Fraction, places: int = PLACES) -> str:
    """`value` as a decimal: exact if short enough, else rounded up."""
    if value.denominator == 1:
        return str(value.numerator)
    try:
        needed = decimal_places(value)
    except ValueError:
        needed = places + 1
    if needed <= places:
        return decimal_text(value, needed)
    scaled = -(-value.numerator * 10**places // value.denominator)
    return decimal_text(Fraction(scaled, 10**places), places).rstrip("0").rstrip(".")


def short(value: Fraction, digits: int = 4) -> str:
    """`value` rounded to a few significant digits, for people to read."""
    if not value:
        return "0"
    places = 0
    while abs(value) * 10**places < 10 ** (digits - 1) and places < 40:
        places += 1
    text = decimal_text(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


def root_up(square: Fraction, places: int = PLACES) -> Fraction:
    """The square root of `square`, exact if it is rational, else rounded up."""
    if not square:
        return Fraction(0)
    over, under = isqrt(square.numerator), isqrt(square.denominator)
    if over**2 == square.numerator and under**2 == square.denominator:
        return Fraction(over, under)
    scaled = square * 100**places
    whole = isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1
    return Fraction(whole, 10**places)
