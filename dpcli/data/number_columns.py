"""Columns of numbers, whose texts become whole numbers of steps, exactly.

`plain_number` turns numbers of a declared form into plain ones. `steps` and `exceeded_bound` are
native expressions too, which leave a text undecided where they are not certain. `parse_number_cell`
decides every text, one by one.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_05UP, Context
from fractions import Fraction
from math import ceil, floor, log10
from typing import Annotated, Any, ClassVar, Self

from dpcli.data.candidate_bounds import ChosenBoundsModel
from dpcli.data.cell_options import From, MissingMarks
from dpcli.data.characters import BLANKS, MINUS, PLUS, ascii_sign, plain_minus
from dpcli.data.column import Column, Option, Proposal, Ranges, Rule, SampledTexts
from dpcli.data.declared_texts import DROP
from dpcli.data.formats import PLAIN_NUMBERS, NumberFormat, number_pattern, shortest_number
from dpcli.data.grid_columns import NumericColumn, NumericKind, smallest_type
from dpcli.data.number_options import (
    Affixes,
    Brackets,
    Decimal,
    Factors,
    ListedNumbers,
    MinusAfter,
    NumberValues,
    Thousands,
    ambiguous_mark,
    different_sizes,
    may_be_thousands,
)
from dpcli.data.polars_text import pl, strip_blanks, with_plain_minus
from dpcli.data.steps import Step, WholeStep
from dpcli.fields.values import TEXT_SCHEMA, ByForm, Fields, NumberPair, ParsedText, parse_number
from dpcli.numeric.exact import decimal_places, decimal_text, readable_text
from dpcli.problems.messages import quoted_list

MEAN_DIGITS, MAX_MEAN_DECIMALS = 5, 12
"""Printed decimals of a mean of numbers below ten, and the most of any mean."""

NUMBER = r"^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?))$"

OTHER_SIGN = rf"^[{MINUS}{PLUS}&&[^+\-]]"

FEW_DECIMALS = "|".join(rf"\.[0-9]{{0,{power}}}0*[eE]\+?0*{power}" for power in range(1, 21))
WHOLE = (
    r"^[+-]?(?:(?:[0-9]+(?:\.0*)?|\.0+)(?:[eE]\+?[0-9]+)?"
    rf"|[0-9]*(?:{FEW_DECIMALS})|(?i:inf(?:inity)?))$"
)
PERHAPS_WHOLE = r"^[+-]?[0-9]*\.?0*[eE]-|[eE]\+?0*(?:2[1-9]|[3-9][0-9]|[1-9][0-9]{2,})$"
"""Numbers with other exponents. Those that neither pattern fits have a fraction."""


def _number_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else parse_number(text)


Bounds = Annotated[NumberPair | ChosenBoundsModel, ByForm]
MissingNumber = Annotated[Fraction | None, ParsedText(_number_or_drop, TEXT_SCHEMA)]


class NumberColumn(NumericColumn):
    """Numbers within bounds, rounded to multiples of the step.

    Marks of missing cells mark equal numbers too.
    """

    __slots__ = ()

    key: ClassVar[str] = "number"
    kind: ClassVar[NumericKind] = "number"
    fields: ClassVar[Fields] = {
        "bounds": Bounds | None, "step": Step, "missing": MissingNumber | None
    }  # fmt: skip
    takes: ClassVar[tuple[type[Option], ...]] = (
        Thousands, Decimal, MinusAfter, Affixes, Factors, Brackets, NumberValues, MissingMarks,
        From,
    )  # fmt: skip
    noun: ClassVar[str] = "numbers"
    undecided_pattern: ClassVar[str] = NUMBER
    """Texts that may have a value if no rule reads them."""

    @property
    def format(self) -> NumberFormat | None:
        return self.in_form(NumberFormat())

    def with_decimal(self, decimal: str) -> Self:
        # Cells are compared with marks and texts before decimal marks are exchanged.
        own = self.option(Decimal) or Decimal(decimal)
        return self.with_options(own) if Decimal in self.takes else self

    @property
    def mean_decimals(self) -> int:
        largest = max(map(abs, self.limits)) * self.step
        digits = MEAN_DIGITS - floor(log10(max(largest, self.step)))
        return max(decimal_places(self.step) + 2, min(digits, MAX_MEAN_DECIMALS))

    def is_like(self, other: Column) -> bool:
        return isinstance(other, NumberColumn)

    def text(self, value: int) -> str:
        """A plain decimal, with as many decimals as the step."""
        return decimal_text(value * self.step, decimal_places(self.step))

    def parse(self, text: str) -> Fraction:
        return parse_number(text)

    def steps_of(self, text: str) -> int:
        return int(Fraction(text) / self.step)

    def constant_text(self, value: Fraction) -> str:
        return readable_text(value)

    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        step, limits, dtype = self.step, self.limits, smallest_type(self.limits)
        values = pl.Series(list(decided.values()), dtype=dtype)

        rules: list[Rule] = [
            lambda text: self.possible(
                text.cast(pl.Int64, strict=False)
                if step == 1
                else steps(self.certain(text), step, limits)
            ),
            lambda bare: self.possible(steps(self.certain(bare), step, limits)),
            lambda bare: exceeded_bound(self.certain(bare), step, limits).cast(dtype),
        ]
        if decided:
            rules.append(
                lambda bare: bare.replace_strict(
                    list(decided), values, default=None, return_dtype=dtype
                )
            )
        return rules

    def certain(self, text: pl.Expr) -> pl.Expr:
        """The text of a number that rules may read, or null."""
        return text

    def bare_text(self, cell: pl.Expr) -> pl.Expr:
        bare = NumericColumn.bare_text(self, cell)
        other = pl.when(bare.str.contains(OTHER_SIGN)).then(bare)
        return pl.coalesce(with_ascii_sign(other), bare)

    def undecided(self, left: pl.Expr, decided: Mapping[str, int | None]) -> pl.Expr | None:
        is_open = left.str.contains(self.undecided_pattern)
        is_open = is_open & ~left.is_in(list(decided)) if decided else is_open
        return is_open.fill_null(value=False)

    def decide(self, text: str) -> int | None:
        return parse_number_cell(text, self.step, self.limits)

    def unmarked_text(self, cell: pl.Expr) -> pl.Expr:
        form = self.format
        if form is None:
            return NumericColumn.unmarked_text(self, cell)
        # Most cells have no blanks around them, so they are removed only where they must be.
        text = NumericColumn.unmarked_text(self, cell) if self.text_options else cell
        return plain_number(text, form)

    def is_mark(self, cell: pl.Expr, marks: Sequence[str]) -> pl.Expr:
        is_same = NumericColumn.is_mark(self, cell, marks)
        is_number = is_number_of(self.unmarked_text(cell), marks)
        return is_same if is_number is None else is_same | is_number

    def with_point(self, text: pl.Expr, decimal: str) -> pl.Expr:
        # A form of the column has its own mark.
        if decimal == "." or self.format is not None:
            return text
        return text.str.replace_many([".", decimal], [decimal, "."])

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        form = self.format
        return plain if form is None else plain.str.replace(".", form.decimal, literal=True)

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        is_whole = self.step == 1 and fits_a_word(dtype) and self.reads_types
        return cell.cast(pl.Int64) if is_whole else None

    def strict_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        native = self.native_type(".", None)
        if native is None or not self.reads_types:
            return None
        if dtype == pl.Float64:
            return nearest_steps(cell, 1 / self.step)
        is_exact = dtype.is_integer() or (
            isinstance(dtype, pl.Decimal) and dtype.scale <= getattr(native, "scale", 0)
        )
        return self.native_steps(cell.cast(native)) if is_exact else None

    def native_type(self, decimal: str, quote: str | None) -> pl.DataType | None:
        if self.needs_plain_text or decimal != ".":
            return None
        if self.step == 1:
            return pl.Int64()
        decimals = len(str(self.step.denominator)) - 1
        is_decimal = self.step == Fraction(1, 10**decimals) and decimals < WORD_DIGITS
        return pl.Decimal(WORD_DIGITS, decimals) if is_decimal else None

    def native_steps(self, cell: pl.Expr) -> pl.Expr:
        # No number of so few digits exceeds a machine word.
        return cell if self.step == 1 else cell.to_physical().cast(pl.Int64)

    def expected(self, decimal: str) -> str:
        number = self.text(self.upper) if self.bounds else "1234"
        form = self.format or NumberFormat(decimal=decimal)
        return f"expected {self.noun}, written like {form.written(number)}"

    def cautions(self, decimal: str) -> Iterator[str]:
        form = self.format or NumberFormat(decimal=decimal)
        if sizes := different_sizes(form.affixes):
            yield (
                f"the affixes {quoted_list(sizes)} of `{self.name}` are dropped, so numbers of "
                "different sizes are read as one: `factors` states what each multiplies by"
            )
        is_large = self.bounds is None or max(map(abs, self.bounds)) * self.step >= 1000
        if is_large and form.decimal == "," and self.option(Thousands) is None:
            yield (
                f"a cell of `{self.name}` such as `13.748,76` would be missing, which only large "
                'numbers have: add `thousands: "."`, or `thousands: none` if there is no such mark'
            )

    has_doubts = True

    def doubts(self, cells: SampledTexts) -> Iterator[str]:
        mark = (self.format or NumberFormat(decimal=cells.decimal)).decimal
        if decimal_places(self.step) < 3 and may_be_thousands(mark, cells):
            yield f"three digits after `{mark}` may be thousands or decimals: look at the file"

    def proposed(self, cells: SampledTexts) -> Iterator[Proposal[Self]]:
        for proposal in NumericColumn.proposed(self, cells):
            form = proposal.value.format or NumberFormat()
            if form.decimal not in form.group_marks:
                # A declared step of thousandths has three decimals.
                is_open = self.step > Fraction(1, 1000) or form.decimal != cells.decimal
                marks = form.group_marks + form.decimal * is_open
                mark = ambiguous_mark(marks, cells)
                doubt = f"three digits after `{mark}` may be thousands or decimals"
                yield proposal.doubt_if(mark, doubt)


class IntegerColumn(NumberColumn):
    """Whole numbers within bounds.

    A cell with a fraction is missing.
    """

    __slots__ = ()

    key: ClassVar[str] = "integer"
    kind: ClassVar[NumericKind] = "integer"
    fields: ClassVar[Fields] = {**NumberColumn.fields, "step": WholeStep | None}
    noun: ClassVar[str] = "whole numbers"
    undecided_pattern: ClassVar[str] = f"{WHOLE}|{PERHAPS_WHOLE}"

    @classmethod
    def declared(
        cls, name: str, section: Any, limits: tuple[int, int] | None = None
    ) -> NumericColumn:
        """The column; with a list of all `values`, a `ListedColumn`."""
        listed = getattr(section, "values", None)
        if limits is None and isinstance(listed, list):
            # Whether the list fits the other keys is checked with the options.
            return ListedColumn.declared(name, section, (listed[0], listed[-1]))
        return super().declared(name, section, limits)

    def certain(self, text: pl.Expr) -> pl.Expr:
        return pl.when(text.str.contains(WHOLE)).then(text)

    def decide(self, text: str) -> int | None:
        value = NumberColumn.decide(self, text)
        return value if value is not None and is_whole(text.strip(BLANKS)) else None

    def strict_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        if dtype == pl.Float64:
            # A fraction is no blank cell, so it is odd, like all that is too large.
            cell = pl.when(cell != cell.round()).then(math.inf).otherwise(cell)
        return NumberColumn.strict_cells(self, cell, dtype)


class ListedColumn(IntegerColumn):
    """Whole numbers of which all are listed; a cell with another number is missing."""

    __slots__ = ()

    takes: ClassVar[tuple[type[Option], ...]] = (*IntegerColumn.takes, ListedNumbers)

    @property
    def has_outside(self) -> bool:  # type: ignore[override]
        """False: a number that is not listed cannot be read."""
        return False

    @property
    def values(self) -> tuple[int, ...]:
        """The listed numbers, in increasing order."""
        listed = self.option(ListedNumbers)
        return listed.values if listed else ()

    @property
    def declared_ranges(self) -> Ranges:
        return tuple(zip(self.values, self.values, strict=True))

    def bin_ends(self, starts: Sequence[int], index: int) -> tuple[int, int]:
        low, high = IntegerColumn.bin_ends(self, starts, index)
        inside = self.values[bisect_left(self.values, low) : bisect_right(self.values, high)]
        return (inside[0], inside[-1]) if inside else (low, high)

    def unmarked_text(self, cell: pl.Expr) -> pl.Expr:
        plain = IntegerColumn.unmarked_text(self, cell)
        is_listed = is_number_of(plain, map(str, self.values))
        return plain if is_listed is None else pl.when(is_listed).then(plain)

    def expected(self, decimal: str) -> str:
        return "expected one of the listed `values`"


Limits = tuple[int, int]
"""The bounds of a column in steps."""

LONGEST_PATTERN = 1000
"""The most letters of all numbers compared by one pattern: it is faster for few."""

FARTHEST = 200
"""Digits between the decimal point and the first digit.

