"""Survey weights: numbers against plain sums, and how often intervals contain them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcli.numeric.arrays import integer_array
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from tests.support.refusals import refused
from tests.support.streams import Stream
from tests.support.surveys import (
    CONFIDENCE,
    assert_covers,
    few_and_many_runs,
    noisy_answers,
    planned_statistic,
    released,
)

SPEC = """
dpcli: 1
dataset: weights
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 10, delta: 1e-5}}}}
columns:
  id: {{type: id}}
  x: {{type: integer, bounds: [0, 100], missing: 0}}
  f: {{type: boolean}}
  w: {{type: number, bounds: [0.5, 3], step: 0.01, missing: 1}}
statistics: [{{name: s, {fields}}}]
"""

FORMS = {
    "count": "statistic: count, weight: w, epsilon: 0.5",
    "sum": "statistic: sum, column: x, weight: w, epsilon: 0.5",
    "mean": "statistic: mean, column: x, weight: w, epsilon: 0.5",
    "mean-gaussian": "statistic: mean, column: x, weight: w, mechanism: gaussian, epsilon: 0.5, "
    "delta: 1e-6",
    "mean-noisy": "statistic: mean, column: x, weight: w, epsilon: 0.05",
}


def spec(fields: str, neighbors: str = "add-remove", unit: str = "row") -> str:
    """A spec with one statistic."""
    return SPEC.format(fields=fields, neighbors=neighbors, unit=unit)


SHARES = {"some": (0.2, 0.5), "most": (0.9, 0.5), "few": (0.02, 1), "noisy": (0.4, 0.03)}
"""Shares of the rows, and the epsilons of their proportions."""


@few_and_many_runs
@pytest.mark.parametrize("name", SHARES)
def test_intervals_of_weighted_proportions_cover_them(
    name: str, runs: int, least: float, most: float, stream: Stream
) -> None:
    """About 95% of the intervals contain the weighted proportion of the file."""
    random, (share, epsilon) = np.random.default_rng(12), SHARES[name]
    fields = f"statistic: proportion, column: f, weight: w, epsilon: {epsilon}"
    weights, inside = random.integers(50, 301, 1000), random.random(1000) < share
    cells = [int(weights[~inside].sum()), int(weights[inside].sum())]
    estimates = released(planned_statistic(spec(fields)), [cells], runs)
    assert_covers(estimates, cells[1] / sum(cells), least, most)


@few_and_many_runs
@pytest.mark.parametrize("name", FORMS)
def test_intervals_of_weighted_numbers_cover_them(
    name: str, runs: int, least: float, most: float, stream: Stream
) -> None:
    """About 95% of the intervals contain the weighted number of the file."""
    random = np.random.default_rng(11)
    x = random.integers(0, 101, (1, 800))
    w = random.integers(50, 301, (1, 800))
    planned = planned_statistic(spec(FORMS[name]))
    answers = noisy_answers(planned, {"x": x, "w": w}, runs)
    size, total = w.sum() / 100, (x * w).sum() / 100
    truth = {"count": size, "sum": total}.get(name, total / size)
    assert_covers(planned.design.estimate(answers, CONFIDENCE), truth, least, most)


def test_a_public_number_of_rows_does_not_make_a_sum_of_weights_public() -> None:
    """Under change-one, a row that is replaced can change the sum of the weights by their width."""
    planned = planned_statistic(spec(FORMS["mean-gaussian"], "change-one"))

    assert planned.queries[1].l1 == Fraction(5, 2)
    assert sum(query.weighted.weight for query in planned.queries) == 1


def test_the_bounds_of_a_total_are_in_the_unit_of_the_weights() -> None:
    """`unit_bounds` of a weighted count are weights, and of a weighted sum weighted values."""
    unit = "{column: id, max_rows: 5}"
    count = "statistic: count, weight: w, bound: sum, unit_bounds: [0, 4.5], epsilon: 1"
    total = "statistic: sum, column: x, weight: w, bound: sum, unit_bounds: [0, 200], epsilon: 1"

    for fields, most in ((count, Fraction(9, 2)), (total, 200)):
        planned = planned_statistic(spec(fields, unit=unit))
        assert planned.queries[0].l1 == most


def test_the_bounds_of_a_count_of_numbers_are_rows() -> None:
    """`unit_bounds` of a count of a column are rows, whatever the step of the column is."""
    unit = "{column: id, max_rows: 5}"
    fields = "statistic: count, column: w, bound: sum, unit_bounds: [0, 3], epsilon: 1"
    planned = planned_statistic(spec(fields, unit=unit))

    assert planned.queries[0].l1 == 3


def test_a_group_needs_at_least_the_least_weight() -> None:
    """Without rows, a mean lies within the bounds, and its interval is all that is possible."""
    planned = planned_statistic(spec(FORMS["mean-noisy"]))
    (query,) = planned.queries
    answers = [NoisyAnswer(integer_array([-1000, -1000, 0, 0, 2900, 2000]), query.calibrated.noise)]
    estimates = planned.design.estimate(answers, CONFIDENCE)

    assert all(0 <= estimate.value <= 100 for estimate in estimates if estimate.value is not None)
    assert estimates.limits == ((Fraction(0), Fraction(100)),) and estimates.covers_all.all()


def test_a_negative_weight_is_refused() -> None:
    """A weight whose lower bound is below zero is an error of the spec."""
    text = spec(FORMS["count"]).replace("[0.5, 3]", "[-0.5, 3]")
    with refused("bad-weight"):
        parse_central_spec(text, "s")
