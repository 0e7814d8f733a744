"""Bounds of random releases with disjoint answers, against dp-accounting and case by case."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.loss import Guarantee
from tests.oracles.mixes import DELTA, neighbors_of, overstatement, releases
from tests.support.rules import mostly_extended

each_rule = pytest.mark.parametrize("rule", COMPOSITIONS, ids=lambda rule: str(rule.name))


@pytest.mark.parametrize("seed", mostly_extended(range(20), *range(6), 11))
def test_a_mix_costs_what_its_worst_case_reveals(seed: int) -> None:
    """Under `pld`, no less than an optimistic estimate, and at most 2% more."""
    ratio = overstatement(seed)
    assert ratio is None or 1 <= ratio <= 1.02


@each_rule
@pytest.mark.parametrize("seed", mostly_extended(range(20), *range(6)))
def test_no_case_of_a_release_costs_more_than_the_release(rule: Composition, seed: int) -> None:
    """A unit that meets one branch, or leaves one for another, loses no more than is charged."""
    neighbors = neighbors_of(seed)
    for release in releases(Random(seed), neighbors):
        whole = rule.total(release.charged(neighbors), DELTA)
        totals = []
        for case in release.cases(neighbors):
            counts: Counter[Guarantee] = Counter()
            for answer, sensitivity in case:
                of_answer = answer.guarantees
                counts[of_answer.guarantee if sensitivity == answer.whole else of_answer[1]] += 1
            totals.append(rule.total(counts, DELTA))
        # The grid of losses depends on all answers.
        assert max(total.epsilon for total in totals) <= whole.epsilon * Fraction(1001, 1000)
        if whole.rho is not None:
            assert max(total.rho or Fraction(0) for total in totals) == whole.rho
