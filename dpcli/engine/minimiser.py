"""The exact minimiser of a ridge regression, from the moments of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import floor

from dpcli.privacy.confidential import Cells
from dpcli.vector_queries import MinimiserQuery


def minimised(query: MinimiserQuery, moments: Sequence[int]) -> Cells:
    """The coefficients in whole steps of the query's grid, halves rounded up.

    `moments` are the totals of `query.moments`. The linear equations are solved in
    exact rationals; ridge above zero makes them regular.
    """
    size = query.cells
    halves = [Fraction(1)]
    halves += [Fraction(max(map(abs, one.limits))) for one in (*query.inputs, query.outcome)]
    pairs = combinations_with_replacement(range(size + 1), 2)
    rows = max(query.rows, moments[0])
    scaled = {
        pair: total / (halves[pair[0]] * halves[pair[1]] * rows)
        for pair, total in zip(pairs, moments, strict=True)
    }
    equations = [
        [scaled[min(i, j), max(i, j)] + (query.ridge if i == j else 0) for j in range(size)]
        + [scaled[i, size]]
        for i in range(size)
    ]
    return tuple(floor(theta / query.grid + Fraction(1, 2)) for theta in _solved(equations))


def _solved(equations: list[list[Fraction]]) -> list[Fraction]:
    """The solution of linear equations with a positive definite matrix (Gauss and Jordan)."""
    for place in range(len(equations)):
        # Its pivots are positive, so none is zero.
        row = [value / equations[place][place] for value in equations[place]]
        for other, others in enumerate(equations):
            factor = others[place]
            equations[other] = [
                value - factor * mine for value, mine in zip(others, row, strict=True)
            ]
        equations[place] = row
    return [row[-1] for row in equations]
