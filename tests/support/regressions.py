"""Rows with known relations, and regressions of them: private ones, and without noise."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import dpcli
from dpcli.numeric.arrays import Floats


def people(rows: int, inputs: int) -> tuple[Floats, Floats, Floats]:
    """Inputs, an outcome from -1 to 1, and one that is true or false.

    Inputs are normal around 0.2 with a deviation of 0.4; outcomes depend on all of them alike.
    """
    generator = np.random.default_rng(rows + inputs)
    x = np.clip(generator.normal(0.2, 0.4, (rows, inputs)), -1, 1).round(3)
    mixed = x.mean(axis=1)
    y = np.clip(0.6 * mixed + generator.normal(0, 0.2, rows), -1, 1).round(3)
    return x, y, (generator.random(rows) < 1 / (1 + np.exp(0.5 - 3 * mixed))).astype(float)


def coefficients(entry: str, neighbors: str, table: pl.DataFrame, draws: int) -> Floats:
    """The published coefficients of each draw, shape (draws, 1 + inputs)."""
    names = [name for name in table.columns if name.startswith("x")]
    declared = "\n".join(
        f"  {name}: {{type: number, bounds: [-1, 1], step: 0.001, missing: 0}}"
        for name in (*names, "y")
    )
    entries = "\n".join(
        f"  - {{name: l{place}, {entry}, on: [{', '.join(names)}], epsilon: 1}}"
        for place in range(draws)
    )
    spec = f"""
dpcli: 1
dataset: rows
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 1000}}}}
columns:
{declared}
  z: {{type: boolean, values: ["0", "1"], missing: false}}
statistics:
{entries}
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.yaml").write_text(spec, encoding="utf-8")
        plan = dpcli.plan(dpcli.load_spec(folder / "spec.yaml"))
        with dpcli.Ledger.create(folder / "ledger.sqlite") as ledger:
            numbers = dpcli.release(plan, table, ledger=ledger, release_id="r").table["value"]
    return numbers.cast(pl.Float64).to_numpy().reshape(draws, -1)


def with_ones(x: Floats) -> Floats:
    """The inputs after a column of ones."""
    return np.hstack([np.ones((len(x), 1)), x])


def likeliest(design: Floats, z: Floats) -> Floats:
    """The coefficients without noise, by Newton's method."""
    theta = np.zeros(design.shape[1])
    for _ in range(30):
        shares = 1 / (1 + np.exp(-design @ theta))
        curved = (design.T * (shares * (1 - shares))) @ design + 1e-9 * np.eye(len(theta))
        theta = theta - np.linalg.solve(curved, design.T @ (shares - z))
    return theta


def texts(x: Floats, y: Floats, z: Floats) -> pl.DataFrame:
    """The columns of a file."""
    columns = {f"x{place}": column for place, column in enumerate(x.T)}
    return pl.DataFrame(columns | {"y": y, "z": z.astype(int)}).cast(pl.String)
