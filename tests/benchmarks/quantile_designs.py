"""Missed ranks of nine quantiles, from counts and by choices: `python -m` this [RUNS].

For the same public facts, rows of different shapes. It prints a line for each, and asserts nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dpcli.numeric.arrays import Array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.quantiles.recursion import QuantilesQuery, choose_quantiles
from tests.support.quantile_coverage import Setting, found_classes

QUANTILES = [Fraction(part, 10) for part in range(1, 10)]

SIZES = [(1001, 3_000), (1001, 30_000), (10_001, 3_000), (10_001, 30_000), (100_001, 30_000)]
"""Candidates and rows."""

SHAPES = ["distinct", "even", "incomes", "half rounded", "tied"]


def planned(candidates: int, rest: str = "") -> PlannedStatistic:
    """The plan of nine quantiles among this number of candidates, at epsilon 1."""
    return make_plan(
        parse_central_spec(
            f"""
dpcli: 1
dataset: benchmark
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 9}}}}
columns: {{x: {{type: integer, bounds: [0, {candidates - 1}]}}}}
statistics:
  - {{name: q, statistic: quantile, column: x, quantiles: {list(map(float, QUANTILES))},
     epsilon: 1{rest}}}
""",
            "benchmark",
        )
    ).statistics[0]


def missed(counts: Array, chosen: Sequence[Array]) -> float:
    """The mean of the ranks between each quantile and the value that is chosen for it."""
    up_to, errors = np.cumsum(counts), []
    for quantile, index in zip(QUANTILES, chosen, strict=True):
        wanted = float(quantile) * up_to[-1]
        below = up_to[index] - counts[index]
        errors.append(np.maximum(0, np.maximum(below - wanted, wanted - up_to[index])))
    return float(np.mean(errors))


def line(shape: str, candidates: int, rows: int, runs: int) -> str:
    """The missed ranks by both designs, and what the plan takes."""
    counts = Setting(shape, rows, len(QUANTILES), candidates).counts()
    by_counts = planned(candidates, ", mechanism: laplace")
    found = found_classes(counts, runs, by_counts.noises, QUANTILES, Fraction(19, 20))
    read = missed(counts, [one.index for one in found])

    choice = planned(candidates, ", mechanism: permute_and_flip").queries[0]
    query = choice.weighted.query
    assert isinstance(query, QuantilesQuery)
    groups = np.tile(counts, (runs, 1))
    chosen = choose_quantiles(choice.calibrated.noise, groups, query).reshape(runs, -1)
    picked = missed(counts, list(chosen.T))
    taken = "choices" if planned(candidates).design.chooses else "counts"
    return f"{candidates:10,}{rows:8,}  {shape:14}{read:8.2f}{picked:9.2f}  {taken}"


def main(runs: int) -> None:
    """Print a line for each setting in which the shape is possible."""
    print(f"{'candidates':>10}{'rows':>8}  {'shape':14}{'counts':>8}{'choices':>9}  default")
    for (candidates, rows), shape in product(SIZES, SHAPES):
        if shape != "distinct" or rows <= candidates:
            print(line(shape, candidates, rows, runs), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
