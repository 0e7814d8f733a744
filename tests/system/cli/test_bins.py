"""Bins as readers see them: in a plan, in tables, and in reports."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.support.cli import Command, reported, table, written

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
columns:
  day: {type: date, bounds: [2024-03-01, 2024-03-31]}
  age: {type: integer, bounds: [0, 110]}
  change: {type: integer, bounds: [-10, 10]}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: days, statistic: histogram, column: day, bins: {width: 1}, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 10}, epsilon: 1}
  - {name: people, statistic: count, by: [{column: age, bins: {width: 10}}], epsilon: 1}
  - {name: changes, statistic: histogram, column: change, bins: {width: 10}, epsilon: 1}
  - {name: sexes, statistic: histogram, column: sex, epsilon: 1}
"""


def test_a_plan_shows_the_bins(dpcli: Command, tmp_path: Path) -> None:
    """Many bins of one width are described by the first and the last, others are listed."""
    spec, _ = written(tmp_path, SPEC)
    shown = dpcli("plan", spec).succeeded().out
    stated = dpcli("plan", spec, "--json").json["statistics"]
    bins = {statistic["name"]: statistic["bins"] for statistic in stated}

    assert "; 31 bins of day from 2024-03-01 to 2024-03-31; " in shown
    assert shown.count("; 12 bins of age from 0-9 to 110; ") == 2
    assert "; 3 bins of change: [-10,-1], " in shown
    assert "bins of sex" not in shown
    assert bins["ages"] == [{"column": "age", "count": 12, "first": "0-9", "last": "110"}]
    assert bins["people"] == bins["ages"] and bins["sexes"] == []


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
    dpcli("release", spec, data, "-q", "-o", tmp_path / "out.csv").succeeded()
    lines = table(tmp_path / "out.csv")

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
    plan = dpcli("plan", spec, "--json").json
    cells = {entry["name"]: entry["queries"][0]["cells"] for entry in plan["statistics"]}
    dpcli("release", spec, data, "-q", "-o", tmp_path / "o.csv", "--report", report).succeeded()
    lines = Counter(line["statistic"] for line in table(tmp_path / "o.csv"))
    stated = reported(report)["statistics"]
    axes = {entry["name"]: entry["layout"].get("axis") for entry in stated}

    assert cells == lines == LEFT
    assert axes["high"]["starts"] == ["3.5", "4.0", "4.5", "5.0"]
    assert axes["high"]["end"] == "5.0"
    # A chart has no gaps between its bins.
    assert axes["ends"] is None
