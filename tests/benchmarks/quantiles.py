"""Quantiles of many rows against the query in polars that makes the candidate histogram.

    python tests/benchmarks/quantiles.py [ROWS] [FOLDER]

Both sides count how many rows have each of the 200,001 values of a grid, in one pass; only
one of them chooses quantiles by these counts, and charges for them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.timing import against_polars

SPEC = """
dpcli: 1
dataset: benchmark
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1000}}
columns:
  income: {type: integer, bounds: [0, 200000]}
statistics:
  - {name: incomes, statistic: quantile, column: income, epsilon: 1,
     quantiles: [0.05, 0.25, 0.5, 0.75, 0.95]}
"""

FUSED = """
import polars as pl
income = pl.col("income").cast(pl.Int64, strict=False).clip(0, 200_000)
print(
    pl.scan_csv(PATH, infer_schema=False)
    .group_by(income.alias("at")).agg(pl.len())
    .sort("at")
    .collect(engine="streaming")
)
"""


def make_file(path: Path, rows: int) -> None:
    """Log-normal incomes, and a second column that is not read."""
    draw = np.random.default_rng(5)
    pl.DataFrame(
        {"income": np.exp(draw.normal(10, 0.8, rows)).astype(np.int64), "person": np.arange(rows)}
    ).write_csv(path)


if __name__ == "__main__":
    against_polars("quantiles", make_file, SPEC, FUSED)
