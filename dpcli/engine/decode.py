"""Columns of text to columns of whole numbers: each cell is decided alone.

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

Everything else is missing: `nan`, `0x10`, `1_000`, `1,200`, digits of other scripts.

Each function is total: it never fails on a cell. Cells are tried in tiers: the fastest reading
that is certainly right decides most, the next one decides what is left, and `number`, which
follows the rules to the letter, decides the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_05UP, Context
from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn

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

Encoder = Callable[[pl.Series], pl.Series]
"""From texts to whole numbers; missing cells are null unless a constant replaces them."""

CERTAIN = 2.0**40
"""Below this many steps a float64 quotient is within 2^-11 of the exact one."""

BLOCK = 1 << 14
"""Cells that are rounded at a time: their temporary arrays stay in a core's cache."""

FEW = 500
"""Cells that the written rule decides sooner than any further tier would begin."""

LOOK = 16
"""Cells by which the order of readings is chosen; no value depends on it."""

MARGIN = 2.0**-49
"""How far from a half a quotient must be, relative to it, for its rounding to be certain."""

LONGEST_KEY = 1000
"""Characters of a text that may be published as a key."""


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


def encoded(column: Column, text: str) -> pl.Expr:
    """A column of texts as whole numbers; open columns and ids as cleaned texts."""
    if isinstance(column, OpenColumn):
        # A text that may be a key: not too long, and without invisible characters.
        key = stripped(pl.col(text))
        short = key.str.len_chars() <= LONGEST_KEY
        return pl.when(short & ~key.str.contains(INVISIBLE)).then(key)
    if isinstance(column, IdColumn):
        return stripped(pl.col(text))
    encode, dtype = encoder(column)
    return pl.col(text).map_batches(encode, return_dtype=dtype, is_elementwise=True)


