"""Comparisons of groups: what plans, terminals and reports say of their differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Command, table

SPEC = """\
dpcli: 1
dataset: groups
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100}}
quality: none
columns:
  sex: {type: category, values: [f, m, x]}
  town: {type: category, values: [A, B]}
  pay: {type: integer, bounds: [0, 100]}
  change: {type: integer, bounds: [-50, 50]}
  well: {type: boolean}
statistics:
"""

ROWS = (
    "f,A,20,1,true\nf,A,20,1,false\nm,A,60,1,true\nm,A,60,1,true\nx,A,20,1,true\nx,A,20,1,false\n"
)

DATA = "sex,town,pay,change,well\n" + ROWS * 500 + "f,B,20,1,true\nm,B,20,1,true\n" * 500


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec with data next to it: towns A, where pay differs, and B, where it does not."""
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    return tmp_path / "spec.yaml"


def write(spec: Path, *entries: str) -> Path:
    """Write a spec with these entries."""
    named = (
        f"  - {{name: s{place}, statistic: comparison, {entry}, epsilon: 5}}\n"
        for place, entry in enumerate(entries)
    )
    spec.write_text(SPEC + "".join(named), encoding="utf-8")
    return spec


def release(dpcli: Command, spec: Path, *entries: str) -> tuple[str, str]:
    """What a terminal shows of a release of these entries, and its report in Markdown."""
    report = spec.with_name("report.md")
    done = dpcli(
        "release", write(spec, *entries), spec.with_name("data.csv"),
        "-o", spec.with_name("out.csv"), "--report", report,
    ).succeeded()  # fmt: skip
    return done.err, report.read_text(encoding="utf-8")


MEAN = "of: mean, column: pay"


def test_a_release_says_for_each_label_whether_it_differs(dpcli: Command, spec: Path) -> None:
    """Two labels have the difference of the file, one has none; all by published intervals."""
    shown, report = release(dpcli, spec, f"{MEAN}, between: {{sex: [f, m, x]}}, where: {{town: A}}")
    differs = (
        "the difference m - f is more than noise: its 95% interval excludes zero; that of m / f "
        "excludes one"
    )
    lines = {row["item"]: row for row in table(spec.with_name("out.csv"))}

    assert f"s0: {differs}" in shown and f"T{differs[1:]}." in report
    assert float(lines["m - f"]["lower"]) > 30 and float(lines["m / f"]["lower"]) > 2
    is_seen = float(lines["x - f"]["lower"]) > 0 or float(lines["x - f"]["upper"]) < 0
    verdict = "is more than noise" if is_seen else "may be noise alone"
    assert f"s0: the difference x - f {verdict}: " in shown


def test_a_release_says_in_how_many_groups_labels_differ(dpcli: Command, spec: Path) -> None:
    """By groups, their number is stated; only town A has a difference."""
    shown, report = release(dpcli, spec, f"{MEAN}, between: {{sex: [f, m]}}, by: [town]")
    lines = [row for row in table(spec.with_name("out.csv")) if row["item"] == "m - f"]
    seen = sum(float(row["lower"]) > 0 or float(row["upper"]) < 0 for row in lines)
    sentence = f"the difference m - f is more than noise in {seen} of 2 groups: there its 95%"

    assert f"s0: {sentence}" in shown and f"T{sentence[1:]}" in report
    assert float(lines[0]["lower"]) > 0 and seen in (1, 2)


def test_two_counts_are_compared_by_their_index(dpcli: Command, spec: Path) -> None:
    """The index of equal numbers is 100; other statistics have no such sentence."""
    shown, _ = release(dpcli, spec, "between: {sex: [x, m]}", "between: {well: [true, false]}")

    assert "the difference is more than noise: its 95% interval excludes zero" in shown
    assert "; that of index excludes 100" in shown
    assert shown.count("the difference") == 2


def test_a_reference_comes_first_wherever_it_stands(dpcli: Command, spec: Path) -> None:
    """Its number is the first item, and differences and ratios are from it."""
    release(dpcli, spec, f"{MEAN}, between: {{sex: [f, m, x]}}, reference: x")
    items = [row["item"] for row in table(spec.with_name("out.csv"))]

    assert items == ["x", "f", "m", "f - x", "m - x", "f / x", "m / x"]


def items_of(spec: Path) -> list[str]:
    """The items of the published table."""
    return [row["item"] for row in table(spec.with_name("out.csv"))]


