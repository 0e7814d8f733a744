"""Columns of text to columns of whole numbers: each cell is decided alone.

A cell is stripped of spaces and tabs; then it is a value, or it is missing.

    number    [+-] digits [. digits] [e[+-]digits], or inf, infinity in any case;
              rounded to the grid (halves to the even number), then clamped to the bounds
    date      YYYY-MM-DD, then nothing, or a space or T and anything; clamped
    category  one of the declared texts, to the letter; if none are declared, any
              text of at most 1,000 characters, none of them invisible
    id        any text

Where the spec says `decimal: ","`, comma and point first change places in every cell
of an integer or a number: `1,5` is one and a half, and a cell with a point is missing,
as one with a comma is otherwise. (In a Parquet file this is so of numbers written as
texts; those of a numeric type are what they are.)

Everything else is missing: `nan`, `0x10`, `1_000`, `1,200`, digits of other scripts.

All of this is done by native expressions. The quick one of a column reads cells as most files
have them and leaves others undecided, the full one strips cells and knows every form of them.
What that leaves undecided (a tie with dozens of decimals) is decided by `number`, text by text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_05UP, Context
from fractions import Fraction
from math import ceil, floor

import polars as pl
from polars.selectors import starts_with

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

NUMBER = r"^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?))$"

DIGITS = 38
"""Of a decimal number of polars, which rounds a text to its places, halves to even."""

MOST_PLACES = 30
"""Decimals that are read for a step that is no power of ten: other digits decide only ties."""

WIDEST = 1 << 125
"""Intermediate numbers stay below it, in a type of 128 bits."""

NEARLY = 1 + 1e-9
"""A float that exceeds a bound by this factor is beyond it, however it was rounded."""

FLAGS = starts_with("odd_")
"""Flags of rows: undecided cells, and `odd_blank` where all that was read is missing."""

LONGEST_KEY = 1000
"""Characters of a text that may be published as a key."""


def number(text: str, column: NumericColumn) -> int | None:
    """The cell as a whole number of steps within the bounds, or None if missing."""
    text = text.strip(BLANKS)
    if not re.fullmatch(NUMBER[1:-1], text):
        return None
    value = _LEADING.create_decimal(text)
    if value.is_infinite() or (value and value.adjusted() > FARTHEST):
        return column.lower if value.is_signed() else column.upper
    # An enormous integer is never built.
    near = value and value.adjusted() >= -FARTHEST
    steps = round(Fraction(value) / column.step) if near else 0
    return min(max(steps, column.lower), column.upper)


class Decoder:
    """Expressions for some columns of texts, and which of these need more than the quick one.

    The texts of the columns are named `t0`, `t1` and so on. Usage: read with `values`, ask
    `undecided`; where a column has such a cell, call `improve` and read again.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = {column: f"t{place}" for place, column in enumerate(columns)}
        self._full: set[Column] = set()
        self._decided: dict[Column, dict[str, int | None]] = {}

    def values(self, names: Mapping[Column, str]) -> list[pl.Expr]:
        """Some columns as whole numbers, open ones and ids as cleaned texts, by these names.

        Missing cells are null unless a constant replaces them.
        """
        return [
            self._value(column).fill_null(column.missing).alias(name)
            if column.missing is not None
            else self._value(column).alias(name)
            for column, name in names.items()
        ]

    def undecided(self) -> list[pl.Expr]:
        """Which cells of each column are still undecided: flags `odd_t0` and so on."""
        return [self._open(column).alias(f"odd_{text}") for column, text in self.columns.items()]

    def improve(self, flags: Collection[str], texts: pl.LazyFrame) -> None:
        """Read columns with these flags by the full rule; what that left, one by one."""
        for column, text in self.columns.items():
            if f"odd_{text}" not in flags:
                continue
            if column not in self._full:
                self._full.add(column)
                continue
            assert isinstance(column, NumericColumn)
            rest = texts.filter(self._open(column)).select(pl.col(text).unique())
            cells = rest.collect(engine="streaming").to_series().to_list()
            decided = self._decided.setdefault(column, {})
            decided |= {cell: number(cell, column) for cell in cells}

    def decoded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns of a table in memory, all cells decided, by the names of their texts."""
        while True:
            flags = raised(frame.select(self.undecided()))
            if not flags:
                return frame.select(self.values(self.columns))
            self.improve(flags, frame.lazy())

    def _value(self, column: Column) -> pl.Expr:
        """The values of a column; null where cells are missing or undecided."""
        text, full = pl.col(self.columns[column]), column in self._full
        bare = stripped(text)
        if isinstance(column, IdColumn):
            return bare
        if isinstance(column, OpenColumn):
            # A text that may be a key: not too long, and without invisible characters.
            short = bare.str.len_chars() <= LONGEST_KEY
            return pl.when(short & ~bare.str.contains(INVISIBLE)).then(bare)
        if isinstance(column, CategoryColumn):
            return _positions(bare if full else text, column)
        low, high = column.limits
        dtype = pl.Int32() if low > -(2**31) and high < 2**31 else pl.Int64()
        if column.kind == "date":
            days = _days(_first_word(bare) if full else text)
            return days.clip(low, high).cast(dtype)
        value = _steps(bare if full else text, column, full=full).clip(low, high).cast(dtype)
        if full:
            value = pl.coalesce(value, _beyond(bare, column).cast(dtype))
            decided = self._decided.get(column)
            if decided:
                rest = text.replace_strict(
                    list(decided), pl.Series(list(decided.values()), dtype=dtype),
                    default=None, return_dtype=dtype,
                )  # fmt: skip
                value = pl.coalesce(value, rest)
        return value

    def _open(self, column: Column) -> pl.Expr:
        """Whether a cell has neither a value nor a rule that makes it missing."""
        text, nothing = pl.col(self.columns[column]), pl.lit(value=False)
        if isinstance(column, IdColumn | OpenColumn):
            return nothing
        if column not in self._full:
            return self._value(column).is_null() & (text != "")
        if isinstance(column, CategoryColumn) or column.kind == "date":
            return nothing
        marks = self._value(column).is_null() & stripped(text).str.contains(NUMBER)
        return (
            marks & ~text.is_in(list(self._decided[column])) if column in self._decided else marks
        )


def raised(flags: pl.DataFrame) -> set[str]:
    """The flags that are raised in some row."""
    return {name for name, flag in flags.select(pl.all().any()).row(0, named=True).items() if flag}


def swapped(text: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell, with a point before decimals; see the rules of this module."""
    if decimal == "." or not isinstance(column, NumericColumn) or column.kind == "date":
        return text
    return text.str.replace_many([".", decimal], [decimal, "."])


