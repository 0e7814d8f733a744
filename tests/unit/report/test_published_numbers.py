"""Published digits: arrays and frames write the same digits as exact rationals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from dpcli.numeric.arrays import SAFE_INTEGER, integer_array, np
from dpcli.numeric.exact import decimal_text
from dpcli.report.numbers import number_texts
from dpcli.statistics.estimates import Estimates

STEPS = (Fraction(1), Fraction(1, 100), Fraction(3, 8), Fraction(7), Fraction(1, 3 * 10**9))
SIZES = (1, 10, 10**6, SAFE_INTEGER // 2, SAFE_INTEGER, 10**30)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("places", [0, 1, 2, 9, 30])
def test_a_column_of_texts_equals_the_text_of_each_number(step: Fraction, places: int) -> None:
    """In a column, halves, negative, tiny and huge numbers have the same digits as alone."""
    random = Random(places)
    for size in SIZES:
        numbers = [0, 1, -1, size, -size, *(random.randint(-size, size) for _ in range(200))]
        estimates = replace(Estimates.chosen(integer_array(numbers)), step=step, decimals=(places,))
        texts = number_texts(estimates, estimates.value)
        assert texts.to_list() == [decimal_text(number * step, places) for number in numbers]


def test_items_keep_their_own_decimals() -> None:
    """Numbers of several items are written group by group, each item with its decimals."""
    chosen = Estimates.chosen(integer_array([15, 15, -15, -15]))
    estimates = replace(chosen, step=Fraction(1, 10), decimals=(0, 2))

    assert number_texts(estimates, estimates.value).to_list() == ["2", "1.50", "-2", "-1.50"]


def test_integers_never_overflow() -> None:
    """Numbers beyond the safe range become Python integers; small numbers become machine words."""
    for number in (SAFE_INTEGER - 1, 1 - SAFE_INTEGER, SAFE_INTEGER, -SAFE_INTEGER, 1 << 64):
        array = integer_array(np.array([number], object))
        assert array.tolist() == [number]
        assert (array.dtype == np.int64) == (abs(number) < SAFE_INTEGER)