def test_each_label_is_compared_with_the_one_before(dpcli: Command, spec: Path) -> None:
    """`reference: previous` is for periods: all labels of a column, in order."""
    shown, report = release(dpcli, spec, f"{MEAN}, between: sex, reference: previous")

    assert items_of(spec) == ["f", "m", "x", "m - f", "x - m", "m / f", "x / m"]
    assert "between f, m and x of sex, each with the one before it" in report
    assert "the difference x - m is more than noise" in shown


def test_a_condition_leaves_out_labels(dpcli: Command, spec: Path) -> None:
    """Of all labels of a column, those that no row can have are not compared."""
    release(dpcli, spec, f"{MEAN}, between: sex, where: {{sex: [x, m]}}")

    assert items_of(spec) == ["m", "x", "x - m", "x / m"]


def test_groups_are_named_by_conditions(dpcli: Command, spec: Path) -> None:
    """The report says which rows are in each group."""
    groups = "{rest: {sex: [f, x], town: A}, men: {sex: m, town: A}}"
    _, report = release(dpcli, spec, f"{MEAN}, between: {groups}, reference: men")
    value = {row["item"]: float(row["value"]) for row in table(spec.with_name("out.csv"))}

    assert [*value] == ["men", "rest", "rest - men", "rest / men"]
    assert abs(value["men"] - 60) < 1
    assert abs(value["rest - men"] + 40) < 1
    assert "men and rest (the first of sex is m and town is A," in report


def test_medians_are_compared(dpcli: Command, spec: Path) -> None:
    """They have differences and ratios, and plans say which difference would be seen."""
    entry = "of: median, column: pay, between: {sex: [f, m]}"
    shown, _ = release(dpcli, spec, entry)
    value = {row["item"]: row["value"] for row in table(spec.with_name("out.csv"))}
    plan = dpcli("plan", write(spec, entry), "--rows", 3000).succeeded().out

    assert value == {"f": "20", "m": "60", "m - f": "40", "m / f": "3.0000"}
    assert "the difference m - f is more than noise" in shown
    assert "s0: a difference of about" in plan


def test_signed_numbers_have_differences_alone(dpcli: Command, spec: Path) -> None:
    """A sentence about a mean that may be negative names no ratio."""
    shown, _ = release(dpcli, spec, "of: mean, column: change, between: {sex: [f, m]}")
    items = [row["item"] for row in table(spec.with_name("out.csv"))]

    assert items == ["f", "m", "m - f"]
    assert "that of" not in shown


def test_nothing_is_said_of_a_difference_that_is_withheld(dpcli: Command, spec: Path) -> None:
    """Its interval is not shown, so no sentence is about it."""
    withheld = "withhold: {wider_than: 0.000001}"
    shown, _ = release(dpcli, spec, f"{MEAN}, between: {{sex: [f, m]}}, {withheld}")

    assert not any(row["value"] for row in table(spec.with_name("out.csv")))
    assert "the difference" not in shown


def test_a_plan_says_which_difference_would_be_seen(dpcli: Command, spec: Path) -> None:
    """It is the half-width of the difference for equal groups; of few rows, none would be seen."""
    write(spec, f"{MEAN}, between: {{sex: [f, m, x]}}", "between: {sex: [f, m]}")
    many, few = (dpcli("plan", spec, "--rows", rows).succeeded().out for rows in (3000, 3))

    assert "m - f about +-0.06" in many
    assert "s0: a difference of about 0.06" in many
    assert "s1: a difference of about 1 rows would be seen in half of all releases" in many
    assert "s0: no difference would be seen" in few


@pytest.mark.parametrize(
    ("fields", "units"),
    [
        ("of: proportion, column: well", ["share", "share", "share", ""]),
        ("of: proportion, column: well, per: 100", ["%", "%", "percentage points", ""]),
        ("of: ratio, numerator: pay, per: 10", ["pay per 10 rows"] * 3 + [""]),
        ("of: mean, column: pay", [""] * 4),
        ("of: sum, column: pay", [""] * 3 + ["%"]),
    ],
)
def test_each_item_has_its_unit(fields: str, units: list[str], dpcli: Command, spec: Path) -> None:
    """A difference of percentages is in percentage points, and a ratio has no unit."""
    release(dpcli, spec, f"{fields}, between: {{sex: [f, m]}}")

    assert [row["unit"] for row in table(spec.with_name("out.csv"))] == units
