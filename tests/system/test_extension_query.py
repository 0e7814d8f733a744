"""A kind of query and its statistic are one folder, and a registry line each.

The answers of the query are not linear, and its sensitivity is proven by itself.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.toy_command import run_toy as run

pytestmark = pytest.mark.extended

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: {column: who, max_rows: 3}, neighbors: add-remove, budget: {epsilon: 10}}
columns:
  who: {type: id}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: few, statistic: capped_count, cap: 300, by: [sex], epsilon: 3}
  - {name: lone, statistic: capped_count, cap: 1, by: [sex], epsilon: 1}
  - {name: all, statistic: count, by: [sex], epsilon: 3}
"""
DATA = "who,sex\n" + "".join(
    f"{place},{sex}\n" for place in range(200) for sex in ("f", "m", "m", "m")
)
"""Of each person, three rows are kept."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a spec that uses the statistic, and a file."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


def test_the_plan_states_its_own_sensitivity(folder: Path) -> None:
    """A person changes counts by three rows at most, and of capped counts by one in each group."""
    planned = json.loads(run(folder, "plan", "spec.yaml", "--json"))
    changes = {entry["name"]: entry["sensitivity"]["l1"] for entry in planned["statistics"]}

    assert changes == {"few": 3, "lone": 2, "all": 3}


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("capped_count", "caped_count", "did you mean `capped_count`?"),
        ("cap: 300, ", "", "the `capped_count` `few` has no `cap`"),
        ("cap: 300", "cap: 0", "`cap` is `0`, expected a whole number above zero"),
        ("statistic: count", "statistic: count, cap: 3", "omit `cap`, or use `capped_count`"),
    ],
)
def test_its_fields_are_checked(folder: Path, right: str, wrong: str, problem: str) -> None:
    """Every mistake in its field is reported with its place and a hint."""
    (folder / "wrong.yaml").write_text(SPEC.replace(right, wrong), encoding="utf-8")
    output = run(folder, "check", "wrong.yaml", status=3)

    assert problem in output
    assert "hint: " in output


def test_it_is_explained_and_in_the_schema(folder: Path) -> None:
    """`explain` prints its privacy argument, and the schema accepts its field."""
    schema = Draft202012Validator(json.loads(run(folder, "schema")))

    assert "has reached the cap" in " ".join(run(folder, "explain", "capped_count").split())
    assert "How many rows of a group" in run(folder, "explain", "cap")
    assert schema.is_valid(yaml.safe_load(SPEC))
    assert not schema.is_valid(yaml.safe_load(SPEC.replace("cap: 300, ", "")))


def test_it_is_released_and_reported(folder: Path) -> None:
    """Table, all reports and the ledger have it; no number is far above its cap."""
    run(folder, "check", "spec.yaml", "data.csv")
    names = [f"r.{ending}" for ending in ("json", "md", "html", "yaml")]
    reports = [word for name in names for word in ("--report", name)]
    run(folder, "release", "spec.yaml", "data.csv", "-o", "t.csv", *reports)
    rows = [line.split(",") for line in (folder / "t.csv").read_text("utf-8").splitlines()[1:]]
    values = {(row[0], row[1]): float(row[3]) for row in rows}
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    with sqlite3.connect(folder / "dpcli-ledger.sqlite") as ledger:
        history = "".join(map(str, ledger.iterdump()))

    assert abs(values["few", "m"] - 300) < 40 < values["all", "m"] - values["few", "m"]
    assert abs(values["lone", "f"] - 1) < 40
    assert [entry["name"] for entry in report["statistics"]] == ["few", "lone", "all"]
    for name in names[:3]:
        assert "capped_count" in (folder / name).read_text("utf-8").replace("\\", "")
    assert '"cap":300' in history.replace(" ", "").replace('\\"', '"')


def test_it_is_simulated_as_predicted(folder: Path) -> None:
    """A simulation finds the errors that the plan predicts, those of capped answers too."""
    output = run(folder, "simulate", "spec.yaml", "--rows", "900", "--runs", "100")

    assert "as predicted" in output
    assert "not as" not in output
