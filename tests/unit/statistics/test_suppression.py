"""Numbers of groups that have few rows by their noisy number of rows."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpcli import Ledger, load_spec, release
from dpcli.problems.errors import SpecError
from tests.support.surveys import CONFIDENCE, planned_statistic, with_noise

SPEC = """
dpcli: 1
dataset: groups
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 100, delta: 1e-3}}}}
quality: none
columns:
  region: {{type: category, values: [north, south]}}
  size: {{type: integer, bounds: [1, 5]}}
  other: {{type: integer, bounds: [1, 5]}}
  flag: {{type: boolean}}
  other_flag: {{type: boolean}}
  sex: {{type: category, values: [f, m]}}
statistics:
  - {{name: s, {fields}, by: [region], post: [{{suppress_below: 40}}], epsilon: 10}}
"""

FIELDS = (
    "statistic: mean, column: size",
    "statistic: mean, column: size, mechanism: gaussian, delta: 1e-6",
    "statistic: proportion, column: flag",
    "statistic: ratio, numerator: size, denominator: rows",
    "statistic: ratio, numerator: flag, denominator: rows",
    "statistic: variance, column: size",
    "statistic: std, column: size, mechanism: gaussian, delta: 1e-6",
    "statistic: describe, column: size",
    "statistic: covariance, columns: [size, other]",
    "statistic: correlation, columns: [size, other]",
    "statistic: median, column: size",
    "statistic: median, column: size, mechanism: permute_and_flip",
    "statistic: quantile, column: size, quantiles: [0.2, 0.8]",
    "statistic: sum, column: size",
    "statistic: sum, column: size, mechanism: gaussian, delta: 1e-6",
    "statistic: inequality, column: size",
    "statistic: ratio, numerator: flag, denominator: other_flag",
    "statistic: comparison, of: mean, column: size, between: {sex: [f, m]}",
    "statistic: comparison, of: median, column: size, between: {sex: [f, m]}",
    "statistic: comparison, of: proportion, column: flag, between: {sex: [f, m]}",
    "statistic: comparison, between: {sex: [f, m]}",
    "statistic: count",
    "statistic: count, percent: total",
    "statistic: count, rate: {per: 1000, population: {north: 500, south: 70}}",
)


def written(folder: Path, sizes: dict[str, int]) -> Path:
    """A file with as many rows of each region."""
    lines = [
        f"{region},{1 + at % 5},{1 + at % 3},{at % 2 == 0},{at % 3 == 0},{'fm'[at % 2]}".lower()
        for region, count in sizes.items()
        for at in range(count)
    ]
    data, header = folder / "data.csv", "region,size,other,flag,other_flag,sex"
    data.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return data


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("fields", FIELDS)
def test_numbers_of_small_groups_are_suppressed(
    fields: str, neighbors: str, tmp_path: Path
) -> None:
    """With little noise, numbers of one row are left out and those of 120 are shown."""
    data = written(tmp_path, {"north": 120, "south": 1})
    spec = load_spec(text=SPEC.format(fields=fields, neighbors=neighbors))
    with Ledger.create(tmp_path / "l.sqlite") as ledger:
        table = release(spec, data, ledger=ledger, release_id="r")["s"]
    flags = {
        region: set(table.filter(table["region"] == region)["flag"].to_list())
        for region in ("north", "south")
    }

    assert flags["south"] == {"suppressed"}
    assert "suppressed" not in flags["north"]


def test_a_difference_is_left_out_where_either_group_is_small(tmp_path: Path) -> None:
    """Of three groups, only the numbers and pairs without the small one are shown."""
    spec = load_spec(
        text=SPEC.format(
            neighbors="add-remove", fields="statistic: comparison, between: {region: [a, b, c]}"
        )
        .replace("[north, south]", "[a, b, c]")
        .replace(", by: [region]", "")
    )
    data = written(tmp_path, {"a": 90, "b": 80, "c": 5})
    with Ledger.create(tmp_path / "l.sqlite") as ledger:
        table = release(spec, data, ledger=ledger, release_id="r")["s"]

    assert table.filter(table["flag"] == "suppressed")["item"].to_list() == [
        "c", "c - a", "c / a",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ("statistic: mean, column: size, weight: other", "omit `weight`, or publish a `count`"),
        ("statistic: sum, column: size, totals: all", "omit `totals`, or publish a `count`"),
        ("statistic: ratio, numerator: size, denominator: other", "write `denominator: rows`, or"),
        ("statistic: comparison, of: sum, column: size, between: sex", "write `of: mean`, whose"),
    ],
)
def test_a_refusal_says_what_counts_rows(fields: str, hint: str) -> None:
    """Where no answer counts rows, the hint has what to write instead."""
    with pytest.raises(SpecError) as refused:
        load_spec(text=SPEC.format(fields=fields, neighbors="add-remove"))
    (problem,) = refused.value.problems

    assert problem.hint.startswith(hint)


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize("low", [0, -30, 20])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_a_sum_that_counts_rows_covers_the_total(low: int, neighbors: str) -> None:
    """Its intervals hold as often as stated, and are no wider than those of a sum from zero on."""
    text = SPEC.format(fields="statistic: sum, column: size", neighbors=neighbors)
    text = text.replace(
        "size: {type: integer, bounds: [1, 5]}", f"size: {{type: integer, bounds: [{low}, 100]}}"
    )
    counting, plain = (
        planned_statistic(one.replace("epsilon: 10}", "epsilon: 1}").replace(", by: [region]", ""))
        for one in (text, text.replace("post: [{suppress_below: 40}], ", ""))
    )
    values = range(low, 101, 7)
    distances = sum(100 - value for value in values), sum(value - low for value in values)
    answers = with_noise(counting, [distances], 2000)
    found = counting.design.estimate(answers, CONFIDENCE)
    total = sum(values) / found.step
    both = (one.design.error(one.noises, CONFIDENCE) for one in (counting, plain))
    first, second = (error or 0 for error in both)

    assert 0.94 <= ((found.lower <= total) & (total <= found.upper)).mean() <= 0.965
    assert abs(np.median(counting.design.noisy_rows(answers)) - len(values)) <= 1
    if neighbors == "add-remove":
        assert first <= second * (1 if low == 0 else Fraction(3, 2))


def test_a_sum_counts_rows_within_bounds_that_are_chosen(tmp_path: Path) -> None:
    """Noisy counts choose the bounds, and totals of small groups are left out all the same."""
    text = SPEC.format(fields="statistic: sum, column: size", neighbors="add-remove")
    spec = text.replace(
        "bounds: [1, 5]}\n  other", "bounds: {choose: 1-2-5, up_to: 1000, epsilon: 5}}\n  other"
    )
    data = written(tmp_path, {"north": 120, "south": 20})
    with Ledger.create(tmp_path / "l.sqlite") as ledger:
        table = release(load_spec(text=spec), data, ledger=ledger, release_id="r")["s"]

    assert table["flag"].to_list() == [None, "suppressed"]
