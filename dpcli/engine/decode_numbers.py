"""Reads the texts of numbers as whole numbers of steps, exactly.

`steps` and `exceeded_bound` are native expressions, which leave a text undecided where they are
not certain. `parse_number_cell` decides every text, one by one.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_05UP, Context
from fractions import Fraction
from math import ceil, floor

import polars as pl

from dpcli.data.numeric import NumericColumn

BLANKS = " \t"

FARTHEST = 200
"""Decimal places from the point. Bounds are below 2^62 steps, and steps are between 10^-100 and
10^100, so the magnitude of a number that starts farther away decides it."""

LEADING_DIGITS = Context(prec=1000, rounding=ROUND_05UP, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Keeps the digits that can matter. If digits are dropped, the last digit is neither zero nor five,
so that no number becomes a half. Numbers that are too large become infinite."""

NUMBER = r"^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?))$"

DECIMAL_DIGITS = 38
"""Digits of a decimal of polars, which rounds a text to its places, halves to even."""

MAX_PLACES = 30
"""Decimals that are read for a step that is no power of ten; further digits decide only ties."""

INT128_LIMIT = 1 << 125
"""Intermediate numbers in 128 bits stay below it."""

FLOAT_MARGIN = 1 + 1e-9
"""A float beyond a bound by this factor is beyond it, regardless of how it was rounded."""


def parse_number_cell(text: str, column: NumericColumn) -> int | None:
    """The cell as a whole number of steps within the bounds, or None if it is missing."""
    text = text.strip(BLANKS)
    if not re.fullmatch(NUMBER[1:-1], text):
        return None
    value = LEADING_DIGITS.create_decimal(text)
    if value.is_infinite() or (value and value.adjusted() > FARTHEST):
        return column.lower if value.is_signed() else column.upper
    # So an enormous integer is never built.
    near = value and value.adjusted() >= -FARTHEST
    nearest = round(Fraction(value) / column.step) if near else 0
    return min(max(nearest, column.lower), column.upper)


def steps(text: pl.Expr, column: NumericColumn) -> pl.Expr:
    """Numbers in whole steps (Int128), halves to even; null if the step is not certain."""
    over, under = column.step.numerator, column.step.denominator
    places = len(str(under)) - 1
    if over == 1 and under == 10**places and places < DECIMAL_DIGITS:
        return text.cast(pl.Decimal(DECIMAL_DIGITS, places), strict=False).to_physical()
    least, most = (
        (bound + side) * column.step for bound, side in zip(column.limits, (-1, 1), strict=True)
    )
    largest = max(abs(least), abs(most), column.step)
    possible = [at for at in range(MAX_PLACES) if 4 * under * 10**at * ceil(largest) < INT128_LIMIT]
    if not possible:
        # No step is certain. A literal would be one row, so the null depends on the text.
        return pl.when(text.is_null() & text.is_not_null()).then(_wide(0))
    unit = 10 ** possible[-1]
    read = text.cast(pl.Decimal(DECIMAL_DIGITS, possible[-1]), strict=False).to_physical()
    twice = _wide(2 * under) * read.clip(_wide(floor(least * unit)), _wide(ceil(most * unit)))
    span = 2 * over * unit
    nearest = (twice + _wide(span // 2)) // _wide(span)
    remainder = twice + _wide(span // 2) - nearest * _wide(span)
    # A number that was rounded when it was read is wrong by at most half a unit.
    is_exact = (text.str.len_bytes() < possible[-1]) & ~text.str.contains("[eE]")
    certain = is_exact | remainder.is_between(_wide(under), _wide(span - under), closed="none")
    even = nearest - ((remainder == 0) & (nearest % 2 != 0)).cast(pl.Int128)
    return pl.when(certain).then(even)


def _wide(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.Int128)


def exceeded_bound(text: pl.Expr, column: NumericColumn) -> pl.Expr:
    """The bound that a number certainly exceeds, clamped zero if it is tiny, else null."""
    low, high = column.limits
    least, most = (float((low - 1) * column.step), float((high + 1) * column.step))
    size = pl.when(text.str.contains(NUMBER)).then(text.cast(pl.Float64, strict=False))
    return (
        pl.when(size > max(most * FLOAT_MARGIN, most / FLOAT_MARGIN))
        .then(high)
        .when(size < min(least * FLOAT_MARGIN, least / FLOAT_MARGIN))
        .then(low)
        .when(size.abs() < float(column.step) / 4)
        .then(min(max(0, low), high))
    )
