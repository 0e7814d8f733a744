"""Exact least squares with a limit on the sum of absolute coefficients."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from random import Random

import numpy as np
import pytest

from dpcli.numeric.minimizers import constrained_least_squares, solve_equations


def problem(size: int, seed: int) -> tuple[list[list[Fraction]], list[Fraction]]:
    """A positive definite matrix and a vector, with enough digits that nothing ties."""
    random = Random(seed)
    rows = [[Fraction(random.randint(-9, 9), 9) for _ in range(size)] for _ in range(size + 3)]
    matrix = [
        [sum((row[i] * row[j] for row in rows), Fraction(i == j, 5)) for j in range(size)]
        for i in range(size)
    ]
    vector = [Fraction(random.randint(-(2**80), 2**80), 2**79) for _ in range(size)]
    return matrix, vector


def minimized(matrix: list[list[Fraction]], vector: list[Fraction]) -> np.ndarray:
    """The minimizer by projected gradient steps in floats, independent of the exact path."""
    a, v = np.array(matrix, dtype=float), np.array(vector, dtype=float)
    point, step = np.zeros(len(v)), 1 / np.linalg.eigvalsh(a)[-1]
    for _ in range(2000):
        moved = point - step * (a @ point - v)
        sizes = np.sort(np.abs(moved))[::-1]
        excess = (np.cumsum(sizes) - 1) / np.arange(1, len(v) + 1)
        level = max(excess[np.flatnonzero(sizes > excess)[-1]], 0.0)
        point = np.sign(moved) * np.maximum(np.abs(moved) - level, 0.0)
    return point


@pytest.mark.parametrize(("size", "seed"), list(product((1, 2, 3, 5), range(2))))
def test_it_is_the_minimizer_of_projected_gradients(size: int, seed: int) -> None:
    """Both methods agree, whether the limit binds or not."""
    matrix, vector = problem(size, seed)
    for factor in (Fraction(1, 8), Fraction(1), Fraction(8)):
        scaled = [factor * value for value in vector]
        found = constrained_least_squares(matrix, scaled)
        assert found is not None
        assert sum(map(abs, found)) <= 1
        assert np.array(found, dtype=float) == pytest.approx(minimized(matrix, scaled), abs=1e-6)


def test_a_tie_is_never_answered_wrongly() -> None:
    """Where coefficients tie, there is the minimizer or no answer."""
    for vector in combinations_with_replacement((-1, 0, 2), 3):
        numbers = [Fraction(value) for value in vector]
        identity = [[Fraction(i == j) for j in range(3)] for i in range(3)]
        found = constrained_least_squares(identity, numbers)
        if found is not None:
            expected = minimized(identity, numbers)
            assert np.array(found, dtype=float) == pytest.approx(expected, abs=1e-9)


def test_equations_are_solved_exactly() -> None:
    """Three equations with a known solution."""
    matrix = [[4, 1, 0], [1, 3, 1], [0, 1, 2]]
    known = [Fraction(1, 3), Fraction(-2), Fraction(5, 7)]
    equations = [
        [*map(Fraction, row), sum((a * x for a, x in zip(row, known, strict=True)), Fraction(0))]
        for row in matrix
    ]
    assert solve_equations(equations) == known
