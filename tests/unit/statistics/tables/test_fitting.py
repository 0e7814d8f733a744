"""Non-negative joint tables that fit measured effects best."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from dpcli.numeric.arrays import Floats
from dpcli.statistics.tables.fitting import (
    MeasuredEffectOfTable,
    Table,
    centered,
    fitted_joint,
    margin,
    projected,
)


def effects(
    measured: dict[Table, tuple[Floats, float]], sizes: tuple[int, ...], ways: int
) -> dict[Table, MeasuredEffectOfTable]:
    """The best linear estimate of each effect from tables with noise of a variance."""
    found = {}
    for count in range(1, ways + 1):
        for effect in combinations(range(len(sizes)), count):
            total, weight = np.zeros(1), 0.0
            for table, (numbers, variance) in measured.items():
                if {*table} >= {*effect}:
                    inner = tuple(table.index(axis) for axis in effect)
                    left = [sizes[axis] for axis in table if axis not in effect]
                    precision = 1 / (variance * np.prod(left))
                    total = total + precision * centered(margin(numbers, inner))
                    weight += precision
            found[effect] = MeasuredEffectOfTable(total / weight, weight)
    return found


@pytest.mark.parametrize(("sizes", "ways"), [((3, 4), 2), ((2, 3, 2), 2), ((3, 3, 2), 1)])
@pytest.mark.parametrize("rows", [5, 40, 4000])
def test_the_fit_is_that_of_a_solver(sizes: tuple[int, ...], ways: int, rows: int) -> None:
    """Published tables are those of non-negative least squares with a fixed sum."""
    generator = np.random.default_rng(rows)
    tops = [*combinations(range(len(sizes)), ways)]
    joint = generator.multinomial(rows, generator.dirichlet(np.full(np.prod(sizes), 0.3)))
    exact = joint.reshape(1, *sizes).astype(float)
    variances = {top: float(3 + at) for at, top in enumerate(tops)}
    measured = {
        top: (table + generator.normal(0, variances[top] ** 0.5, table.shape), variances[top])
        for top in tops
        for table in [margin(exact, top)]
    }
    found = fitted_joint(sizes, effects(measured, sizes, ways), np.array([float(rows)]))
    units = np.eye(exact.size).reshape(-1, *sizes)
    matrix = [margin(units, top).reshape(exact.size, -1).T / v**0.5 for top, v in variances.items()]
    wanted = [numbers.ravel() / variance**0.5 for numbers, variance in measured.values()]
    # The sum of all rows is a measurement whose error is next to none.
    matrix.append(np.full((1, exact.size), 1e3))
    wanted.append(np.array([1e3 * rows]))
    solved, _ = nnls(np.vstack(matrix), np.concatenate(wanted))
    for top in tops:
        expected = margin(solved.reshape(1, *sizes), top)
        assert margin(found, top) == pytest.approx(expected, abs=2e-2)


def test_groups_are_fitted_each_by_itself() -> None:
    """A group without rows has none in any cell."""
    numbers = np.array([[3.0, -1.0, -2.0], [5.0, 0.0, -5.0], [1.0, -2.0, 1.0]])
    measured: dict[Table, MeasuredEffectOfTable] = {(0,): MeasuredEffectOfTable(numbers, 1.0)}
    totals = np.array([12.0, 3.0, 0.0])
    together = fitted_joint((3,), measured, totals)
    assert together[0] == pytest.approx([7, 3, 2])
    assert together[1] == pytest.approx([3, 0, 0]) and not together[2].any()


def test_projections_are_nearest_tables() -> None:
    """By the conditions of a minimum: what is positive was moved by the same number."""
    generator = np.random.default_rng(4)
    numbers: Floats = generator.normal(0, 5, (20, 30))
    totals: Floats = generator.integers(0, 50, 20).astype(np.float64)
    found = projected(numbers, totals)
    assert found.sum(axis=1) == pytest.approx(totals) and (found >= 0).all()
    for before, after in zip(numbers, found, strict=True):
        moved = before[after > 0] - after[after > 0]
        assert np.ptp(moved) < 1e-6 if len(moved) else True
        if len(moved):
            assert (before[after == 0] <= moved[0] + 1e-6).all()
