"""A mechanism and its noise are one file and a line each: everything else follows from it."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from dpcli.numeric.arrays import integer_array
from tests.support.toy_command import run_toy
from tests.support.toy_mechanism import TwoLaplaces, TwoLaplacesMechanism

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10, delta: 1e-5}}
columns:
  sex: {type: category, values: [f, m]}
  age: {type: integer, bounds: [0, 110]}
statistics:
  - {name: n, statistic: count, by: [sex], epsilon: 1, mechanism: two_laplaces}
  - {name: age, statistic: mean, column: age, epsilon: 1, mechanism: two_laplaces}
"""
DATA = "sex,age\n" + "f,30\nm,40\n" * 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a spec that uses the mechanism, and a file."""
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


run = partial(run_toy, columns=120)


def test_its_name_is_checked_and_explained(folder: Path) -> None:
    """A spec may name it, a wrong name is answered with it, and `explain` prints its argument."""
    wrong = folder / "wrong.yaml"
    wrong.write_text(SPEC.replace("two_laplaces", "two_laplace"), encoding="utf-8")

    assert "no problems" in run(folder, "check", "spec.yaml")
    assert "did you mean `two_laplaces`?" in run(folder, "check", "wrong.yaml", status=3)
    assert "post-processing" in run(folder, "explain", "two_laplaces")


def test_the_schema_accepts_it(folder: Path) -> None:
    """The schema offers it to editors and still refuses other names."""
    schema = Draft202012Validator(json.loads(run(folder, "schema")))
    wrong = SPEC.replace("two_laplaces", "three_laplaces")

    assert schema.is_valid(yaml.safe_load(SPEC))
    assert not schema.is_valid(yaml.safe_load(wrong))


def test_it_is_planned_released_and_charged(folder: Path) -> None:
    """Plan, table, all reports and the ledger have it, with its own width and its loss."""
    plan = run(folder, "plan", "spec.yaml")
    names = [f"r.{ending}" for ending in ("json", "md", "html", "yaml")]
    reports = [word for name in names for word in ("--report", name)]
    run(folder, "release", "spec.yaml", "data.csv", "-o", "t.csv", *reports)
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    texts = [(folder / name).read_text(encoding="utf-8") for name in names[1:3]]
    history = json.loads(run(folder, "ledger", "history", "town", "--json"))

    assert "two_laplaces" in plan
    assert "discrete-two-laplaces" in json.dumps(report)
    assert all("Two Laplaces noise" in text.replace("\\", "") for text in texts)
    assert "two_laplaces" in json.dumps(history)
    assert run(folder, "ledger", "verify")
    (account,) = json.loads(run(folder, "ledger", "show", "--json"))
    assert account["spent_epsilon"] == 2


def test_its_noise_is_simulated_as_predicted(folder: Path) -> None:
    """A simulation finds the errors that the plan predicts from its tail."""
    output = run(folder, "simulate", "spec.yaml", "--rows", "400", "--runs", "200")

    assert "as predicted" in output
    assert "not as" not in output


@pytest.mark.parametrize("scale", [0.5, 2, 30])
def test_widths_follow_from_its_tail(scale: float) -> None:
    """Half-widths, quantiles and variances agree with draws of the mechanism."""
    noise = TwoLaplaces(Fraction(scale))
    draws = TwoLaplacesMechanism().add_noise(noise, integer_array([0] * 20_000))
    width = noise.half_width(Fraction(9, 10))

    assert sum(abs(draw) <= width for draw in draws) >= 18_000 - 6 * 42
    assert sum(abs(draw) < width for draw in draws) <= 18_000 + 6 * 42
    assert noise.tail_bound(5) >= noise.approximate_tail(5)
