"""Bins as readers see them: in a plan, in tables, and in reports."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from tests.support.cli import Command

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
columns:
  rating: {type: integer, bounds: [1, 5]}
  decile: {type: integer, bounds: [1, 10]}
  day: {type: date, bounds: [2024-03-01, 2024-03-31]}
  age: {type: integer, bounds: [0, 110]}
  change: {type: integer, bounds: [-10, 10]}
  hours: {type: number, bounds: [0, 2], step: 0.5}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: ratings, statistic: histogram, column: rating, bins: {width: 1}, epsilon: 1}
  - {name: deciles, statistic: histogram, column: decile, bins: {width: 1}, epsilon: 1}
  - {name: days, statistic: histogram, column: day, bins: {width: 1}, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: people, statistic: count, by: [{column: age, bins: {width: 10}}], epsilon: 1}
  - {name: changes, statistic: histogram, column: change, bins: {width: 10}, epsilon: 1}
  - {name: hours, statistic: histogram, column: hours, bins: {width: 1}, epsilon: 1}
  - {name: sexes, statistic: histogram, column: sex, epsilon: 1}
"""

DATA = "rating,decile,day,age,change,hours,sex\n5,10,2024-03-31,110,10,2,f\n"

BINS = {
    "ratings": ["1", "2", "3", "4", "5"],
    "deciles": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
    "days": [f"2024-03-{day:02}" for day in range(1, 32)],
    "ages": [
        "0-9", "10-19", "20-29", "30-39", "40-49", "50-59",
        "60-69", "70-79", "80-89", "90-99", "100-109", "110",
    ],
    "changes": ["[-10,-1]", "[0,9]", "10"],
    "hours": ["0.0-0.5", "1.0-1.5", "2.0"],
}  # fmt: skip


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec with a histogram of each kind of column."""
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return path


def test_a_plan_shows_the_first_and_the_last_bin(dpcli: Command, spec: Path) -> None:
    """A reader of the plan sees the bins; statistics with the same bins share a line."""
    done = dpcli("plan", spec)

    assert done.status == 0
    assert "ratings: 5 bins of rating, the first 1, the last 5\n" in done.out
    assert "deciles: 10 bins of decile, the first 1, the last 10\n" in done.out
    assert "days: 31 bins of day, the first 2024-03-01, the last 2024-03-31\n" in done.out
    assert "ages, people: 12 bins of age, the first 0-9, the last 110\n" in done.out
    assert "changes: 3 bins of change, the first [-10,-1], the last 10\n" in done.out
    assert "sexes: " not in done.out


def test_a_plan_lists_bins_in_json(dpcli: Command, spec: Path) -> None:
    """Each statistic has its bins in the plan; one without numbers to bin has none."""
    plan = json.loads(dpcli("plan", spec, "--json").out)
    bins = {statistic["name"]: statistic["bins"] for statistic in plan["statistics"]}

    assert bins["ages"] == [{"column": "age", "count": 12, "first": "0-9", "last": "110"}]
    assert bins["people"] == bins["ages"]
    assert bins["sexes"] == []


def test_a_bin_has_one_label_in_every_format(dpcli: Command, spec: Path, tmp_path: Path) -> None:
    """CSV, Parquet, JSON and HTML have the same labels for the same bins."""
    for ending in ("csv", "parquet"):
        done = dpcli(
            "release", spec, tmp_path / "data.csv", "-q", "-o", tmp_path / f"out.{ending}",
            "--release-id", "one",
            "--report", tmp_path / f"{ending}.json", "--report", tmp_path / f"{ending}.html",
        )  # fmt: skip
        assert done.status == 0, done.err
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    typed = pl.read_parquet(tmp_path / "out.parquet").rows(named=True)
    report = json.loads((tmp_path / "csv.json").read_text(encoding="utf-8"))
    items = {
        statistic["name"]: [cell["item"] for cell in statistic["cells"]]
        for statistic in report["statistics"]
    }
    page = (tmp_path / "csv.html").read_text(encoding="utf-8")

    for name, labels in BINS.items():
        assert [line["item"] for line in lines if line["statistic"] == name] == labels
        assert [line["item"] for line in typed if line["statistic"] == name] == labels
        assert items[name] == labels
        assert all(f">{label}<" in page for label in labels)
    assert [line["age"] for line in lines if line["statistic"] == "people"] == BINS["ages"]


def test_bins_are_groups_of_private_keys_and_of_means(dpcli: Command, tmp_path: Path) -> None:
    """With private keys, bins have the same labels and order as without them."""
    spec, data = tmp_path / "spec.yaml", tmp_path / "data.csv"
    spec.write_text(
        "dpcli: 1\ndataset: d\n"
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 20, delta: 1e-3}}\n"
        "columns:\n  town: {type: category}\n  rating: {type: integer, bounds: [9, 11]}\n"
        "statistics:\n"
        "  - {name: n, statistic: count, by: [town, {column: rating, bins: {width: 1}}],\n"
        "     keys: private, epsilon: 10, delta: 1e-4}\n"
        "  - {name: mean, statistic: mean, column: rating,\n"
        "     by: [town, {column: rating, bins: {width: 1}}], epsilon: 10}\n",
        encoding="utf-8",
    )
    rows = [f"x,{rating}" for rating in (11, 10, 9, 9) for _ in range(50)]
    data.write_text("\n".join(["town,rating", *rows, ""]), encoding="utf-8")
    done = dpcli("release", spec, data, "-q", "-o", tmp_path / "out.csv")
    assert done.status == 0, done.err
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))

    for name in ("n", "mean"):
        keys = [(line["town"], line["rating"]) for line in lines if line["statistic"] == name]
        assert keys == [("x", "9"), ("x", "10"), ("x", "11")]


FILTERED = """\
dpcli: 1
dataset: d
privacy: {unit: {column: who, max_rows: 9, max_groups: 6}, neighbors: add-remove,
  budget: {epsilon: 9}}
