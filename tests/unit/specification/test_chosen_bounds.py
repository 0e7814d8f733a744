"""A spec with what was chosen is the spec in which a person writes the same numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dpcli.data.candidate_bounds import LIMIT_NAME
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import losses_of, required_minimums
from dpcli.specification.chosen_bounds import with_chosen_bounds
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import CentralSpec
from dpcli.statistics.bounds.chosen_bounds import ChosenBounds
from dpcli.statistics.quality.quality_counts import fault_order
from tests.support.refusals import refused

SPEC = """\
dpcli: 1
dataset: shop
privacy:
  unit: UNIT
  neighbors: add-remove
  budget: {epsilon: 9, delta: 1e-3}
quality: {epsilon: 0.1, min_readable: 0.5}
columns:
  who: {type: id}
  spent: {type: number, step: 0.01, missing: MISSING, bounds: BOUNDS}
  age: {type: integer, missing: 7, bounds: [0, 110]}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: first, statistic: STATISTIC, epsilon: 0.5}
  - {name: total, statistic: sum, column: spent, epsilon: 0.5}
"""

OPEN = {
    "BOUNDS": "{choose: 1-2-5, up_to: 10000, epsilon: 0.1}",
    "ROWS": "{choose: 1-2-5, up_to: 1000, epsilon: 0.1}",
    "MISSING": "400",
}
WRITTEN = {"BOUNDS": "[0, 200]", "ROWS": "10", "MISSING": "200"}
CHOSEN = {
    "bounds of spent": ChosenBounds(Fraction(0), Fraction(200)),
    LIMIT_NAME: ChosenBounds(Fraction(0), Fraction(10)),
}

STATISTICS = [
    "sum, column: spent, by: [sex]",
    "sum, column: age, weight: spent",
    "mean, column: spent, by: [sex]",
    "variance, column: spent",
    "median, column: spent, candidates: {step: 5}",
    "quantile, column: spent, candidates: {step: 5}, quantiles: [0.1, 0.5, 0.9]",
    "median, column: spent, candidates: {step: 5}, by: [sex]",
    "covariance, columns: [age, spent]",
    "linear_regression, column: spent, on: [age]",
    "ratio, numerator: spent, denominator: age",
    "count, by: [sex]",
]

OF_PEOPLE = [
    "sum, column: spent, bound: rows, unit_bounds: [0, 500]",
    "sum, column: spent, bound: sum, unit_bounds: [0, 500]",
    "count_distinct, by: [sex]",
]

LIMITS = ["ROWS", "5", "ROWS, max_rows_per_group: 3", "ROWS, max_groups: 2", "ROWS, max_groups: 50"]
UNITS = [f"{{column: who, max_rows: {limits}}}" for limits in LIMITS]


def filled(text: str, values: dict[str, str]) -> CentralSpec:
    """The spec of a template."""
    for word, value in values.items():
        text = text.replace(word, value)
    return parse_central_spec(text, "spec")


@pytest.mark.parametrize(
    ("unit", "statistic"), [*product(["row", *UNITS], STATISTICS), *product(UNITS, OF_PEOPLE)]
)
def test_chosen_numbers_are_as_written(unit: str, statistic: str) -> None:
    """Columns, requests, designs and the unit are the same; the check came before the choice."""
    text = SPEC.replace("UNIT", unit).replace("STATISTIC", statistic)
    opened, written = filled(text, OPEN), filled(text, WRITTEN)
    made = with_chosen_bounds(opened, CHOSEN)

    assert made.columns == written.columns
    assert made.privacy == written.privacy
    assert made.quality == opened.quality
    for one, other in zip(made.entries, written.entries, strict=True):
        assert (one.inputs, one.designs) == (other.inputs, other.designs)
        assert one.alternative_bounding == other.alternative_bounding


def test_the_check_knows_the_columns_whose_bounds_were_chosen_after_it() -> None:
    """Minimums and completeness find the counts of their cells, which have other bounds then."""
    text = SPEC.replace("UNIT", "row").replace("STATISTIC", "sum, column: spent, by: [sex]")
    plan = make_plan(with_chosen_bounds(filled(text, OPEN), CHOSEN))
    assert plan.quality is not None
    order = fault_order(plan.quality.entry.inputs)

    assert [minimum.key[1] for minimum in required_minimums(plan)] == ["sex", "spent"]
    for planned in plan.statistics:
        lost = losses_of(planned, plan.spec)
        assert len(lost.positions(order) or []) == len(lost.cells)


def test_mechanisms_are_those_of_the_open_spec() -> None:
    """What is chosen decides neither mechanisms nor what they are charged.

    With at most 10 rows, 50 groups are no limit, so that counts could answer; before, they cannot.
    """
    text = SPEC.replace("UNIT", UNITS[-1])
    text = text.replace("STATISTIC", "median, column: age, by: [sex]")
    opened = filled(text, OPEN)
    made, written = with_chosen_bounds(opened, CHOSEN), filled(text, WRITTEN)
    (before, *_), (after, *_), (other, *_) = opened.entries, made.entries, written.entries

    assert after.mechanisms == before.mechanisms != other.mechanisms
    assert make_plan(made).cost.within(make_plan(opened).cost)


@pytest.mark.parametrize(("lower", "upper"), [(0, 20_000), (-1, 5), (5, 5), (0, "0.005")])
def test_what_cannot_be_chosen_is_refused(lower: int, upper: int | str) -> None:
    """Bounds lie within the outermost ones, in whole steps, and are two numbers."""
    text = SPEC.replace("UNIT", "row").replace("STATISTIC", "count")
    chosen = {"bounds of spent": ChosenBounds(Fraction(lower), Fraction(upper))}
    with pytest.raises(ValueError, match="chosen bounds"):
        with_chosen_bounds(filled(text, OPEN), chosen)


def test_a_choice_that_could_leave_no_answer_is_refused_before_it() -> None:
    """With bounds of 0 and 1, the prices at steps of 20 would be zero alone."""
    statistic = "choose, column: spent, candidates: {step: 20}, utility: revenue"
    text = SPEC.replace("UNIT", "row").replace("STATISTIC", statistic)
    with refused("price-negative"):
        filled(text, OPEN)
    assert filled(text, WRITTEN).entries


def test_a_check_comes_before_a_choice_and_does_not_depend_on_it() -> None:
    """It counts nothing that will be chosen."""
    text = SPEC.replace("UNIT", UNITS[0]).replace("STATISTIC", STATISTICS[0])
    opened, written = filled(text, OPEN), filled(text, WRITTEN)
    made = with_chosen_bounds(opened, CHOSEN)
    labels = [
        fault_order(spec.quality.entry.inputs).labels
        for spec in (opened, made, written)
        if spec.quality is not None
    ]

    assert (
        labels[0]
        == labels[1]
        == tuple(
            label for label in labels[2] if "spent: outside" not in label and "rows or" not in label
        )
    )
    assert any("spent: outside" in label for label in labels[2])
    assert (opened.checks_first, made.checks_first) == (True, False)


def test_a_quality_check_alone_is_no_use_of_a_limit() -> None:
    """It counts people by all their rows, and the statistic uses every row."""
    unit = "{column: who, max_rows: {choose: 1-2-5, up_to: 1000, epsilon: 0.1}}"
    text = SPEC.replace("UNIT", unit).replace("min_readable: 0.5", "min_people: 10")
    text = text.replace("STATISTIC", "count_distinct, column: who")
    with refused("bounds-unused"):
        filled("\n".join(text.splitlines()[:-1]), WRITTEN)