Bounds are below 2^62 steps, and steps are between 10^-100 and 10^100, so numbers that start farther
away exceed a bound or round to zero."""

LEADING_DIGITS = Context(prec=1000, rounding=ROUND_05UP, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Keeps the digits that can matter.

If digits are dropped, the last digit is neither zero nor five, so that no number becomes a half.
Numbers that are too large become infinite."""

WORD_DIGITS = 18
"""Digits of which every decimal fits a machine word."""

DECIMAL_DIGITS = 38
"""Digits of a polars decimal, which rounds a text to its decimals, half to even."""

MAX_DECIMALS = 30
"""Decimals read for a step that is no power of ten; further ones only break ties."""

INT128_LIMIT = 1 << 125
"""Intermediate numbers in 128 bits stay below this limit."""

FLOAT_MARGIN = 1 + 1e-9
"""A float beyond a bound by this factor is beyond it, however it was rounded."""


def parse_number_cell(text: str, step: Fraction, limits: Limits) -> int | None:
    """The cell as a whole number of steps within the bounds; None if it is missing."""
    text = ascii_sign(text.strip(BLANKS))
    if not re.fullmatch(NUMBER[1:-1], text):
        return None
    value = LEADING_DIGITS.create_decimal(text)
    if value.is_infinite() or (value and value.adjusted() > FARTHEST):
        return limits[0] if value.is_signed() else limits[1]
    # So an enormous integer is never built.
    near = value and value.adjusted() >= -FARTHEST
    nearest = round(Fraction(value) / step) if near else 0
    return min(max(nearest, limits[0]), limits[1])


