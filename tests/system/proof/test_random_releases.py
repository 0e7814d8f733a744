"""Releases of random specs: with people, hierarchies and any composition, all are consistent."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import pytest

from dpcli.proof import verify
from tests.support.cli import Command
from tests.support.random_specs import random_spec
from tests.support.specs_of_people import random_spec_of_people

ROWS = 60

SERIES = """\
dpcli: 1
dataset: days
privacy:
  unit: {column: who, max_rows: 2}
  neighbors: add-remove
  budget: {epsilon: 50, delta: 1e-6, window: 3}
quality: none
columns:
  who: {type: id}
  day: {type: date, bounds: [2024-01-01, 2024-12-31]}
  sex: {type: category, values: [f, m]}
period: {column: day}
statistics:
  - {name: rows, statistic: count, by: [sex], series: {every: day, show: [period, to_date]},
     epsilon: 1}
"""


def _compositions(text: str, random: Random) -> str:
    """The spec with one of the compositions, and a delta that is not too large for them."""
    rule = random.choice(("sequential", "zcdp", "pld", "advanced"))
    budget = f"composition: {rule}, budget: {{epsilon: 100, delta: 1e-6}}"
    return text.replace("budget: {epsilon: 100, delta: 0.1}", budget)


@pytest.mark.extended
@pytest.mark.parametrize("make", [random_spec, random_spec_of_people])
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_consistent(make: type, first: int, dpcli: Command, tmp_path: Path) -> None:
    """The report of each spec that can be released is consistent, and its entries recomputed."""
    released, entries, unchecked = 0, 0, list[str]()
    for seed in range(first, first + 20):
        random, folder = Random(seed), tmp_path / str(seed)
        text, cells = make(seed)
        folder.mkdir()
        (folder / "spec.yaml").write_text(_compositions(text, random), encoding="utf-8")
        with (folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
            rows = [[random.choice(choices) for choices in cells.values()] for _ in range(ROWS)]
            csv.writer(file).writerows([[*cells], *rows])
        report, layout = folder / "report.json", random.choice(("long", "wide"))
        words = ["-o", folder / "out.csv", "--release-id", "r", "--report", report]
        outcome = dpcli(
            "release", folder / "spec.yaml", folder / "data.csv", *words, "--layout", layout
        )
        if outcome.status:
            continue
        tables = [(path.name, path.read_bytes()) for path in folder.glob("out*.csv")]
        findings = verify.verify(report.read_bytes(), tables)
        assert findings.wrong == [], seed
        released, entries = released + 1, entries + len(findings.entries)
        unchecked += findings.unchecked.values()
    assert released
    assert len(unchecked) <= entries / 10, unchecked


def test_series(dpcli: Command, tmp_path: Path) -> None:
    """Days of a series are consistent; what a window cost before, only the ledger says."""
    (tmp_path / "spec.yaml").write_text(SERIES, encoding="utf-8")
    for day in ("2024-01-01", "2024-01-02"):
        data, table, report = (tmp_path / f"{day}{end}" for end in (".csv", ".t.csv", ".json"))
        data.write_text(f"who,day,sex\np,{day},f\nq,{day},m\n", encoding="utf-8")
        words = ["--period", day, "-o", table, "--release-id", day, "--report", report]
        dpcli("release", tmp_path / "spec.yaml", data, *words).succeeded()
        findings = verify.verify(report.read_bytes(), [("table", table.read_bytes())])
        assert findings.wrong == []
        assert findings.unchecked.keys() <= {"account"}
