"""A release of many rows against one fused polars query, as whole processes.

`python tests/benchmarks/release.py [ROWS] [FOLDER]` makes the file (10 million rows,
about 560 MB, unless told otherwise) once, and prints the ratio. Both sides compute
the same exact aggregates; only one of them adds noise and writes a report.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.timing import against_polars, regions

SPEC = """
dpcli: 1
dataset: benchmark
privacy:
  unit: row
  neighbors: add-remove
  budget: {epsilon: 1000}
columns:
  age: {type: integer, bounds: [18, 98]}
  income: {type: integer, bounds: [0, 200000]}
  region: {type: category, values: [REGIONS]}
statistics:
  - {name: people, statistic: count, epsilon: 1}
  - {name: total, statistic: sum, column: income, epsilon: 1}
  - {name: average, statistic: mean, column: income, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: regions, statistic: count, by: [region], epsilon: 1}
"""

FUSED = """
import polars as pl
types = {"person_id": pl.Int64, "age": pl.Int64, "sex": pl.Int64, "region": pl.String,
         "income": pl.Int64, "hours": pl.Int64, "date": pl.String, "note": pl.String}
table = (
    pl.scan_csv(PATH, schema=types)
    .with_columns(bin=((pl.col("age").clip(18, 98) - 18) // 10).clip(0, 7))
    .group_by("bin", "region")
    .agg(pl.len(), pl.col("income").clip(0, 200000).sum(), known=pl.col("income").count())
    .collect(engine="streaming")
)
print(table["len"].sum(), table["income"].sum(), table["income"].sum() / table["known"].sum())
print(table.group_by("bin").agg(pl.col("len").sum()))
print(table.group_by("region").agg(pl.col("len").sum()))
"""


def make_file(path: Path, rows: int) -> None:
    """Eight columns of invented people, some 55 bytes a row."""
    generator = np.random.default_rng(1)
    days = pl.Series(generator.integers(15_000, 20_000, rows)).cast(pl.Int32).cast(pl.Date)
    pl.DataFrame(
        {
            "person_id": generator.integers(10**9, 2 * 10**9, rows),
            "age": generator.integers(0, 110, rows),
            "sex": generator.integers(0, 2, rows),
            "region": "region-" + pl.Series(generator.integers(0, 16, rows)).cast(pl.String),
            "income": generator.integers(0, 250_000, rows),
            "hours": generator.integers(0, 100, rows),
            "date": days,
            "note": pl.Series(generator.integers(10**7, 10**8, rows)).cast(pl.String),
        }
    ).write_csv(path)


if __name__ == "__main__":
    against_polars("benchmark", make_file, SPEC.replace("REGIONS", regions(16)), FUSED)
