"""Estimates of columns with immense bounds or tiny steps stay exact."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import integer_array
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.means.mean import Mean
from dpcli.statistics.means.spread import Variance
from dpcli.statistics.postprocessing import Clamp, Integer, apply_steps, flags
from tests.support.objectives import ADDED


@pytest.mark.parametrize("power", [*range(6, 19), 30])
def test_means_of_any_bounds_are_exact(power: int) -> None:
    """With bounds of any size, a mean is the exact quotient, and its interval is ordered."""
    column = NumberColumn("x", Fraction(1, 100), bounds=(0, 10**power))
    inputs, noise = Inputs("m", column), DiscreteLaplace(Fraction(1, 10**6))
    rows, sums = [3, 7, 0, -5, 10**6], [1, -(10**power), 5, 5, 10**5]
    given = [NoisyAnswer(integer_array(sums), noise), NoisyAnswer(integer_array(rows), noise)]
    design, *_ = Mean().designs(inputs, ADDED)
    means = design.estimate(given, Fraction(19, 20))
    middle = 10**power // 2

    for mean, count, total in zip(means, rows, sums, strict=True):
        exact = (Fraction(total, max(count, 1)) + middle) / 100
        exact = min(max(exact, Fraction(0)), Fraction(10**power, 100))
        assert mean.value is not None
        assert abs(mean.value - exact) <= Fraction(1, 10**10)
        assert mean.lower is not None and mean.upper is not None
        assert mean.lower <= mean.upper
    assert len(flags(means)) == len(rows)


@pytest.mark.parametrize("power", [6, 12, 18, 19, 30])
def test_steps_of_post_take_numbers_of_any_size(power: int) -> None:
    """Steps of `post` and variances work for numbers that do not fit a machine word."""
    column = IntegerColumn("x", bounds=(0, 10**power))
    noise = DiscreteLaplace(Fraction(3))
    given = [
        NoisyAnswer(integer_array([size]), noise) for size in (50, 10**power, -(10 ** (2 * power)))
    ]
    designs = Variance().designs(Inputs("v", column), ADDED)
    (design,) = (one for one in designs if len(one.queries) == len(given))
    found = design.estimate(given, Fraction(19, 20))
    steps = [Clamp(Fraction(1, 3), Fraction(10 ** (2 * power), 3)), Integer()]
    (one,) = apply_steps(steps, found, lambda same, _: same)

    assert one.value is not None
    assert one.value.denominator == 1
    assert 0 <= one.value <= Fraction(10 ** (2 * power), 3) + 1
