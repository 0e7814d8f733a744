"""Entries with limits of their own: what they count, and what plan, check and report say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Command

SPEC = """\
dpcli: 1
dataset: pizzas
rows_are: pizzas
privacy: {unit: {column: order, max_rows: 25, max_groups: 1}, neighbors: NEIGHBORS,
  budget: {epsilon: 120}}
quality: none
columns:
  order: {type: id}
  day: {type: date, bounds: [2015-01-01, 2015-12-31]}
  size: {type: category, values: [S, M, L, XL]}
derive:
  month: {part: month, of: day}
statistics:
  - {name: by_month, statistic: count, by: [month], epsilon: 10}
  - {name: sizes, statistic: histogram, column: size, epsilon: 10}
  - {name: pizzas, statistic: count, max_rows: 3, epsilon: 10}
"""

ORDERS = 300

DATA = "order,day,size\n" + "".join(
    f"{order},2015-0{1 + order % 9}-01,{size}\n"
    for order in range(ORDERS)
    for size in ("S", "M", "L", "XL", "L")
)
"""Orders of five pizzas of all sizes, each in one of nine months."""

WIDTH = 40
"""More than the noise, except with a probability below 1e-6."""


def released(dpcli: Command, folder: Path, own: str = "", neighbors: str = "add-remove") -> Any:
    """The report on a release in which `sizes` has these limits."""
    spec, data, report = folder / "spec.yaml", folder / "data.csv", folder / "report.json"
    text = SPEC.replace("NEIGHBORS", neighbors)
    spec.write_text(text.replace("name: sizes", f"name: sizes{own}"), encoding="utf-8")
    data.write_text(DATA, encoding="utf-8")
    dpcli(
        "release", spec, data, "-o", folder / "table.csv", "--report", report, "--force"
    ).succeeded()
    return json.loads(report.read_text(encoding="utf-8"))


def numbers(folder: Path) -> dict[str, list[int]]:
    """The published numbers of each statistic."""
    found: dict[str, list[int]] = {}
    for line in (folder / "table.csv").read_text(encoding="utf-8").splitlines()[1:]:
        name, value = re.fullmatch(r"([a-z_]+),.*?,(-?\d+),-?\d+,-?\d+,.*", line + ",").groups()  # type: ignore[union-attr]
        found.setdefault(name, []).append(int(value))
    return found


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_an_entry_counts_what_its_own_limit_keeps(
    dpcli: Command, tmp_path: Path, neighbors: str
) -> None:
    """One group of each order is right for months, and loses most pizzas of a histogram."""
    report = released(dpcli, tmp_path, neighbors=neighbors)
    assert sum(numbers(tmp_path)["sizes"]) < 1.4 * ORDERS + 4 * WIDTH
    assert "limits" not in report["statistics"][1]

    report = released(dpcli, tmp_path, ", max_groups: 4", neighbors)
    found = numbers(tmp_path)
    for size, count in zip(("S", "M", "L", "XL"), found["sizes"], strict=True):
        assert abs(count - ORDERS * (2 if size == "L" else 1)) < WIDTH
    assert abs(sum(found["by_month"]) - 5 * ORDERS) < 12 * WIDTH
    assert abs(found["pizzas"][0] - 3 * ORDERS) < WIDTH
    by_month, sizes, pizzas = report["statistics"]
    assert "limits" not in by_month
    assert sizes["limits"] == {"max_rows": None, "max_groups": 4, "max_rows_per_group": None}
    assert sizes["counted"] == "pizzas (at most 25 of each person)"
    assert pizzas["counted"] == "pizzas (at most 3 of each person)"
    assert pizzas["sensitivity"]["l1"] == 3


def test_check_names_entries_until_they_state_their_limit(dpcli: Command, tmp_path: Path) -> None:
    """The sentence names the entry, its groups, and both limits that end it."""
    spec, text = tmp_path / "spec.yaml", SPEC.replace("NEIGHBORS", "add-remove")
    spec.write_text(text, encoding="utf-8")
    said = dpcli("check", spec).succeeded().err.splitlines()
    (sizes,) = (line for line in said if "sizes: a person may have" in line)
    assert "several of its 4 groups" in sizes
    assert "`max_groups: 4` leaves none out" in sizes
    assert "`max_groups: 1` states that it is right" in sizes
    assert any("by_month: a person may have" in line for line in said)

    stated = text.replace("by: [month]", "by: [month], max_groups: 1")
    spec.write_text(stated.replace("name: sizes", "name: sizes, max_groups: 4"), encoding="utf-8")
    assert "a person may have" not in dpcli("check", spec).succeeded().err


def test_a_plan_states_the_limits_of_an_entry_and_their_change(
    dpcli: Command, tmp_path: Path
) -> None:
    """Each line has the limits that the entry states, and `--diff` names a changed one."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    text = SPEC.replace("NEIGHBORS", "add-remove")
    old.write_text(text, encoding="utf-8")
    new.write_text(text.replace("max_rows: 3", "max_rows: 2"), encoding="utf-8")
    (line,) = re.findall("^pizzas: number of .*", dpcli("plan", old).out, re.MULTILINE)
    assert "pizzas (at most 3 of each person)" in line
    assert "max_rows 3 of its own;" in line
    lines = dpcli("plan", new, "--diff", old).out.splitlines()
    assert "statistics.pizzas.max_rows: 3 -> 2" in lines
    assert any(line.startswith("pizzas") and "changed" in line for line in lines)
