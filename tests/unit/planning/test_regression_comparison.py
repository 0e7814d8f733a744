"""Plans say which method of a linear regression is expected to have the smaller error."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import dpcli
from dpcli.numeric.arrays import Floats, np
from dpcli.planning.planner import make_plan
from dpcli.planning.regression_comparison import regression_comparisons
from dpcli.specification.load import parse_central_spec
from tests.support.streams import Stream

SPEC = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {BUDGET}}
columns:
  x: {type: number, bounds: [-1, 1], step: 0.001}
  w: {type: number, bounds: [-1, 1], step: 0.001}
  y: {type: number, bounds: [-1, 1], step: 0.001}
  g: {type: boolean}
statistics:
"""


def stated(fields: str, budget: str = "epsilon: 9, delta: 0.1") -> list[str]:
    """The sentences about one regression."""
    entry = f"  - {{name: l, statistic: linear_regression, column: y, {fields}}}\n"
    text = SPEC.replace("BUDGET", budget) + entry
    return regression_comparisons(make_plan(parse_central_spec(text, "test")))


def ratio(sentence: str) -> float:
    """The ratio that a sentence states."""
    found = re.search(r"about (\S+) times", sentence)
    assert found
    return float(found[1])


def test_either_method_is_compared_with_the_other() -> None:
    """One ratio is the inverse of the other, and more inputs gain more from the objective."""
    (moments,) = stated("on: [x], epsilon: 1")
    (objective,) = stated("on: [x], method: objective, epsilon: 1")
    assert "`method: objective`" in moments
    assert "`method: moments`" in objective
    assert ratio(moments) == pytest.approx(1 / ratio(objective), rel=0.05)
    assert 1 < ratio(moments) < ratio(*stated("on: [x, w], epsilon: 1"))


@pytest.mark.parametrize(
    "fields",
    [
        "on: [x], by: [g], epsilon: 1",
        "on: [x], ridge: 0.1, epsilon: 1",
        "on: [x], mechanism: gaussian, epsilon: 1, delta: 1e-6",
    ],
)
def test_other_entries_are_not_compared(fields: str) -> None:
    """Groups, a ridge and Gaussian noise have no other method, or no closed form."""
    assert stated(fields) == []


def slopes(fields: str, table: pl.DataFrame, draws: int, folder: Path) -> Floats:
    """The published slopes of each draw, shape (draws, 2)."""
    entries = "".join(
        f"  - {{name: l{place}, statistic: linear_regression, column: y, {fields}}}\n"
        for place in range(draws)
    )
    spec = folder / "spec.yaml"
    spec.write_text(SPEC.replace("BUDGET", "epsilon: 1000") + entries, encoding="utf-8")
    plan = dpcli.plan(dpcli.load_spec(spec))
    with dpcli.Ledger.create(folder / f"{len(list(folder.iterdir()))}.sqlite") as ledger:
        numbers = dpcli.release(plan, table, ledger=ledger, release_id="r").table["value"]
    return numbers.cast(pl.Float64).to_numpy().reshape(draws, 3)[:, 1:]


def test_releases_of_typical_values_have_the_stated_errors(tmp_path: Path, stream: Stream) -> None:
    """For 20,000 rows and 100 draws, the ratio of the errors is near the stated one."""
    generator, rows = np.random.default_rng(1), 20_000
    x, w = (0.5 + 0.316 * generator.choice([-1, 1], rows) for _ in range(2))
    y = 0.25 + 0.25 * x + 0.25 * w + 0.1 * generator.choice([-1, 1], rows)
    columns = {"x": x.round(3), "w": w.round(3), "y": y.round(3), "g": np.zeros(rows, int)}
    table = pl.DataFrame(columns).cast(pl.String)
    design = np.stack([np.ones(rows), columns["x"], columns["w"]], axis=1)
    exact = np.linalg.solve(design.T @ design, design.T @ columns["y"])[1:]
    moments, objective = (
        np.sqrt(np.mean((slopes(fields, table, 100, tmp_path) - exact) ** 2))
        for fields in ("on: [x, w], epsilon: 1", "on: [x, w], method: objective, epsilon: 1")
    )
    expected = ratio(*stated("on: [x, w], epsilon: 1"))
    assert moments / objective == pytest.approx(expected, rel=0.25)
    assert stream.calls
