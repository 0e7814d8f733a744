"""Survey weights and samples from the command line: tables, reports and pages."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from dpcli.report.formats import report_schema
from tests.support.cli import Command, reported, table

SPEC = """
dpcli: 1
dataset: survey
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
columns:
  region: {type: category, values: [north, south, nowhere]}
  age: {type: integer, bounds: [0, 100]}
  w: {type: number, bounds: [0.5, 2], step: 0.1}
sample: {design: simple-random, population: 50000, size: 1500}
statistics:
  - {name: people, statistic: count, by: [region], post: [{suppress_below: 20}], epsilon: 5}
  - {name: ages, statistic: histogram, column: age, bins: {width: 50}, epsilon: 5}
  - {name: age, statistic: mean, column: age, by: [region], raw: true, epsilon: 5}
  - {name: north, statistic: proportion, column: region, values: [north], epsilon: 5}
  - {name: total, statistic: sum, column: age, epsilon: 5}
  - {name: weighted, statistic: count, weight: w, by: [region], epsilon: 5}
  - {name: heavy, statistic: mean, column: age, weight: w, epsilon: 5}
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A folder with a spec and its file."""
    random = Random(4)
    lines = ["region,age,w\n"]
    for number in range(1500):
        region = "north" if number < 900 else "south"
        lines.append(f"{region},{random.randrange(101)},{random.uniform(0.5, 4):.2f}\n")
    (tmp_path / "s.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "d.csv").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def test_lines_of_the_population_are_in_every_output(survey: Path, dpcli: Command) -> None:
    """The table, the reports, the page and the summary show both intervals, and what they are."""
    reports = {ending: survey / f"r.{ending}" for ending in ("json", "md", "html")}
    named = [word for path in reports.values() for word in ("--report", path)]
    done = dpcli(
        "release", survey / "s.yaml", survey / "d.csv", "-o", survey / "o.csv", *named
    ).succeeded()
    rows = table(survey / "o.csv")
    by_name = {(row["statistic"], row["region"], row["item"]): row for row in rows}

    north = by_name["people.population", "north", ""]
    assert float(north["lower"]) < 30_000 < float(north["upper"])
    assert by_name["people.population", "nowhere", ""]["flag"] == "suppressed"
    assert by_name["age.population", "nowhere", ""]["flag"] == "no-information"
    file, population = by_name["age", "south", ""], by_name["age.population", "south", ""]
    assert file["value"] == population["value"]
    north = by_name["north.population", "", ""]
    assert float(north["lower"]) < 0.6 < float(north["upper"])
    assert by_name["north", "", ""]["value"] == north["value"]
    total = by_name["total.population", "", ""]
    assert float(total["lower"]) < 50 * 50_000 < float(total["upper"])
    assert float(population["lower"]) < float(file["lower"])
    assert float(file["upper"]) < float(population["upper"])
    assert not [
        name for name, _, _ in by_name if name in ("weighted.population", "heavy.population")
    ]
    report = reported(reports["json"])
    assert Draft202012Validator(json.loads(report_schema())).is_valid(report)
    assert sum(len(statistic["cells"]) for statistic in report["statistics"]) == len(rows)
    assert report["sample"]["population"] == 50000
    for text in (reports["md"].read_text("utf-8"), reports["html"].read_text("utf-8")):
        assert "over samples and noise" in text
        assert "it may be known who is in the sample" in text
    assert "in the population" in reports["html"].read_text("utf-8")
    assert "contain the error of the sample" in " ".join(done.err.split())


def test_other_layouts_have_the_lines_of_the_population(survey: Path, dpcli: Command) -> None:
    """A wide table has columns for the population, and Parquet has the same numbers as CSV."""
    spec, data = survey / "s.yaml", survey / "d.csv"
    dpcli(
        "release", spec, data, "--release-id", "a", "--layout", "wide", "-o", survey / "w.csv"
    ).succeeded()
    wide = table(survey / "w.region.csv")
    assert {"age.population", "age.population_lower", "people.population"} <= set(wide[0])
    dpcli("release", spec, data, "--release-id", "b", "-o", survey / "o.parquet").succeeded()
    frame = pl.read_parquet(survey / "o.parquet")
    assert frame.filter(pl.col("statistic") == "age.population").height == 3


def test_a_plan_and_a_simulation_know_of_the_sample(survey: Path, dpcli: Command) -> None:
    """The plan says what is estimated, and what squares cost; a simulation runs."""
    plan = dpcli("plan", survey / "s.yaml", "--details").succeeded()
    text = " ".join(plan.out.split())
    assert "squares of age" in text
    assert "people, ages, age, north, total: the lines NAME.population are estimates" in text
    assert "weighted, heavy: only the number of the file is published" in text
    assert "each row counts by its w, from 0.5 to 2.0; weights outside are clamped" in text
    stated = dpcli("plan", survey / "s.yaml", "--json").json
    assert [one.get("population", False) for one in stated["statistics"]] == [True] * 5 + [
        False
    ] * 2
    assert stated["sample"]["size"] == 1500
    dpcli("simulate", survey / "s.yaml", "--rows", "800", "--runs", "20").succeeded()
