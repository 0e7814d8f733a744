"""The numbers that explain a loss: never less than what can happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp, expm1, log, sqrt

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpcli.privacy.interpretation import (
    EXCESS,
    at_least,
    at_most,
    exception_text,
    failure_probability,
    loss_at_distance_two,
    loss_between_values,
    one_in,
    percent_at_least,
    percent_at_most,
    posterior_range,
    times_at_most,
)
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors
from dpcli.privacy.zcdp_conversion import zcdp_epsilon

Exceeds = Callable[[float], float]
"""P[|loss| > x] of answers to two questions, as a function of x."""


def gaussian(sigma: float) -> tuple[Callable[[float], float], Exceeds]:
    """Continuous Gaussian noise, an answer that changes by one: delta at epsilon, and the tails.

    The loss is normal, with the mean m^2/2 and the deviation m = 1/sigma.
    """
    size = 1 / sigma

    def delta(epsilon: float) -> float:
        near, far = (norm.cdf(side * size / 2 - epsilon / size) for side in (1, -1))
        return float(near - exp(epsilon) * far)

    def exceeds(loss: float) -> float:
        place = norm(size**2 / 2, size)
        return float(place.sf(loss) + place.cdf(-loss))

    return delta, exceeds


def laplace(most: float) -> tuple[Callable[[float], float], Exceeds]:
    """Continuous Laplace noise of scale 1/most, an answer that changes by one.

    The loss is `most` with probability one half, and above x with 1 - exp((x - most)/2)/2.
    """

    def delta(epsilon: float) -> float:
        return -expm1((epsilon - most) / 2)

    def exceeds(loss: float) -> float:
        above = 1 - exp((loss - most) / 2) / 2 if loss < most else 0.0
        below = exp(-(loss + most) / 2) / 2 if loss < most else 0.0
        return above + below

    return delta, exceeds


def widest(loss: Loss, prior: float) -> float:
    """How far log-odds move from a prior belief to an end of the stated range."""
    low, high = (log(belief / (1 - belief)) for belief in posterior_range(loss, prior))
    before = log(prior / (1 - prior))
    assert high - before == pytest.approx(before - low)
    return high - before


def stated(epsilon: float, delta: float) -> Loss:
    """A loss with this epsilon and a delta that is not smaller."""
    return Loss(Fraction(epsilon), Fraction(delta) * Fraction(1 + 1e-12))


NOISES = [
    *((gaussian, 1 / sigma, epsilon) for sigma in (1, 4, 20) for epsilon in (0.05, 0.4, 2, 6)),
    *((laplace, most, most * share) for most in (0.1, 1, 4) for share in (0.2, 0.6, 0.9)),
]
"""Noises with their size, and epsilons at which they have some delta."""


@pytest.mark.parametrize(("noise", "size", "epsilon"), NOISES)
def test_beliefs_leave_their_range_as_rarely_as_stated(
    noise: Callable[[float], tuple[Callable[[float], float], Exceeds]], size: float, epsilon: float
) -> None:
    """For neighbors: the exact probability is above delta, and at most what is stated."""
    delta, exceeds = noise(1 / size) if noise is gaussian else noise(size)
    loss = stated(epsilon, delta(epsilon))

    assert exceeds(epsilon) >= delta(epsilon)
    if failure_probability(loss) < 1:
        assert exceeds(widest(loss, 0.1)) <= failure_probability(loss)
    else:
        assert posterior_range(loss, 0.1) == (0, 1)


@pytest.mark.parametrize("sigma", [1.5, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9])
def test_beliefs_in_a_fact_leave_their_range_as_rarely_as_stated(
    sigma: float, delta: float
) -> None:
    """At distance two, Gaussian noise of half the scale keeps to the bounds."""
    delta_at, _ = gaussian(sigma)
    epsilon = brentq(lambda epsilon: delta_at(epsilon) - delta, 0, 40)
    loss = loss_between_values(stated(epsilon, delta), Neighbors.ADD_REMOVE)
    _, exceeds = gaussian(sigma / 2)

    assert loss.epsilon == 2 * Fraction(epsilon)
    assert exceeds(widest(loss, 0.1)) <= failure_probability(loss) < 1


@pytest.mark.parametrize("rho", ["0.005", "0.05", "0.5", "1"])
@pytest.mark.parametrize("delta", ["1e-4", "1e-6", "1e-9"])
def test_a_rho_makes_exceptions_to_facts_rarer(rho: str, delta: str) -> None:
    """At distance two it counts four times: valid for Gaussian noise, and nearer to the truth."""
    size, least = Fraction(rho), Fraction(delta)
    plain = Loss(zcdp_epsilon(size, least), least)
    loss = loss_at_distance_two(replace(plain, rho=size))
    without = failure_probability(loss_at_distance_two(plain))
    _, exceeds = gaussian(1 / sqrt(8 * size))

    assert loss.rho == 4 * size
    assert exceeds(widest(loss, 0.1)) <= failure_probability(loss) < without
    assert failure_probability(loss) < without / 5 or plain.epsilon < 4


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_some_answers_fail_as_often_as_stated(epsilon: float) -> None:
    """The stated probability is not too large: two outputs that separate the answers have it."""
    delta, beyond = 1e-3, epsilon + EXCESS + 1e-9
    once = delta / -expm1(epsilon - beyond)
    # Each of two outputs has `once` under one answer; all others are the same under both.
    rare = once * exp(-beyond)

    assert once - exp(epsilon) * rare == pytest.approx(delta)
    assert once + rare == pytest.approx(failure_probability(stated(epsilon, delta)), rel=1e-6)


def test_nothing_is_promised_where_failure_is_likely() -> None:
    """A probability above one half is no `1 in 1`: every belief is then possible."""
    hopeless = loss_at_distance_two(Loss(Fraction(12), Fraction(1, 10**6)))

    assert failure_probability(hopeless) == 1
    assert posterior_range(hopeless, 0.1) == (0, 1)
    assert exception_text(hopeless) == exception_text(Loss(Fraction(1))) == ""


def test_two_values_are_neighbors_only_under_change_one() -> None:
    """Under change-one, two values of a unit have the loss of neighbors."""
    loss = Loss(Fraction(1), Fraction(1, 10**6))

    assert loss_between_values(loss, Neighbors.CHANGE_ONE) == loss
    assert loss_between_values(loss, Neighbors.ADD_REMOVE) == loss_at_distance_two(loss)


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
