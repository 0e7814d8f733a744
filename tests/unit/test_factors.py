"""Distances from the middle of the bounds, in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.data.number_columns import IntegerColumn
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor


@pytest.mark.parametrize("bounds", [(0, 1), (-3, 0), (1, 5), (-2, 7), (4, 4)])
def test_distances_are_exact_on_both_sides(bounds: tuple[int, int]) -> None:
    """The bounds are at the same distance from the middle, in the unit of the column."""
    low, high = bounds
    factor = Factor.centered(IntegerColumn("x", Fraction(1, 4), bounds))
    assert [limit * factor.step for limit in factor.limits] == [
        Fraction(low - high, 8),
        Fraction(high - low, 8),
    ]
    assert factor.origin == Fraction(low + high, 8)


def test_a_distance_from_a_whole_step_is_in_whole_steps() -> None:
    """Only a middle between two steps needs half steps."""
    times = [Factor.centered(IntegerColumn("x", bounds=(0, high))).times for high in (4, 5)]
    assert times == [1, 2]


@pytest.mark.parametrize("bounds", [(0, 1), (0, 5), (-3, 3)])
@pytest.mark.parametrize("exponent", [1, 2, 3, 4])
def test_limits_of_powers_are_those_of_all_values(bounds: tuple[int, int], exponent: int) -> None:
    """No value gives more or less, and some value gives each limit."""
    factor = Factor.centered(IntegerColumn("x", bounds=bounds))
    values = [
        (factor.times * value - factor.offset) ** exponent
        for value in range(bounds[0], bounds[1] + 1)
    ]
    assert factor.power_limits(exponent) == (min(values), max(values))


def test_a_row_of_zero_or_one_changes_a_centered_sum_by_a_half() -> None:
    """The noise of a mean of zeros and ones is not doubled by a middle that is rounded."""
    column = IntegerColumn("x", bounds=(0, 1))
    factor = Factor.centered(column)
    contribution = LinearQuery(factors=(factor,)).row_contribution
    assert contribution.max_abs * factor.step == Fraction(1, 2)
