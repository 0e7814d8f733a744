"""Objective perturbation: minimizes an objective with a random slope."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import ClassVar, final

from dpcli.mechanisms.mechanism import DominatingPairs, PureMechanism
from dpcli.noise.distribution import NO_NOISE, Family, Noise
from dpcli.noise.k_norm import KNormNoise, KNormVector
from dpcli.numeric.arrays import Array, integer_array
from dpcli.numeric.interval_arithmetic import sqrt_up
from dpcli.privacy.loss import RandomizedResponsePair
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import pure_rho
from dpcli.queries.query import Query
from dpcli.statistics.regression.queries import ObjectiveQuery, Perturbation

NOISELESS = Perturbation(Fraction(1, 1 << 60), Fraction(1, 1 << 20))
"""The perturbation for `NO_NOISE`: negligible, but it makes the minimizer unique."""


class ObjectivePerturbation(PureMechanism):
    """Adds a random slope and a ridge to an objective, then minimizes it.

    The coefficients theta minimize L(theta) + <b, theta> + ridge |theta|^2 / 2, where L is a
    sum of convex losses over the rows and the density of b is proportional to exp(-max |b_j| /
    s) (Chaudhuri, Monteleoni and Sarwate 2011; this norm, Awan and Slavkovic 2021). They are
    rounded to a fixed grid. The noise has less effect the more rows there are and the more
    their inputs vary.

    Privacy: let f be the loss of one row, F that of the rest, and theta(b) the minimizer for
    the rest over a convex set C. Put T(b) = b - f'(theta(b)). Then theta(b) is the minimizer
    for all rows and T(b): the gradients that decide it are the same. So T maps the vectors b
    that give an output without the row one to one onto those that give it with the row; its
    inverse adds f' at the minimizer with the row. Both are Lipschitz, because strongly convex
    objectives have Lipschitz minimizers, also on the border of C (Kifer, Smith and Thakurta
    2012 need a limit there). So the probabilities of an output with and without the row differ
    by at most two factors. The first is the ratio of the densities of T(b) and b, at most
    exp(max |f'| / s). The second is the determinant of T. As theta(b) is the gradient of a
    concave function, the least objective, its derivative is -M for a symmetric M between 0 and
    1/ridge. If the second derivative of f is h x x', the determinant is 1 + h x'Mx, from 1 to 1
    + h |x|^2 / ridge. To replace a row is to remove one and to add one, and only one of the two
    determinants can add to the loss. Each query states both factors for its objective.

    The minimizer is never computed in floating point alone. The slope is a real vector, known
    to finitely many random digits. The true minimizer is within |b - b'| / ridge of that for a
    nearby b', which is known exactly or within a proven distance. If all points that near are
    rounded to the same grid point, that is the output; else more digits are drawn. So the
    output is exactly the rounded minimizer for the real vector.

    >>> noise("objective", change=2, epsilon="1")
    'scale 2, epsilon 1'
    """

    name = "objective"
    family: ClassVar[Family] = "slope"
    distribution = KNormNoise

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        return pure_rho(sensitivity.l1 / noise.scale)

    def dominating_pairs(self, noise: Noise, sensitivity: Sensitivity) -> DominatingPairs:
        """Randomized response of epsilon L1 / scale, for the whole coefficient vector.

        This pair dominates every pure answer.
        """
        return (RandomizedResponsePair(noise.scale, sensitivity.l1),)

    @final
    def answers(self, query: Query) -> bool:
        return query.minimizes

    @final
    def respond(self, noise: Noise, query: Query, exact: Array) -> Array:
        return self.minimize(noise, _objective(query), exact)

    @final
    def respond_without_noise(self, noise: Noise, query: Query, exact: Array) -> Array:
        """The minimizer with the ridge for `noise`, but with a slope that is negligible."""
        objective = _objective(query)
        ridge = objective.perturbation(noise.scale * objective.step).ridge
        return _rounded_minimizer(objective, NOISELESS._replace(ridge=ridge), exact)

    @final
    def expected_error(
        self, noise: Noise, query: Query, confidence: Fraction, summed: int = 1
    ) -> Fraction:
        """The half-width of one coordinate of the random slope, at `confidence`.

        How far the slope moves a coefficient depends on the rows.
        """
        objective = _objective(query)
        slope = KNormNoise(objective.perturbation(noise.scale * objective.step).scale)
        return slope.coordinate_width(objective.cells, confidence) / objective.step

    @final
    def minimize(self, noise: Noise, query: ObjectiveQuery, answer: Array) -> Array:
        """The minimizing coefficients in steps of the query's grid.

        With `NO_NOISE` the slope is negligible. Raises ValueError for another kind of noise, or for
        a scale that is not positive.
        """
        if noise == NO_NOISE:
            perturbation = NOISELESS
        elif isinstance(noise, KNormNoise) and noise.scale > 0:
            perturbation = query.perturbation(noise.scale * query.step)
        else:
            raise ValueError("the noise of an objective must be positive")
        return _rounded_minimizer(query, perturbation, answer)


def _objective(query: Query) -> ObjectiveQuery:
    if not isinstance(query, ObjectiveQuery):
        raise TypeError("only objectives have a minimizer")
    return query


def _rounded_minimizer(query: ObjectiveQuery, perturbation: Perturbation, exact: Array) -> Array:
    """The minimizer for one random slope, rounded to the grid exactly.

    Digits of the slope are drawn until the nearest grid point is certain.
    """
    locate = query.locator(perturbation.ridge, exact)
    slope = KNormVector(query.cells)
    while True:
        enclosed = [side * perturbation.scale for side in slope.enclosure()]
        middle = [(side.low + side.high) / 2 for side in enclosed]
        # Half the diagonal of the box in which the slope lies.
        squares = ((side.high - side.low) ** 2 for side in enclosed)
        far = sqrt_up(sum(squares, start=Fraction(0))) / 2
        located = locate(middle)
        if located is not None:
            margin = located.distance + far / perturbation.ridge
            rounded = [_rounded(theta, margin, query.grid) for theta in located.point]
            if None not in rounded:
                return integer_array([steps for steps in rounded if steps is not None])
        slope.refine()


def _rounded(value: Fraction, margin: Fraction, grid: Fraction) -> int | None:
    """The grid point nearest to every number within `margin` of `value`, in steps.

    None if numbers within `margin` have different nearest grid points.
    """
    low, high = (floor((value + side) / grid + Fraction(1, 2)) for side in (-margin, margin))
    return low if low == high else None
