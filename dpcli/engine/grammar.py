"""What a cell says: the written rules, decided exactly, one cell at a time.

A cell is stripped of spaces and tabs; then it is a value, or it is missing.

    number    [+-] digits [. digits] [e[+-]digits], or inf, infinity in any case;
              rounded to the grid (halves upwards), then clamped to the bounds
    date      YYYY-MM-DD, then nothing, or a space or T and anything; clamped
    category  one of the declared texts, to the letter; if none are declared, any
              text of at most 1,000 characters, none of them invisible
    id        any text

Where the spec says `decimal: ","`, comma and point first change places in every cell
of an integer or a number: `1,5` is one and a half, and a cell with a point is missing,
as one with a comma is otherwise. (In a Parquet file this is so of numbers written as
texts; those of a numeric type are what they are.)

Everything else is missing: `nan`, `0x10`, `1_000`, `1,200`, digits of other
scripts. The fast path in `dpcli.engine.decode` must
agree with these rules on every cell, and leaves to them what it cannot decide.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import floor

from dpcli.columns import NumericColumn

BLANKS = " \t"

INVISIBLE = r"[\p{Cc}\p{Zl}\p{Zp}]"
"""Control characters and line ends, which no published key may hold."""

FARTHEST = 200
"""Decimal places from the point. Bounds lie below 2^62 steps and steps within 10^100
of one, so a number that starts farther away is decided by its magnitude alone."""

LEADING = 1000
"""Digits that can matter; of those after them it matters whether any is not zero."""

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]*))?|\.(?P<only>[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+))?"
)
_INFINITE = re.compile(r"(?P<sign>[+-]?)inf(?:inity)?", re.IGNORECASE | re.ASCII)


def number(text: str, column: NumericColumn) -> int | None:
    """The cell as a whole number of steps within the bounds, or None if missing."""
    text = text.strip(BLANKS)
    if match := _NUMBER.fullmatch(text):
        return _steps(match, column)
    if match := _INFINITE.fullmatch(text):
        return column.lower if match["sign"] == "-" else column.upper
    return None


def _steps(match: re.Match[str], column: NumericColumn) -> int:
    """Round to the grid and clamp, without ever building an enormous integer."""
    negative = match["sign"] == "-"
    whole, part = match["whole"] or "", match["part"] or match["only"] or ""
    digits = (whole + part).lstrip("0")
    # The value is 0.digits times ten to this power.
    power = len(digits) - len(part) + _exponent(match["exponent"] or "0")
    if not digits or power < -FARTHEST:
        return min(max(0, column.lower), column.upper)
    if power > FARTHEST:
        return column.lower if negative else column.upper
    leading = digits[:LEADING] + ("1" if digits[LEADING:].strip("0") else "0")
    value = int(leading) * Fraction(10) ** (power - len(leading))
    steps = floor((-value if negative else value) / column.step + Fraction(1, 2))
    return min(max(steps, column.lower), column.upper)


def _exponent(text: str) -> int:
    """A decimal exponent; beyond twelve digits its sign is all that matters."""
    size = text.lstrip("+-").lstrip("0") or "0"
    magnitude = int(size) if len(size) <= 12 else 10**12
    return -magnitude if text.startswith("-") else magnitude
