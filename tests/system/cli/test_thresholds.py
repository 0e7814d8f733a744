"""Private groups and labels that noise cannot select, and that it did not select."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Command, written

SPEC = """\
dpcli: 1
dataset: d
rows_are: jobs
quality: none
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 30, delta: 1e-3}}
columns:
  who: {type: id}
  town: {type: category}
  age: {type: integer, bounds: [0, 100]}
statistics:
  - {name: towns, statistic: count, by: [town], keys: private, epsilon: 0.1, delta: 1e-9}
  - {name: mean_age, statistic: mean, column: age, by: [town], epsilon: 0.5}
  - {name: top, statistic: top_k, column: town, k: 2, epsilon: 0.1, delta: 1e-9}
"""

UNITS = pytest.mark.parametrize(
    ("unit", "fewer"), [("{column: who, max_rows: 5}", True), ("row", False)]
)


def placed(folder: Path, unit: str, epsilon: str, rows: int) -> tuple[Path, Path]:
    """The spec with this unit and epsilon, and data of one town."""
    text = SPEC.replace("UNIT", unit).replace("epsilon: 0.1", f"epsilon: {epsilon}")
    lines = "".join(f"{index},A,30\n" for index in range(rows))
    return written(folder, text, f"who,town,age\n{lines}")


@UNITS
def test_a_plan_says_what_no_group_can_reach(
    unit: str, *, fewer: bool, dpcli: Command, tmp_path: Path
) -> None:
    """For a number of rows below a threshold there is a warning, and none from it on."""
    spec, _ = placed(tmp_path, unit, "0.1", 3)
    keys = dpcli("plan", spec, "--json").json["statistics"][0]["keys"]
    most = keys["threshold"]
    few = dpcli("plan", spec, "--rows", most - 1).succeeded().out
    words = f"threshold of {most:,} with {most - 1:,} jobs, except by noise: "
    advice = "lower `max_groups`, or use more epsilon" if fewer else "use more epsilon"

    assert f"warning: towns: no group can reach the {words}{advice}\n" in few
    assert f"warning: top: no label can reach the {words}" in few
    assert "can reach" not in dpcli("plan", spec, "--rows", most).out
    assert "can reach" not in dpcli("plan", spec).out
    warnings = dpcli("plan", spec, "--rows", most - 1, "--json").json["warnings"]
    assert sum("can reach" in text for text in warnings) == 2


@UNITS
def test_a_release_says_that_nothing_was_selected(
    unit: str, *, fewer: bool, dpcli: Command, tmp_path: Path
) -> None:
    """Summary and report name each entry without groups or labels, and no entry that has some."""
    page = tmp_path / "r.md"
    nothing = "No noisy count reached the threshold of "
    spec, data = placed(tmp_path, unit, "0.1", 3)
    summary = dpcli("release", spec, data, "--report", page).succeeded().err
    for name in ("towns", "top"):
        (line,) = [line for line in summary.splitlines() if line.startswith(f"{name}: {nothing}")]
        assert ("fewer `max_groups`" in line) is fewer
    assert "mean_age: towns selected no group." in summary
    assert (
        page.read_text().count(nothing[1:]) == 2 and "towns selected no group" in page.read_text()
    )

    spec, data = placed(tmp_path, unit, "9", 5000)
    summary = dpcli("release", spec, data, "--report", page, "--force").succeeded().err
    assert nothing not in summary + page.read_text() and "selected no" not in summary
