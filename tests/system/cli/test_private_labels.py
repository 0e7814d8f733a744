"""The most frequent labels of a column without declared values, in every format of a release."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from dpcli.report.formats import report_schema
from tests.support.cli import Command, reported, table

SPEC = """\
dpcli: 1
dataset: notes
privacy: {unit: row, neighbors: NEIGHBORS, budget: {epsilon: 100, delta: 1e-4}}
columns:
  note: {type: category}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: notes, statistic: top_k, column: note, k: 4, epsilon: 10, delta: 1e-6}
  - {name: by_sex, statistic: mode, column: note, by: [sex], where: {sex: f}, epsilon: 10,
     delta: 1e-6}
  - {name: people, statistic: count, by: [sex], epsilon: 10}
"""
NOTES = {"=cmd|calc": 300, "-7": 200, "late, again": 100, "": 500, "my own secret": 1}
EXPECTED = ["=cmd|calc", "-7", "late, again", ""]


@pytest.fixture(params=["add-remove", "change-one"])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A spec, and a file whose most frequent notes a spreadsheet could read as formulas."""
    spec, data = tmp_path / "notes.yaml", tmp_path / "notes-data.csv"
    spec.write_text(SPEC.replace("NEIGHBORS", request.param), encoding="utf-8")
    with data.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["note", "sex"])
        for note, count in NOTES.items():
            writer.writerows([note, "f"] for _ in range(count))
    return spec, data


def released(dpcli: Command, notes: tuple[Path, Path], *more: str | Path) -> str:
    """What a release prints."""
    return dpcli("release", *notes, "--release-id", "one", *more).succeeded().err


def test_the_table_has_every_rank_and_no_rare_label(
    dpcli: Command, notes: tuple[Path, Path], tmp_path: Path
) -> None:
    """Labels have an apostrophe where they begin like a formula; a rank that is left is blank."""
    printed = released(dpcli, notes, "-o", tmp_path / "out.csv")
    lines = table(tmp_path / "out.csv")
    ranked = [(line["item"], line["value"], line["flag"]) for line in lines[:4]]

    counted = [(line["item"], line["value"], line["flag"]) for line in lines[4:8]]
    lines = lines[:4] + lines[8:]

    assert [item for item, _, _ in counted] == [item for item, _, _ in ranked]
    assert all(abs(int(value) - count) < 5 for (_, value, _), count in zip(
        counted, (300, 200, 100), strict=False))  # fmt: skip
    assert counted[3] == ("", "", "suppressed")
    assert ranked == [
        ("'=cmd|calc", "1", ""), ("-7", "2", ""), ("late, again", "3", ""), ("", "4", "suppressed"),
    ]  # fmt: skip
    groups = [
        (line["sex"], line["item"], line["flag"])
        for line in lines[4:] if "raw" not in line["statistic"]
    ]  # fmt: skip
    assert groups == [("f", "'=cmd|calc", ""), ("f", "", ""), ("m", "", "")]
    assert "secret" not in printed + (tmp_path / "out.csv").read_text("utf-8")


def test_other_formats_have_the_same_labels(
    dpcli: Command, notes: tuple[Path, Path], tmp_path: Path
) -> None:
    """Parquet, JSON and pages have the labels as they are."""
    names = [tmp_path / f"r{ending}" for ending in (".json", ".html", ".md")]
    options = [word for name in names for word in ("--report", name)]
    released(dpcli, notes, "-o", tmp_path / "out.parquet", *options)
    stated = reported(names[0])
    (entry,) = (entry for entry in stated["statistics"] if entry["name"] == "notes")
    ranks, raw = entry["cells"][:4], entry["cells"][4:]
    frame = pl.read_parquet(tmp_path / "out.parquet")

    assert Draft202012Validator(json.loads(report_schema())).is_valid(stated)
    assert [cell["item"] or "" for cell in ranks] == EXPECTED
    assert [cell["value"] for cell in ranks] == [1, 2, 3, 4]
    assert [cell["flag"] for cell in ranks] == [None, None, None, "suppressed"]
    assert [cell["item"] or "" for cell in raw] == EXPECTED
    assert raw[3]["value"] is None
    assert entry["keys"]["threshold"] > 1
    assert frame["item"].head(4).fill_null("").to_list() == EXPECTED
    assert any("a label can be chosen when" in sentence for sentence in stated["selections"])
    for name in names:
        assert "secret" not in name.read_text("utf-8")


def test_simulations_judge_the_selected_counts(dpcli: Command, notes: tuple[Path, Path]) -> None:
    """A simulation counts how many labels are shown, and prints no label as a number."""
    done = dpcli("simulate", notes[0], "--rows", "500", "--runs", "20", "--json").succeeded()
    entries = {entry["name"]: entry for entry in done.json["statistics"]}

    assert entries["notes"]["published"] == []
    assert entries["notes"]["answers"][0]["compared"] > 0
