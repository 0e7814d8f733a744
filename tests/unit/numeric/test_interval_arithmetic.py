"""Certified arithmetic, against a far more precise evaluation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import hypothesis
import hypothesis.strategies as st
import mpmath
import pytest

from dpcli.numeric import interval_arithmetic as interval
from dpcli.numeric.interval_arithmetic import Interval

FRACTIONS = st.fractions(min_value=-40, max_value=40, max_denominator=10**12)
POSITIVE = st.builds(
    lambda f, e: (abs(f) + Fraction(1, 10**9)) * Fraction(2) ** e, FRACTIONS, st.integers(-90, 90)
)


def exact(value: Fraction) -> Any:
    """The number for mpmath, at its working precision."""
    return mpmath.mpf(value.numerator) / value.denominator


def encloses(got: Interval, wanted: Any, slack_bits: int = 6) -> bool:
    """Whether the interval contains the value and is as narrow as its precision promises."""
    low, high = exact(got.low), exact(got.high)
    narrow = high - low <= abs(wanted) * mpmath.mpf(2) ** (slack_bits - got.bits)
    return bool(low <= wanted <= high and narrow)


@pytest.fixture(autouse=True)
def _precise() -> Any:
    with mpmath.workprec(3000):
        yield


UNARY: list[tuple[Callable[[Interval], Interval], Any, Any]] = [
    (interval.exp, mpmath.exp, FRACTIONS),
    (interval.log, mpmath.log, POSITIVE),
    (interval.sqrt, mpmath.sqrt, POSITIVE),
    (interval.erfc, mpmath.erfc, FRACTIONS),
]


@pytest.mark.parametrize(("ours", "theirs", "domain"), UNARY, ids=["exp", "log", "sqrt", "erfc"])
@pytest.mark.parametrize("bits", [64, 192, 320])
def test_functions_enclose(ours: Any, theirs: Any, domain: Any, bits: int) -> None:
    """The interval of a function contains the true value and is nearly as narrow as possible."""

    @hypothesis.settings(max_examples=25, deadline=None, derandomize=True)
    @hypothesis.given(domain)
    def law(x: Fraction) -> None:
        hypothesis.assume(ours is not interval.log or x != 1)
        assert encloses(ours(Interval.of(x, bits)), theirs(exact(x)))

    law()


@hypothesis.settings(max_examples=80, deadline=None, derandomize=True)
@hypothesis.given(FRACTIONS, FRACTIONS, POSITIVE, POSITIVE)
def test_arithmetic_encloses(a: Fraction, b: Fraction, width: Fraction, other: Fraction) -> None:
    """The four operations contain every result of numbers inside their operands."""
    x, y = Interval.around(a, a + width, 40), Interval.around(b, b + other, 40)
    for p in (a, a + width / 3, a + width):
        for q in (b, b + other / 7, b + other):
            assert (x + y).low <= p + q <= (x + y).high
            assert (x - y).low <= p - q <= (x - y).high
            assert (x * y).low <= p * q <= (x * y).high
            if not y.low <= 0 <= y.high:
                assert (x / y).low <= p / q <= (x / y).high


@hypothesis.settings(max_examples=80, deadline=None, derandomize=True)
@hypothesis.given(FRACTIONS, st.integers(1, 80), st.integers(-200, 200))
def test_rounding_has_a_direction(x: Fraction, bits: int, exponent: int) -> None:
    """Rounding down never raises, rounding up never lowers, and both stay close."""
    x *= Fraction(2) ** exponent
    low, high = interval.round_down(x, bits), interval.round_up(x, bits)
    assert low <= x <= high
    assert high - low <= abs(x) * Fraction(2) ** (1 - bits) * 2


@pytest.mark.parametrize("bits", [8, 64, 192, 1000])
def test_pi_is_enclosed(bits: int) -> None:
    """The interval of pi contains pi."""
    assert encloses(interval.pi(bits), mpmath.pi())


@pytest.mark.parametrize("x", [-800, -12_000, -(10**30), 700, 1 << 13])
def test_extreme_exponentials_are_enclosed(x: int) -> None:
    """Exponentials beyond every float lie inside their interval as well."""
    got = interval.exp(Interval.of(x))
    with mpmath.workprec(200):
        assert exact(got.low) <= mpmath.exp(x) <= exact(got.high)


@pytest.mark.parametrize("x", [22, 23, 30, 100, Fraction(2263, 100)])
def test_far_tails_are_enclosed(x: Fraction) -> None:
    """For large arguments, where the expansion is used, the error function stays enclosed."""
    assert encloses(interval.erfc(Interval.of(Fraction(x))), mpmath.erfc(exact(Fraction(x))))


@hypothesis.settings(max_examples=25, deadline=None, derandomize=True)
@hypothesis.given(POSITIVE)
def test_named_directions(x: Fraction) -> None:
    """A function named up is at least the true value, and one named down at most."""
    assert interval.sqrt_down(x) ** 2 <= x <= interval.sqrt_up(x) ** 2
    assert (
        exact(interval.log(Interval.of(x)).low) <= mpmath.log(exact(x)) <= exact(interval.log_up(x))
    )
    small = x / (1 + x)
    assert (
        exact(interval.exp_down(small))
        < mpmath.exp(exact(small))
        < exact(interval.exp(Interval.of(small)).high)
    )


def test_exact_cases_are_exact() -> None:
    """Perfect squares, exp(0) and log(1) have intervals without width."""
    assert interval.sqrt_up(Fraction(9, 4)) == interval.sqrt_down(Fraction(9, 4)) == Fraction(3, 2)
    assert interval.exp_down(Fraction(0)) == 1
    assert interval.log_up(Fraction(1)) == 0


def test_impossible_arguments_are_refused() -> None:
    """A divisor around zero, a logarithm or root of a negative number is an error."""
    across = Interval(Fraction(-1), Fraction(1))
    with pytest.raises(ZeroDivisionError):
        Interval.of(1) / across
    with pytest.raises(ValueError, match="positive"):
        interval.log(across)
    with pytest.raises(ValueError, match="square root"):
        interval.sqrt(across)
