"""Counts of several answers of a row, which Gaussian noise protects as one vector."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from dpcli.data.filters import InRanges
from dpcli.planning.plan import PlannedStatistic
from dpcli.statistics.counts.multiple_answers import IndicatorQuery
from tests.support.streams import Stream
from tests.support.surveys import by_item, held, planned_statistic, released

SPEC = """
dpcli: 1
dataset: travel
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 2, delta: 1e-5}}}}
columns:
{columns}
statistics:
  - {{name: travel, statistic: {statistic}, columns: [{names}], by: {by}, mechanism: {mechanism},
     {budget}}}
"""


def planned(
    count: int, mechanism: str = "gaussian", neighbors: str = "add-remove", **fields: str
) -> PlannedStatistic:
    """The plan of counts for this number of boolean columns, perhaps by the next one."""
    names = [f"c{place}" for place in range(count + 1)]
    options = fields.get("fields", "")
    delta = ", delta: 1e-6" if mechanism != "laplace" else ""
    return planned_statistic(
        SPEC.format(
            neighbors=neighbors,
            columns="\n".join(f"  {name}: {{type: boolean}}" for name in names),
            names=", ".join(names[:count]),
            by=fields.get("by", "[]"),
            statistic=fields.get("statistic", "selections"),
            mechanism=mechanism,
            budget=f"{options}epsilon: 1{delta}",
        )
    )


def deviation(statistic: PlannedStatistic) -> float:
    """The standard deviation of the noise in one published count."""
    variances = [query.calibrated.noise.discrete_variance for query in statistic.queries]
    return sqrt(sum(variances)) / len(variances)


@pytest.mark.parametrize("count", [2, 10, 40])
def test_counts_that_one_row_may_all_raise_share_noise(count: int) -> None:
    """Their deviation is (sqrt(k) + 1)/2 times that of a single count."""
    single = deviation(planned(2, fields="max_selected: 1, "))
    assert deviation(planned(count)) == pytest.approx((sqrt(count) + 1) / 2 * single, rel=0.01)


@pytest.mark.parametrize(
    ("neighbors", "mechanism", "fields"),
    [
        ("change-one", "gaussian", ""),
        ("add-remove", "laplace", "max_selected: 3, "),
        ("add-remove", "gaussian", "max_selected: 2, "),
    ],
)
def test_other_plans_count_each_column_alone(neighbors: str, mechanism: str, fields: str) -> None:
    """Other designs cost more if rows are exchanged, or if few answers are counted."""
    (query,) = planned(10, mechanism, neighbors, fields=fields).queries
    asked = query.weighted.query
    assert isinstance(asked, IndicatorQuery)
    assert not asked.signed


def test_half_of_both_answers_is_the_count(stream: Stream) -> None:
    """The published counts are near the truth by the stated deviation, within their intervals."""
    statistic = planned(6)
    size, truth, runs = 5000, np.array([0, 5000, 17, 2500, 4999, 1]), 4000
    estimates = released(statistic, [2 * truth - size, [size]], runs)
    errors = by_item(estimates, estimates.value, 6) - truth
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(deviation(statistic), rel=0.03)
    assert abs(errors.mean()) < 4 * deviation(statistic) / sqrt(runs)
    assert 0.94 <= held(estimates, truth).mean() <= 0.97


def test_signed_counts_are_of_all_tests() -> None:
    """A row that is counted for its first answers alone has no signs for the others."""
    (query,) = planned(2, "gaussian", "change-one").queries
    asked = query.weighted.query
    assert isinstance(asked, IndicatorQuery)
    assert all(isinstance(test, InRanges) for test in asked.tests)
    with pytest.raises(ValueError, match="all tests"):
        IndicatorQuery(tests=asked.tests, max_counted=1, signed=True)
