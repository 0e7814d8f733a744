"""A file of one column, where an empty cell is a blank line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.support.cli import Command

SPEC = """\
dpcli: 1
dataset: salaries
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 9}}
columns: {x: {type: number, bounds: [20000, 200000], step: 1000, missing: 20000}}
statistics:
  - {name: n, statistic: count, epsilon: 1}
  - {name: total, statistic: sum, column: x, epsilon: 1}
"""


@pytest.mark.parametrize(
    "data",
    ["x\n200000\n\n200000\n", "x\n200000\n200000\n\n", 'x\r\n""\r\n\r\n5\r\n', "x\r1\r\r2\r"],
)
def test_a_blank_line_is_a_row_with_a_missing_cell(
    data: str, dpcli: Command, tmp_path: Path
) -> None:
    """An empty cell does not change the number of rows, which change-one makes public."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_text(data, encoding="utf-8", newline="")
    outcome = dpcli("release", spec, tmp_path / "data.csv", "-q")
    first = list(csv.reader(io.StringIO(outcome.out)))[1]

    assert first == ["n", "", "3", "3", "3", ""]
