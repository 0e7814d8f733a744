"""What epsilon and delta mean for one person, in numbers that people know.

For a fixed pair of neighbours an (epsilon, delta)-private answer tells no more than this:
with probability delta everything; otherwise, one of two words, of which the right one is
exp(epsilon) times as likely as the wrong one (Kairouz, Oh and Viswanath 2015). Floats
serve here: these numbers are read, not relied on.
"""

from __future__ import annotations

from math import exp, expm1

from dpcli.privacy.loss import Loss

HUGE = 350.0
"""An epsilon from which on numbers only say that there is no protection."""


def factor(loss: Loss) -> float:
    """How much likelier an output can be under one neighbour than under the other."""
    return exp(min(float(loss.epsilon), HUGE))


def beliefs(loss: Loss, prior: float) -> tuple[float, float]:
    """The least and the greatest belief in something about a person, after `prior`.

    Except with probability delta, in which anything may be learnt. By the rule of Bayes,
    odds change by a factor of exp(epsilon) at most (Dwork and Roth 2014, section 2.3).
    """
    odds = prior / (1 - prior)
    low, high = odds / factor(loss), odds * factor(loss)
    return low / (1 + low), high / (1 + high)


def power(loss: Loss, alarm: float) -> float:
    """How often the best test finds a person, if it errs that often where there is none.

    At most exp(epsilon) a + delta and 1 - exp(-epsilon) (1 - delta - a) for false alarms a
    (Wasserman and Zhou 2010).
    """
    times, delta = factor(loss), float(loss.delta)
    return min(times * alarm + delta, 1 - (1 - delta - alarm) / times, 1.0)


def guess(loss: Loss) -> float:
    """How often the best guess between two equally likely neighbours is right."""
    falling = 1 / factor(loss)
    return (1 + float(loss.delta) * falling) / (1 + falling)


def change(loss: Loss) -> float:
    """By which part any belief can differ from what it would be with other data of a person.

    exp(2 epsilon) - 1: the answer under either data changes odds by exp(epsilon) at most
    (Kasiviswanathan and Smith 2014).
    """
    return expm1(2 * min(float(loss.epsilon), HUGE))
