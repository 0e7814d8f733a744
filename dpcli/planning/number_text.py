"""Numbers as they are published: plain for programs, short for people."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil, isqrt

from dpcli.numeric.exact import decimal_places, plain_text, rounded, with_exponent
from dpcli.privacy.loss import Loss

LONGEST = 60
"""Decimals up to which an exact number is written out."""

DIGITS = 12
"""Significant digits of a number that has no such decimal."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What JSON shows as an object with its fields."""


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A plain decimal that JSON shows as a number, digit for digit."""

    digits: str


Fact = (
    None | bool | int | str | JsonNumber | Fraction | Loss | Stated
    | Sequence["Fact"] | Mapping[str, "Fact"]
)  # fmt: skip
"""What a report is made of, before it has a format; rationals are exact if short, or rounded up."""


def plain_decimal(value: Fraction, digits: int | None = None) -> str:
    """`value` as a plain decimal: exact if that is short, else rounded up.

    With `digits`, rounded to that many significant digits.
    """
    if digits is not None:
        return plain_text(rounded(value, _places(value, digits)))
    with suppress(ValueError):
        if decimal_places(value) <= LONGEST:
            return plain_text(value)
    finest = 10 ** _places(value, DIGITS)
    return plain_text(Fraction(ceil(value * finest), finest))


def _places(value: Fraction, digits: int) -> int:
    places = 0
    while value and abs(value) * 10**places < 10 ** (digits - 1) and places < LONGEST * 2:
        places += 1
    return places


def exact_or_up(value: Fraction) -> str:
    """`value` for people to read: exact if that is short, else rounded up."""
    return with_exponent(plain_decimal(value))


def rounded_text(value: Fraction, digits: int = 4) -> str:
    """`value` for people to read, rounded to a few significant digits."""
    return with_exponent(plain_decimal(value, digits))


def exact_or_rounded(value: Fraction) -> str:
    """`value` exactly if that is short, else to six digits, for a column of a table."""
    text = exact_or_up(value)
    return text if len(text) <= 10 else rounded_text(value, 6)


def sqrt_up(square: Fraction) -> Fraction:
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
    text = json.dumps(fact, indent=2, ensure_ascii=False, default=_marked)
    return _MARKED.sub(r"\1", text) + "\n"


def _marked(fact: JsonNumber | Fraction | Loss | Stated) -> object:
    """A number as a marked text, so that no float ever stands between; others by their fields."""
    if isinstance(fact, Loss | Stated):
        return {field.name: getattr(fact, field.name) for field in fields(fact)}
    return _MARK + (fact.digits if isinstance(fact, JsonNumber) else plain_decimal(fact))
