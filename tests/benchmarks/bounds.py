"""Sums within chosen bounds against the best bounds: `python -m tests.benchmarks.bounds [RUNS]`.

Twenty shapes of data, with 1,000 to a million rows, and outermost bounds that are 1, 10 and 100
times too wide. A tenth of epsilon 1 chooses the bounds, the rest is for the sum. The error is the
root of the mean square over the noise of the counts and of the sum, with the bias from clamping. It
is divided by the error of the best bounds in hindsight: any numbers, on a ladder or not, and all of
epsilon for the sum. The ratio below it is to the best rungs of the ladder in hindsight, with the
same epsilon for the sum: what a better rule could gain. It prints tables and asserts nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np

from dpcli.data.number_columns import NumberColumn
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice
from dpcli.statistics.bounds.rule import GRID_KINDS, BoundsGrid, GridKind
from tests.benchmarks.ladders import (
    CHOICE,
    FACTORS,
    SUM,
    Floats,
    Generator,
    noisy,
    print_head,
    print_levels,
    print_line,
    rung_above,
)

SIZES = (1_000, 10_000, 100_000, 1_000_000)
STEP = Fraction(1, 100)

SHAPES: dict[str, Callable[[Generator, int], Floats]] = {
    "lognormal 0.5": lambda g, n: g.lognormal(3, 0.5, n),
    "lognormal 1": lambda g, n: g.lognormal(3, 1, n),
    "lognormal 1.5": lambda g, n: g.lognormal(3, 1.5, n),
    "lognormal 2": lambda g, n: g.lognormal(3, 2, n),
    "exponential": lambda g, n: g.exponential(50, n),
    "gamma": lambda g, n: g.gamma(2, 20, n),
    "pareto 3": lambda g, n: 10 + 10 * g.pareto(3, n),
    "pareto 2": lambda g, n: 10 + 10 * g.pareto(2, n),
    "pareto 1.2": lambda g, n: 10 + 10 * g.pareto(1.2, n),
    "uniform": lambda g, n: g.uniform(0, 100, n),
    "uniform, 60 to 100": lambda g, n: g.uniform(60, 100, n),
    "ages": lambda g, n: np.clip(g.normal(40, 20, n), 0, 105).round(),
    "incomes": lambda g, n: np.where(
        g.random(n) < 0.97, g.lognormal(10.3, 0.6, n), 150_000 * (1 + g.pareto(1.8, n))
    ),
    "zero-inflated": lambda g, n: np.where(g.random(n) < 0.8, 0, g.lognormal(4, 1, n)),
    "1% are far": lambda g, n: np.where(
        g.random(n) < 0.99, g.uniform(0, 10, n), g.uniform(0, 1000, n)
    ),
    "visits": lambda g, n: g.poisson(3, n).astype(float),
    "normal": lambda g, n: g.normal(0, 10, n),
    "normal, shifted": lambda g, n: g.normal(20, 30, n),
    "laplace": lambda g, n: g.laplace(0, 10, n),
    "two modes": lambda g, n: np.where(g.random(n) < 0.5, g.normal(30, 5, n), g.normal(500, 50, n)),
}


def squared_errors(sides: list[Floats], bounds: Floats, epsilon: Fraction) -> Floats:
    """The squared error of a sum for each pair of bounds below and above zero.

    What clamping takes from both sides is added up: that it may cancel by chance does not count.
    """
    bias = np.zeros(len(bounds))
    for side, values in enumerate(sides):
        totals = np.concatenate([[0.0], np.cumsum(values)])
        within = np.searchsorted(values, bounds[:, side], side="right")
        bias += totals[-1] - totals[within] - bounds[:, side] * (len(values) - within)
    return np.asarray(bias**2 + 2 * (bounds.max(axis=1) / float(epsilon)) ** 2)


def ratios(
    values: Floats, kind: GridKind, factor: int, generator: Generator, runs: int
) -> tuple[float, float]:
    """How much larger the error of the sum is than with the best bounds, and the best rungs."""
    # Both sides, as distances from zero in order.
    sides = [np.sort(-values[values < 0]), np.sort(values[values >= 0])]
    most = [rung_above(side[-1]) * factor if len(side) else 0.0 for side in sides]
    widest = max(most)
    low = -int(widest / STEP) if len(sides[0]) else 0
    column = NumberColumn("x", STEP, (low, int(widest / STEP)))
    choice = BoundsChoice(BoundsGrid(column, kind), Fraction(1), CHOICE)
    steps = np.clip(np.rint(values / float(STEP)), *column.limits)
    places = np.searchsorted(choice.grid.axis.starts, steps, side="right") - 1
    counts = np.bincount(places, minlength=len(choice.grid.axis))
    chosen = np.empty((runs, 2))
    for run in range(runs):
        bounds = choice.choose(noisy(counts, generator))
        chosen[run] = -float(bounds.lower), float(bounds.upper)
    # The best bound is the same on both sides: the noise of a sum follows from the larger one.
    far = np.sort(np.abs(values))
    single = np.concatenate(
        [far[-5000:], np.geomspace(max(far[-1], 1) / 1e5, max(far[-1], 1), 500)]
    )
    best = squared_errors(sides, np.stack([single, single], axis=1), CHOICE + SUM).min()
    ends = ([-of_candidates for of_candidates in choice.grid.below], choice.grid.above)
    pairs = list(product(*([0, *candidates] for candidates in ends)))
    of_candidates = squared_errors(sides, np.array(pairs) * float(STEP), SUM).min()
    error = squared_errors(sides, chosen, SUM).mean()
    return float(np.sqrt(error / best)), float(np.sqrt(error / of_candidates))


def main() -> None:
    """Two lines for each shape and ladder, a ratio for each number of rows, and the summaries."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for kind in GRID_KINDS[:2]:
        generator = np.random.default_rng(1)
        title = (
            f"{kind.name}: error of a sum over that with the best bounds, and rungs, in hindsight"
        )
        print_head(title, f"{'shape':20}", SIZES)
        against_bounds, against_rungs = [], []
        for name, shape in SHAPES.items():
            line = []
            for size in SIZES:
                values = shape(generator, size)
                line += [ratios(values, kind, factor, generator, runs) for factor in FACTORS]
            bounds, candidates = (list(one) for one in zip(*line, strict=True))
            print_line(f"{name:20}", bounds)
            print_line(f"{'  rungs':20}", candidates)
            against_bounds += bounds
            against_rungs += candidates
        print_levels(against_bounds)
        print_levels(against_rungs)


if __name__ == "__main__":
    main()
