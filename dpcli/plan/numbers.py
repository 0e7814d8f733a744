"""Numbers as they are published: plain for programs, short for people."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import ceil, isqrt

from dpcli.privacy.decimals import decimal_places, decimal_text, plain_text, rounded, with_exponent

LONGEST = 60
"""Decimals up to which an exact number is written out."""

DIGITS = 12
"""Significant digits of a number that has no such decimal."""


class Number(str):
    """A plain decimal that JSON shows as a number, digit for digit."""

    __slots__ = ()


Fact = None | bool | int | str | Number | list["Fact"] | dict[str, "Fact"]
"""What a report is made of, before it has a format."""


def number(value: Fraction) -> Number:
    """A rational as a decimal: exact if short, else rounded up."""
    return Number(plain_or_up(value))


def exact_or_up(value: Fraction) -> str:
    """`value` for people to read: exact if it is a decimal, else rounded up."""
    return with_exponent(plain_or_up(value))


def plain_or_up(value: Fraction) -> str:
    """`value` as a decimal: exact if it is one, else rounded up."""
    try:
        needed = decimal_places(value)
    except ValueError:
        needed = LONGEST + 1
    if needed <= LONGEST:
        return decimal_text(value, needed)
    finest = 10 ** _places(value, DIGITS)
    return plain_text(Fraction(ceil(value * finest), finest))


def _places(value: Fraction, digits: int) -> int:
    places = 0
    while value and abs(value) * 10**places < 10 ** (digits - 1) and places < LONGEST * 2:
        places += 1
    return places


def brief(value: Fraction) -> str:
    """`value` exactly if that is short, else to six digits, for a column of a table."""
    text = exact_or_up(value)
    return text if len(text) <= 10 else short(value, 6)


def short(value: Fraction, digits: int = 4) -> str:
    """`value` rounded to a few significant digits, for people to read."""
    return with_exponent(plain_short(value, digits))


def plain_short(value: Fraction, digits: int) -> str:
    """`value` rounded to a few significant digits, as a plain decimal."""
    return plain_text(rounded(value, _places(value, digits)))


def root_up(square: Fraction) -> Fraction:
    """The square root of `square`, exact if it is rational, else rounded up."""
    over, under = isqrt(square.numerator), isqrt(square.denominator)
    if over**2 == square.numerator and under**2 == square.denominator:
        return Fraction(over, under)
    places = _places(square, 2 * DIGITS)
    scaled = square * 100**places
    whole = isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1
    return Fraction(whole, 10**places)


_MARK = "\u0000number:"
_MARKED = re.compile(r'"\\u0000number:(-?[0-9]+(?:\.[0-9]+)?)"')


def json_text(fact: Fact) -> str:
    """Indented JSON in a fixed order."""
    text = json.dumps(_marked(fact), indent=2, ensure_ascii=False)
    return _MARKED.sub(r"\1", text) + "\n"


def _marked(fact: Fact) -> Fact:
    if isinstance(fact, Number):
        return _MARK + fact
    if isinstance(fact, dict):
        return {key: _marked(value) for key, value in fact.items()}
    if isinstance(fact, list):
        return [_marked(value) for value in fact]
    return fact
