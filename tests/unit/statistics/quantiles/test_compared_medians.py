"""Comparisons of medians of groups: how often intervals of differences and ratios hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcli.numeric.arrays import Array, Floats, integer_array
from dpcli.statistics.estimates import HAS_INTERVAL
from dpcli.statistics.quantiles.compared_medians import ComparedMedians
from tests.support.quantile_coverage import Setting
from tests.support.rules import mostly_extended
from tests.support.surveys import CONFIDENCE, by_item, planned_statistic, with_noise

RUNS = 200
"""The groups of a release, each with the same rows."""

SPEC = """
dpcli: 1
dataset: groups
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1000}}}}
columns:
  who: {{type: id}}
  x: {{type: integer, bounds: [1, 1001]}}
  sex: {{type: category, values: [f, m]}}
  run: {{type: category, values: [{runs}]}}
statistics:
  - name: s
    statistic: comparison
    of: median
    column: x
    between: {{sex: [f, m]}}
    by: [run]
    epsilon: {epsilon}
"""

PEOPLE = "{column: who, max_rows: 3}"

RELATIONS = (
    ("row", "add-remove"),
    ("row", "change-one"),
    (PEOPLE, "add-remove"),
    (PEOPLE, "change-one"),
)

SHAPES = ("incomes", "even", "tied", "two values")


def intervals(
    shape: str, rows: int, relation: tuple[str, str], epsilon: float, releases: int
) -> tuple[Floats, Floats, Floats]:
    """Ends of intervals of medians, their difference and ratio, and the exact numbers."""
    unit, neighbors = relation
    runs = ", ".join(f"r{run}" for run in range(RUNS))
    spec = SPEC.format(unit=unit, neighbors=neighbors, epsilon=epsilon, runs=runs)
    planned = planned_statistic(spec)
    counts = [Setting(shape, size, 1).counts() for size in (rows, rows + rows // 3)]
    leaves = np.array([counts[0], np.roll(counts[1], 20)])
    design = planned.design
    assert isinstance(design, ComparedMedians)
    cells = [counted(leaves, size) for size in design.of.tree.node_leaves]
    first, other = (np.searchsorted(np.cumsum(one), one.sum() / 2) + 1.0 for one in leaves)
    ends = []
    for _ in range(releases):
        answers = with_noise(planned, cells, RUNS)
        found = planned.entry.statistic.possible_estimate(planned.design, answers, CONFIDENCE)
        missing = found.status.reshape(-1, 4) != HAS_INTERVAL
        lower, upper = (by_item(found, side, 4) for side in (found.lower, found.upper))
        ends.append((np.where(missing, -np.inf, lower), np.where(missing, np.inf, upper)))
    lowers, uppers = map(np.concatenate, zip(*ends, strict=True))
    return lowers, uppers, np.array([first, other, other - first, other / first])


def counted(leaves: Array, size: int) -> Array:
    """The rows in nodes of this number of leaves, for each group."""
    padded = np.pad(leaves, ((0, 0), (0, -leaves.shape[1] % size)))
    return integer_array(padded.reshape(len(leaves), -1, size).sum(axis=2).ravel())


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize(
    ("shape", "rows", "relation", "epsilon"),
    mostly_extended(
        product(SHAPES, (30, 300, 30_000), RELATIONS, (0.1, 1, 5)),
        *[(shape, 300, RELATIONS[at % 3], 1) for at, shape in enumerate(SHAPES)],
        ("even", 30_000, RELATIONS[1], 0.1),
        ("even", 30, RELATIONS[3], 5),
        unpack=True,
    ),
)
def test_intervals_cover_medians_differences_and_ratios(
    shape: str, rows: int, relation: tuple[str, str], epsilon: float
) -> None:
    """At least 93% of 200 intervals of differences hold, where 95% are meant."""
    lower, upper, exact = intervals(shape, rows, relation, epsilon, releases=1)
    holds = ((lower <= exact + 1e-4) & (exact - 1e-4 <= upper)).mean(axis=0)

    assert (holds >= [0.88, 0.88, 0.93, 0.93]).all()


@pytest.mark.usefixtures("stream")
def test_the_interval_of_a_difference_is_narrower_than_both() -> None:
    """It is at most 0.9 times as wide as both intervals together, for dense values."""
    lower, upper, _ = intervals("even", 300, RELATIONS[0], 1, releases=1)
    first, other, difference, _ = (upper - lower).mean(axis=0)

    assert difference <= 0.9 * (first + other)
