"""The exact solution of a ridge regression, from its moments.

Exact rationals make the coefficients a function of the moments alone, so that the sensitivity that
is proved for exact coefficients holds for the computed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import floor

from dpcli.numeric.constrained_least_squares import solve_equations
from dpcli.queries.regression import RidgeQuery


def ridge_coefficients(query: RidgeQuery, moments: Sequence[int]) -> list[int]:
    """The coefficients of a ridge regression in steps of the query's grid, halves rounded up.

    `moments` are the totals of `query.moments`. The linear equations are solved in exact
    rationals. They have one solution, because the ridge is above zero.
    """
    size = query.cells
    half_widths = [Fraction(1)]
    half_widths += [
        Fraction(max(map(abs, factor.limits))) for factor in (*query.inputs, query.outcome)
    ]
    pairs = combinations_with_replacement(range(size + 1), 2)
    rows = max(query.rows, moments[0])
    scaled = {
        pair: total / (half_widths[pair[0]] * half_widths[pair[1]] * rows)
        for pair, total in zip(pairs, moments, strict=True)
    }
    equations = [
        [scaled[min(i, j), max(i, j)] + (query.ridge if i == j else 0) for j in range(size)]
        + [scaled[i, size]]
        for i in range(size)
    ]
    return [floor(theta / query.grid + Fraction(1, 2)) for theta in solve_equations(equations)]
