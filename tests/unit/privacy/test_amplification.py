"""The guarantee of shuffled responses: as published, and never below the truth."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, log1p, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from dpcli.privacy.shuffling import amplify_by_shuffling

CASES = [
    (epsilon, records, delta)
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0)
    for records in (1_000, 30_000, 10**6, 10**9)
    for delta in (1e-5, 1e-6, 1e-9)
]


def holds(epsilon: float, records: int, delta: float) -> bool:
    """The condition of theorem 3.1."""
    return epsilon <= log(records / (16 * log(2 / delta)))


@pytest.mark.parametrize(
    ("epsilon", "records", "delta"), [case for case in CASES if not holds(*case)]
)
def test_without_its_condition_nothing_is_claimed(
    epsilon: float, records: int, delta: float
) -> None:
    """If the condition of theorem 3.1 fails, the number of records that it needs is stated."""
    found = amplify_by_shuffling(Fraction(str(epsilon)), records, Fraction(str(delta)))
    assert found.epsilon is None
    assert found.needed_records is not None
    assert found.needed_records > records
    again = amplify_by_shuffling(Fraction(str(epsilon)), found.needed_records, Fraction(str(delta)))
    assert again.epsilon is not None


@pytest.mark.parametrize(("epsilon", "records", "delta"), [case for case in CASES if holds(*case)])
def test_the_bound_is_the_published_one(epsilon: float, records: int, delta: float) -> None:
    """Theorem 3.1 in floats agrees to nine digits, and ours is never below it."""
    found = amplify_by_shuffling(Fraction(str(epsilon)), records, Fraction(str(delta)))
    grown = exp(epsilon)
    spread = 8 * sqrt(grown * log(4 / delta) / records) + 8 * grown / records
    published = min(log1p((grown - 1) / (grown + 1) * spread), epsilon)
    assert found.epsilon is not None
    assert published * (1 - 1e-12) <= found.epsilon <= published * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "records"), [(0.5, 1000), (1.0, 1000), (1.0, 5000), (2.0, 5000), (3.0, 20000)]
)
def test_shuffled_coins_reveal_less_than_stated(epsilon: float, records: int) -> None:
    """The exact delta of shuffled randomized response at our epsilon is at most our delta.

    All others answer zero, or all answer one: the extremes that neighbors can share.
    """
    delta = 1e-6
    found = amplify_by_shuffling(Fraction(str(epsilon)), records, Fraction(str(delta))).epsilon
    assert found is not None
    truth = exp(epsilon) / (exp(epsilon) + 1)
    counts = np.arange(records + 1)
    for ones in (0, (records - 1) // 2, records - 1):
        others = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, truth),
            binom.pmf(np.arange(records - ones), records - 1 - ones, 1 - truth),
        )
        stays, moves = np.append(others, 0.0), np.insert(others, 0, 0.0)
        first = truth * moves + (1 - truth) * stays
        second = (1 - truth) * moves + truth * stays
        assert len(first) == len(counts)
        for one, other in ((first, second), (second, first)):
            assert np.maximum(one - exp(float(found)) * other, 0).sum() <= delta


def test_shuffling_never_exceeds_the_loss_of_one_record() -> None:
    """Just above the condition the bound may exceed epsilon, which then holds instead."""
    needed_records = amplify_by_shuffling(Fraction(1, 10), 1, Fraction(1, 10**6)).needed_records
    assert needed_records is not None
    found = amplify_by_shuffling(Fraction(1, 10), needed_records, Fraction(1, 10**6))

    assert found.epsilon is not None
    assert found.epsilon <= Fraction(1, 10)


def test_for_a_very_large_epsilon_nothing_is_claimed() -> None:
    """No number of records is large enough, and none is stated."""
    found = amplify_by_shuffling(Fraction(10_000), 10**15, Fraction(1, 10**6))

    assert found.epsilon is None
    assert found.needed_records is None
