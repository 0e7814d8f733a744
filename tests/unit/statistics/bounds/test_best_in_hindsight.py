"""Sums within chosen bounds and limits have errors close to those of the best ones in hindsight.

A tenth of epsilon 1 chooses, and the rest is for the sum. Errors are roots of the mean square over
the noise of the choice and of the sum, with the bias from what is clamped or left out. The best
bound or limit is any number, with all of epsilon for the sum; twice its error is usual. Outermost
bounds and limits are a hundred times too wide: theirs would be a hundred times as large.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcli.data.candidate_bounds import GRID_KINDS
from dpcli.data.number_columns import NumberColumn
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import Floats, Ints
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice, LimitChoice
from dpcli.statistics.bounds.rule import BoundsGrid
from dpcli.statistics.design import NoisyAnswer

pytestmark = pytest.mark.extended

CHOICE, SUM = Fraction(1, 10), Fraction(9, 10)
"""The epsilon that chooses, and that of the sum."""

SIZE, FACTOR, RUNS = 10_000, 100, 20
STEP = Fraction(1, 100)

Generator = np.random.Generator

VALUES: dict[str, Callable[[Generator], Floats]] = {
    "uniform": lambda g: g.uniform(0, 100, SIZE),
    "lognormal": lambda g: g.lognormal(3, 1, SIZE),
    "ages": lambda g: np.clip(g.normal(40, 20, SIZE), 0, 105).round(),
    "visits": lambda g: g.poisson(3, SIZE).astype(float),
    "normal": lambda g: g.normal(0, 10, SIZE),
}

ROWS: dict[str, Callable[[Generator], Floats]] = {
    "one": lambda g: np.ones(SIZE),
    "poisson": lambda g: 1 + g.poisson(3, SIZE).astype(float),
    "lognormal": lambda g: g.lognormal(1.5, 1, SIZE),
    "zipf": lambda g: g.zipf(2.5, SIZE).astype(float),
}


def rung_above(number: float) -> float:
    """The least of 1, 2, 5, 10, and so on that is not below a number."""
    power = 10.0 ** np.floor(np.log10(max(number, 0.01)))
    return float(next(first * power for first in (1, 2, 5, 10) if first * power >= number))


def noisy(counts: Ints, generator: Generator) -> NoisyAnswer:
    """Counts with the noise of a choice; fast, and from a generator with a seed."""
    drawn = generator.geometric(1 - np.exp(-float(CHOICE)), (2, len(counts)))
    return NoisyAnswer(counts + drawn[0] - drawn[1], DiscreteLaplace(1 / CHOICE))


def taken(numbers: Floats, limits: Floats) -> Floats:
    """What clamping to each limit takes from numbers above zero, in order."""
    totals = np.concatenate([[0.0], np.cumsum(numbers)])
    within = np.searchsorted(numbers, limits, side="right")
    return np.asarray(totals[-1] - totals[within] - limits * (len(numbers) - within))


def squared_errors(sides: list[Floats], bounds: Floats, epsilon: Fraction) -> Floats:
    """The squared error of a sum for each pair of bounds below and above zero.

    What clamping takes from both sides is added up: that it may cancel by chance does not count.
    """
    bias = sum(taken(side, bounds[:, place]) for place, side in enumerate(sides))
    return np.asarray(bias**2 + 2 * (bounds.max(axis=1) / float(epsilon)) ** 2)


@pytest.mark.parametrize("shape", VALUES)
def test_chosen_bounds_are_close_to_the_best_ones(shape: str) -> None:
    """Sums have at most ten times the error of the best bounds, and no less than best rungs."""
    generator = np.random.default_rng(2)
    values = VALUES[shape](generator)
    # Both sides, as distances from zero in order.
    sides = [np.sort(-values[values < 0]), np.sort(values[values >= 0])]
    widest = max(rung_above(side[-1]) * FACTOR if len(side) else 0.0 for side in sides)
    low = -int(widest / STEP) if len(sides[0]) else 0
    column = NumberColumn("x", STEP, (low, int(widest / STEP)))
    choice = BoundsChoice(BoundsGrid(column, GRID_KINDS[0]), Fraction(1), CHOICE)
    steps = np.clip(np.rint(values / float(STEP)), *column.limits)
    places = np.searchsorted(choice.grid.axis.starts, steps, side="right") - 1
    counts = np.bincount(places, minlength=len(choice.grid.axis))
    found = [choice.choose(noisy(counts, generator)) for _ in range(RUNS)]
    chosen = np.array([(-float(one.lower), float(one.upper)) for one in found])
    # The best bound is the same on both sides: the noise of a sum follows from the larger one.
    far = np.sort(np.abs(values))
    single = np.concatenate([far[-5000:], np.geomspace(far[-1] / 1e5, far[-1], 500)])
    best = squared_errors(sides, np.stack([single, single], axis=1), CHOICE + SUM).min()
    ends = ([-rung for rung in choice.grid.below], choice.grid.above)
    pairs = list(product(*([0, *rungs] for rungs in ends)))
    rungs = squared_errors(sides, np.array(pairs) * float(STEP), SUM).min()
    error = squared_errors(sides, chosen, SUM).mean()

    assert best < rungs <= error < 100 * best


@pytest.mark.parametrize("shape", ROWS)
def test_a_chosen_limit_is_close_to_the_best_one(shape: str) -> None:
    """Sums of values that are half of their bound have at most ten times the best error."""
    generator = np.random.default_rng(2)
    rows = np.sort(np.maximum(np.rint(ROWS[shape](generator)), 1))
    up_to = int(rung_above(rows[-1])) * FACTOR
    choice = LimitChoice(BoundsGrid(LimitChoice.rows(up_to), GRID_KINDS[0]), Fraction(1), CHOICE)
    places = np.searchsorted(choice.grid.axis.starts, rows, side="right") - 1
    counts = np.bincount(places, minlength=len(choice.grid.axis))
    found = [float(choice.choose(noisy(counts, generator)).upper) for _ in range(RUNS)]

    def error(limits: Floats, epsilon: Fraction) -> Floats:
        return (taken(rows, limits) / 2) ** 2 + 2 * (limits / float(epsilon)) ** 2

    best = error(np.unique(np.geomspace(1, rows[-1], 2_000).round()), CHOICE + SUM).min()
    assert error(np.array(found), SUM).mean() < 100 * best
