"""Numbers of groups that have few rows by their noisy number of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli import Ledger, load_spec, release

SPEC = """
dpcli: 1
dataset: groups
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 100, delta: 1e-3}}}}
quality: none
columns:
  region: {{type: category, values: [north, south]}}
  size: {{type: integer, bounds: [1, 5]}}
  other: {{type: integer, bounds: [1, 5]}}
  flag: {{type: boolean}}
statistics:
  - {{name: s, {fields}, by: [region], post: [{{suppress_below: 40}}], epsilon: 10}}
"""

FIELDS = (
    "statistic: mean, column: size",
    "statistic: mean, column: size, mechanism: gaussian, delta: 1e-6",
    "statistic: proportion, column: flag",
    "statistic: ratio, numerator: size, denominator: rows",
    "statistic: ratio, numerator: flag, denominator: rows",
    "statistic: variance, column: size",
    "statistic: std, column: size, mechanism: gaussian, delta: 1e-6",
    "statistic: describe, column: size",
    "statistic: covariance, columns: [size, other]",
    "statistic: correlation, columns: [size, other]",
    "statistic: median, column: size",
    "statistic: median, column: size, mechanism: permute_and_flip",
    "statistic: quantile, column: size, quantiles: [0.2, 0.8]",
    "statistic: count",
    "statistic: count, percent: total",
    "statistic: count, rate: {per: 1000, population: {north: 500, south: 70}}",
)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("fields", FIELDS)
def test_numbers_of_small_groups_are_suppressed(
    fields: str, neighbors: str, tmp_path: Path
) -> None:
    """With little noise, numbers of 20 rows are left out and those of 60 are shown."""
    rows = [("north", 60), ("south", 20)]
    lines = [
        f"{region},{1 + at % 5},{1 + at % 3},{at % 2 == 0}".lower()
        for region, count in rows
        for at in range(count)
    ]
    data = tmp_path / "data.csv"
    data.write_text("\n".join(["region,size,other,flag", *lines]) + "\n", encoding="utf-8")
    spec = load_spec(text=SPEC.format(fields=fields, neighbors=neighbors))
    with Ledger.create(tmp_path / "l.sqlite") as ledger:
        table = release(spec, data, ledger=ledger, release_id="r")["s"]
    flags = {
        region: set(table.filter(table["region"] == region)["flag"].to_list())
        for region in ("north", "south")
    }

    assert flags["south"] == {"suppressed"}
    assert "suppressed" not in flags["north"]
