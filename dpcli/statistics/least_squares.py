"""Least squares of noisy moments, in the units of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, log10

from dpcli.light_dataclasses import dataclass
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Bools, Floats, np
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import ANY, Estimates
from dpcli.statistics.fiducial import FiducialInterval
from dpcli.statistics.moments import CenteredMoments, Moments

RIDGE_CONFIDENCE = Fraction(19, 20)
"""A ridge covers noise up to the half-width of this confidence."""

SINGULAR = 1e-9
"""Covariances with an eigenvalue up to this, in squared half-widths, have no slopes."""


@dataclass(frozen=True)
class LeastSquares(Moments):
    """The coefficients of the last column, the outcome, on the other columns, the inputs.

    Columns are centered and in units of their half-widths. A `ridge` is added to the variance of
    every input, in squared half-widths. Without one, `solve_stably` adds the least ridge that
    keeps noise from making the covariances singular.
    """

    ridge: Fraction | None = None

    def estimates(self, intervals: FiducialInterval) -> Estimates:
        """Intercept and slopes in the units of the columns, to a ten-thousandth of each unit."""
        *inputs, outcome = (self.unit(place) for place in range(len(self.columns)))
        units = [outcome, *(outcome / input_unit for input_unit in inputs)]
        places = [max(0, 4 - floor(log10(unit))) for unit in units]
        return intervals.estimates(units, places, [ANY] * len(units))

    def uncentered(self, slopes: Array, intercept: Array) -> Floats:
        """Intercept at zero and slopes, shape (columns, cells), from those of centered columns."""
        *inputs, outcome = (
            factor.offset / half for half, factor in zip(self.halves, self.factors, strict=True)
        )
        pairs = zip(slopes, inputs, strict=True)
        shift = sum((slope * middle for slope, middle in pairs), start=0.0)
        return np.vstack([intercept - shift + outcome, slopes])

    def solve(self, sums: Floats) -> Floats:
        """Intercept and slopes of answers, shape (queries, cells); NaN if inputs do not vary."""
        return self._solve(self.centered(sums), float(self.ridge or 0))

    def solve_stably(self, sums: Floats, answers: Sequence[NoisyAnswer]) -> tuple[Floats, Bools]:
        """Finite intercept and slopes, and the cells that get no interval.

        These needed a ridge that was not asked for, or have no solution.
        """
        moments = self.centered(sums, clamp=True)
        ridge = np.full(len(moments.rows), float(self.ridge or 0))
        if self.ridge is None:
            least = np.linalg.eigvalsh(_matrices(moments.covariances[:-1, :-1]))[:, 0]
            bound = self.noise_bound([answer.noise for answer in answers])
            ridge = np.maximum(bound / moments.rows - least, 0.0)
        coefficients = self._solve(moments, ridge)
        unsolved = ~np.isfinite(coefficients).all(axis=0)
        coefficients[:, unsolved] = 0.0
        return coefficients, unsolved | ((self.ridge is None) & (ridge > 0))

    def noise_bound(self, noises: Sequence[Noise]) -> float:
        """A bound on the noise in the covariances of the inputs, times the number of rows."""
        inputs = len(self.columns) - 1
        return inputs * max(
            noise.half_width(RIDGE_CONFIDENCE) / (self.halves[i] * self.halves[j])
            for (i, j), noise in zip(self.pairs, noises[len(self.columns) + 1 :], strict=True)
            if i < inputs and j < inputs
        )

    def _solve(self, moments: CenteredMoments, ridge: Floats | float) -> Floats:
        _, means, covariances = moments
        inputs = _matrices(covariances[:-1, :-1])
        size = inputs.shape[1]
        inputs = inputs + np.broadcast_to(ridge, len(inputs))[:, None, None] * np.eye(size)
        singular = np.linalg.eigvalsh(inputs)[:, 0] <= SINGULAR
        inputs[singular] = np.eye(size)
        slopes = np.linalg.solve(inputs, covariances[:-1, -1].T[:, :, None])[:, :, 0].T.copy()
        slopes[:, singular] = np.nan
        intercept = means[-1] - (slopes * means[:-1]).sum(axis=0)
        return self.uncentered(slopes, intercept)


def _matrices(covariances: Floats) -> Floats:
    """Shape (cells, columns, columns), from (columns, columns, cells)."""
    return np.ascontiguousarray(np.moveaxis(covariances, 2, 0))
