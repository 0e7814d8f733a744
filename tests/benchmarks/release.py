"""A release of many rows against one fused polars query, as whole processes.

`python tests/benchmarks/release.py [ROWS] [FOLDER]` makes the file (10 million rows,
about 560 MB, unless told otherwise) once, and prints the ratio. Both sides compute
the same exact aggregates; only one of them adds noise and writes a report.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.timing import in_turn, show

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


def main() -> None:
    """Make what is missing, run both sides in turn, print the ratio."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir())
    data = folder / f"dpcli-benchmark-{rows}.csv"
    if not data.exists():
        make_file(data, rows)
    spec = folder / "dpcli-benchmark.yaml"
    for ledger in folder.glob("dpcli-ledger.sqlite*"):
        ledger.unlink()
    regions = ", ".join(f"region-{number}" for number in range(16))
    spec.write_text(SPEC.replace("REGIONS", regions))
    code = FUSED.replace("PATH", repr(str(data)))
    print(f"{rows} rows, {data.stat().st_size / 1e6:.0f} MB")
    commands = {
        "fused polars": [sys.executable, "-c", code],
        "dpcli release": [sys.executable, "-m", "dpcli", "release", str(spec), str(data)],
    }
    show(in_turn(commands, rounds=5), base="fused polars")


if __name__ == "__main__":
    main()
