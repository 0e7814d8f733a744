"""Zero-concentrated privacy: what rho means as epsilon and delta, rounded safely.

A mechanism is rho-zCDP if the Renyi divergence of every order alpha > 1 between its
outputs on neighbors is at most alpha rho (Bun and Steinke 2016). Rhos add up, even
when each question is chosen after seeing the answers before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from math import log

from dpcli.numeric.exact import short_down, short_up
from dpcli.numeric.interval_arithmetic import Interval, exp, round_down, round_up
from dpcli.numeric.interval_arithmetic import log as certified_log
from dpcli.numeric.search import search_greatest

MANY = 256
"""Numbers up to which a sum is exact."""

SHORT = 48
"""Significant bits of a published delta."""


def pure_rho(epsilon: Fraction) -> Fraction:
    """The least rho of every epsilon-private mechanism, rounded up.

    epsilon tanh(epsilon/2): each such mechanism reveals no more than randomized response
    (Kairouz, Oh and Viswanath 2015), whose loss is plus or minus epsilon, with that mean; the
    inequality of Kearns and Saul 1998 for its exponential moments is just the claim.
    """
    if epsilon <= Fraction(1, 8):
        # Many small ones are priced at once: three terms of the alternating series.
        above = round_up(epsilon * epsilon, 80)
        rest = Fraction(1, 24) - above / 240
        return short_up(above / 2 - round_down(epsilon * epsilon, 80) ** 2 * rest)
    falling = exp(Interval.of(-epsilon, 128))
    return short_up(((1 - falling.low) / (1 + falling.low)) * epsilon)


@lru_cache(maxsize=1024)
def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Delta at `epsilon` of any rho-zCDP mechanism, rounded up.

    For every alpha > 1, exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha
    / (alpha - 1) (Canonne, Kamath and Steinke 2020, proposition 12). Alpha is chosen
    with floats, which cannot make the bound wrong, and the bound is certified.
    """
    if not rho:
        return Fraction(0)

    def logarithm_of_bound(power: float) -> float:
        u: float = 2.0**power
        return u * ((1 + u) * float(rho) - float(epsilon)) + u * log(u) - (1 + u) * log(1 + u)

    above = Fraction(2.0 ** _least(logarithm_of_bound))
    alpha = 1 + above
    try:
        exponent = certified_log(Interval.of(above / alpha)) * alpha
        bound = exp(exponent + above * (alpha * rho - epsilon)).high / above
    except OverflowError:
        return Fraction(1)
    return min(round_up(bound, SHORT), Fraction(1))


@lru_cache(maxsize=1024)
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Epsilon at `delta` of any rho-zCDP mechanism, rounded up to a short decimal.

    The same bound, solved for epsilon: for every alpha > 1, alpha rho + log(1 - 1/alpha)
    - (log delta + log alpha)/(alpha - 1).
    """
    if not rho:
        return Fraction(0)
    target = float(float_log(delta))

    def bound(above: float) -> float:
        alpha = 1 + above
        return alpha * float(rho) + log(above / alpha) - (target + log(alpha)) / above

    above = Fraction(2.0 ** _least(lambda power: bound(2.0**power)))
    alpha = 1 + above
    logarithms = certified_log(Interval.of(delta)) + certified_log(Interval.of(alpha))
    found = certified_log(Interval.of(above / alpha)) + alpha * rho - logarithms / above
    return max(short_up(found.high), Fraction(0))


@lru_cache(maxsize=1024)
def zcdp_rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The greatest rho found that means at most `epsilon` at `delta`, a short decimal."""
    found = search_greatest(
        lambda rho: zcdp_epsilon.__wrapped__(rho, delta) <= epsilon,
        Fraction(0),
        epsilon + 1,
        lambda low, high: high - low <= low / 10**12,
        # Digits that the search has not settled yet would only cost time.
        lambda low, high: short_up((low + high) / 2, 15),
    )
    return short_down(found)


def sum_rounded_up(values: Iterable[tuple[Fraction, int]]) -> Fraction:
    """The sum of numbers that are not negative, each with how often it is counted.

    Exact for a few; thousands are each rounded up to a fine grid, 2^-160 of the largest.
    """
    terms = [(value, times) for value, times in values if value]
    if len(terms) <= MANY:
        return sum((value * times for value, times in terms), start=Fraction(0))
    largest = max(
        value.numerator.bit_length() - value.denominator.bit_length() for value, _ in terms
    )
    shift = max(160 - largest, 0)
    total = sum(
        -((-value.numerator << shift) // value.denominator) * times for value, times in terms
    )
    return short_up(Fraction(total, 1 << shift), 18)


def float_log(value: Fraction) -> float:
    """The natural logarithm of a positive number that a float may not hold."""
    return log(value.numerator) - log(value.denominator)


def _least(function: Callable[[float], float]) -> float:
    """About where a function of a logarithm to base two is least, by golden sections."""
    low, high = -30.0, 100.0
    for _ in range(60):
        first, second = low + (high - low) * 0.382, high - (high - low) * 0.382
        low, high = (low, second) if function(first) < function(second) else (first, high)
    return (low + high) / 2
