"""Searches end on the stated side of the place where a condition becomes true."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.numeric.search import min_scale, search_max, search_min


@pytest.mark.parametrize("start", [0, 1, 7, 1000, 1001])
def test_whole_numbers_are_found_exactly(start: int) -> None:
    """The least number that passes and the greatest that does not differ by one."""
    assert search_min(lambda number: number > start, -1, 1) == start + 1
    assert search_max(lambda number: number <= start, 0, 1) == start


@pytest.mark.parametrize("root", [Fraction(1, 3), Fraction(7), Fraction(10**9, 7)])
def test_each_result_was_tried_itself(root: Fraction) -> None:
    """A result from above passes, one from below still holds, and both are close."""

    def close(low: Fraction, high: Fraction) -> bool:
        return high - low <= low / 1000

    above = search_min(lambda value: value >= root, Fraction(0), Fraction(1), close)
    below = search_max(lambda value: value < root, Fraction(0), Fraction(1), close)

    assert root <= above <= root * Fraction(1001, 1000) + Fraction(1, 1000)
    assert root * Fraction(998, 1000) <= below < root
    assert root <= min_scale(lambda scale: scale < root, Fraction(1, 5)) < root * 2
