"""What rho of zCDP and epsilon, delta mean for each other.

A mechanism is rho-zCDP if the Renyi divergence of every order alpha > 1 between its outputs on
neighbors is at most alpha rho (Bun and Steinke 2016). Rhos add up, even if each query is chosen
after seeing the answers before it. Everything is rounded to the safe side.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import floor, inf, log, log1p

from dpcli.numeric.exact import short_down, short_up
from dpcli.numeric.interval_arithmetic import Interval, exp, round_down, round_up
from dpcli.numeric.interval_arithmetic import log as certified_log
from dpcli.numeric.search import search_max
from dpcli.privacy.deltas import DELTA_BITS


def pure_rho(epsilon: Fraction) -> Fraction:
    """The least rho that holds for every epsilon-private mechanism, rounded up.

    No epsilon-private mechanism reveals more than randomized response (Kairouz, Oh and Viswanath
    2015), whose loss is epsilon or -epsilon with mean epsilon tanh(epsilon/2). That the mean is the
    rho is the inequality of Kearns and Saul 1998 for the exponential moments of the loss.
    """
    if epsilon <= Fraction(1, 8):
        # Plans need many small ones: three terms of the alternating series are fast.
        above = round_up(epsilon * epsilon, 80)
        rest = Fraction(1, 24) - above / 240
        return short_up(above / 2 - round_down(epsilon * epsilon, 80) ** 2 * rest)
    falling = exp(Interval.of(-epsilon, 128))
    return short_up(((1 - falling.low) / (1 + falling.low)) * epsilon)


@lru_cache(maxsize=1024)
def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Delta at `epsilon` of any rho-zCDP mechanism, rounded up.

    For every alpha > 1, exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha
    / (alpha - 1) (Canonne, Kamath and Steinke 2020, proposition 12). Floats choose alpha, for
    which every value gives a valid bound; the bound itself is certified.
    """
    if not rho:
        return Fraction(0)

    def logarithm_of_bound(power: float) -> float:
        u: float = 2.0**power
        # With log(u) and log(1 + u), a large order would cancel.
        return u * ((1 + u) * float(rho) - float(epsilon)) - u * log1p(1 / u) - log1p(u)

    above = Fraction(2.0 ** _minimize(logarithm_of_bound))
    alpha = 1 + above
    try:
        exponent = certified_log(Interval.of(above / alpha)) * alpha
        bound = exp(exponent + above * (alpha * rho - epsilon)).high / above
    except OverflowError:
        return Fraction(1)
    return min(round_up(bound, DELTA_BITS), Fraction(1))


@lru_cache(maxsize=1024)
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Epsilon at `delta` of any rho-zCDP mechanism, rounded up to a short decimal.

    The bound of `zcdp_delta`, solved for epsilon: for every alpha > 1, alpha rho + log(1 - 1/alpha)
    - (log delta + log alpha)/(alpha - 1).
    """
    if not rho:
        return Fraction(0)
    size, target = float(rho), float_log(delta)
    above = Fraction(
        2.0 ** _minimize(lambda power: _order_epsilon(power, (1 + 2.0**power) * size, target))
    )
    return renyi_epsilon(above, (1 + above) * rho, delta)


def renyi_epsilon(above: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Epsilon at `delta` from the Renyi divergence of order 1 + `above`, rounded up.

    It is the formula of `zcdp_epsilon`, with the divergence in place of alpha rho.
    """
    alpha = 1 + above
    logarithms = certified_log(Interval.of(delta)) + certified_log(Interval.of(alpha))
    epsilon = certified_log(Interval.of(above / alpha)) + divergence - logarithms / above
    return max(short_up(epsilon.high), Fraction(0))


def best_order(divergence: Callable[[float], float], delta: Fraction) -> Fraction:
    """The order that gives about the least `renyi_epsilon`, minus one.

    It is at most 1/(e delta): a larger one would gain about delta at most.
    """
    target = float_log(delta)

    def epsilon(power: float) -> float:
        return _order_epsilon(power, divergence(1 + 2.0**power), target)

    tried = [epsilon(power) for power in range(-30, max(floor((-target - 1) / log(2)), -20))]
    # There can be several minima: each is searched for between the powers around it.
    padded = [inf, *tried, inf]
    low = [
        index - 30.0
        for index, around in enumerate(zip(padded, tried, padded[2:], strict=False))
        if around[1] == min(around)
    ]
    last = len(tried) - 31.0
    found = [_minimize(epsilon, power - 1, min(power + 1, last), 40) for power in low]
    return round_up(Fraction(2.0 ** min(found, key=epsilon)), 40)


def _order_epsilon(power: float, divergence: float, log_delta: float) -> float:
    above: float = 2.0**power
    return divergence - log1p(1 / above) - (log_delta + log1p(above)) / above


@lru_cache(maxsize=1024)
def zcdp_rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Greatest rho found for `epsilon` at `delta`, rounded down to a short decimal."""
    rho = search_max(
        lambda rho: zcdp_epsilon.__wrapped__(rho, delta) <= epsilon,
        Fraction(0),
        epsilon + 1,
        lambda low, high: high - low <= low / 10**12,
        # More digits than the search has found would only cost time.
        lambda low, high: short_up((low + high) / 2, 15),
    )
    return short_down(rho)


def float_log(value: Fraction) -> float:
    """The natural logarithm of a positive number that may not fit a float."""
    return log(value.numerator) - log(value.denominator)


def _minimize(
    function: Callable[[float], float], low: float = -30.0, high: float = 100.0, steps: int = 60
) -> float:
    """About the point where a function with one minimum is least."""
    for _ in range(steps):
        first, second = low + (high - low) * 0.382, high - (high - low) * 0.382
        low, high = (low, second) if function(first) < function(second) else (first, high)
    return (low + high) / 2
