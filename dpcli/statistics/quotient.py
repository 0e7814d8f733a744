"""Quotients of noisy answers, and the sums from which means follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import hypot

from dpcli.columns import NumericColumn
from dpcli.light_dataclasses import dataclass
from dpcli.messages import note
from dpcli.numeric.arrays import (
    Array,
    Floats,
    add_exact,
    clip_exact,
    divide_exact,
    multiply_exact,
    np,
)
from dpcli.queries.bernstein import BernsteinQuery
from dpcli.queries.query import MAX_PRODUCT
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.fiducial import FiducialInterval
from dpcli.statistics.interval_limits import Limits
from dpcli.statistics.moments import TYPICAL_MEAN
from dpcli.statistics.statistic import NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.weighting import weight_step

SUM_WEIGHT = Fraction(3, 5)
"""The part of epsilon that a centered sum gets if it is divided by a number of rows.

The noise of the sum affects the mean in full. The noise of the count is multiplied by the distance
of the mean from the center, in half-widths: it affects the mean at most as much, usually less.
"""

Coefficients = tuple[int, ...]
"""Whole numbers by which answers are multiplied."""


@dataclass(frozen=True)
class Quotient:
    """A quotient of two combinations of noisy answers, which has an interval.

    `above` and `below` are the whole coefficients of the answers. The divisor is at least `least`.
    The quotient plus the public number `shift` is in units of `unit`, and lies within `limits`.
    """

    above: Coefficients
    below: Coefficients
    unit: Fraction
    places: int
    limits: Limits
    shift: int = 0
    least: int = 1

    def estimates(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The quotients of the cells, exact, with intervals that allow for all noises."""
        moved = self.shift * self.unit
        low, high = (None if limit is None else limit - moved for limit in self.limits)
        intervals = FiducialInterval(answers, self._outcome, confidence)
        estimates = intervals.estimates([self.unit], [self.places], [(low, high)]).shifted(moved)
        below = clip_exact(_combined(self.below, answers), self.least, None)
        above = add_exact(_combined(self.above, answers), multiply_exact(below, self.shift))
        factor = self.unit / estimates.step
        divisor = multiply_exact(below, factor.denominator)
        exact = divide_exact(above, divisor, factor.numerator)
        least, most = (
            None if limit is None else int(limit / estimates.step) for limit in self.limits
        )
        return replace(estimates, value=clip_exact(exact, least, most), raw=exact)

    def _outcome(self, answers: Floats) -> Floats:
        """The quotients of plausible answers; not a number if the divisor is below the least."""
        above, below = (np.array(row, float) @ answers for row in (self.above, self.below))
        quotient = above / np.maximum(below, self.least)
        usable: Floats = np.where(below >= self.least, quotient, np.nan)[None]
        return usable


def _combined(coefficients: Sequence[int], answers: Sequence[NoisyAnswer]) -> Array:
    """The exact combination of answers."""
    pairs = zip(coefficients, answers, strict=True)
    terms = [multiply_exact(answer.values, factor) for factor, answer in pairs if factor]
    return reduce(add_exact, terms)


def distances_from_bounds(
    request: Request, column: NumericColumn, degree: int = 1
) -> tuple[WeightedQuery, ...]:
    """The sums of distances of a column from both bounds, or nothing if they are not possible."""
    if column.lower == column.upper:
        return ()
    distances = BernsteinQuery(
        by=request.by, where=request.where, column=column, degree=degree, weight=request.weight
    )
    if distances.largest >= MAX_PRODUCT:
        return ()
    step = column.step**degree * weight_step(request)
    return (WeightedQuery("distances from both bounds", distances, step=step),)


def mean_error(column: NumericColumn, errors: Sequence[float]) -> float:
    """The error of a mean halfway between the middle and a bound, times the number of rows.

    `errors` are those of the distances from both bounds, or of a centered sum and a count.
    """
    half = float((column.upper - column.lower) * column.step) / 2
    if len(errors) == 1:
        return errors[0] * hypot(1 - TYPICAL_MEAN, 1 + TYPICAL_MEAN) / 2
    return hypot(errors[0], TYPICAL_MEAN * half * errors[1])


def sum_notes(queries: Sequence[WeightedQuery]) -> tuple[str, ...]:
    """Two sentences on sums of distances from both bounds, or from their middle."""
    query = queries[0].query
    if isinstance(query, BernsteinQuery):
        key = "distances" if query.weight is None else "weighted"
        return (note(f"designs.{key if query.degree == 1 else 'squares'}"),)
    answered = [weighted for weighted in queries if weighted.weight]
    return (note("designs.centered"),) if len(answered) == 2 else ()