def swapped(text: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell, with a point before decimals; see the rules of this module."""
    if decimal == "." or not isinstance(column, NumericColumn) or column.kind == "date":
        return text
    return text.str.replace_many([".", decimal], [decimal, "."])


def stripped(text: pl.Expr) -> pl.Expr:
    """The text without blanks around it, null if nothing is left."""
    bare = text.str.strip_chars(BLANKS)
    return pl.when(bare != "").then(bare)


def encoder(column: CategoryColumn | NumericColumn) -> tuple[Encoder, pl.DataType]:
    """The encoder of a column, and the type of what it makes."""
    if isinstance(column, CategoryColumn):
        return _constant(_categories(column), column.missing), pl.Int32()
    low, high = column.limits
    narrow = low > -(2**31) and high < 2**31
    dtype: pl.DataType = pl.Int32() if narrow else pl.Int64()
    tiers = _dates(column, dtype) if column.kind == "date" else _numbers(column, dtype)
    return _constant(tiers, column.missing), dtype


def _constant(encode: Encoder, missing: int | None) -> Encoder:
    """The same with a constant in the place of missing cells, if there is one."""
    return encode if missing is None else lambda texts: encode(texts).fill_null(missing)


def _numbers(column: NumericColumn, dtype: pl.DataType) -> Encoder:
    """Whole numbers first, then certain floats, then the written rule."""
    low, high = column.limits
    over, under = column.step.numerator, column.step.denominator
    # One step beyond the bounds, in units of the text: enough to round and clamp.
    least, most = floor((low - 1) * column.step), ceil((high + 1) * column.step)
    whole_type = pl.Int32() if _fits(least, most, over, under, 31) else pl.Int64()
    exact_whole = _fits(least, most, over, under, 63)

    def wholes(texts: pl.Series) -> pl.Series:
        if not exact_whole:
            return _nulls(texts, dtype)
        values = texts.cast(whole_type, strict=False)
        if not over == under == 1:
            values = values.clip(least, most)
            values = (values * (2 * under) + over) // (2 * over)
        return values.clip(low, high).cast(dtype)

    def floats(texts: pl.Series) -> pl.Series:
        return _floats(texts, column, dtype)

    def others(texts: pl.Series) -> pl.Series:
        bare = texts.str.strip_chars(BLANKS)
        values = _filled(bare, wholes(bare), floats)
        return _filled(bare, values, lambda rest: _by_rule(rest, column, dtype))

    def encode(texts: pl.Series) -> pl.Series:
        has_points = texts.head(LOOK).str.contains(".", literal=True).any()
        first, second = (floats, wholes) if has_points else (wholes, floats)

        def rest(texts: pl.Series) -> pl.Series:
            if len(texts) <= FEW:
                decided = [number(text, column) for text in texts.to_list()]
                return pl.Series(decided, dtype=dtype)
            return _filled(texts, second(texts), others)

        return _filled(texts, first(texts), rest)

    return encode


def _fits(least: int, most: int, over: int, under: int, bits: int) -> bool:
    """Whether rounding to the grid cannot overflow a signed integer of `bits` + 1."""
    return max(abs(least), abs(most)) * 2 * under + over < 1 << bits


def _floats(texts: pl.Series, column: NumericColumn, dtype: pl.DataType) -> pl.Series:
    """Cells that a float decides with certainty; the others are null.

    A text read as float64 is correctly rounded and so is the division, hence the
    quotient q is within |q| 2^-51 of the exact one, and q + 1/2 within (|q| + 1) 2^-50.
    """
    numbers = texts.cast(pl.Float64, strict=False).to_numpy()
    whole, known = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.bool_)
    with np.errstate(all="ignore"):
        for start in range(0, len(numbers), BLOCK):
            block = slice(start, start + BLOCK)
            whole[block], known[block] = _rounded(numbers[block], column)
    values = pl.Series(whole).cast(dtype)
    doubtful = np.flatnonzero(~known)
    return values.scatter(doubtful, None) if len(doubtful) else values


def _rounded(
    numbers: npt.NDArray[np.float64], column: NumericColumn
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Numbers in whole steps within the bounds, and for which of them that is certain."""
    low, high = column.limits
    quotient = numbers / float(column.step)
    size = np.abs(quotient)
    shifted = quotient + 0.5
    steps = np.floor(shifted)
    fraction = shifted - steps
    margin = (size + 1) * MARGIN
    known = (fraction > margin) & (fraction < 1 - margin) & (size < CERTAIN)
    steps[~known] = 0.0
    whole = np.clip(steps.astype(np.int64), low, high)
    if not known.all():
        # An infinite or immense number is beyond a bound, however it is rounded.
        for beyond, bound in (
            (quotient > high + 1 + abs(high) / CERTAIN, high),
            (quotient < low - 1 - abs(low) / CERTAIN, low),
        ):
            whole[beyond] = bound
            known |= beyond
    return whole, known


def _by_rule(texts: pl.Series, column: NumericColumn, dtype: pl.DataType) -> pl.Series:
    distinct = texts.unique()
    decided = [number(text, column) for text in distinct]
    if all(value is None for value in decided):
        return _nulls(texts, dtype)
    return texts.replace_strict(distinct, pl.Series(decided, dtype=pl.Int64()), return_dtype=dtype)


def _dates(column: NumericColumn, dtype: pl.DataType) -> Encoder:
    """ISO dates; what follows a date after a space or a T is dropped."""
    low, high = column.limits

    def days(texts: pl.Series) -> pl.Series:
        # The reader of dates is lenient about padding and signs; the rule is not,
        # so a date must be written as it would be written back.
        dates = texts.str.to_date("%Y-%m-%d", strict=False)
        frame = pl.DataFrame({"text": texts, "date": dates})
        same = pl.col("date").dt.to_string("%Y-%m-%d") == pl.col("text")
        real = pl.col("date").dt.year().is_between(1, 9999)
        number = pl.col("date").to_physical().cast(pl.Int64).clip(low, high).cast(dtype)
        return frame.select(pl.when(same & real).then(number).alias("v")).to_series()

    def with_time(texts: pl.Series) -> pl.Series:
        texts = texts.str.strip_chars(BLANKS)
        frame = pl.DataFrame({"text": texts})
        after = pl.col("text").str.slice(10, 1)
        head = pl.when(after.is_in(["", " ", "T"])).then(pl.col("text").str.slice(0, 10))
        return days(frame.select(head.alias("head")).to_series())

    return lambda texts: _filled(texts, days(texts), with_time)


def _categories(column: CategoryColumn) -> Encoder:
    """The position of the label of each declared text."""
    texts_declared = pl.Enum([text for text, _ in column.values])
    positions = pl.Series([column.positions[label] for _, label in column.values], dtype=pl.Int32())
    plain = positions.to_list() == list(range(len(positions)))

    def exact(texts: pl.Series) -> pl.Series:
        codes = texts.cast(texts_declared, strict=False).to_physical()
        return codes.cast(pl.Int32()) if plain else positions.gather(codes)

    def bare(texts: pl.Series) -> pl.Series:
        return exact(texts.str.strip_chars(BLANKS))

    return lambda texts: _filled(texts, exact(texts), bare)


def _filled(texts: pl.Series, values: pl.Series, slower: Encoder) -> pl.Series:
    """`values`, with the next tier's answer wherever a text has none yet."""
    if values.null_count() == texts.null_count():
        return values
    nulls = values.is_null().arg_true()
    rest = texts.gather(nulls)
    there = rest.is_not_null() & (rest != "")
    if not there.any():
        return values
    return values.scatter(nulls.filter(there), slower(rest.filter(there)))


def _nulls(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    return pl.Series(texts.name, [None], dtype=dtype).new_from_index(0, len(texts))
