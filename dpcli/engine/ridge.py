"""The exact solution of a ridge regression, from its moments.

Exact rationals make the coefficients a function of the moments alone, so that the sensitivity that
is proved for exact coefficients holds for the computed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import floor

from dpcli.queries import RidgeQuery


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
    return [floor(theta / query.grid + Fraction(1, 2)) for theta in _solve(equations)]


def _solve(equations: list[list[Fraction]]) -> list[Fraction]:
    """The solution of linear equations with a positive definite matrix (Gauss and Jordan)."""
    for place in range(len(equations)):
        # The pivots of a positive definite matrix are positive.
        row = [value / equations[place][place] for value in equations[place]]
        for other, others in enumerate(equations):
            factor = others[place]
            equations[other] = [
                value - factor * pivot for value, pivot in zip(others, row, strict=True)
            ]
        equations[place] = row
    return [row[-1] for row in equations]
