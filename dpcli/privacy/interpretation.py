"""What epsilon and delta mean for one person, in numbers that people know.

Floats serve here: these numbers are read, not relied on. Texts are rounded so that what is
stated is never less than what may happen.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp, expm1, floor, log10

from dpcli.numeric.exact import plain_text, readable_text, short_down, short_up
from dpcli.privacy.loss import Loss

HUGE = 350.0
"""An epsilon from which on numbers only say that there is no protection."""

EXCESS = 0.1
"""How far a loss may exceed epsilon, except with the probability of `failure_probability`."""

LARGE = 10**15
"""Beyond it a factor is written as a power of ten."""

SLACK = Fraction(1, 10**12)
"""More than floats lose on the way to a text."""


def likelihood_ratio(loss: Loss) -> float:
    """How much more likely an output set can be under one neighbor, except for delta."""
    return exp(min(float(loss.epsilon), HUGE))


def loss_at_distance_two(loss: Loss) -> Loss:
    """The loss between data that are two neighbors apart (Vadhan 2017, lemma 2.2).

    With neighbors that have or lack a person, what the person gave, this or that, is two
    steps apart: over the data without them.
    """
    return Loss(
        2 * loss.epsilon, min(loss.delta * (1 + Fraction(likelihood_ratio(loss))), Fraction(1))
    )


def failure_probability(loss: Loss) -> float:
    """The chance, at most, of an output that reveals more than epsilon + EXCESS.

    delta >= E[1 - exp(epsilon - loss)] over outputs whose loss exceeds epsilon, so that
    P[loss > epsilon + t] <= delta / (1 - exp(-t)). Not delta itself: Gaussian noise exceeds
    epsilon more often than that.
    """
    return min(1.0, float(loss.delta) / -expm1(-EXCESS))


def posterior_range(loss: Loss, prior: float) -> tuple[float, float]:
    """The least and the greatest belief in which of two neighbors is true, after `prior`.

    By the rule of Bayes, odds change by a factor of exp(epsilon) at most (Dwork and Roth
    2014, section 2.3); with a delta, of exp(epsilon + EXCESS), but for `failure_probability`.
    """
    most = exp(_pointwise(loss))
    odds = prior / (1 - prior)
    low, high = odds / most, odds * most
    return low / (1 + low), high / (1 + high)


def _pointwise(loss: Loss) -> float:
    """What an output reveals at most, but for `failure_probability`."""
    return min(float(loss.epsilon), HUGE) + (EXCESS if loss.delta else 0)


def detection_power(loss: Loss, alarm: float) -> float:
    """How often the best test finds a person, if it errs that often where there is none.

    At most exp(epsilon) a + delta and 1 - exp(-epsilon) (1 - delta - a) for false alarms a
    (Wasserman and Zhou 2010).
    """
    times, delta = likelihood_ratio(loss), float(loss.delta)
    return min(times * alarm + delta, 1 - (1 - delta - alarm) / times, 1.0)


def guess_accuracy(loss: Loss) -> float:
    """How often the best guess between two equally likely neighbors is right.

    (exp(epsilon) + delta) / (1 + exp(epsilon)) (Kairouz, Oh and Viswanath 2015).
    """
    falling = 1 / likelihood_ratio(loss)
    return (1 + float(loss.delta) * falling) / (1 + falling)


def belief_change(loss: Loss) -> float:
    """By which part any belief can differ from what the neighboring data would lead to.

    exp(2 epsilon) - 1: the answer under either data changes odds by exp(epsilon) at most
    (Kasiviswanathan and Smith 2014); with a delta, but for `failure_probability`.
    """
    return expm1(2 * _pointwise(loss))


def at_most(value: float | Fraction, digits: int = 3) -> str:
    """A number that is not negative, rounded up to few digits, for people to read."""
    return readable_text(short_up(_exact(value, 1), digits))


def at_least(value: float | Fraction, digits: int = 3) -> str:
    """A number that is not negative, rounded down to few digits, for people to read."""
    return readable_text(short_down(_exact(value, -1), digits))


def times_at_most(factor: float) -> str:
    """How many times, rounded up; a power of ten where digits mean nothing any more."""
    if factor > LARGE:
        return f"10^{ceil(log10(factor))} times"
    text = at_most(factor)
    return f"{int(text):,} times" if text.isdigit() else f"{text} times"


def _exact(value: float | Fraction, towards: int) -> Fraction:
    """A rational as it is, or a float with what it may have lost."""
    return value if isinstance(value, Fraction) else Fraction(value) * (1 + towards * SLACK)


def percent_at_most(share: float) -> str:
    """A share as a percentage, rounded up; near 100 with the digits that show the difference."""
    rest = Fraction(100) * (1 - Fraction(share))
    if share < 0.99:
        return at_most(100 * share)
    return plain_text(100 - short_down(rest, 2)) if rest > Fraction(1, 10**6) else "100"


def percent_at_least(share: float) -> str:
    """A share as a percentage, rounded down; nothing below a millionth."""
    percent = Fraction(100) * Fraction(share)
    if percent < Fraction(1, 10**6):
        return "0"
    return at_least(percent) if share < 0.99 else plain_text(100 - short_up(100 - percent, 2))


def one_in(chance: float | Fraction) -> str:
    """A chance as one in a number, not understated."""
    return f"1 in {max(1, floor(1 / _exact(chance, 1))):,}"