def stripped(text: pl.Expr) -> pl.Expr:
    """The text without blanks around it, null if nothing is left."""
    bare = text.str.strip_chars(BLANKS)
    return pl.when(bare != "").then(bare)


def _positions(text: pl.Expr, column: CategoryColumn) -> pl.Expr:
    """The position of the label of each declared text."""
    codes = text.cast(pl.Enum([text for text, _ in column.values]), strict=False).to_physical()
    positions = [column.positions[label] for _, label in column.values]
    codes = codes.cast(pl.Int32)
    if positions == list(range(len(positions))):
        return codes
    places = list(range(len(positions)))
    return codes.replace_strict(places, positions, default=None, return_dtype=pl.Int32)


def _days(text: pl.Expr) -> pl.Expr:
    """ISO dates as days since 1970, null for all other texts.

    The reader of dates is lenient about padding and signs; the rule is not, so a date must be
    written as it would be written back.
    """
    date = text.str.to_date("%Y-%m-%d", strict=False)
    same = date.dt.to_string("%Y-%m-%d") == text
    real = date.dt.year().is_between(1, 9999)
    return pl.when(same & real).then(date.to_physical().cast(pl.Int64))


def _first_word(text: pl.Expr) -> pl.Expr:
    """A date, without what follows it after a space or a T."""
    after = text.str.slice(10, 1)
    return pl.when(after.is_in(["", " ", "T"])).then(text.str.slice(0, 10))


def _steps(text: pl.Expr, column: NumericColumn, *, full: bool) -> pl.Expr:
    """Numbers in whole steps, halves to even; null for what is not certain."""
    if column.kind == "integer" and column.step == 1 and not full:
        return text.cast(pl.Int64, strict=False)
    over, under = column.step.numerator, column.step.denominator
    places = len(str(under)) - 1
    if over == 1 and under == 10**places and places < DIGITS:
        return text.cast(pl.Decimal(DIGITS, places), strict=False).to_physical()
    least, most = (
        (bound + side) * column.step for bound, side in zip(column.limits, (-1, 1), strict=True)
    )
    largest = max(abs(least), abs(most), column.step)
    rooms = [at for at in range(MOST_PLACES) if 4 * under * 10**at * ceil(largest) < WIDEST]
    if not rooms:
        # Nothing is certain; a literal would be one row, however many texts there are.
        return pl.when(text.is_null() & text.is_not_null()).then(_wide(0))
    unit = 10 ** rooms[-1]
    read = text.cast(pl.Decimal(DIGITS, rooms[-1]), strict=False).to_physical()
    twice = _wide(2 * under) * read.clip(_wide(floor(least * unit)), _wide(ceil(most * unit)))
    span = 2 * over * unit
    steps = (twice + _wide(span // 2)) // _wide(span)
    rest = twice + _wide(span // 2) - steps * _wide(span)
    # A number that was rounded when it was read is wrong by half a unit at most.
    whole = (text.str.len_bytes() < rooms[-1]) & ~text.str.contains("[eE]")
    certain = whole | rest.is_between(_wide(under), _wide(span - under), closed="none")
    even = steps - ((rest == 0) & (steps % 2 != 0)).cast(pl.Int128)
    return pl.when(certain).then(even)


def _wide(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.Int128)


def _beyond(text: pl.Expr, column: NumericColumn) -> pl.Expr:
    """The bound that a number certainly exceeds, or nothing where it is certainly tiny."""
    low, high = column.limits
    least, most = (float((low - 1) * column.step), float((high + 1) * column.step))
    size = pl.when(text.str.contains(NUMBER)).then(text.cast(pl.Float64, strict=False))
    return (
        pl.when(size > max(most * NEARLY, most / NEARLY))
        .then(high)
        .when(size < min(least * NEARLY, least / NEARLY))
        .then(low)
        .when(size.abs() < float(column.step) / 4)
        .then(min(max(0, low), high))
    )
