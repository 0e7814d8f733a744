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
from decimal import MAX_EMAX, MIN_EMIN, ROUND_05UP, Context
from fractions import Fraction
from math import floor

from dpcli.columns import NumericColumn

BLANKS = " \t"

INVISIBLE = r"[\p{Cc}\p{Zl}\p{Zp}]"
"""Control characters and line ends, which no published key may hold."""

FARTHEST = 200
"""Decimal places from the point. Bounds lie below 2^62 steps and steps within 10^100
of one, so a number that starts farther away is decided by its magnitude alone."""

_LEADING = Context(prec=1000, rounding=ROUND_05UP, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Digits that can matter. Digits after them leave a last digit that is neither zero nor five, so
that no number becomes a half. Numbers that are too large become infinite."""

_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)",
    re.IGNORECASE | re.ASCII,
)


def number(text: str, column: NumericColumn) -> int | None:
    """The cell as a whole number of steps within the bounds, or None if missing."""
    text = text.strip(BLANKS)
    if not _NUMBER.fullmatch(text):
        return None
    value = _LEADING.create_decimal(text)
    if value.is_infinite() or (value and value.adjusted() > FARTHEST):
        return column.lower if value.is_signed() else column.upper
    # An enormous integer is never built.
    near = value and value.adjusted() >= -FARTHEST
    steps = floor(Fraction(value) / column.step + Fraction(1, 2)) if near else 0
    return min(max(steps, column.lower), column.upper)
