"""Exact least squares with a limit on the sum of absolute coefficients.

The solutions for all limits are a path of line segments, which is followed from zero until the
limit is reached (Osborne, Presnell and Turlach 2000).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

Vector = list[Fraction]
Matrix = Sequence[Sequence[Fraction]]


def constrained_least_squares(matrix: Matrix, vector: Sequence[Fraction]) -> Vector | None:
    """The minimizer of x'Ax/2 - v'x over all x whose absolute values add up to at most one.

    The matrix A is symmetric and positive definite, so there is one minimizer. At each point of
    the path, the residual v - Ax of all active coefficients has the absolute value `level`, and
    that of the others is smaller. None if two coefficients start or stop being zero at the same
    point, which this method cannot follow; a vector with random digits has no such point.
    """
    size = len(vector)
    solution, residual = [Fraction(0)] * size, list(vector)
    level = max(map(abs, residual))
    signs = {index: _sign(value) for index, value in enumerate(residual) if abs(value) == level}
    while level > 0:
        inner = [[matrix[i][j] for j in signs] + [Fraction(signs[i])] for i in signs]
        steps = dict(zip(signs, solve_equations(inner), strict=True))
        growth = sum((signs[index] * step for index, step in steps.items()), start=Fraction(0))
        rates = [
            sum((row[index] * step for index, step in steps.items()), start=Fraction(0))
            for row in matrix
        ]
        events = [
            *_entries(residual, rates, level, signs),
            *((-solution[index] / step, index, 0) for index, step in steps.items() if step),
        ]
        last = min(level, (1 - sum(map(abs, solution))) / growth)
        length, index, sign = min(
            (event for event in events if 0 < event[0] < last), default=(last, -1, 0)
        )
        for moved, step in steps.items():
            solution[moved] += length * step
        residual = [value - length * rate for value, rate in zip(residual, rates, strict=True)]
        level -= length
        if length == last:
            break
        if sign:
            signs[index] = sign
        else:
            del signs[index]
            solution[index] = Fraction(0)
    return solution if _is_minimizer(solution, residual) else None


def _entries(
    residual: Sequence[Fraction],
    rates: Sequence[Fraction],
    level: Fraction,
    signs: Mapping[int, int],
) -> Iterator[tuple[Fraction, int, int]]:
    """Where the residual of an inactive coefficient reaches the level: length, index and sign."""
    for index, (value, rate) in enumerate(zip(residual, rates, strict=True)):
        for sign in (1, -1):
            if index not in signs and sign * rate != 1:
                yield (level - sign * value) / (1 - sign * rate), index, sign


def _is_minimizer(solution: Sequence[Fraction], residual: Sequence[Fraction]) -> bool:
    """Whether no direction that the limit allows decreases the objective.

    The residual is the negative gradient g. A point x is the minimizer if and only if the least
    <g, z> over all allowed z, which is -max |g_i|, is <g, x>.
    """
    allowed = sum(map(abs, solution)) <= 1
    pairs = zip(solution, residual, strict=True)
    return allowed and sum(x * g for x, g in pairs) == max(map(abs, residual))


def _sign(value: Fraction) -> int:
    return 1 if value > 0 else -1


def solve_equations(equations: Sequence[Sequence[Fraction]]) -> Vector:
    """The solution of linear equations with a positive definite matrix (Gauss and Jordan).

    The last column of the equations is the right side.
    """
    rows = [list(row) for row in equations]
    for index in range(len(rows)):
        # The pivots of a positive definite matrix are positive.
        row = [value / rows[index][index] for value in rows[index]]
        for target, values in enumerate(rows):
            factor = values[index]
            rows[target] = [
                value - factor * pivot for value, pivot in zip(values, row, strict=True)
            ]
        rows[index] = row
    return [row[-1] for row in rows]
