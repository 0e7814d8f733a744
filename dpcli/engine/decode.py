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

All of this is done by native expressions. The first reads cells as most files have them, the
others strip cells and know every form of them. What they leave undecided (a tie with dozens of
decimals) is decided by `number`, text by text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_05UP, Context
from fractions import Fraction
from functools import partial
from math import ceil, floor

import polars as pl
from polars.selectors import starts_with

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, PrivatePartitionColumn

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

WHOLE = {pl.Int8(): 1 << 7, pl.Int16(): 1 << 15, pl.Int32(): 1 << 31, pl.Int64(): 1 << 63}
"""Types of whole numbers, which lie below these."""

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
    """Columns of texts, named `t0`, `t1` and so on, to columns of whole numbers.

    Some files have whole numbers in their place, as Int64. Usage: `read`; where a column has an
    undecided cell, which is rare, call `decide` and read again.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = {column: f"t{place}" for place, column in enumerate(columns)}
        self._decided: dict[Column, dict[str, int | None]] = {}

    def read(self, texts: pl.LazyFrame, names: Mapping[Column, str]) -> pl.LazyFrame:
        """The table with some columns as whole numbers, open ones and ids as clean texts.

        Missing cells are null unless a constant replaces them. Flags `odd_t0` and so on say
        which cells of columns of numbers are still undecided.
        """
        types = texts.collect_schema()
        whole = [column for column in names if types[self.columns[column]] == pl.Int64]
        rules = {one: self._rules(one, whole=one in whole) for one in names}
        cell = {column: pl.col(self.columns[column]) for column in names}
        value = {column: pl.col(name) for column, name in names.items()}
        left = {column: f"left_{self.columns[column]}" for column in names}
        # Each rule reads the texts that those before it left: most cells need the first alone.
        table = texts.with_columns(
            rules[one][0](cell[one]).alias(name) for one, name in names.items()
        ).with_columns(
            strip_blanks(_where_null(value[one], cell[one]).cast(pl.String)).alias(left[one])
            for one in names
        )
        for stage in range(1, max(map(len, rules.values()), default=0)):
            later = [column for column in names if stage < len(rules[column])]
            table = table.with_columns(
                pl.coalesce(value[one], rules[one][stage](pl.col(left[one]))) for one in later
            ).with_columns(_where_null(value[one], pl.col(left[one])) for one in later)
        return table.with_columns(
            *(value[one].fill_null(one.missing) for one in names if one.missing is not None),
            *(self._undecided(one, pl.col(left[one])) for one in names if _is_number(one)),
        )

    def decide(self, flags: Collection[str], texts: pl.LazyFrame) -> None:
        """Decide the undecided cells of columns with these flags, text by text."""
        for column, text in self.columns.items():
            if f"odd_{text}" in flags:
                assert isinstance(column, NumericColumn)
                odd = self.read(texts, {column: "value"}).filter(f"odd_{text}")
                left = odd.select(pl.col(f"left_{text}").unique()).collect(engine="streaming")
                cells = left.to_series().to_list()
                decided = self._decided.setdefault(column, {})
                decided |= {cell: number(cell, column) for cell in cells}

    def decoded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns of a table in memory, all cells decided, by the names of their texts."""
        names = {column: f"v{place}" for place, column in enumerate(self.columns)}
        read = self.read(frame.lazy(), names).select(*names.values(), FLAGS).collect()
        flags = raised_flags(read.select(FLAGS))
        if flags:
            self.decide(flags, frame.lazy())
            return self.decoded(frame)
        return read.select(pl.col(names[one]).alias(text) for one, text in self.columns.items())

    def _rules(self, column: Column, *, whole: bool) -> list[Callable[[pl.Expr], pl.Expr]]:
        """Ways to values, null where a text has none: from the cells, then from bare texts."""
        if isinstance(column, IdColumn):
            return [strip_blanks]
        if isinstance(column, PrivatePartitionColumn):
            return [_key]
        if isinstance(column, CategoryColumn):
            return [partial(_positions, column=column)] * 2
        low, high = column.limits
        dtype = next(kind for kind, most in WHOLE.items() if -most <= low and high < most)

        def within(steps: pl.Expr) -> pl.Expr:
            return steps.clip(low, high).cast(dtype)

        if whole:
            return [within]
        if column.kind == "date":
            return [lambda text: within(_days(text)), lambda bare: within(_days(_first_word(bare)))]
        decided = self._decided.get(column, {})
        values = pl.Series(list(decided.values()), dtype=dtype)

        def plain(text: pl.Expr) -> pl.Expr:
            word = column.step == 1
            return within(text.cast(pl.Int64, strict=False) if word else _steps(text, column))

        def known(bare: pl.Expr) -> pl.Expr:
            return bare.replace_strict(list(decided), values, default=None, return_dtype=dtype)

        rules = [
            plain,
            lambda bare: within(_steps(bare, column)),
            lambda bare: _beyond(bare, column).cast(dtype),
        ]
        return [*rules, known] if decided else rules

    def _undecided(self, column: Column, left: pl.Expr) -> pl.Expr:
        """Whether a text without a value is not missing by a rule."""
        decided = self._decided.get(column)
        marks = left.str.contains(NUMBER)
        marks = marks & ~left.is_in(list(decided)) if decided else marks
        return marks.fill_null(value=False).alias(f"odd_{self.columns[column]}")


def _is_number(column: Column) -> bool:
    return isinstance(column, NumericColumn) and column.kind != "date"


def _where_null(value: pl.Expr, text: pl.Expr) -> pl.Expr:
    return pl.when(value.is_null()).then(text)


def _key(text: pl.Expr) -> pl.Expr:
    """A text that may be a key: not too long, and without invisible characters."""
    bare = strip_blanks(text)
    short = bare.str.len_chars() <= LONGEST_KEY
    return pl.when(short & ~bare.str.contains(INVISIBLE)).then(bare)


def raised_flags(flags: pl.DataFrame) -> set[str]:
    """The flags that are raised in some row."""
    return {flag.name for flag in flags.iter_columns() if flag.any()}


def swap_decimal_mark(text: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell, with a point before decimals; see the rules of this module."""
    if decimal == "." or not isinstance(column, NumericColumn) or column.kind == "date":
        return text
    return text.str.replace_many([".", decimal], [decimal, "."])


def strip_blanks(text: pl.Expr) -> pl.Expr:
    """The text without blanks around it, null if nothing is left."""
    bare = text.str.strip_chars(BLANKS)
    return pl.when(bare != "").then(bare)


def _positions(text: pl.Expr, column: CategoryColumn) -> pl.Expr:
    """The position of the label of each declared text."""
    codes = text.cast(pl.Enum([text for text, _ in column.values]), strict=False).to_physical()
    positions = [column.positions[label] for _, label in column.values]
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


def _steps(text: pl.Expr, column: NumericColumn) -> pl.Expr:
    """Numbers in whole steps, halves to even, in 128 bits; null for what is not certain."""
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
