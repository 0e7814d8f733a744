"""Releases of cells in declared forms against hand-written polars queries, as whole processes.

    python tests/benchmarks/formats.py [ROWS] [FOLDER] [NAME ...]

makes a file (10 million rows, about 380 MB) with dates as `%d/%m/%Y` and prices as `"$1,234.50"`,
and prints ratios of seconds of both sides, in turn. Both compute the same sums of a product.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.timing import in_turn, show
from tests.benchmarks.workloads import PART

ROUNDS = 3

SPEC = """
dpcli: 1
dataset: benchmark
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1000}}
columns:
  day: {type: date, format: "%d/%m/%Y", bounds: [2011-01-01, 2024-12-31]}
  quantity: {type: integer, bounds: [0, 20]}
  price: {from: COLUMN, type: number, bounds: [0, 5000], step: 0.01, thousands: ","AFFIXES}
derive:
  revenue: {product: [quantity, price]STEP}
  year: {part: year, of: day}
statistics:
  - {name: rows, statistic: count, by: [year], epsilon: 1}
  - {name: revenue, statistic: sum, column: revenue, by: [year], epsilon: 1}
"""

QUERY = """
import polars as pl
names = ("day", "quantity", "price", "dollars", "region")
table = pl.scan_csv(PATH, schema=dict.fromkeys(names, pl.String) | {"quantity": pl.Int64})
year = pl.col("day").str.to_date("%d/%m/%Y", strict=False).dt.year()
price = pl.col("COLUMN").str.replace_all(",", "", literal=True)CUT.cast(pl.Decimal(18, 2))
revenue = (pl.col("quantity").clip(0, 20) * price.clip(0, 5000))ROUNDED
print(table.group_by(year.alias("year")).agg(pl.len(), revenue.sum().alias("revenue"))
    .collect(engine="streaming"))
"""

FORMS = {
    "thousands": {"COLUMN": "price", "AFFIXES": "", "STEP": "", "CUT": "", "ROUNDED": ""},
    "dollars": {
        "COLUMN": "dollars",
        "AFFIXES": ', affixes: ["$"]',
        "STEP": "",
        "CUT": '.str.strip_prefix("$")',
        "ROUNDED": "",
    },
    "rounded": {
        "COLUMN": "price",
        "AFFIXES": "",
        "STEP": ", step: 1",
        "CUT": "",
        "ROUNDED": ".round(0)",
    },
}
"""What stands for the words in capitals, in the spec and in the query."""


def make_file(path: Path, rows: int) -> None:
    """Five columns of invented rows, some 38 bytes each."""
    generator = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, rows, PART):
            count = min(PART, rows - start)
            cents = pl.Series("cents", generator.integers(0, 500_000, count))
            days = pl.Series("day", generator.integers(15_000, 20_000, count)).cast(pl.Int32)
            whole, rest = pl.col("cents") // 100, (pl.col("cents") % 100 + 100).cast(pl.String)
            hundreds = (whole % 1000 + 1000).cast(pl.String).str.slice(1)
            grouped = pl.concat_str(whole // 1000, pl.lit(","), hundreds)
            price = pl.concat_str(
                pl.when(whole >= 1000).then(grouped).otherwise(whole.cast(pl.String)),
                pl.lit("."),
                rest.str.slice(1),
            )
            pl.DataFrame([cents, days]).select(
                pl.col("day").cast(pl.Date).dt.to_string("%d/%m/%Y"),
                pl.Series("quantity", generator.integers(0, 25, count)),
                price.alias("price"),
                ("$" + price).alias("dollars"),
                pl.Series("region", generator.integers(0, 40, count)),
            ).write_csv(file, include_header=not start)


def commands_of(name: str, folder: Path, data: Path) -> dict[str, list[str]]:
    """A release of one form as `dpcli`, and the same in polars."""
    text, query = SPEC, QUERY
    for word, meaning in FORMS[name].items():
        text, query = text.replace(word, meaning), query.replace(word, meaning)
    spec = folder / f"dpcli-{name}.yaml"
    spec.write_text(text, encoding="utf-8")
    for ledger in folder.glob("dpcli-ledger.sqlite*"):
        ledger.unlink()
    return {
        "polars": [sys.executable, "-c", f"PATH = {str(data)!r}\n{query}"],
        "dpcli": [sys.executable, "-m", "dpcli", "release", str(spec), str(data)],
    }


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir())
    data = folder / f"dpcli-formats-{rows}.csv"
    if not data.exists():
        make_file(data, rows)
    print(f"{rows} rows, {data.stat().st_size / 1e6:.0f} MB")
    for name in sys.argv[3:] or FORMS:
        print(f"\n{name}")
        show(in_turn(commands_of(name, folder, data), ROUNDS), "polars")
