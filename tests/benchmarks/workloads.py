"""Releases of many rows, and hand-written polars queries for the same exact aggregates.

    python -m tests.benchmarks.workloads PATH ROWS [SHAPE]

makes the file: skewed ids of a fifth as many people, incomes with cents, and 1% empty cells. A
shape is another kind of file with the same columns. Only a release adds noise, charges a ledger and
writes a report. `tests/benchmarks/guard.py` compares them.

    python -m tests.benchmarks.workloads --compare PATH ROUNDS [SHAPE [NAME ...]]

prints wall times, processor times and memory of workloads, each in turn with its query.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.timing import in_turn, show

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

VALUES = """
  - {name: earned, statistic: mean, column: earned, by: [home, gender], epsilon: 1}
people:
  home: {last: region, by: age}
  gender: {first: sex, by: age}
  earned: {sum: income, bounds: [0, 2000000], step: 0.01}
"""

QUARTILES = """
  - name: quartiles
    statistic: quantile
    column: income
    quantiles: [0.25, 0.5, 0.75]
    candidates: {step: 500}
    epsilon: 1
"""

TYPES = {
    "person": "Int64", "region": "String", "sex": "String", "kind": "String",
    "income": "Float64", "age": "Int64", "hours": "Int64", "day": "String",
}  # fmt: skip
"""The columns of a file, as polars reads them."""

SCAN = """
import polars as pl
table = READ
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

COUNTED_ROWS = """
table = table.filter(pl.col("person").cum_count().over("person") <= 3)
"""

RANDOM_ROWS = """
table = table.filter(pl.int_range(pl.len()).shuffle().over("person") < 3)
"""

BY_PERSON = """
one = pl.col("region").sort_by("age").last(), pl.col("sex").sort_by("age").first(), income.sum()
people = table.group_by("person").agg(one).with_columns(pl.col("income").clip(0, 2_000_000))
print(people.group_by("region", "sex").agg(pl.len(), pl.col("income").mean())
    .collect(engine="streaming"))
"""

BY_CANDIDATE = """
print(table.group_by((income / 500).ceil().alias("candidate")).len().sort("candidate")
    .collect(engine="streaming"))
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of file: SQL of the columns that differ, from the usual ones and the number `row`.

    `types` are those of columns that polars does not read as `TYPES` says.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    quoted: bool = False
    suffix: str = ".csv"

    def scan(self, data: Path) -> str:
        """The lines of Python that open a file of this shape with polars."""
        types = ", ".join(f"{name!r}: pl.{kind}" for name, kind in (TYPES | self.types).items())
        csv, parquet = f"pl.scan_csv(PATH, schema={{{types}}})", "pl.scan_parquet(PATH)"
        read = csv if self.suffix == ".csv" else parquet
        return f"PATH = {str(data)!r}\n" + SCAN.replace("READ", read)


MORE = [f"more{number:02}" for number in range(52)]

USUAL = Shape()

SHAPES = {
    "usual": USUAL,
    "whole numbers": Shape(
        {"person": f"row % PEOPLE + {10**9}", "income": "COALESCE(CAST(income AS BIGINT), 0)"}
    ),
    "text ids": Shape(
        {"person": "CONCAT('00000000-0000-4000-8000-00', CAST(person AS VARCHAR))"},
        {"person": "String"},
    ),
    "one row a person": Shape({"person": f"row + {10**9}"}),
    "quoted": Shape(quoted=True),
    "60 columns": Shape(
        {name: f"(row + {number}) % 1000" for number, name in enumerate(MORE)},
        dict.fromkeys(MORE, "Int64"),
    ),
    "parquet": Shape(suffix=".parquet"),
}


@dataclass(frozen=True, slots=True)
class Workload:
    """A unit of privacy, statistics, and the query in polars that answers the same."""

    unit: str
    statistics: str
    query: str

    def commands(self, spec: Path, data: Path, shape: Shape = USUAL) -> tuple[list[str], list[str]]:
        """The release, whose spec is written to `spec`, and the query."""
        spec.write_text(SPEC.replace("UNIT", self.unit) + self.statistics, encoding="utf-8")
        release = ["-m", "dpcli", "release", str(spec), str(data), "-q"]
        return [sys.executable, *release], [sys.executable, "-c", shape.scan(data) + self.query]


PEOPLE = "{column: person, max_rows: 3}"

WORKLOADS = {
    "totals": Workload("row", TOTALS, ALL),
    "groups": Workload("row", GROUPS, BY_GROUP),
    "people": Workload(PEOPLE, GROUPS, FIRST_ROWS + BY_GROUP),
    "people, counted rows": Workload(PEOPLE, GROUPS, COUNTED_ROWS + BY_GROUP),
    "people, random rows": Workload(PEOPLE, GROUPS, RANDOM_ROWS + BY_GROUP),
    "people, two sums": Workload(PEOPLE, LABELS, FIRST_ROWS + BY_GROUP),
    "values of people": Workload("{column: person}", VALUES, BY_PERSON),
    "quartiles": Workload("row", QUARTILES, BY_CANDIDATE),
}


def make_file(path: Path, rows: int, shape: Shape = USUAL) -> None:
    """Eight columns of invented rows, some 55 bytes each."""
    # Programs that time others stay small: a started process inherits their peak memory.
    import numpy as np
    import polars as pl

    draw, people = np.random.default_rng(1), max(1, rows // 5)
    parts = []
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
            changes = (
                pl.sql_expr(f"{text.replace('PEOPLE', str(people))} AS {name}")
                for name, text in shape.columns.items()
            )
            made = pl.DataFrame(table).with_row_index("row", start)
            made = made.with_columns(*changes).drop("row")
            if shape.suffix == ".csv":
                made.write_csv(
                    file,
                    include_header=not start,
                    float_precision=2,
                    quote_style="always" if shape.quoted else "necessary",
                )
            else:
                parts.append(made)
        if parts:
            pl.concat(parts).write_parquet(file)


def compare(data: Path, rounds: int, shape: str = "usual", *names: str) -> None:
    """Print the times of workloads on a file, and of their queries in polars."""
    with tempfile.TemporaryDirectory(prefix="dpcli-") as folder:
        for number, name in enumerate(names or WORKLOADS):
            # A ledger of its own, next to the spec.
            (place := Path(folder) / str(number)).mkdir()
            release, query = WORKLOADS[name].commands(place / "spec.yaml", data, SHAPES[shape])
            print(f"{name}, {shape}")
            show(in_turn({"polars": query, "dpcli": release}, rounds), "polars")


def main(arguments: Sequence[str]) -> None:
    """Make a file, or compare workloads on one."""
    if arguments[0] == "--compare":
        path, rounds, *more = arguments[1:]
        compare(Path(path).resolve(), int(rounds), *more)
    else:
        path, rows, *more = arguments
        make_file(Path(path), int(rows), SHAPES[" ".join(more) or "usual"])


if __name__ == "__main__":
    main(sys.argv[1:])
