"""Advanced composition: n answers cost about sqrt(n) times one of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest

from dpcli.numeric.exact import short_up, sum_rounded_up
from dpcli.numeric.interval_arithmetic import Interval, exp, log, round_down, sqrt, sqrt_up
from dpcli.privacy.accounting.composition import Bound, Composition, GuaranteeCounts, plain_sum
from dpcli.privacy.loss import ZERO_GUARANTEE, Guarantee, Loss, worst_of
from dpcli.privacy.zcdp_conversion import float_log, pure_rho

EULER_UP = exp(Interval.of(1)).high
"""The number e, rounded up."""

MAX_EQUAL = 20_000
"""Number of equal losses up to which the optimal bound is computed."""


MAX_EXACT = 64
"""Number of deltas up to which their product is exact."""


class AdvancedComposition(Composition):
    """The smallest bound of several theorems for (epsilon_i, delta_i)-private answers.

    Part of delta is for the deltas of the answers: (1 - delta) = (1 - d) times the product
    of all (1 - delta_i). The rest, d, is used by one of:

    strong composition, for k equal epsilons e: sqrt(2 k ln(1/d)) e + k e (e^e - 1)/(e^e +
    1) (Dwork, Rothblum and Vadhan 2010; as in Kairouz, Oh and Viswanath 2015), and for
    unequal ones sqrt(2 ln(1/d) sum e_i^2) + sum e_i (e^e_i - 1)/(e^e_i + 1), where also e +
    sqrt(sum e_i^2)/d may stand for 1/d (there, theorem 3.5);

    the optimal bound for k equal epsilons: the least epsilon for which

        sum over l of C(k, l) max(0, e^((k - l) e) - e^(epsilon + l e))
            <= d (1 + e^e)^k

    (there, theorem 3.3, between its points as well).

    Privacy: any (e, 0)-private answer reveals no more than a randomized response whose loss
    is e or -e; the sum of such losses is concentrated around a small mean. The plain sum of
    epsilons is a bound as well, and is used where it is smaller; with it, a delta of one minus the
    product of all (1 - delta_i) is enough (there, theorem 3.5 with d = 0).
    """

    name = "advanced"

    def bounds(self, guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        yield from _bounds(guarantees, delta)
        if any(guarantee.alternatives for guarantee in guarantees):
            yield from _bounds(_by_answer(guarantees), delta)


def _bounds(guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
    plain = plain_sum(guarantees)
    yield plain
    epsilons: Counter[Fraction] = Counter()
    for guarantee, times in guarantees.items():
        epsilons[guarantee.loss.epsilon] += times
    no_failure = _no_failure(guarantees)
    if 1 - delta <= no_failure:
        yield Bound(Loss(plain.loss.epsilon, delta), "sum of epsilons")
    left = round_down(1 - (1 - delta) / no_failure, 64) if no_failure > 0 else Fraction(0)
    if left <= 0:
        return
    del epsilons[Fraction(0)]
    if not epsilons:
        return
    equal = len(epsilons) == 1
    name = "strong composition" + ("" if equal else " of unequal losses")
    yield Bound(Loss(strong_composition(epsilons, left), delta), name)
    ((epsilon, times),) = epsilons.most_common(1)
    if equal and times <= MAX_EQUAL:
        yield Bound(
            Loss(optimal_composition(epsilon, times, left), delta), "optimal for equal losses"
        )


def _by_answer(guarantees: GuaranteeCounts) -> GuaranteeCounts:
    """The guarantees, with alternatives bounded answer by answer, the greatest first.

    Many small losses compose to less than their sum, so that may cost less than the worst sum.
    """
    counts: Counter[Guarantee] = Counter()
    for guarantee, times in guarantees.items():
        alternatives = guarantee.alternatives or ((guarantee,),)
        for matched in zip_longest(*alternatives, fillvalue=ZERO_GUARANTEE):
            counts[worst_of([(one,) for one in matched])] += times
    return counts


def _no_failure(guarantees: GuaranteeCounts) -> Fraction:
    """The product of all 1 - delta; rounded down if it has many factors."""
    failures = Counter[Fraction]()
    for guarantee, times in guarantees.items():
        failures[guarantee.loss.delta] += times
    del failures[Fraction(0)]
    if failures.total() <= MAX_EXACT:
        factors = ((1 - delta) ** times for delta, times in failures.items())
        return math.prod(factors, start=Fraction(1))
    no_failure = Interval.of(1)
    for delta, times in failures.items():
        no_failure = no_failure * _power(Interval.of(1 - delta), times)
    return no_failure.low


def strong_composition(epsilons: Counter[Fraction], delta: Fraction) -> Fraction:
    """Epsilon at an additional `delta`, by strong composition, rounded up."""
    mean = sum_rounded_up((pure_rho(epsilon), times) for epsilon, times in epsilons.items())
    squares = sum_rounded_up((epsilon**2, times) for epsilon, times in epsilons.items())
    often = min(1 / delta, EULER_UP + sqrt_up(squares) / delta)
    spread = sqrt(log(Interval.of(often)) * (2 * squares))
    return short_up(mean + spread.high)


def optimal_composition(epsilon: Fraction, times: int, delta: Fraction) -> Fraction:
    """The least epsilon of equal answers at an additional `delta`, rounded up.

    The loss (times - 2 l) epsilon has the weight
    w_l = C(times, l) e^((times - l) epsilon) / (1 + e^epsilon)^times. Delta at e is
    sum (w_l - e^e v_l) over the losses above e, with v_l = w_l e^(-loss). The sum starts at the
    greatest loss.
    """
    falling = exp(Interval.of(-epsilon))
    rising, steeper = Interval.of(1) / falling, falling * falling
    first, min_exp = _negligible(float(epsilon), times, float_log(delta)), Fraction(1)
    weight = _power(Interval.of(1) / (falling + 1), times) * math.comb(times, first)
    weight = weight * _power(falling, first)
    against = weight * _power(falling, times - 2 * first)
    level = _power(rising, times - 2 * first)
    # Weights increase up to here, so each weight that is left out is at most this one.
    above, below = Interval(Fraction(0), first * weight.high), Interval.of(0)
    for index in range(first, times // 2 + 1):
        above, below, level = above + weight, below + against, level * steeper
        # The least exp(e) that meets delta, if these and no other losses are above e.
        min_exp = (above.high - delta) / below.low
        if min_exp > level.low:
            break
        factor = Fraction(times - index, index + 1)
        weight, against = weight * falling * factor, against * rising * factor
    return short_up(log(Interval.of(min_exp)).high) if min_exp > 1 else Fraction(0)


def _negligible(epsilon: float, times: int, log_delta: float) -> int:
    """How many of the greatest losses have weights that are negligible for delta.

    The result is below times/(1 + e^epsilon), the index of the largest weight.
    """
    low, high = 0, int(times / (1 + math.exp(min(epsilon, 700.0))))
    max_log_weight = log_delta - 60 - math.log(times)
    total = times * math.log1p(math.exp(-epsilon))
    while low < high:
        middle = (low + high + 1) // 2
        log_binomial = (
            math.lgamma(times + 1) - math.lgamma(middle + 1) - math.lgamma(times - middle + 1)
        )
        low, high = (
            (middle, high)
            if log_binomial - middle * epsilon - total < max_log_weight
            else (low, middle - 1)
        )
    return low


def _power(base: Interval, exponent: int) -> Interval:
    result = Interval.of(1)
    while exponent:
        if exponent & 1:
            result = result * base
        base, exponent = base * base, exponent >> 1
    return result
