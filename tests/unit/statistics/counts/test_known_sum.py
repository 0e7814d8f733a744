"""Counts whose sum is public: their Gaussian noise, and their intervals."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from dpcli.planning.plan import PlannedStatistic
from dpcli.statistics.counts.known_sum import CountsOfAllRows
from tests.support.rules import for_each
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, by_item, held, planned_statistic, released

SPEC = """
dpcli: 1
dataset: all
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 9, delta: 1e-5}}}}
columns:
  s: {{type: category, values: [{labels}], missing: l0}}
  t: {{type: category, values: [a, b]}}
statistics: [{{name: n, statistic: {entry}}}]
"""
COUNT = "count, by: [s], mechanism: gaussian, epsilon: 1, delta: 1e-6"


def planned(entry: str, labels: int = 2, neighbors: str = "change-one") -> PlannedStatistic:
    """The statistic of a spec, for a column with this number of labels."""
    names = ", ".join(f"l{at}" for at in range(labels))
    return planned_statistic(SPEC.format(entry=entry, labels=names, neighbors=neighbors))


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_counts_lack_the_noise_of_their_sum(labels: int, stream: Stream) -> None:
    """The variance is 1 - 1/k times that of the noise, and intervals hold as stated."""
    statistic = planned(COUNT, labels)
    truth = np.arange(labels) * 100
    found = released(statistic, [truth, [truth.sum()]], 10_000)
    numbers = by_item(found, found.value, labels)
    deviation = sqrt(statistic.noises[0].discrete_variance * (1 - 1 / labels))
    assert (numbers - truth).std() == pytest.approx(deviation, rel=0.03)
    assert numbers.sum(axis=1) == pytest.approx(truth.sum(), abs=0.05 * labels)
    assert 0.945 <= held(found, truth).mean() <= 0.97
    assert statistic.error(CONFIDENCE) == (found.upper[0] - found.lower[0]) * found.step / 2


def test_the_number_of_rows_is_exact_and_costs_nothing() -> None:
    """It is the same for all neighbors."""
    counts, rows = planned(COUNT).queries
    assert rows.is_exact and not rows.calibrated.loss.epsilon
    assert counts.calibrated.loss.epsilon == 1


@for_each(
    [
        (COUNT, "add-remove"),
        (COUNT.replace("[s]", "[t]"), "change-one"),
        (COUNT.replace("[s]", "[s], where: {t: a}"), "change-one"),
        ("count, by: [s], epsilon: 1", "change-one"),
    ]
)
def test_other_counts_keep_their_own_noise(case: tuple[str, str]) -> None:
    """Where the sum is not public, rows have no value, or noise is K-norm noise."""
    entry, neighbors = case
    assert not isinstance(planned(entry, neighbors=neighbors).design, CountsOfAllRows)
