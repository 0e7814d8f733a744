"""A release about people with many rows against one fused polars query.

`python tests/benchmarks/people.py [ROWS] [FOLDER]` makes the file (10 million rows of
about 2 million people unless told otherwise) once, and prints the ratio. Both sides
keep three rows of each person: polars the first ones, dpcli some drawn by lot.
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
dataset: benchmark-people
privacy:
  unit: {column: person_id, max_rows: 3}
  neighbors: add-remove
  budget: {epsilon: 1000}
columns:
  person_id: {type: id}
  income: {type: integer, bounds: [0, 200000]}
  hours: {type: integer, bounds: [0, 80]}
  region: {type: category, values: [REGIONS]}
statistics:
  - {name: rows, statistic: count, by: [region], epsilon: 1}
  - {name: average, statistic: mean, column: income, by: [region], epsilon: 1}
  - {name: hours, statistic: sum, column: hours, by: [region], epsilon: 1}
"""

FUSED = """
import polars as pl
types = {"person_id": pl.Int64, "age": pl.Int64, "region": pl.String, "income": pl.Int64,
         "hours": pl.Int64, "date": pl.String, "note": pl.String}
values = ("region", "income", "hours")
print(
    pl.scan_csv(PATH, schema=types)
    .group_by("person_id")
    .agg(pl.col(values).head(3))
    .explode(values)
    .group_by("region")
    .agg(pl.len(), pl.col("income").clip(0, 200000).mean(), pl.col("hours").clip(0, 80).sum())
    .collect(engine="streaming")
)
"""

PART = 5_000_000


def make_file(path: Path, rows: int) -> None:
    """Seven columns of invented rows, five for each person, some 52 bytes a row."""
    generator = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, rows, PART):
            count = min(PART, rows - start)
            days = pl.Series(generator.integers(15_000, 20_000, count)).cast(pl.Int32)
            table = pl.DataFrame(
                {
                    "person_id": generator.integers(10**8, 10**8 + rows // 5, count),
                    "age": generator.integers(0, 110, count),
                    "region": "region-"
                    + pl.Series(generator.integers(0, 40, count)).cast(pl.String),
                    "income": generator.integers(0, 250_000, count),
                    "hours": generator.integers(0, 100, count),
                    "date": days.cast(pl.Date),
                    "note": pl.Series(generator.integers(10**7, 10**8, count)).cast(pl.String),
                }
            )
            table.write_csv(file, include_header=not start)


if __name__ == "__main__":
    against_polars("people", make_file, SPEC.replace("REGIONS", regions(40)), FUSED)
