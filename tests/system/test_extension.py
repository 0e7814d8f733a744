"""A statistic or a type of column is one file and one registry line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.toy_command import run_toy as run

pytestmark = pytest.mark.extended

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10}}
columns:
  sex: {type: category, values: [f, m]}
  score: {type: percentage, decimals: 1}
statistics:
  - {name: best, statistic: high_count, column: score, top: 500, by: [sex], epsilon: 1}
  - {name: mean, statistic: mean, column: score, epsilon: 1}
"""
DATA = "sex,score\n" + "f,30.04\nm,80\nm,150\n" * 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a spec that uses both, and a file."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("high_count", "high_cuont", "did you mean `high_count`?"),
        ("top: 500", "tpo: 500", "did you mean `top`?"),
        ("top: 500, ", "", "the `high_count` `best` has no `top`"),
        ("top: 500", "top: -1", "`top` is `-1`, expected a whole number above zero"),
        ("top: 500", "top: 1002", "expected a whole number from 1 to 1,001"),
        ("column: score", "column: scoer", "`scoer` is not a declared column"),
        ("statistic: mean", "statistic: mean, top: 3", "omit `top`, or use `high_count`"),
        ("percentage", "percentages", "did you mean `percentage`?"),
        ("decimals: 1", "decimals: 9", "`decimals` is `9`, expected a whole number from 1 to 3"),
        ("decimals: 1", "step: 1", "`step` is not a field of a `percentage` column"),
    ],
)
def test_their_fields_are_checked(folder: Path, right: str, wrong: str, problem: str) -> None:
    """Every mistake in a field of either is reported with its place and a hint."""
    (folder / "wrong.yaml").write_text(SPEC.replace(right, wrong), encoding="utf-8")

    output = run(folder, "check", "wrong.yaml", status=3)

    assert problem in output
    assert "--> wrong.yaml:" in output
    assert "hint: " in output


def test_they_are_explained(folder: Path) -> None:
    """`explain` has pages of the statistic, of the type, and of the field of each."""
    assert "public condition" in run(folder, "explain", "high_count")
    assert "How many of the greatest values are high." in run(folder, "explain", "top")
    assert "type of a column" in run(folder, "explain", "percentage")
    assert "decimals: 1" in run(folder, "explain", "decimals")


def test_the_schema_describes_them(folder: Path) -> None:
    """Editors accept both, refuse wrong fields, and show what the fields say of themselves."""
    text = run(folder, "schema")
    schema = Draft202012Validator(json.loads(text))
    wrong = [("top: 500", "topp: 500"), ("top: 500, ", ""), ("decimals: 1", "decimals: x")]

    assert schema.is_valid(yaml.safe_load(SPEC))
    for one, other in wrong:
        assert not schema.is_valid(yaml.safe_load(SPEC.replace(one, other)))
    assert "How many of the greatest values are high." in text
    assert "How many decimals percentages are rounded to." in text


def test_they_are_planned_released_and_reported(folder: Path) -> None:
    """Plan, table and all reports have the statistic, with values of the type's own bounds."""
    names = [f"r.{ending}" for ending in ("json", "md", "html", "yaml")]
    reports = [word for name in names for word in ("--report", name)]
    run(folder, "check", "spec.yaml", "data.csv")
    plan = run(folder, "plan", "spec.yaml")
    run(folder, "release", "spec.yaml", "data.csv", "-o", "t.csv", *reports)
    rows = [line.split(",") for line in (folder / "t.csv").read_text("utf-8").splitlines()]
    values = {(row[0], row[1]): float(row[3]) for row in rows[1:]}

    assert "best" in plan
    assert abs(values["best", "f"]) < 60
    assert abs(values["best", "m"] - 400) < 60
    # Percentages above 100 are clamped: (30 + 80 + 100) / 3.
    assert abs(values["mean", ""] - 70) < 10
    for name in names[:3]:
        assert "high_count" in (folder / name).read_text("utf-8").replace("\\", "")


def test_they_are_simulated_as_predicted(folder: Path) -> None:
    """A simulation draws cells of the type and finds the errors that the plan predicts."""
    output = run(folder, "simulate", "spec.yaml", "--rows", "400", "--runs", "100")

    assert "as predicted" in output
    assert "not as" not in output


def test_init_asks_for_the_fields_of_the_type(folder: Path) -> None:
    """`init --ask` offers the type and asks for its own field, with its example."""
    answers = "yes\ntown\nrow\nadd-remove\n1\nskip\npercentage\n9\n2\n" + "\n" * 20
    output = run(folder, "init", "data.csv", "--ask", stdin=answers)

    assert "How many decimals percentages are rounded to. [1]: 9" in output
    assert "expected a whole number from 1 to 3" in output
    assert "score: {type: percentage, decimals: 2}" in output
