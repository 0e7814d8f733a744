"""Numbers as text: exact, plain for programs, short for people."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpcli.numeric.exact import plain_text, readable_text, with_exponent
from dpcli.privacy.loss import Loss, loss_text


@pytest.mark.parametrize(
    ("value", "plain", "readable"),
    [
        ("1e-7", "0.0000001", "1e-7"),
        ("-1.25e-6", "-0.00000125", "-1.25e-6"),
        ("0.00001", "0.00001", "1e-5"),
        ("0.0001", "0.0001", "0.0001"),
        ("1.0000001", "1.0000001", "1.0000001"),
        ("0", "0", "0"),
        ("1/3", "1/3", "1/3"),
    ],
)
def test_small_numbers_have_an_exponent(value: str, plain: str, readable: str) -> None:
    """People read `1e-7`; programs read `0.0000001`."""
    assert plain_text(Fraction(value)) == plain
    assert readable_text(Fraction(value)) == readable


@given(some.decimals(min_value=-1000, max_value=1000, places=12))
def test_readable_numbers_are_exact(value: object) -> None:
    """A readable number is the number itself, and no text becomes longer."""
    exact = Fraction(str(value))

    assert Fraction(readable_text(exact)) == exact
    assert len(readable_text(exact)) <= len(plain_text(exact))


@pytest.mark.parametrize("text", ["town", "0.0000x", "0.00000", "10.00001", ""])
def test_other_texts_stay(text: str) -> None:
    """Only a plain decimal with a digit after its zeros gets an exponent."""
    assert with_exponent(text) == text


def test_losses_are_readable() -> None:
    """A loss in words has no run of zeros."""
    assert loss_text(Loss(Fraction(1, 2), Fraction(1, 10**7))) == "epsilon 0.5, delta 1e-7"


@given(some.fractions(min_value=0, max_value=1000))
def test_a_readable_number_is_exact_or_rounded_in_its_direction(exact: Fraction) -> None:
    """What no decimal writes is rounded to twelve digits, up or down as the name says."""
    up, down = (Fraction(readable_text(exact, rounding)) for rounding in (ceil, floor))

    assert down <= exact <= up
    assert up - down <= exact / 10**10
    assert (up == exact) == (down == exact)
