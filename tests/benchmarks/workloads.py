"""Releases of many rows against hand-written polars queries, as whole processes in turn.

    python tests/benchmarks/workloads.py [ROWS] [FOLDER] [NAME ...]

makes the file (10 million rows, about 560 MB, of a fifth as many people) once, and prints the
ratios of all workloads, or of those named. Both sides compute the same exact aggregates; only
one of them adds noise, charges a ledger and writes a report.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.timing import in_turn, show

REGIONS, ROUNDS, PART = 40, 5, 5_000_000

SPEC = f"""
dpcli: 1
dataset: benchmark
privacy:
  unit: UNIT
  neighbors: add-remove
  budget: {{epsilon: 1000}}
columns:
  person: {{type: id}}
  age: {{type: integer, bounds: [18, 98]}}
  income: {{type: integer, bounds: [0, 200000]}}
  region: {{type: category, values: [{", ".join(f"region-{place}" for place in range(REGIONS))}]}}
statistics:
"""

TOTALS = """
  - {name: people, statistic: count, epsilon: 1}
  - {name: total, statistic: sum, column: income, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
"""

GROUPS = """
  - {name: rows, statistic: count, by: [region], epsilon: 1}
  - {name: average, statistic: mean, column: income, by: [region], epsilon: 1}
  - {name: total, statistic: sum, column: income, by: [region], epsilon: 1}
"""

QUARTILES = """
  - {name: q, statistic: quantile, column: income, quantiles: [0.25, 0.5, 0.75], epsilon: 1}
"""

SCAN = """
import polars as pl
names = ("person", "age", "sex", "region", "income", "hours", "day", "note")
types = dict.fromkeys(names, pl.Int64) | {"region": pl.String, "day": pl.String}
table = pl.scan_csv(PATH, schema=types)
income = pl.col("income").clip(0, 200_000)
"""

BY_REGION = """
print(table.group_by("region")
    .agg(pl.len(), income.mean().alias("mean"), income.sum()).collect(engine="streaming"))
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """A spec, and the queries that answer the same."""

    spec: str
    queries: dict[str, str]


WORKLOADS = {
    "totals": Workload(
        SPEC.replace("UNIT", "row") + TOTALS,
        {
            "polars": """
place = ((pl.col("age").clip(18, 98) - 18) // 10).clip(0, 7).alias("bin")
totals = table.group_by(place).agg(pl.len(), income.sum()).collect(engine="streaming")
print(totals, totals.sum())
"""
        },
    ),
    "groups": Workload(SPEC.replace("UNIT", "row") + GROUPS, {"polars": BY_REGION}),
    "people": Workload(
        SPEC.replace("UNIT", "{column: person, max_rows: 3}") + GROUPS,
        {
            "polars, random rows": """
import numpy as np
rows = table.select("person", "region", "income").collect(engine="streaming")
rows = rows.with_columns(priority=pl.Series(np.random.default_rng().random(rows.height)))
table = rows.lazy().filter(pl.col("priority").rank("ordinal").over("person") <= 3)
"""
            + BY_REGION,
            "polars, first rows": """
values = ("region", "income")
table = table.group_by("person").agg(pl.col(values).head(3)).explode(values)
"""
            + BY_REGION,
        },
    ),
    "quartiles": Workload(
        SPEC.replace("UNIT", "row") + QUARTILES,
        {
            "polars, counts": """
print(table.group_by(income).len().sort("income").collect(engine="streaming"))
""",
            "polars, quantiles": """
print(table.select(income.quantile(q).alias(str(q)) for q in (0.25, 0.5, 0.75))
    .collect(engine="streaming"))
""",
        },
    ),
}


def make_file(path: Path, rows: int) -> None:
    """Eight columns of invented rows, some 56 bytes each."""
    generator = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, rows, PART):
            count = min(PART, rows - start)
            days = pl.Series(generator.integers(15_000, 20_000, count)).cast(pl.Int32)
            places = pl.Series(generator.integers(0, REGIONS, count)).cast(pl.String)
            table = {
                "person": generator.integers(10**9, 10**9 + max(1, rows // 5), count),
                "age": generator.integers(0, 110, count),
                "sex": generator.integers(0, 2, count),
                "region": "region-" + places,
                "income": generator.integers(0, 250_000, count),
                "hours": generator.integers(0, 100, count),
                "day": days.cast(pl.Date),
                "note": generator.integers(10**7, 10**8, count),
            }
            pl.DataFrame(table).write_csv(file, include_header=not start)


def commands_of(name: str, folder: Path, data: Path) -> dict[str, list[str]]:
    """A release of one workload as `dpcli`, and its queries by their names."""
    workload, spec = WORKLOADS[name], folder / f"dpcli-{name}.yaml"
    spec.write_text(workload.spec, encoding="utf-8")
    for ledger in folder.glob("dpcli-ledger.sqlite*"):
        ledger.unlink()
    path = f"PATH = {str(data)!r}\n"
    release = ["-m", "dpcli", "release", str(spec), str(data)]
    scripts = {query: ["-c", path + SCAN + text] for query, text in workload.queries.items()}
    return {
        label: [sys.executable, *words] for label, words in {"dpcli": release, **scripts}.items()
    }


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir())
    data = folder / f"dpcli-workloads-{rows}.csv"
    if not data.exists():
        make_file(data, rows)
    print(f"{rows} rows, {data.stat().st_size / 1e6:.0f} MB")
    for name in sys.argv[3:] or WORKLOADS:
        timings = in_turn(commands_of(name, folder, data), ROUNDS)
        print(f"\n{name}")
        for query in WORKLOADS[name].queries:
            show({label: timings[label] for label in (query, "dpcli")}, query)