def is_whole(text: str) -> bool:
    """Whether the text of a number has no fraction but zeros."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, decimals = mantissa.lstrip("+-").partition(".")
    digits = (whole + decimals).rstrip("0")
    last = len(digits) - len(whole)
    return not digits or last <= LEADING_DIGITS.create_decimal(power or "0")


def with_ascii_sign(text: pl.Expr) -> pl.Expr:
    """The text of a number, with an ASCII sign before it."""
    return text.str.replace(f"^{MINUS}", "-").str.replace(f"^{PLUS}", "+")


def steps(text: pl.Expr, step: Fraction, limits: Limits) -> pl.Expr:
    """Numbers in whole steps (Int128), halves to even; null if the step is uncertain."""
    over, under = step.numerator, step.denominator
    decimals = len(str(under)) - 1
    if over == 1 and under == 10**decimals and decimals < DECIMAL_DIGITS:
        return text.cast(pl.Decimal(DECIMAL_DIGITS, decimals), strict=False).to_physical()
    min_value, max_value = (
        (bound + side) * step for bound, side in zip(limits, (-1, 1), strict=True)
    )
    largest = max(abs(min_value), abs(max_value), step)
    possible = [
        digits
        for digits in range(MAX_DECIMALS)
        if 4 * under * 10**digits * ceil(largest) < INT128_LIMIT
    ]
    if not possible:
        # No step is certain. A literal would be one row, so the null depends on the text.
        return pl.when(text.is_null() & text.is_not_null()).then(_wide(0))
    unit = 10 ** possible[-1]
    read = text.cast(pl.Decimal(DECIMAL_DIGITS, possible[-1]), strict=False).to_physical()
    twice = _wide(2 * under) * read.clip(
        _wide(floor(min_value * unit)), _wide(ceil(max_value * unit))
    )
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


def exceeded_bound(text: pl.Expr, step: Fraction, limits: Limits) -> pl.Expr:
    """The bound that a number certainly exceeds, in steps, else null.

    For a number that certainly rounds to zero, it is zero clamped to the bounds.
    """
    low, high = limits
    min_value, max_value = (float((low - 1) * step), float((high + 1) * step))
    size = pl.when(text.str.contains(NUMBER)).then(text.cast(pl.Float64, strict=False))
    return (
        pl.when(size > max(max_value * FLOAT_MARGIN, max_value / FLOAT_MARGIN))
        .then(high)
        .when(size < min(min_value * FLOAT_MARGIN, min_value / FLOAT_MARGIN))
        .then(low)
        .when(size.abs() < float(step) / 4)
        .then(min(max(0, low), high))
    )


def plain_number(cell: pl.Expr, form: NumberFormat) -> pl.Expr:
    """The plain text of a number in its declared form; null for all other cells."""
    usual = _usual_number(cell, form)
    rare = _rare_number(strip_blanks(pl.when(usual.is_null()).then(cell)), form)
    number = pl.coalesce(usual, rare)
    return (
        pl.coalesce(_declared_number(strip_blanks(cell), form), number) if form.values else number
    )


def is_number_of(plain: pl.Expr, texts: Iterable[str]) -> pl.Expr | None:
    """Whether a plain text equals a number in `texts`; None if they have no number."""
    numbers = (shortest_number(ascii_sign(text)) for text in texts)
    shortest = [number for number in numbers if number is not None]
    if not shortest:
        return None
    if sum(map(len, shortest)) <= LONGEST_PATTERN:
        is_number = plain.str.contains("|".join(map(number_pattern, shortest)))
    else:
        is_number = _shortest_numbers(with_ascii_sign(plain)).is_in(shortest)
    return is_number.fill_null(value=False)


CERTAIN = 1e12
"""Below it, a number of steps as a double is wrong by less than 0.001."""


def nearest_steps(cell: pl.Expr, steps_per_unit: Fraction) -> pl.Expr:
    """Doubles in whole steps; one near half a step is an error.

    They are what their shortest texts would be read as. The number of steps of a unit is a double
    itself.
    """
    exact = cell.fill_nan(None) * float(steps_per_unit)
    nearest = exact.round()
    # To have no nearest step that is certain is to be no whole number, which is an error below.
    is_odd = (exact.abs() >= CERTAIN) | ((exact - nearest).abs() >= 0.499)
    return pl.when(is_odd).then(math.nan).otherwise(nearest).cast(pl.Int64)


def fits_a_word(dtype: pl.DataType) -> bool:
    """Whether a type has whole numbers that all fit a signed machine word."""
    return dtype.is_integer() and dtype not in (pl.UInt64, pl.Int128, pl.UInt128)


def _usual_number(cell: pl.Expr, form: NumberFormat) -> pl.Expr:
    """The plain text of a number in its usual form; null for all other cells.

    It is much faster than the pattern of every form.
    """
    pattern, around = form.usual
    # The pattern allows nothing of this next to the digits but one affix on each side.
    number = cell.str.strip_chars(around) if around else cell
    return pl.when(cell.str.contains(pattern)).then(_with_plain_marks(number, form))


def _rare_number(bare: pl.Expr, form: NumberFormat) -> pl.Expr:
    positive, negative, parts = form.patterns
    number = _with_plain_marks(bare.str.extract(parts, 1), form)
    if form.factors:
        exponents = {text: f"e{power}" if power else "" for text, power in form.factors}
        number += bare.str.extract(parts, 2).replace_strict(exponents, default="").fill_null("")
    is_negative, is_positive = map(bare.str.contains, (negative, positive))
    return pl.when(is_negative).then("-" + number).when(is_positive).then(number)


def _with_plain_marks(number: pl.Expr, form: NumberFormat) -> pl.Expr:
    changes = dict.fromkeys(form.group_marks, "")
    changes |= {} if form.decimal == "." else {form.decimal: "."}
    return number.str.replace_many(changes) if changes else number


def _declared_number(bare: pl.Expr, form: NumberFormat) -> pl.Expr:
    numbers = {plain_minus(text): number for text, number in form.values}
    return with_plain_minus(bare).replace_strict(numbers, default=None, return_dtype=pl.String)


def _shortest_numbers(text: pl.Expr) -> pl.Expr:
    """The shortest texts of plain numbers, as of `shortest_number`; null for others."""
    digits = text.str.strip_chars_start("+-0")
    bare = digits.str.strip_chars_end("0").str.strip_chars_end(".")
    digits = pl.when(digits.str.contains(".", literal=True)).then(bare).otherwise(digits)
    is_negative = text.str.starts_with("-") & (digits != "")
    number = pl.when(is_negative).then("-" + digits).otherwise(digits)
    return pl.when(text.str.contains(PLAIN_NUMBERS)).then(number)
