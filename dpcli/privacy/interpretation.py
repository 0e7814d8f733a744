"""The meaning of epsilon and delta for one unit, in likelihoods and beliefs.

Two questions can be asked of a release, and each text says which of them it answers:

- Is a unit in the data at all? Under add-remove, both answers lead to neighbors.
- What does a unit in the data say, such as whether a person has an illness? Under change-one, both
  answers lead to neighbors. Under add-remove they lead to data at distance two: both are neighbors
  of the data without the unit. `loss_between_values` states that loss.

The answers are about an observer who knows the data of all other units. Let P and Q be the
probabilities of outputs under both answers, and b the prior belief in the first one. By the rule
of Bayes, the odds b/(1 - b) are multiplied by P(y)/Q(y) after the output y. If an answer allows
several values of the unit, P is a mixture, and still (epsilon, delta)-close to Q, because both
sides of the definition are linear. An observer who knows less also learns what is true of others,
and may infer more from that; they learn it with or without the unit (Kasiviswanathan and Smith
2014).

Without a delta, P(y)/Q(y) is at most e^epsilon for every y. With a delta, let A be the outputs with
P(y)/Q(y) > e^(epsilon + t), for t = EXCESS. Then P[A] - e^epsilon Q[A] <= delta and Q[A] <=
e^-(epsilon + t) P[A], so P[A] <= delta/(1 - e^-t). Where Q(y)/P(y) is as large, Q has at most that
probability and P at most e^-(epsilon + t) times it. So under either answer, odds change by a factor
of more than e^(epsilon + t), up or down, with a probability of at most
(1 + e^-(epsilon + t)) delta/(1 - e^-t) (compare Kasiviswanathan and Smith 2014). Delta alone is not
such a bound: it is the mean of max(0, 1 - e^(epsilon - loss)), and the loss of Gaussian noise
exceeds epsilon more often (Canonne, Kamath and Steinke 2020).

These numbers explain a guarantee and are not part of it, so floats are precise enough. Texts are
rounded so that they never understate what may happen.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1, floor, log10

from dpcli.numeric.exact import plain_text, readable_text, short_down, short_up
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors

LARGEST_EPSILON = 350.0
"""A greater epsilon is shown as this one: an epsilon this large protects no one."""

EXCESS = 0.1
"""How far a loss may exceed epsilon, except with `failure_probability`."""

LARGEST_WRITTEN = 10**15
"""A factor above it is written as a power of ten."""

FLOAT_ERROR = Fraction(1, 10**12)
"""An upper bound of the relative error of floats in this module."""


def likelihood_ratio(loss: Loss) -> float:
    """How many times as likely outputs can be for a neighbor, apart from delta."""
    return exp(min(float(loss.epsilon), LARGEST_EPSILON))


def loss_between_values(loss: Loss, neighbors: Neighbors) -> Loss:
    """The loss between two values of one unit in the data; `loss` is for neighbors."""
    return loss if neighbors is Neighbors.CHANGE_ONE else loss_at_distance_two(loss)


def loss_at_distance_two(loss: Loss) -> Loss:
    """The loss between datasets at distance two, by group privacy.

    Epsilon counts twice, and delta 1 + e^epsilon times (Vadhan 2017, lemma 2.2). A `rho` counts
    four times (Bun and Steinke 2016, proposition 1.9), and delta follows from the rho where that
    delta is smaller. The rho must then hold without a failure probability, because after two steps
    a failure may be e^epsilon times as likely.
    """
    epsilon = 2 * loss.epsilon
    delta = min(loss.delta * (1 + Fraction(likelihood_ratio(loss))), Fraction(1))
    if loss.rho is None:
        return Loss(epsilon, delta)
    from dpcli.privacy.zcdp_conversion import zcdp_delta

    return Loss(epsilon, min(delta, zcdp_delta(4 * loss.rho, epsilon)), 4 * loss.rho)


def failure_probability(loss: Loss) -> float:
    """Upper bound of the probability that odds change by over e^(epsilon + EXCESS).

    The docstring of this module has the proof. A bound above one half is returned as one: then
    nothing is promised.
    """
    once = float(loss.delta) / -expm1(-EXCESS)
    probability = once * (1 + exp(-_pointwise(loss)))
    return probability if probability <= 1 / 2 else 1.0


def exception_text(loss: Loss) -> str:
    """The words for the probability that `posterior_range` fails; empty if 0 or 1."""
    probability = failure_probability(loss)
    if not 0 < probability < 1:
        return ""
    return f", except with a probability of at most {one_in(probability)}"


def posterior_range(loss: Loss, prior: float) -> tuple[float, float]:
    """Least and greatest posterior belief in one of two answers with this loss.

    By the rule of Bayes, odds change by a factor of at most exp(epsilon) (Dwork and Roth 2014,
    section 2.3); with a delta, of at most exp(epsilon + EXCESS) except with the probability
    `failure_probability`. If that is one, every belief is possible.
    """
    if failure_probability(loss) == 1:
        return 0.0, 1.0
    factor = exp(_pointwise(loss))
    odds = prior / (1 - prior)
    low, high = odds / factor, odds * factor
    return low / (1 + low), high / (1 + high)


def _pointwise(loss: Loss) -> float:
    """A bound on the change of the log-odds, except with `failure_probability`."""
    return min(float(loss.epsilon), LARGEST_EPSILON) + (EXCESS if loss.delta else 0)


def detection_power(loss: Loss, alarm: float) -> float:
    """The power of the best test for a person, at the rate `alarm` of false alarms.

    The power is at most exp(epsilon) a + delta and at most 1 - exp(-epsilon) (1 - delta - a), for
    the rate a of false alarms (Wasserman and Zhou 2010).
    """
    times, delta = likelihood_ratio(loss), float(loss.delta)
    return min(times * alarm + delta, 1 - (1 - delta - alarm) / times, 1.0)


def guess_accuracy(loss: Loss) -> float:
    """Probability that the best guess between two equally likely neighbors is right.

    (exp(epsilon) + delta) / (1 + exp(epsilon)) (Kairouz, Oh and Viswanath 2015).
    """
    falling = 1 / likelihood_ratio(loss)
    return (1 + float(loss.delta) * falling) / (1 + falling)


def belief_change(loss: Loss) -> float:
    """A bound of the relative difference between the beliefs that neighbors lead to.

    At most exp(2 epsilon) - 1 if delta is zero: the probability of the output changes by a factor
    of at most exp(epsilon) for every dataset that an observer thinks possible, and so does their
    mean (Kasiviswanathan and Smith 2014). With a delta, an output that is usual for
    the true data can be a rare one for others, so that no such bound follows from
    `failure_probability`.
    """
    return expm1(2 * min(float(loss.epsilon), LARGEST_EPSILON))


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
