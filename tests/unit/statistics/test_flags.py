"""Flags depend on a number and its interval alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpcli.noise.distribution import Margin
from dpcli.numeric.arrays import integer_array, np
from dpcli.statistics.estimates import ANY, HAS_INTERVAL, NO_INTERVAL, UNBOUNDED, Estimates, Limits
from dpcli.statistics.postprocessing import (
    FLAGS,
    UNRELIABLE,
    Clamp,
    Flag,
    Integer,
    Nonnegative,
    PostProcessingStep,
    SuppressBelow,
    SuppressWide,
    apply_steps,
    flags,
)


def estimate(
    value: str, lower: str, upper: str, within: Limits = ANY, decimals: int = 2
) -> Estimates:
    """A number with its interval."""
    fine = Fraction(1, 1000)
    number, low, high = (
        integer_array([int(Fraction(text) / fine)]) for text in (value, lower, upper)
    )
    status = np.array([HAS_INTERVAL])
    return Estimates(fine, (decimals,), number, low, high, status, limits=(within,))


def choice(status: int = NO_INTERVAL) -> Estimates:
    """A number without an interval."""
    return replace(Estimates.chosen(integer_array([3])), status=np.array([status]))


def flag_of(one: Estimates) -> Flag:
    """The flag of a number."""
    (place,) = flags(one)
    return FLAGS[int(place)]


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


def test_a_number_that_is_not_possible_is_unreliable() -> None:
    """Noise led beyond a limit, however narrow the interval around the number is."""
    assert flag_of(estimate("-307", "-310", "-300", (Fraction(0), None))) is Flag.UNRELIABLE
    assert flag_of(estimate("-307", "-310", "-300")) is Flag.NONE


@pytest.mark.parametrize(
    ("value", "flag"),
    [("45", Flag.UNRELIABLE), ("40", Flag.NONE), ("0", Flag.UNRELIABLE), ("50", Flag.UNRELIABLE)],
)
def test_a_number_at_a_bound_is_judged_by_its_uncut_interval(value: str, flag: Flag) -> None:
    """Half of the cut interval would be 12 of 45: it must not look precise."""
    low, high = (str(Fraction(value) + by) for by in (-25, 25))
    found = estimate(value, low, high).within([(Fraction(0), Fraction(45))])

    assert found.upper[0] - found.lower[0] < found.widths[0]
    assert flag_of(found) is flag


@pytest.mark.parametrize("value", ["-307", "-1", "0", "44", "45", "90"])
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    "steps",
    [
        [], [Nonnegative()], [Integer()], [Clamp(Fraction(3), Fraction(5))],
        [Nonnegative(), Clamp(Fraction(10), None)],
    ],
)  # fmt: skip
def test_a_published_value_lies_in_its_interval(
    value: str, raw: bool, steps: list[PostProcessingStep]
) -> None:
    """Whatever noise and steps of `post` made of it; the raw value lies in its own."""
    low, high = (str(Fraction(value) + by) for by in (-7, 7))
    made = estimate(value, low, high).within([(Fraction(0), Fraction(45))])
    made = replace(made, raw=made.value, value=made.value.clip(0, 45_000)).around_values()
    found = made.before_postprocessing if raw else apply_steps(steps, made, lambda one, _: one)
    (shown,) = found

    assert shown.lower is not None and shown.value is not None and shown.upper is not None
    assert shown.lower <= shown.value <= shown.upper


SIGNED = (Fraction(-1), Fraction(1))


@pytest.mark.parametrize(
    ("value", "lower", "upper", "flag"),
    [
        ("0.004", "-0.016", "0.024", Flag.NONE),
        ("0.004", "-0.196", "0.204", Flag.NONE),  # a tenth of what is possible, and no more
        ("0.004", "-0.198", "0.206", Flag.UNRELIABLE),
        ("0.9", "0.5", "1", Flag.NONE),  # half the width is less than half of the value
    ],
)
def test_a_number_that_can_be_negative_is_compared_with_what_is_possible(
    value: str, lower: str, upper: str, flag: Flag
) -> None:
    """A correlation near zero is as precise as another one with the same interval."""
    assert flag_of(estimate(value, lower, upper, SIGNED, decimals=3)) is flag


def test_the_first_flag_that_applies_is_shown() -> None:
    """In this order: suppressed, no-information, unreliable."""
    wide = estimate("7", "0", "10", BOUNDS)
    found = [
        wide.suppressed(np.array([True])),
        wide,
        replace(wide, limits=((Fraction(0), None),)),
        estimate("7", "6", "8"),
    ]

    assert [str(flag_of(one)) for one in found] == [
        "suppressed", "no-information", "unreliable", "",
    ]  # fmt: skip


def test_flags_depend_on_printed_digits() -> None:
    """Digits that are not printed change no flag, so a reader of the table can check flags."""
    exact = estimate("100.001", "49.998", "150.004", decimals=0)

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
def test_an_interval_over_all_possible_values_has_no_information(
    lower: str, upper: str, within: Limits, flag: Flag
) -> None:
    """An interval with one informative end, or an unbounded range, has information."""
    assert flag_of(estimate("7", lower, upper, within)) is flag


def test_a_range_moves_with_its_number() -> None:
    """A mean is estimated from the middle of its bounds, and its bounds are those of the column."""
    shifted = estimate("2", "-5", "5", (Fraction(-5), Fraction(5))).shifted(Fraction(5))

    assert shifted.limits == (BOUNDS,)
    assert flag_of(shifted) is Flag.NO_INFORMATION


def test_a_choice_has_no_flag_and_an_unbounded_value_has_no_information() -> None:
    """A missing interval is no warning, unless the reason is that nothing bounds the value."""
    assert flag_of(choice()) is Flag.NONE
    assert flag_of(choice(UNBOUNDED)) is Flag.NO_INFORMATION


def test_clamp_defines_the_possible_values() -> None:
    """An interval that fills the range of `clamp` has no information."""
    wide = estimate("40", "-30", "120")
    clamped = apply_steps([Clamp(Fraction(0), Fraction(100))], wide, lambda one, _: one)

    assert flag_of(clamped) is Flag.NO_INFORMATION


def test_nonnegative_keeps_a_known_upper_limit() -> None:
    """A nonnegative mean of values up to 10 still lies between zero and 10."""
    wide = estimate("4", "-5", "10", (Fraction(-5), Fraction(10)))

    assert flag_of(apply_steps([Nonnegative()], wide, lambda one, _: one)) is Flag.NO_INFORMATION


def test_flags_of_numbers_beyond_a_machine_word() -> None:
    """The digits of a tiny step are rounded like all others."""
    tiny = Estimates.around(integer_array([-1]), Margin(2), Fraction(1, 10**30))
    (found,) = apply_steps([Integer()], tiny, lambda one, _: one)

    assert (found.lower, found.value, found.upper) == (Fraction(-1), Fraction(0), Fraction(1))


@pytest.mark.parametrize("step", [SuppressBelow(Fraction(200)), SuppressWide(UNRELIABLE)])
def test_numbers_left_out_are_suppressed(step: PostProcessingStep) -> None:
    """Value and interval are blank after any step that leaves them out."""
    found = apply_steps([step], estimate("100", "40", "160"), lambda one, _: one)
    (left,) = found

    assert (left.value, left.lower, left.upper) == (None, None, None)
    assert flag_of(found) is Flag.SUPPRESSED


@pytest.mark.parametrize(("value", "lower", "upper", "flag"), CASES)
def test_withholding_uses_the_measure_of_the_flag(
    value: str, lower: str, upper: str, flag: Flag
) -> None:
    """With the share of the flag, exactly the unreliable numbers are withheld."""
    one = estimate(value, lower, upper)
    (left,) = apply_steps([SuppressWide(UNRELIABLE)], one, lambda same, _: same)

    assert (left.value is None) == (flag is Flag.UNRELIABLE)
    assert one.wider_than(UNRELIABLE) == (flag is Flag.UNRELIABLE)


def test_a_choice_is_never_withheld_and_an_unbounded_number_always() -> None:
    """A choice has no interval, and an unbounded interval is wider than any other."""
    assert not choice().wider_than(Fraction(1, 100))
    assert choice(UNBOUNDED).wider_than(Fraction(100))
