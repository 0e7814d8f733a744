"""The meaning of epsilon and delta for one person, in likelihoods and beliefs.

These numbers explain a guarantee and are not part of it, so floats are precise enough. Texts are
rounded so that they never understate what may happen.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1, floor, log10

from dpcli.numeric.exact import plain_text, readable_text, short_down, short_up
from dpcli.privacy.loss import Loss

LARGEST_EPSILON = 350.0
"""Epsilons above it are shown as this one: neither protects anyone."""

EXCESS = 0.1
"""How far a loss may exceed epsilon, except with the probability of `failure_probability`."""

LARGEST_WRITTEN = 10**15
"""A factor above it is written as a power of ten."""

FLOAT_ERROR = Fraction(1, 10**12)
"""An upper bound of the relative error of floats in this module."""


def likelihood_ratio(loss: Loss) -> float:
    """How much more likely a set of outputs can be for one neighbor, except for delta."""
    return exp(min(float(loss.epsilon), LARGEST_EPSILON))


def loss_at_distance_two(loss: Loss) -> Loss:
    """The loss between datasets at distance two, by group privacy (Vadhan 2017, lemma 2.2).

    If neighbors differ by one added person, datasets with two different values of that person are
    at distance two: both are neighbors of the dataset without the person.
    """
    return Loss(
        2 * loss.epsilon, min(loss.delta * (1 + Fraction(likelihood_ratio(loss))), Fraction(1))
    )


def failure_probability(loss: Loss) -> float:
    """An upper bound of the probability of a loss above epsilon + EXCESS.

    delta >= E[1 - exp(epsilon - loss)] over outputs whose loss exceeds epsilon, so that
    P[loss > epsilon + t] <= delta / (1 - exp(-t)). Delta itself is not a bound: the loss of
    Gaussian noise exceeds epsilon more often.
    """
    return min(1.0, float(loss.delta) / -expm1(-EXCESS))


def posterior_range(loss: Loss, prior: float) -> tuple[float, float]:
    """The least and the greatest posterior belief that one of two neighbors is true.

    By the rule of Bayes, odds change by a factor of at most exp(epsilon) (Dwork and Roth 2014,
    section 2.3); with a delta, of at most exp(epsilon + EXCESS) except with the probability
    `failure_probability`.
    """
    most = exp(_pointwise(loss))
    odds = prior / (1 - prior)
    low, high = odds / most, odds * most
    return low / (1 + low), high / (1 + high)


def _pointwise(loss: Loss) -> float:
    """An upper bound of the loss of an output, except with `failure_probability`."""
    return min(float(loss.epsilon), LARGEST_EPSILON) + (EXCESS if loss.delta else 0)


def detection_power(loss: Loss, alarm: float) -> float:
    """The power of the best test for a person, at the rate `alarm` of false alarms.

    At most exp(epsilon) a + delta and 1 - exp(-epsilon) (1 - delta - a) for false alarms a
    (Wasserman and Zhou 2010).
    """
    times, delta = likelihood_ratio(loss), float(loss.delta)
    return min(times * alarm + delta, 1 - (1 - delta - alarm) / times, 1.0)


def guess_accuracy(loss: Loss) -> float:
    """The probability that the best guess between two equally likely neighbors is right.

    (exp(epsilon) + delta) / (1 + exp(epsilon)) (Kairouz, Oh and Viswanath 2015).
    """
    falling = 1 / likelihood_ratio(loss)
    return (1 + float(loss.delta) * falling) / (1 + falling)


def belief_change(loss: Loss) -> float:
    """The relative difference of a belief from the belief that the neighboring data lead to.

    At most exp(2 epsilon) - 1: the answer about either data changes odds by a factor of at most
    exp(epsilon) (Kasiviswanathan and Smith 2014). With a delta, this holds except with the
    probability `failure_probability`.
    """
    return expm1(2 * _pointwise(loss))


def at_most(value: float | Fraction, digits: int = 3) -> str:
    """A number that is not negative, rounded up to few digits, for people to read."""
    return readable_text(short_up(_exact(value, 1), digits))


def at_least(value: float | Fraction, digits: int = 3) -> str:
    """A number that is not negative, rounded down to few digits, for people to read."""
    return readable_text(short_down(_exact(value, -1), digits))


def times_at_most(factor: float) -> str:
    """A factor as text, rounded up; a very large one as a power of ten."""
    if factor > LARGEST_WRITTEN:
        return f"10^{ceil(log10(factor))} times"
    text = at_most(factor)
    return f"{int(text):,} times" if text.isdigit() else f"{text} times"


def _exact(value: float | Fraction, toward: int) -> Fraction:
    """A rational itself, or a float moved up (1) or down (-1) by its possible error."""
    return value if isinstance(value, Fraction) else Fraction(value) * (1 + toward * FLOAT_ERROR)


def percent_at_most(share: float) -> str:
    """A share as a percentage, rounded up; near 100 with more digits."""
    missing = Fraction(100) * (1 - Fraction(share))
    if share < 0.99:
        return at_most(100 * share)
    return plain_text(100 - short_down(missing, 2)) if missing > Fraction(1, 10**6) else "100"


def percent_at_least(share: float) -> str:
    """A share as a percentage, rounded down; 0 if it is below a millionth."""
    percent = Fraction(100) * Fraction(share)
    if percent < Fraction(1, 10**6):
        return "0"
    return at_least(percent) if share < 0.99 else plain_text(100 - short_up(100 - percent, 2))


def one_in(probability: float | Fraction) -> str:
    """A probability as `1 in N`, rounded up."""
    return f"1 in {max(1, floor(1 / _exact(probability, 1))):,}"
