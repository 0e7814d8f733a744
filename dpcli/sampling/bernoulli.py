"""Exact Bernoulli draws with rational parameters, in whole numbers only."""

from __future__ import annotations

from fractions import Fraction

from dpcli.sampling.entropy import uniform_below


def bernoulli(probability: Fraction) -> bool:
    """True with exactly this probability, in [0, 1]."""
    if not 0 <= probability <= 1:
        raise ValueError("a probability lies between 0 and 1")
    return uniform_below(probability.denominator) < probability.numerator


def bernoulli_exp(exponent: Fraction) -> bool:
    """True with probability exactly exp(-exponent), for a rational exponent >= 0.

    Source: Canonne, Kamath and Steinke 2020, algorithm 1.
    """
    if exponent < 0:
        raise ValueError("exp(-exponent) is a probability only for exponents >= 0")
    return bernoulli_exp_ratio(exponent.numerator, exponent.denominator)


def bernoulli_exp_ratio(numerator: int, denominator: int) -> bool:
    """`bernoulli_exp` of a ratio that need not be in lowest terms."""
    whole, rest = divmod(numerator, denominator)
    for _ in range(whole):
        if not _bernoulli_exp_fraction(1, 1):
            return False
    return _bernoulli_exp_fraction(rest, denominator)


def _bernoulli_exp_fraction(numerator: int, denominator: int) -> bool:
    """`bernoulli_exp` of a ratio in [0, 1].

    The first k at which a Bernoulli(ratio / k) fails is odd with probability
    1 - x + x^2/2! - x^3/3! + ... = exp(-x).
    """
    k = 1
    while uniform_below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
