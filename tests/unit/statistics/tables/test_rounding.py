"""Whole numbers of tables: every total is the sum of its cells, and none is negative."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpcli.statistics.tables.rounding import whole_joint, whole_margins, whole_parts, whole_table
from tests.support.rules import also_slow


def random_joint(generator: np.random.Generator) -> np.ndarray:
    """A joint table of two to four axes, often with many zeros; its sum is whole."""
    sizes = generator.integers(1, 6, generator.integers(2, 5))
    joint = generator.gamma(0.3, 10.0, sizes) * (generator.random(sizes) < generator.random())
    total = round(joint.sum())
    return joint * (total / joint.sum()) if joint.sum() else joint


@pytest.mark.parametrize("tables", also_slow(300, 10_000))
def test_whole_tables_agree_and_are_not_negative(tables: int) -> None:
    """Each table has the total of all, and tables of one axis are sums of those of two."""
    generator = np.random.default_rng(1)
    for _ in range(tables):
        joint = random_joint(generator)
        total, axes = round(joint.sum()), range(joint.ndim)
        ways = int(generator.integers(1, joint.ndim + 1))
        wanted = [table for count in {0, 1, ways} for table in combinations(axes, count)]
        found = dict(zip(wanted, whole_margins(joint, total, wanted, {}), strict=True))
        for table, numbers in found.items():
            assert (numbers >= 0).all() and numbers.sum() == total
            whole = numbers.reshape([joint.shape[axis] for axis in table])
            for axis in table:
                others = tuple(at for at, kept in enumerate(table) if kept != axis)
                assert (whole.sum(axis=others) == found[(axis,)]).all()


@pytest.mark.parametrize("seed", range(5))
def test_tables_of_one_and_two_axes_are_within_one_of_their_parts(seed: int) -> None:
    """Where each cell has a part, whole numbers are the next ones above or below."""
    generator = np.random.default_rng(seed)
    joint = generator.gamma(2.0, 3.0, (6, 7))
    joint *= round(joint.sum()) / joint.sum()
    wanted = [(), (0,), (1,), (0, 1)]
    found = whole_margins(joint, round(joint.sum()), wanted, {})
    exact = [joint.sum(), joint.sum(axis=1), joint.sum(axis=0), joint]
    for numbers, parts in zip(found, exact, strict=True):
        assert abs(numbers - np.ravel(parts)).max() < 1 + 1e-6


def test_the_largest_remainders_are_rounded_up() -> None:
    """Groups are rounded each by itself; floats may miss the total by little."""
    parts = np.array([[1.5, 2.25, 0.25], [0.0, 2.9999999, 4.0000001]])
    assert whole_parts(parts, np.array([4, 7])).tolist() == [[2, 2, 0], [0, 3, 4]]
    assert whole_parts(np.array([[3.0, 1.0]]), np.array([3])).tolist() == [[2, 1]]


def test_sums_are_reached_where_no_rounding_within_one_has_them() -> None:
    """Rows and columns whose sums were rounded need a cell that has no part."""
    parts = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert whole_table(parts, np.array([1, 0]), np.array([0, 1])).tolist() == [[0, 1], [0, 0]]
    assert whole_table(parts, np.array([0, 0]), np.array([0, 0])).tolist() == [[0, 0], [0, 0]]
    large = np.array([[2.0, 0.0], [0.0, 2.0]])
    assert whole_table(large, np.array([1, 3]), np.array([3, 1])).sum(axis=1).tolist() == [1, 3]


def test_margins_of_a_whole_joint_table_are_near() -> None:
    """Moving rows brings tables of three axes within two of their parts."""
    generator = np.random.default_rng(3)
    joint = generator.gamma(0.2, 1.0, (5, 5, 5, 5))
    joint *= 300 / joint.sum()
    whole = whole_joint(joint, 300, 3)
    assert whole.sum() == 300 and (whole >= 0).all()
    for table in combinations(range(4), 3):
        others = tuple({*range(4)} - {*table})
        away = whole.sum(axis=others) - joint.sum(axis=others)
        assert abs(away).max() < 2 and np.sqrt((away**2).mean()) < 0.5
