"""Losses are compared part by part."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.privacy.loss import Loss

LIMIT = Loss(Fraction(1), Fraction(1, 10**6), Fraction(1, 2))


@pytest.mark.parametrize("parts", [(2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_a_loss_is_within_a_limit_only_if_each_part_is(parts: tuple[int, int, int]) -> None:
    """An account whose delta is spent pays for no further delta, whatever epsilon is left."""
    epsilon, delta, rho = parts
    loss = Loss(LIMIT.epsilon * epsilon, LIMIT.delta * delta, Fraction(rho, 2))
    assert LIMIT.within(LIMIT) and not loss.within(LIMIT)
