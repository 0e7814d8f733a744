"""Responses and public cells are written exactly, whatever their size."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpcli.data.number_columns import NumberColumn
from dpcli.local import randomize
from dpcli.local.outbox import Outbox
from dpcli.local.randomize import write_responses
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_spec, require_model
from dpcli.specification.model import LocalSpec

SPEC = """
dpcli: 1
model: local
dataset: d
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 1000}}
columns:
%s
responses:
%s
public: [%s]
"""


def collected(
    columns: str, responses: str, public: str, data: str, folder: Path
) -> list[list[str]]:
    """The written responses for some records."""
    spec = require_model(
        parse_spec(SPEC % (columns, responses, public), "spec.yaml"), LocalSpec, "spec.yaml"
    )
    path = folder / "d.csv"
    path.write_text(data, encoding="utf-8")
    with Outbox(folder) as pending:
        write_responses(make_plan(spec), (str(path),), pending, shuffle=False)
        pending.name(folder / "waiting")
    text = (folder / "waiting").read_text(encoding="utf-8")
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("bounds", "step", "cells", "expected"),
    [
        ("0, 1e18", "0.5", ["1000000000000000000", "7.5", ""], ["1" + "0" * 18 + ".0", "7.5", ""]),
        (
            "0, 1e-20",
            "1e-25",
            ["1e-25", "5e-21"],
            ["0." + "0" * 24 + "1", "0." + "0" * 20 + "50000"],
        ),
        ("0, 3e20", "1e20", ["0", "1e20"], ["0", "1" + "0" * 20]),
        ("-1, 1", "0.001", ["-0.5", "-0.0004", "0.9996", "x"], ["-0.500", "0.000", "1.000", ""]),
        ("-4e18, 4e18", "1", ["-4e18", "12"], ["-4" + "0" * 18, "12"]),
    ],
)
def test_public_numbers_are_written_exactly(
    bounds: str, step: str, cells: list[str], expected: list[str], tmp_path: Path
) -> None:
    """Public numbers are exact beyond 64 bits and with any number of decimals."""
    actual = collected(
        f"  v: {{type: number, bounds: [{bounds}], step: {step}}}\n"
        "  b: {type: boolean, missing: false}",
        "  - {column: b, mechanism: randomized_response, epsilon: 1}",
        "v",
        "b,v\n" + "".join(f"true,{cell}\n" for cell in cells),
        tmp_path,
    )

    assert [row[0] for row in actual[1:]] == expected


@pytest.mark.parametrize(
    ("bounds", "step"),
    [
        ("0, 1e-20", "1e-25"),
        ("0, 3e20", "1e20"),
        ("0, 4e18", "1"),
        ("-5, 5", "0.25"),
        ("0, 1", "1"),
    ],
)
@pytest.mark.parametrize("mechanism", ["laplace, epsilon: 20", "gaussian, epsilon: 1, delta: 1e-9"])
def test_noisy_numbers_are_never_blank(
    bounds: str, step: str, mechanism: str, tmp_path: Path
) -> None:
    """Every record responds with a number on the grid, for fine and coarse grids."""
    actual = collected(
        f"  v: {{type: number, bounds: [{bounds}], step: {step}, missing: 0}}",
        f"  - {{column: v, mechanism: {mechanism}}}",
        "",
        "v,x\n" + "0,1\n" * 30,
        tmp_path,
    )
    assert len(actual) == 31
    for (cell,) in actual[1:]:
        assert (Fraction(cell) / Fraction(step)).denominator == 1


def test_both_ways_of_writing_decimals_agree() -> None:
    """Fast and slow formatting agree, also on signs and zeros."""
    column = NumberColumn("x", Fraction("0.05"), (-100, 100))
    steps = np.arange(-300, 301)
    fast = randomize._decimals(column, steps)

    assert randomize._decimals(column, steps.astype(object)).to_list() == fast.to_list()
    assert fast[0] == "-15.00" and fast[299] == "-0.05" and fast[300] == "0.00"


def test_many_columns_are_randomized_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of cells at a time is bounded, and no row is lost between slices."""
    sizes = []
    written = randomize._respond

    def noted(response: object, cells: object) -> dict[str, pl.Series]:
        columns = written(response, cells)  # type: ignore[arg-type]
        sizes.append(sum(len(series) for series in columns.values()))
        return columns

    monkeypatch.setattr(randomize, "CELLS", 100)
    monkeypatch.setattr(randomize, "_respond", noted)
    labels = ", ".join(f"l{number}" for number in range(10))
    actual = collected(
        f"  c: {{type: category, values: [{labels}], missing: l0}}",
        "  - {column: c, mechanism: unary_encoding, epsilon: 1}",
        "",
        "c,d\n" + "l1,\n" * 1003,
        tmp_path,
    )
    assert len(actual) == 1004
    assert max(sizes) <= 100