columns:
  who: {type: id}
  day: {type: date, bounds: [2005-01-01, 2020-12-31]}
  term: {type: date, bounds: [2018-03-01, 2018-06-30]}
  rating: {type: number, bounds: [0.5, 5], step: 0.5}
derive:
  year: {part: year, of: day}
  month: {part: month, of: day}
  week: {part: week, of: term}
statistics:
  - {name: months, statistic: count, by: [year, month], where: {year: ["2018"]}, epsilon: 1}
  - {name: weeks, statistic: count, by: [week], epsilon: 1}
  - {name: high, statistic: histogram, column: rating, where: {rating: {min: 3.5}}, epsilon: 1}
  - {name: ends, statistic: histogram, column: rating, epsilon: 1,
     where: {not: {rating: {min: 1, max: 4.5}}}}
  - {name: tables, statistic: marginals, columns: [month, rating], ways: [2], epsilon: 1,
     where: {day: {min: 2019-11-01, max: 2019-12-31}, rating: [1, 2]}}
"""
LEFT = {"months": 12, "weeks": 18, "high": 4, "ends": 2, "tables": 4}


def test_impossible_groups_are_neither_planned_nor_published(
    dpcli: Command, tmp_path: Path
) -> None:
    """The plan has as many cells as the table has lines, and a chart the bins that are left."""
    spec, data, report = tmp_path / "s.yaml", tmp_path / "d.csv", tmp_path / "r.json"
    spec.write_text(FILTERED, encoding="utf-8")
    data.write_text("who,day,term,rating\na,2018-05-01,2018-04-01,4\n", encoding="utf-8")
    plan = json.loads(dpcli("plan", spec, "--json").out)
    cells = {entry["name"]: entry["queries"][0]["cells"] for entry in plan["statistics"]}
    done = dpcli("release", spec, data, "-q", "-o", tmp_path / "o.csv", "--report", report)
    assert done.status == 0, done.err
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        lines = Counter(line["statistic"] for line in csv.DictReader(file))
    stated = json.loads(report.read_text(encoding="utf-8"))["statistics"]
    axes = {entry["name"]: entry["layout"].get("axis") for entry in stated}

    assert cells == lines == LEFT
    assert axes["high"]["starts"] == ["3.5", "4.0", "4.5", "5.0"]
    assert axes["high"]["end"] == "5.0"
    # A chart has no gaps between its bins.
    assert axes["ends"] is None
