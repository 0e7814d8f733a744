"""The numbers that explain a loss: never less than what can happen."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import erfc, exp, log, sqrt

import pytest

from dpcli.mechanisms.gaussian import Gaussian
from dpcli.privacy.interpretation import (
    EXCESS,
    at_least,
    at_most,
    failure_probability,
    loss_at_distance_two,
    one_in,
    percent_at_least,
    percent_at_most,
    posterior_range,
    times_at_most,
)
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from tests.support.mechanisms import fitted


def exceeds(epsilon: float, sigma: float) -> float:
    """The probability that this Gaussian noise reveals more than epsilon about one step.

    The loss of an output y = x + noise against x + 1 is (1 - 2 (y - x))/(2 sigma^2), up to its
    sign: it exceeds epsilon if the noise is below 1/2 - epsilon sigma^2.
    """
    return erfc((epsilon * sigma * sigma - 0.5) / sigma / sqrt(2)) / 2


def sigma_of(epsilon: str, delta: str) -> float:
    """The standard deviation of Gaussian noise for one cell that changes by one."""
    loss = Loss(Fraction(epsilon), Fraction(delta))
    return float(fitted(Gaussian(), Sensitivity(1, 1, 1, 1), loss)[0].scale)


FINE = [
    (epsilon, delta)
    for epsilon, delta in product(("0.05", "0.43", "1", "5"), ("1e-3", "1e-6", "1e-9"))
    if sigma_of(epsilon, delta) >= 3
]
"""Losses whose noise has steps that are fine enough to be compared with a continuous one."""


@pytest.mark.parametrize(("epsilon", "delta"), FINE)
def test_failure_probability_is_an_upper_bound(epsilon: str, delta: str) -> None:
    """Gaussian noise exceeds epsilon more often than delta, but epsilon + 0.1 at most as stated."""
    loss, sigma = Loss(Fraction(epsilon), Fraction(delta)), sigma_of(epsilon, delta)

    assert len(FINE) >= 8
    assert exceeds(float(epsilon), sigma) > float(loss.delta)
    assert exceeds(float(epsilon) + EXCESS, sigma) <= failure_probability(loss)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_the_value_of_a_person_is_at_distance_two(epsilon: float) -> None:
    """Counts of two groups with Laplace noise reveal the group of a person at 2 epsilon."""
    scale = 1 / epsilon
    # A person in the first group, not the second, and the output that shows it best.
    likely = exp(-0 / scale) * exp(-0 / scale)
    unlikely = exp(-1 / scale) * exp(-1 / scale)
    odds = 1 / 9 * likely / unlikely
    belief = odds / (1 + odds)
    loss = Loss(Fraction(epsilon))

    assert log(likely / unlikely) == pytest.approx(2 * epsilon)
    assert posterior_range(loss, 0.1)[1] < belief
    assert posterior_range(loss_at_distance_two(loss), 0.1)[1] == pytest.approx(belief)


def test_delta_is_counted_over_both_steps() -> None:
    """At distance two, delta counts once, and once more times exp(epsilon)."""
    far = loss_at_distance_two(Loss(Fraction(1), Fraction(1, 10**6)))

    assert far.epsilon == 2
    assert float(far.delta) == pytest.approx(1e-6 * (1 + exp(1)))


@pytest.mark.parametrize(
    ("share", "least", "most"),
    [
        (0.0, "0", "0"),
        (1e-12, "0", "1.01e-10"),
        (0.5, "49.9", "50.1"),
        (0.99818, "99.81", "99.82"),
        (0.9999996, "99.99995", "99.99997"),
        (1.0, "100", "100"),
    ],
)
def test_percentages_are_rounded_outwards(share: float, least: str, most: str) -> None:
    """`percent_at_least` is never above, and `percent_at_most` never below the number."""
    assert float(percent_at_least(share)) <= 100 * share <= float(percent_at_most(share))
    assert float(percent_at_least(share)) >= float(least) - 1e-9
    assert float(percent_at_most(share)) <= float(most) + 1e-9


def test_numbers_are_rounded_outwards() -> None:
    """Three digits, rounded up or down; exact numbers stay as they are."""
    assert (at_most(1.2840254), at_least(1.2840254)) == ("1.29", "1.28")
    assert (at_most(Fraction(1, 10**6)), at_least(Fraction(1, 10**6))) == ("1e-6", "1e-6")
    assert times_at_most(exp(6)) == "404 times"
    assert times_at_most(exp(20)) == "486,000,000 times"
    assert times_at_most(exp(200)) == "10^87 times"
    assert one_in(Fraction(28, 100)) == "1 in 3"
    assert one_in(1.0) == "1 in 1"
