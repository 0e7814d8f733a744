"""Sums with a chosen limit against the best limit: `python -m tests.benchmarks.limits [RUNS]`.

Twelve shapes of rows per person, with 1,000 to 100,000 people, and outermost limits that are 1, 10
and 100 times too wide. A tenth of epsilon 1 chooses the limit, the rest is for the sum of a column
whose values are half or a tenth of their bound on average. The error is the root of the mean square
over the noise of the counts and of the sum, with the bias from rows that are left out. It is
divided by the error of the best limit in hindsight: any number, on a ladder or not, and all of
epsilon for the sum. It prints a table and asserts nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpcli.statistics.bounds.chosen_bounds import LimitChoice
from dpcli.statistics.bounds.rule import GRID_KINDS, BoundsGrid, GridKind
from tests.benchmarks.ladders import (
    CHOICE,
    FACTORS,
    SUM,
    Floats,
    Generator,
    Ints,
    noisy,
    print_head,
    print_levels,
    print_line,
    rung_above,
)

SIZES = (1_000, 10_000, 100_000)
MOST = 1_000_000

SHAPES: dict[str, Callable[[Generator, int], Ints | Floats]] = {
    "one": lambda g, n: np.ones(n),
    "poisson 3": lambda g, n: 1 + g.poisson(3, n),
    "geometric 5": lambda g, n: g.geometric(1 / 5, n),
    "geometric 50": lambda g, n: g.geometric(1 / 50, n),
    "uniform 1 to 12": lambda g, n: g.integers(1, 13, n),
    "lognormal 0.5": lambda g, n: g.lognormal(1.5, 0.5, n),
    "lognormal 1": lambda g, n: g.lognormal(1.5, 1, n),
    "lognormal 1.5": lambda g, n: g.lognormal(1.5, 1.5, n),
    "zipf 3": lambda g, n: g.zipf(3, n),
    "zipf 2.5": lambda g, n: g.zipf(2.5, n),
    "zipf 2": lambda g, n: np.minimum(g.zipf(2, n), 10_000),
    "1% have 100": lambda g, n: np.where(g.random(n) < 0.99, g.integers(1, 4, n), 100),
}


def squared_errors(rows: Ints, limits: Ints, epsilon: Fraction, mean: float) -> Floats:
    """The squared error of a sum of values up to one, with this mean, for each limit."""
    ordered = np.sort(rows)
    totals = np.concatenate([[0], np.cumsum(ordered)])
    within = np.searchsorted(ordered, limits, side="right")
    left_out = totals[-1] - totals[within] - limits * (len(rows) - within)
    return np.asarray((mean * left_out) ** 2 + 2 * (limits / float(epsilon)) ** 2)


def ratio(
    rows: Ints, kind: GridKind, factor: int, mean: float, generator: Generator, runs: int
) -> float:
    """How much larger the error of the sum is than with the best limit."""
    up_to = min(max(int(rung_above(float(rows.max()))) * factor, 2), MOST)
    choice = LimitChoice(BoundsGrid(LimitChoice.rows(up_to), kind), Fraction(1), CHOICE)
    starts = choice.grid.axis.starts
    places = np.searchsorted(starts, rows, side="right") - 1
    counts = np.bincount(places, minlength=len(starts))
    chosen = np.empty(runs, np.int64)
    for run in range(runs):
        chosen[run] = int(choice.choose(noisy(counts, generator)).upper)
    every = np.unique(np.geomspace(1, rows.max(), 2_000).astype(np.int64))
    best = squared_errors(rows, every, CHOICE + SUM, mean).min()
    return float(np.sqrt(squared_errors(rows, chosen, SUM, mean).mean() / best))


def main() -> None:
    """A line for each shape, mean and ladder: the ratio for each number of people; a summary."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for kind in GRID_KINDS[:2]:
        generator, ratios = np.random.default_rng(1), []
        title = f"{kind.name}: error of a sum over that with the best limit in hindsight"
        print_head(title, f"{'rows per person':18}{'mean':>6}", SIZES)
        for name, shape in SHAPES.items():
            for mean in (0.5, 0.1):
                line = []
                for size in SIZES:
                    rows = np.maximum(np.rint(shape(generator, size)), 1).astype(np.int64)
                    line += [ratio(rows, kind, factor, mean, generator, runs) for factor in FACTORS]
                ratios += line
                print_line(f"{name:18}{mean:>6}", line)
        print_levels(ratios)


if __name__ == "__main__":
    main()
