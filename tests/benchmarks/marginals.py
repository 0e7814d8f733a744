"""Errors of marginal tables through the real pipeline: `python -m tests.benchmarks.marginals`.

It answers an empty file 2,000 times, or as often as an argument says, and prints the root mean
square of the errors of all published cells: measured, expected, and that of a table for each
combination of columns with equal shares, after agreement. It asserts nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod, sqrt

import numpy as np

from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.confidential import Confidential
from dpcli.specification.load import parse_central_spec, read_central_spec
from dpcli.statistics.tables.shares import Ways, expected_square, wanted_tables
from tests.support.cli import ROOT
from tests.support.estimates import estimates_of

RUNS = 2000

SHAPES = [
    ((2,) * 4, (2,)),
    ((2,) * 6, (2,)),
    ((2,) * 8, (2,)),
    ((5,) * 4, (2,)),
    ((10,) * 3, (2,)),
    ((2, 10, 50), (2,)),
    ((100, 100, 3), (2,)),
    ((2, 3, 5, 7, 11), (2,)),
    ((3, 5, 2, 4), (1,)),
    ((2,) * 6, (1, 2)),
    ((5,) * 4, (1, 2)),
    ((10,) * 3, (1, 2)),
    ((2, 3, 5, 7, 11), (1, 2)),
    ((2, 3, 5, 7), (1, 2, 3)),
]
"""Numbers of labels, and how many columns the tables have."""

LOSSES = ["epsilon: 1", "mechanism: gaussian, epsilon: 1, delta: 1e-6"]


def plan_of(sizes: Sequence[int], ways: Ways, loss: str) -> CentralPlan:
    """The plan of all tables of this number of these columns."""
    columns = "".join(
        f"  c{place}: {{type: category, values: {[f'v{n}' for n in range(size)]}}}\n"
        for place, size in enumerate(sizes)
    )
    names = ", ".join(f"c{place}" for place in range(len(sizes)))
    return make_plan(
        parse_central_spec(
            f"dpcli: 1\ndataset: d\ncolumns:\n{columns}"
            "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9, delta: 1e-3}}\n"
            "statistics:\n"
            f"  - {{name: t, statistic: marginals, columns: [{names}], ways: {list(ways)},\n"
            f"     {loss}}}\n",
            "benchmark",
        )
    )


def line(title: str, plan: CentralPlan, runs: int) -> str:
    """The measured tables of the first statistic, and the errors."""
    planned = plan.statistics[0]
    inputs, parts = planned.entry.inputs, planned.queries
    deviations = [
        sqrt(part.calibrated.noise.discrete_variance) * float(part.weighted.step) for part in parts
    ]
    expected = planned.design.expected_error(deviations)
    sizes, tables = (
        tuple(map(len, inputs.margins)),
        wanted_tables(len(inputs.margins), inputs.ways),
    )
    # The variance of a cell if all of the loss were for one table, and each gets an equal part.
    power = 1 if planned.mechanism.needs_delta else 2
    whole = min(
        float(one.calibrated.noise.variance / one.calibrated.sensitivity.l2_squared)
        * float(one.weighted.weight) ** power
        for one in parts
    )
    equal = [(table, whole * len(tables) ** power) for table in tables]
    cells = sum(prod(sizes[place] for place in table) for table in tables)
    before = sqrt(expected_square(sizes, inputs.ways, equal) / cells)
    squares = 0.0
    for _ in range(runs):
        empty = [
            Confidential(
                integer_array(np.zeros(query.cells or 0, np.int64)), query, plan.spec.privacy.unit
            )
            for query in plan.engine_queries
        ]
        estimates = estimates_of(plan, empty)[0].estimates
        squares += float(((estimates.value.astype(float) * float(estimates.step)) ** 2).mean())
    found = sqrt(squares / runs)
    return (
        f"{title:<34}{len(parts):>4}{found:>10.3f}{expected:>10.3f}{before:>10.3f}"
        f"{before / found:>8.2f}"
    )


def main() -> None:
    """One line for `specs/tables.yaml`, and one for each shape and mechanism."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(f"{'tables':<34}{'n':>4}{'RMSE':>10}{'expected':>10}{'equal':>10}{'ratio':>8}")
    print(line("specs/tables.yaml", make_plan(read_central_spec(ROOT / "specs/tables.yaml")), runs))
    for loss in LOSSES:
        for sizes, ways in SHAPES:
            noise = "gaussian" if "gaussian" in loss else "laplace"
            title = f"{noise} {'x'.join(map(str, sizes))}, {' and '.join(map(str, ways))}-way"
            print(line(title, plan_of(sizes, ways, loss), max(1, runs // 20)))


if __name__ == "__main__":
    main()
