"""Intervals are cut to what the spec alone makes possible, and stay intervals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Margin
from dpcli.numeric.arrays import integer_array, np
from dpcli.statistics.estimates import (
    ANY,
    NONNEGATIVE,
    UNBOUNDED,
    Estimates,
    Limits,
    cut_intervals,
    intersection,
)


def around(value: int, width: int, unit: Fraction = Fraction(1)) -> Estimates:
    """A number in the middle of an interval."""
    return Estimates.around(integer_array([value]), Margin(width), unit)


def ends(estimates: Estimates) -> tuple[float, float]:
    """The ends of the interval of a single number."""
    ((lower, upper),) = [(number.lower, number.upper) for number in estimates]
    assert lower is not None and upper is not None
    return float(lower), float(upper)


@pytest.mark.parametrize(
    ("value", "limits", "cut"),
    [
        (100, ANY, (-80, 280)),
        (100, NONNEGATIVE, (0, 280)),
        (-100, NONNEGATIVE, (-100, 80)),
        (-307, NONNEGATIVE, (-307, 180)),  # nothing is left: half of the width, from zero on
        (-180, NONNEGATIVE, (-180, 180)),  # a single number is left
        (307, (None, Fraction(0)), (-180, 307)),
        (-307, (Fraction(0), Fraction(60)), (-307, 60)),
        (307, (Fraction(0), Fraction(60)), (0, 307)),
        (500, (Fraction(0), Fraction(250)), (70, 500)),
    ],
)
def test_an_interval_is_cut_to_what_is_possible(
    value: int, limits: Limits, cut: tuple[int, int]
) -> None:
    """The value itself stays as the noise made it, and the interval contains it."""
    estimates = around(value, 180).within([limits])

    assert ends(estimates) == cut
    assert [number.value for number in estimates] == [Fraction(value)]


def test_an_interval_does_not_print_as_a_single_number() -> None:
    """Less than the last printed digit counts as nothing."""
    fine = replace(around(-1799, 1800, Fraction(1, 100)), decimals=(0,))

    assert ends(fine.within([NONNEGATIVE])) == (-17.99, 18)


def test_an_exact_number_keeps_its_interval() -> None:
    """Without noise nothing is lost."""
    assert ends(around(0, 0).within([NONNEGATIVE])) == (0, 0)


def test_a_number_without_ends_is_not_given_any() -> None:
    """What the answers do not bound stays unbounded."""
    estimates = replace(around(-9, 3), status=np.array([UNBOUNDED], np.int8))

    assert [(number.lower, number.upper) for number in estimates.within([NONNEGATIVE])] == [
        (None, None)
    ]


def test_each_item_has_its_own_limits() -> None:
    """The difference of two counts can be negative, the counts cannot."""
    items = [around(value, 5) for value in (2, 9, -7)]
    cut = Estimates.interleaved(items).within([NONNEGATIVE, NONNEGATIVE, ANY])

    assert [number.lower for number in cut] == [Fraction(0), Fraction(4), Fraction(-12)]
    assert [number.upper for number in cut] == [Fraction(7), Fraction(14), Fraction(-2)]
    assert cut.limits == (NONNEGATIVE, NONNEGATIVE, ANY)


def test_limits_are_combined() -> None:
    """Both hold, unless they exclude each other: then the later ones do."""
    upper = (None, Fraction(3))

    assert intersection((Fraction(-5), Fraction(10)), NONNEGATIVE) == (Fraction(0), Fraction(10))
    assert intersection((Fraction(5), None), upper) == upper


@pytest.mark.usefixtures("stream")
def test_cut_intervals_cover_as_often_as_whole_ones() -> None:
    """Of 20,000 noisy counts of zero to nine, cut intervals cover whenever the whole ones do."""
    exact = np.arange(20_000) % 10
    noise = DiscreteLaplace(Fraction(5))
    noisy = exact + noise.sample(len(exact))
    width = noise.half_width(Fraction(19, 20))
    lower, upper = cut_intervals(noisy - width, noisy + width, (0, None), 1)
    whole, cut = abs(noisy - exact) <= width, (lower <= exact) & (exact <= upper)

    assert (cut >= whole).all()
    assert (lower >= 0).all() and (upper > lower).all()
