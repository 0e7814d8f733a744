"""Releases of many rows, and hand-written polars queries for the same exact aggregates.

    python -m tests.benchmarks.workloads PATH ROWS

makes the file: skewed ids of a fifth as many people, incomes with cents, and 1% empty cells. Only a
release adds noise, charges a ledger and writes a report. `tests/benchmarks/guard.py` compares them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

REGIONS = [f"region-{number:02}" for number in range(20)]
KINDS = [f"k{number:02}" for number in range(16)]

PART = 2_000_000
"""Rows that are made together."""

SPEC = f"""
dpcli: 1
dataset: benchmark
privacy:
  unit: UNIT
  neighbors: add-remove
  budget: {{epsilon: 1000}}
columns:
  person: {{type: id}}
  region: {{type: category, values: [{", ".join(REGIONS)}]}}
  sex: {{type: category, values: [f, m]}}
  kind: {{type: category, values: [{", ".join(KINDS)}]}}
  income: {{type: number, bounds: [0, 200000], step: 0.01}}
  age: {{type: integer, bounds: [0, 109]}}
  hours: {{type: integer, bounds: [0, 80]}}
statistics:
"""

TOTALS = """
  - {name: rows, statistic: count, epsilon: 1}
  - {name: total, statistic: sum, column: income, epsilon: 1}
  - {name: average, statistic: mean, column: income, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: kinds, statistic: count, by: [kind], epsilon: 1}
"""

GROUPS = """
  - {name: rows, statistic: count, by: [region, sex], epsilon: 1}
  - {name: average, statistic: mean, column: income, by: [region, sex], epsilon: 1}
  - {name: hours, statistic: sum, column: hours, by: [region, sex], epsilon: 1}
"""

LABELS = """
  - {name: rows, statistic: count, by: [region, sex], epsilon: 1}
  - {name: hours, statistic: sum, column: hours, by: [region, sex], epsilon: 1}
"""

QUARTILES = """
  - name: quartiles
    statistic: quantile
    column: income
    quantiles: [0.25, 0.5, 0.75]
    candidates: {step: 500}
    epsilon: 1
"""

SCAN = """
import polars as pl
types = {"person": pl.Int64, "region": pl.String, "sex": pl.String, "kind": pl.String,
    "income": pl.Float64, "age": pl.Int64, "hours": pl.Int64, "day": pl.String}
table = pl.scan_csv(PATH, schema=types)
income, hours = pl.col("income").clip(0, 200_000), pl.col("hours").clip(0, 80)
"""

ALL = """
bin = (pl.col("age").clip(0, 109) // 10).alias("bin")
print(table.group_by(bin, "kind").agg(pl.len(), income.sum(), income.count().alias("n"))
    .collect(engine="streaming"))
"""

BY_GROUP = """
print(table.group_by("region", "sex").agg(pl.len(), income.mean(), hours.sum())
    .collect(engine="streaming"))
"""

FIRST_ROWS = """
values = ("region", "sex", "income", "hours")
table = table.group_by("person").agg(pl.col(values).head(3)).explode(values)
"""

BY_CANDIDATE = """
print(table.group_by((income / 500).ceil().alias("candidate")).len().sort("candidate")
    .collect(engine="streaming"))
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """A unit of privacy, statistics, and the query in polars that answers the same."""

    unit: str
    statistics: str
    query: str

    def commands(self, spec: Path, data: Path) -> tuple[list[str], list[str]]:
        """The release, whose spec is written to `spec`, and the query."""
        spec.write_text(SPEC.replace("UNIT", self.unit) + self.statistics, encoding="utf-8")
        release = ["-m", "dpcli", "release", str(spec), str(data), "-q"]
        query = ["-c", f"PATH = {str(data)!r}\n{SCAN}{self.query}"]
        return [sys.executable, *release], [sys.executable, *query]


PEOPLE = "{column: person, max_rows: 3}"

WORKLOADS = {
    "totals": Workload("row", TOTALS, ALL),
    "groups": Workload("row", GROUPS, BY_GROUP),
    "people": Workload(PEOPLE, GROUPS, FIRST_ROWS + BY_GROUP),
    "people, two sums": Workload(PEOPLE, LABELS, FIRST_ROWS + BY_GROUP),
    "quartiles": Workload("row", QUARTILES, BY_CANDIDATE),
}


def make_file(path: Path, rows: int) -> None:
    """Eight columns of invented rows, some 55 bytes each."""
    # Programs that time others stay small: a started process inherits their peak memory.
    import numpy as np
    import polars as pl

    draw, people = np.random.default_rng(1), max(1, rows // 5)
    with path.open("wb") as file:
        for start in range(0, rows, PART):
            count = min(PART, rows - start)
            cents = pl.Series(draw.integers(0, 25_000_000, count))
            known = pl.Series(draw.random(count) >= 0.01)
            days = pl.Series(draw.integers(15_000, 20_000, count)).cast(pl.Int32)
            table = {
                "person": (people * draw.random(count) ** 2).astype(np.int64) + 10**9,
                "region": pl.Series(REGIONS).gather(draw.integers(0, len(REGIONS), count)),
                "sex": pl.Series(["f", "m"]).gather(draw.integers(0, 2, count)),
                "kind": pl.Series(KINDS).gather(draw.integers(0, len(KINDS), count)),
                "income": (cents / 100).set(~known, None),
                "age": draw.integers(0, 110, count),
                "hours": draw.integers(0, 100, count),
                "day": days.cast(pl.Date),
            }
            made = pl.DataFrame(table)
            made.write_csv(file, include_header=not start, float_precision=2)


if __name__ == "__main__":
    make_file(Path(sys.argv[1]), int(sys.argv[2]))
