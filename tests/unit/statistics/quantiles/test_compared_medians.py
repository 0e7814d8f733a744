"""Comparisons of medians of groups: how often intervals of differences and ratios hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcli.numeric.arrays import Array, Floats, integer_array
from dpcli.statistics.estimates import HAS_INTERVAL
from dpcli.statistics.quantiles.compared_medians import ComparedMedians
from tests.support.quantile_coverage import Setting
from tests.support.rules import in_pairs
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
    counts = [Setting(shape, size, 1).counts() for size in (rows, rows + rows // 3)]
    leaves = np.array([counts[0], np.roll(counts[1], 20)])
    return intervals_of(leaves, relation, epsilon, releases)


def next_to_a_gap(width: int, rows: int) -> Array:
    """Rows of two groups, otherwise even; one median ends before a gap, the other begins after.

    Each median is half a row from the other side of the gap, so noise may move it there.
    """
    before, after = 500 - width // 2, 500 - width // 2 + width
    leaves = np.zeros((2, 1001), np.int64)
    for group, above in zip(leaves, (rows // 2, rows // 2 + 1), strict=True):
        np.add.at(group, np.linspace(before, 0, rows // 2).astype(np.int64), 1)
        np.add.at(group, np.linspace(after, 1000, above).astype(np.int64), 1)
    return leaves


def intervals_of(
    leaves: Array, relation: tuple[str, str], epsilon: float, releases: int
) -> tuple[Floats, Floats, Floats]:
    """The same for given rows of each group, shape (groups, values)."""
    unit, neighbors = relation
    runs = ", ".join(f"r{run}" for run in range(RUNS))
    spec = SPEC.format(unit=unit, neighbors=neighbors, epsilon=epsilon, runs=runs)
    planned = planned_statistic(spec)
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
    in_pairs(
        product(SHAPES, (30, 300, 30_000), RELATIONS, (0.1, 1, 5)),
        *[(shape, 300, RELATIONS[at % 3], 1) for at, shape in enumerate(SHAPES)],
        ("even", 30_000, RELATIONS[1], 0.1),
        ("even", 30, RELATIONS[3], 5),
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
@pytest.mark.parametrize(
    ("width", "rows", "relation", "epsilon"),
    [
        (1000, 300, RELATIONS[0], 1),
        (20, 30_000, RELATIONS[1], 1),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in product((2, 5, 20, 100, 1000), (30, 300, 30_000), RELATIONS, (0.1, 1, 5))
        ),
    ],
)
def test_intervals_hold_where_noise_in_both_groups_hides_the_difference(
    width: int, rows: int, relation: tuple[str, str], epsilon: float
) -> None:
    """At least 94% of 1,000 intervals hold with both medians next to a gap, where 95% are meant."""
    lower, upper, exact = intervals_of(next_to_a_gap(width, rows), relation, epsilon, releases=5)
    holds = ((lower <= exact + 1e-4) & (exact - 1e-4 <= upper)).mean(axis=0)

    assert (holds[2:] >= 0.94).all()


def test_intervals_of_differences_have_the_highest_confidence() -> None:
    """Ends of medians then have a risk of less than one in a million, and can be computed."""
    planned = planned_statistic(
        SPEC.format(unit="row", neighbors="add-remove", epsilon=1, runs="r0")
    )
    answers = with_noise(
        planned, [np.full(part.weighted.query.cells or 0, 9) for part in planned.queries]
    )
    usual, highest = (
        planned.design.estimate(answers, confidence)
        for confidence in (CONFIDENCE, Fraction(999_999, 1_000_000))
    )

    assert (highest.lower <= usual.lower).all()
    assert (usual.upper <= highest.upper).all()


@pytest.mark.usefixtures("stream")
def test_the_interval_of_a_difference_is_a_third_wider_than_both_at_most() -> None:
    """It is at most 1.35 times as wide as both intervals together, for dense values."""
    lower, upper, _ = intervals("even", 300, RELATIONS[0], 1, releases=1)
    first, other, difference, _ = (upper - lower).mean(axis=0)

    assert difference <= 1.35 * (first + other)
