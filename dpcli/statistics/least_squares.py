"""Least squares, from noisy moments or with noise on the result."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING

from dpcli.columns import NumericColumn
from dpcli.privacy.interval import round_down, sqrt_down, sqrt_up
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.queries import Factor
from dpcli.statistics.base import ANY, Answer, Estimate, Request, centre
from dpcli.statistics.moments import Moments
from dpcli.statistics.plausible import Plausible
from dpcli.vector_queries import MinimiserQuery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcli.statistics.plausible import Numbers

    AnyNumbers = NDArray[np.floating]


LEVEL = Fraction(19, 20)
"""What noise does at most with this probability decides whether a ridge is needed."""

FLAT = 1e-9
"""Inputs that vary by less than this along some direction leave no slope there."""


class Scaled(Moments):
    """Columns from their centres in half-widths: the inputs, and the outcome last."""

    @property
    def units(self) -> list[Fraction]:
        """What one means for the intercept and each slope, in the columns' own units."""
        *inputs, outcome = (
            half * column.step for half, column in zip(self.halves, self.columns, strict=True)
        )
        return [outcome, *(outcome / one for one in inputs)]

    @property
    def places(self) -> list[int]:
        """Decimals that show a ten-thousandth of each unit."""
        return [max(0, 4 - floor(log10(unit))) for unit in self.units]

    def from_zero(self, slopes: AnyNumbers, intercept: AnyNumbers) -> Numbers:
        """Intercept and slopes, the intercept where all columns are zero."""
        import numpy as np

        *inputs, outcome = (
            centre(column) / half for half, column in zip(self.halves, self.columns, strict=True)
        )
        shift = sum((slope * at for slope, at in zip(slopes, inputs, strict=True)), start=0.0)
        return np.vstack([intercept - shift + outcome, slopes])


class Line:
    """The coefficients of an outcome, the last of some columns, on the others.

    With a `ridge`, that much is added to the variance of every input, in squared
    half-widths. Without one, just enough where noise could leave no slope.
    """

    def __init__(self, scaled: Scaled, ridge: Fraction | None, answers: Sequence[Answer]) -> None:
        self._scaled, self._ridge = scaled, ridge
        # What noise does to the matrix of the inputs, at most, times the number of rows.
        inputs = len(scaled.columns) - 1
        seconds = answers[len(scaled.columns) + 1 :]
        self._disturbance = inputs * max(
            answer.noise.half_width(LEVEL) / (scaled.halves[i] * scaled.halves[j])
            for (i, j), answer in zip(scaled.pairs, seconds, strict=True)
            if i < inputs and j < inputs
        )

    def plain(self, sums: Numbers) -> Numbers:
        """Intercept and slopes of noisy answers; no numbers where inputs do not vary."""
        return self._solved(sums, float(self._ridge or 0))

    def stable(self, sums: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """Intercept and slopes that always exist, and in which cells a ridge was needed."""
        import numpy as np

        rows, _, covariances = self._scaled.read(sums, possible=True)
        ridge = np.full(len(rows), float(self._ridge or 0))
        if self._ridge is None:
            least = np.linalg.eigvalsh(_matrices(covariances[:-1, :-1]))[:, 0]
            ridge = np.maximum(self._disturbance / rows - least, 0.0)
        found = self._solved(sums, ridge, possible=True)
        flat = ~np.isfinite(found).all(axis=0)
        found[:, flat] = 0.0
        return found, flat | ((self._ridge is None) & (ridge > 0))

    def _solved(self, sums: Numbers, ridge: Numbers | float, *, possible: bool = False) -> Numbers:
        """Intercept and slopes with a ridge for each cell."""
        import numpy as np

        _, means, covariances = self._scaled.read(sums, possible=possible)
        inputs = _matrices(covariances[:-1, :-1])
        size = inputs.shape[1]
        inputs = inputs + np.broadcast_to(ridge, len(inputs))[:, None, None] * np.eye(size)
        flat = np.linalg.eigvalsh(inputs)[:, 0] <= FLAT
        inputs[flat] = np.eye(size)
        slopes = np.linalg.solve(inputs, covariances[:-1, -1].T[:, :, None])[:, :, 0].T.copy()
        slopes[:, flat] = np.nan
        intercept = means[-1] - (slopes * means[:-1]).sum(axis=0)
        return self._scaled.from_zero(slopes, intercept)


def _matrices(stacked: Numbers) -> Numbers:
    """Matrices whose cells stand last, with the cells first."""
    import numpy as np

    return np.ascontiguousarray(np.moveaxis(stacked, 2, 0))


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
        size, floor(root * steps + size), floor((steps + root) ** 2), floor(steps + 1)
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
    scaled = Scaled(request.columns)

    def outcome(thetas: Numbers) -> Numbers:
        return scaled.from_zero(thetas[1:] * float(grid), thetas[0] * float(grid))

    each = [Answer((value,), answer.noise) for value in answer.values]
    found = Plausible(each, outcome, confidence)
    return found.estimates(scaled.units, scaled.places, [ANY] * len(request.columns))
