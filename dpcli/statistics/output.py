"""Regression by output perturbation: noise for the exact minimiser itself."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from dpcli.columns import NumericColumn
from dpcli.privacy.interval import round_down, sqrt_down, sqrt_up
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.queries import Factor
from dpcli.statistics.base import ANY, Answer, Estimate, Request, centre
from dpcli.statistics.coefficients import Scaled
from dpcli.statistics.plausible import Plausible
from dpcli.vector_queries import MinimiserQuery

if TYPE_CHECKING:
    from dpcli.statistics.plausible import Numbers

FINE = 1 << 10
"""Steps of the grid that the minimiser can move by; rounding to it adds one more."""


def minimiser(columns: Sequence[NumericColumn], ridge: Fraction, rows: int) -> MinimiserQuery:
    """The question for the ridge regression of the last column on the others.

    With M^2 = k coefficients, N = 1 and P = 1/sqrt(ridge), one of n rows that is replaced
    moves the minimiser by at most 2 (N M + P M^2)/(n ridge) in L2. In whole steps, each
    coefficient may move by one more; every root is rounded up.
    """
    *inputs, outcome = (Factor(column, centre(column)) for column in columns)
    size = len(columns)
    root = sqrt_up(Fraction(size))
    moved = 2 * (root + size / sqrt_down(ridge)) / (rows * ridge)
    # A power of two, at most 1/FINE of what can move.
    grid = round_down(moved / FINE, 1)
    steps = moved / grid
    sensitivity = Sensitivity(
        size,
        floor(root * steps + size),
        floor((steps + root) ** 2),
        floor(steps + 1),
    )
    return MinimiserQuery(
        outcome=outcome,
        inputs=tuple(inputs),
        ridge=ridge,
        rows=rows,
        grid=grid,
        sensitivity=sensitivity,
    )


def coefficients(
    request: Request, grid: Fraction, answer: Answer, confidence: Fraction
) -> tuple[Estimate, ...]:
    """The noisy minimiser in the units of the columns."""
    columns = request.columns
    scaled = Scaled(
        columns,
        tuple(max(map(abs, Factor(one, centre(one)).limits)) for one in columns),
    )

    def outcome(thetas: Numbers) -> Numbers:
        return scaled.from_zero(thetas[1:] * float(grid), thetas[0] * float(grid))

    each = [Answer((value,), answer.noise) for value in answer.values]
    found = Plausible(each, outcome, confidence)
    return found.estimates(scaled.units, scaled.places, [ANY] * len(columns))
