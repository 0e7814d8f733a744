"""Predictions of private regressions: `python -m tests.benchmarks.regression [DRAWS]`.

For several numbers of rows and inputs, one release answers the same regression with epsilon 1 as
often as there are draws, through the whole pipeline. It prints the median over the draws of the
root mean square error of the predictions (linear), or of their logistic loss, next to that of the
regression without noise, and that of predicting the mean. It asserts nothing.

Inputs are normal around 0.2 with a deviation of 0.4, for bounds from -1 to 1. Outcomes depend on
all inputs alike. `output` needs a public number of rows, and is answered under change-one.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import dpcli
from dpcli.numeric.arrays import Floats

DRAWS = 40
SIZES = [(rows, inputs) for inputs in (1, 2, 5) for rows in (300, 1000, 3000, 10_000, 100_000)]
STEP = 1e-3

METHODS = {
    "moments": ("add-remove", "method: moments"),
    "objective": ("add-remove", "method: objective"),
    "output": ("change-one", "method: output, ridge: 0.1, rows: {rows}"),
}
"""The relation and the fields of each method of a linear regression."""


def people(rows: int, inputs: int) -> tuple[Floats, Floats, Floats]:
    """Inputs, an outcome from -1 to 1, and one that is true or false."""
    generator = np.random.default_rng(rows + inputs)
    x = np.clip(generator.normal(0.2, 0.4, (rows, inputs)), -1, 1).round(3)
    mixed = x.mean(axis=1)
    y = np.clip(0.6 * mixed + generator.normal(0, 0.2, rows), -1, 1).round(3)
    return x, y, (generator.random(rows) < 1 / (1 + np.exp(0.5 - 3 * mixed))).astype(float)


def coefficients(entry: str, neighbors: str, table: pl.DataFrame, draws: int) -> Floats:
    """The published coefficients of each draw, shape (draws, 1 + inputs)."""
    names = [name for name in table.columns if name.startswith("x")]
    declared = "\n".join(
        f"  {name}: {{type: number, bounds: [-1, 1], step: {STEP}, missing: 0}}"
        for name in (*names, "y")
    )
    entries = "\n".join(
        f"  - {{name: l{place}, {entry}, on: [{', '.join(names)}], epsilon: 1}}"
        for place in range(draws)
    )
    spec = f"""
dpcli: 1
dataset: benchmark
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


def squared_error(design: Floats, y: Floats, theta: Floats) -> float:
    """The root mean square error of predictions."""
    return float(np.sqrt(np.mean((y - design @ theta) ** 2)))


def logistic_loss(design: Floats, z: Floats, theta: Floats) -> float:
    """The mean logistic loss of predictions."""
    margins = design @ theta
    return float(np.mean(np.logaddexp(0, margins) - z * margins))


def likeliest(design: Floats, z: Floats) -> Floats:
    """The coefficients without noise, by Newton's method."""
    theta = np.zeros(design.shape[1])
    for _ in range(30):
        shares = 1 / (1 + np.exp(-design @ theta))
        curved = (design.T * (shares * (1 - shares))) @ design + 1e-9 * np.eye(len(theta))
        theta = theta - np.linalg.solve(curved, design.T @ (shares - z))
    return theta


def linear(rows: int, inputs: int, draws: int) -> Iterator[float]:
    """The errors of predicting the mean, without noise, and of each method."""
    x, y, z = people(rows, inputs)
    design, constant = with_ones(x), np.zeros(inputs + 1)
    constant[0] = y.mean()
    yield squared_error(design, y, constant)
    exact = np.asarray(np.linalg.solve(design.T @ design, design.T @ y), np.float64)
    yield squared_error(design, y, exact)
    for neighbors, fields in METHODS.values():
        entry = f"statistic: linear_regression, column: y, {fields.format(rows=rows)}"
        found = coefficients(entry, neighbors, texts(x, y, z), draws)
        yield float(np.median([squared_error(design, y, theta) for theta in found]))


def logistic(rows: int, inputs: int, draws: int) -> Iterator[float]:
    """The losses of predicting the share, without noise, and of the private regression."""
    x, y, z = people(rows, inputs)
    design, constant = with_ones(x), np.zeros(inputs + 1)
    constant[0] = np.log(z.mean() / (1 - z.mean()))
    yield logistic_loss(design, z, constant)
    yield logistic_loss(design, z, likeliest(design, z))
    entry = "statistic: logistic_regression, column: z"
    found = coefficients(entry, "add-remove", texts(x, y, z), draws)
    yield float(np.median([logistic_loss(design, z, theta) for theta in found]))


def texts(x: Floats, y: Floats, z: Floats) -> pl.DataFrame:
    """The columns of a file."""
    columns = {f"x{place}": column for place, column in enumerate(x.T)}
    return pl.DataFrame(columns | {"y": y, "z": z.astype(int)}).cast(pl.String)


def main() -> None:
    """A line for each number of rows and inputs."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print("linear: RMSE of predictions, in half-widths of the outcome")
    print(f"{'rows':>8}{'inputs':>8}{'mean':>10}{'exact':>10}", *(f"{m:>10}" for m in METHODS))
    for rows, inputs in SIZES:
        errors = " ".join(f"{error:>10.4f}" for error in linear(rows, inputs, draws))
        print(f"{rows:>8}{inputs:>8} {errors}", flush=True)
    print("logistic: mean loss of predictions")
    print(f"{'rows':>8}{'inputs':>8}{'share':>10}{'exact':>10}{'objective':>10}")
    for rows, inputs in SIZES:
        errors = " ".join(f"{error:>10.4f}" for error in logistic(rows, inputs, draws))
        print(f"{rows:>8}{inputs:>8} {errors}", flush=True)


if __name__ == "__main__":
    main()
