"""Exact rationals as text, for programs and for people, rounded, and in sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil, isqrt, log10

from dpcli.numeric.arrays import Array, add_exact, multiply_exact, np, widened

MAX_TESTED_DECIMALS = 400
"""Most decimals of a number that is written as a decimal."""

TINY = re.compile(r"(-?)0\.(0{4,})([1-9])(\d*)")
"""A plain decimal below one ten-thousandth."""


def require_exact(*numbers: Fraction | None) -> None:
    """Raise TypeError unless every number is a plain `Fraction`.

    A subclass could compare or divide in another way.
    """
    for number in numbers:
        if number is not None and type(number) is not Fraction:
            raise TypeError("an exact number is a plain fraction")


def decimal_places(step: Fraction) -> int:
    """The number of decimals that any multiple of `step` needs.

    Raises ValueError if no number of decimals is enough: a prime other than 2 and 5 divides the
    denominator, or more than `MAX_TESTED_DECIMALS` are needed.
    """
    remaining, decimals = step.denominator, 0
    if remaining == 1:
        return 0
    for prime in (2, 5):
        exponent = 0
        while remaining % prime == 0 and exponent <= MAX_TESTED_DECIMALS:
            remaining //= prime
            exponent += 1
        decimals = max(decimals, exponent)
    if remaining != 1 or decimals > MAX_TESTED_DECIMALS:
        raise ValueError("not a finite decimal")
    return decimals


def decimal_text(value: Fraction, decimals: int) -> str:
    """`value` with exactly `decimals` decimals, halves away from zero, no exponent."""
    return fixed_point_text(_in_last_place(value, decimals), decimals)


def fixed_point_text(number: int, decimals: int) -> str:
    """The decimal text of `number` units of the last of `decimals` decimals."""
    digits = str(abs(number)).rjust(decimals + 1, "0")
    sign = "-" if number < 0 else ""
    if not decimals:
        return sign + digits
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def _in_last_place(value: Fraction, decimals: int) -> int:
    """`value` in units of its last decimal, halves away from zero."""
    # Integer arithmetic is faster: a product of rationals computes a common divisor.
    above: int = abs(value.numerator) * 10**decimals
    below = value.denominator
    rounded = (2 * above + below) // (2 * below)
    return -rounded if value < 0 else rounded


def in_units_of_last_place(numbers: Array, step: Fraction, decimals: int) -> Array:
    """Whole numbers of `step` in units of their last decimal, halves away from zero."""
    scale = step * 10**decimals
    below = 2 * scale.denominator
    if scale.denominator == 1:
        return multiply_exact(numbers, scale.numerator)
    doubled = multiply_exact(abs(numbers), 2 * scale.numerator)
    size = widened(add_exact(doubled, scale.denominator), below) // below
    signed: Array = np.where(numbers < 0, -size, size)
    return signed


def short_up(value: Fraction, digits: int = 12) -> Fraction:
    """The least decimal of `digits` significant digits that is at least `value`."""
    above, below = value.numerator, value.denominator
    if not above:
        return value
    # One digit more than `digits` if the logarithm is just below a whole number.
    decimals = digits - ceil(log10(abs(above)) - log10(below))
    if decimals >= 0:
        return Fraction(-(-above * 10**decimals // below), 10**decimals)
    return Fraction(-(-above // (below * 10**-decimals)) * 10**-decimals)


def short_down(value: Fraction, digits: int = 12) -> Fraction:
    """The greatest decimal of `digits` significant digits that is at most `value`."""
    return -short_up(-value, digits)


MAX_DECIMALS = 60
"""A number with more decimals is rounded."""

ROUNDED_DIGITS = 12
"""Significant digits of a number rounded because it has too many decimals."""

MAX_CELL_LENGTH = 10
"""Characters of a number that fits into a column of a table."""

Rounding = Callable[[Fraction], int]
"""Rounds to a whole number: `ceil` for a loss, `floor` for the rest of a budget."""


def plain_text(value: Fraction, rounding: Rounding | None = None) -> str:
    """A rational exactly, as a decimal if possible, otherwise as a fraction.

    With `rounding`, a decimal: exact if that is short, else of `ROUNDED_DIGITS` digits.
    """
    try:
        decimals = decimal_places(value)
    except ValueError:
        if rounding is None:
            return f"{value.numerator}/{value.denominator}"
        decimals = MAX_TESTED_DECIMALS
    if rounding is None or decimals <= MAX_DECIMALS:
        return decimal_text(value, decimals)
    scale = 10 ** _decimals_for(value, ROUNDED_DIGITS)
    return plain_text(Fraction(rounding(value * scale), scale))


def readable_text(value: Fraction, rounding: Rounding | None = None) -> str:
    """The text of a rational for people: `1e-7`, where `plain_text` has `0.0000001`."""
    return with_exponent(plain_text(value, rounding))


def exact_or_up(value: Fraction) -> str:
    """`value` for people to read: exact if that is short, else rounded up."""
    return readable_text(value, ceil)


def rounded_text(value: Fraction, digits: int = 4, *, plain: bool = False) -> str:
    """`value` rounded to nearest with a few significant digits; `plain` for programs."""
    decimals = _decimals_for(value, digits)
    text = plain_text(Fraction(_in_last_place(value, decimals), 10**decimals))
    return text if plain else with_exponent(text)


def short_or_up(value: Fraction) -> str:
    """A loss or an error on a page: exact if short, else six digits, rounded up."""
    text = exact_or_up(value)
    return text if len(text) <= MAX_CELL_LENGTH else exact_or_up(short_up(value, 6))


def with_exponent(text: str) -> str:
    """A plain decimal, with an exponent instead of four or more zeros after a point.

    For texts that people read. Tables, JSON and YAML keep plain decimals, because YAML 1.1 reads
    `1e-7` as text.
    """
    tiny = TINY.fullmatch(text)
    if tiny is None:
        return text
    sign, zeros, first, rest = tiny.groups()
    return f"{sign}{first}{rest and '.'}{rest}e-{len(zeros) + 1}"


def _decimals_for(value: Fraction, digits: int) -> int:
    """The number of decimals with which a value has `digits` significant digits."""
    decimals = 0
    while value and abs(value) * 10**decimals < 10 ** (digits - 1) and decimals < MAX_DECIMALS * 2:
        decimals += 1
    return decimals


def decimal_sqrt_up(square: Fraction) -> Fraction:
    """The square root of `square`: exact if it is rational, else rounded up."""
    over, under = isqrt(square.numerator), isqrt(square.denominator)
    if over**2 == square.numerator and under**2 == square.denominator:
        return Fraction(over, under)
    decimals = _decimals_for(square, 2 * ROUNDED_DIGITS)
    scaled = square * 100**decimals
    root = isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1
    return Fraction(root, 10**decimals)


MAX_EXACT_TERMS = 256
"""Number of terms up to which a sum is exact."""


def sum_rounded_up(values: Iterable[tuple[Fraction, int]]) -> Fraction:
    """The sum of value * times over pairs of a nonnegative value and its count.

    Exact for up to `MAX_EXACT_TERMS` values. More values are each rounded up to a grid of 2^-160 of
    the largest, and so is the sum to a short decimal.
    """
    terms = [(value, times) for value, times in values if value]
    if len(terms) <= MAX_EXACT_TERMS:
        return sum((value * times for value, times in terms), start=Fraction(0))
    largest = max(
        value.numerator.bit_length() - value.denominator.bit_length() for value, _ in terms
    )
    shift = max(160 - largest, 0)
    total = sum(
        -((-value.numerator << shift) // value.denominator) * times for value, times in terms
    )
    return short_up(Fraction(total, 1 << shift), 18)
