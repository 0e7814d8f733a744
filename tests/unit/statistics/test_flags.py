"""Flags: what a number and its interval alone say about the number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpcli.statistics.base import ANY, Estimate, Limits
from dpcli.statistics.plausible import moved
from dpcli.statistics.post import (
    UNRELIABLE,
    Clamp,
    Flag,
    Step,
    SuppressBelow,
    Withhold,
    after,
    flag_of,
    wider_than,
)


def estimate(value: str, lower: str, upper: str, within: Limits = ANY, places: int = 2) -> Estimate:
    """A number with its interval."""
    return Estimate(Fraction(value), Fraction(lower), Fraction(upper), places, within=within)


CASES = [
    ("100", "50", "150", Flag.NONE),  # half the width is half of the value, and no more
    ("100", "49.99", "150", Flag.UNRELIABLE),
    ("-100", "-150", "-50", Flag.NONE),
    ("-100", "-151", "-50", Flag.UNRELIABLE),
    ("0", "-1", "1", Flag.UNRELIABLE),
    ("0", "0", "0", Flag.NONE),  # exact
    ("57", "-45", "159", Flag.UNRELIABLE),
    ("100", "99.9", "199.9", Flag.NONE),  # the width counts, not the farther end
]


@pytest.mark.parametrize(("value", "lower", "upper", "flag"), CASES)
def test_unreliable_is_half_the_width_above_half_of_the_value(
    value: str, lower: str, upper: str, flag: Flag
) -> None:
    """The threshold itself is still reliable, whatever the sign of the value."""
    assert flag_of(estimate(value, lower, upper)) is flag


def test_what_is_printed_decides() -> None:
    """Digits that no reader sees change no flag, so a table can be checked without more."""
    exact = estimate("100.001", "49.998", "150.004", places=0)

    assert exact.upper is not None and exact.lower is not None and exact.value is not None
    assert exact.upper - exact.lower > exact.value
    assert flag_of(exact) is Flag.NONE


BOUNDS = (Fraction(0), Fraction(10))


@pytest.mark.parametrize(
    ("lower", "upper", "within", "flag"),
    [
        ("0", "10", BOUNDS, Flag.NO_INFORMATION),
        ("0.01", "10", BOUNDS, Flag.UNRELIABLE),
        ("0", "9.99", BOUNDS, Flag.UNRELIABLE),
        ("0", "10", (Fraction(0), None), Flag.UNRELIABLE),
        ("7", "7", (Fraction(7), Fraction(7)), Flag.NONE),
    ],
)
def test_no_information_is_an_interval_over_all_that_is_possible(
    lower: str, upper: str, within: Limits, flag: Flag
) -> None:
    """One end that is known, or a range without an end, is information."""
    assert flag_of(estimate("7", lower, upper, within)) is flag


def test_a_range_moves_with_its_number() -> None:
    """A mean is estimated from the middle of its bounds, and its bounds are those of the column."""
    shifted = moved(estimate("2", "-5", "5", (Fraction(-5), Fraction(5))), Fraction(5))

    assert shifted.within == BOUNDS
    assert flag_of(shifted) is Flag.NO_INFORMATION


def test_a_choice_has_no_flag_and_a_value_without_bounds_says_nothing() -> None:
    """No interval is no warning, unless there is none because nothing bounds the value."""
    choice = Estimate(Fraction(3), None, None, 0)

    assert flag_of(choice) is Flag.NONE
    assert flag_of(replace(choice, boundless=True)) is Flag.NO_INFORMATION


def test_a_declared_range_is_all_that_is_possible() -> None:
    """An interval that fills the range of `clamp` says no more than the spec did."""
    wide = estimate("40", "-30", "120")
    (clamped,) = after([Clamp(Fraction(0), Fraction(100))], (wide,), lambda one: one)

    assert flag_of(clamped) is Flag.NO_INFORMATION


@pytest.mark.parametrize("step", [SuppressBelow(Fraction(200)), Withhold(UNRELIABLE)])
def test_what_is_left_out_is_suppressed(step: Step) -> None:
    """Value and interval are blank, whatever left them out."""
    (left,) = after([step], (estimate("100", "40", "160"),), lambda one: one)

    assert (left.value, left.lower, left.upper) == (None, None, None)
    assert flag_of(left) is Flag.SUPPRESSED


@pytest.mark.parametrize(("value", "lower", "upper", "flag"), CASES)
def test_withholding_uses_the_measure_of_the_flag(
    value: str, lower: str, upper: str, flag: Flag
) -> None:
    """At the share of the flag, exactly the unreliable numbers are withheld."""
    one = estimate(value, lower, upper)
    (left,) = after([Withhold(UNRELIABLE)], (one,), lambda same: same)

    assert (left.value is None) == (flag is Flag.UNRELIABLE)
    assert wider_than(one, UNRELIABLE) == (flag is Flag.UNRELIABLE)


def test_a_choice_is_never_withheld_and_a_boundless_number_always() -> None:
    """The measure needs an interval, and no interval is wider than one without an end."""
    choice = Estimate(Fraction(3), None, None, 0)

    assert not wider_than(choice, Fraction(1, 100))
    assert wider_than(replace(choice, boundless=True), Fraction(100))
