"""Quotients of noisy answers, and the sums from which means follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import hypot
from typing import ClassVar

from dpcli.data.numeric import NumericColumn
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import (
    Array,
    Floats,
    add_exact,
    clip_exact,
    divide_exact,
    multiply_exact,
    np,
)
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import MAX_PRODUCT
from dpcli.statistics.design import Design, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.intervals import FiducialInterval
from dpcli.statistics.means.bernstein import BernsteinQuery
from dpcli.statistics.means.quotient_interval import QuotientInterval
from dpcli.statistics.moments import TYPICAL_MEAN
from dpcli.statistics.statistic import weight_step

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

    `above` and `below` are the whole coefficients of the answers. The divisor is at least
    `min_below`. The quotient plus the public number `shift` is in units of `unit`, and lies within
    `limits`.
    """

    above: Coefficients
    below: Coefficients
    unit: Fraction
    decimals: int
    limits: Limits
    shift: int = 0
    min_below: int = 1

    def estimates(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The quotients of the cells, exact, with intervals that allow for all noises."""
        moved = self.shift * self.unit
        low, high = (None if limit is None else limit - moved for limit in self.limits)
        intervals = self._interval(answers, confidence, low, high)
        estimates = intervals.estimates([self.unit], [self.decimals], [(low, high)]).shifted(moved)
        below = clip_exact(_combined(self.below, answers), self.min_below, None)
        above = add_exact(_combined(self.above, answers), multiply_exact(below, self.shift))
        factor = self.unit / estimates.step
        divisor = multiply_exact(below, factor.denominator)
        exact = divide_exact(above, divisor, factor.numerator)
        ends = (None if limit is None else int(limit / estimates.step) for limit in self.limits)
        return replace(estimates, value=clip_exact(exact, *ends), raw=exact)

    def _interval(
        self,
        answers: Sequence[NoisyAnswer],
        confidence: Fraction,
        low: Fraction | None,
        high: Fraction | None,
    ) -> FiducialInterval:
        if low is None or high is None:
            return FiducialInterval(answers, self._outcome, confidence)
        limits = float(low / self.unit), float(high / self.unit)
        return QuotientInterval(
            answers, self._outcome, confidence, self.above, self.below,
            min_below=self.min_below, limits=limits,
        )  # fmt: skip

    def _outcome(self, answers: Floats) -> Floats:
        """The quotients of plausible answers; not a number if the divisor is below the least."""
        above, below = (np.array(row, float) @ answers for row in (self.above, self.below))
        quotient = above / np.maximum(below, self.min_below)
        usable: Floats = np.where(below >= self.min_below, quotient, np.nan)[None]
        return usable


def _combined(coefficients: Sequence[int], answers: Sequence[NoisyAnswer]) -> Array:
    pairs = zip(coefficients, answers, strict=True)
    terms = [multiply_exact(answer.values, factor) for factor, answer in pairs if factor]
    return reduce(add_exact, terms)


@dataclass(frozen=True)
class QuotientDesign(Design):
    """Answers of which quotients are published: how far these are off depends on the answers."""

    error_is_known: ClassVar[bool] = False

    def error_of_rows(
        self, noises: Sequence[Noise], rows: Fraction, confidence: Fraction
    ) -> Fraction | None:
        """A bound on the error of a mean of `rows` rows; None if there are too few rows.

        The noises of a sum and a count have equal parts of the allowed risk. Let s be the noise in
        the sum of distances from the center, h the largest distance, and c the noise in the count
        n. The mean changes by at most (s + h c) / (n - c). A share is not a mean of numbers.
        """
        if len(self.queries) == 1:
            return None
        confidence = (1 + confidence) / 2
        total, count = self.queries[:2]
        noise = noises[0].half_width(confidence) * total.step
        fewer = noises[1].half_width(confidence) * count.step
        farthest = total.query.row_contribution.high * total.step
        return (noise + farthest * fewer) / (rows - fewer) if rows > fewer else None


@dataclass(frozen=True, kw_only=True)
class CenteredMean(QuotientDesign):
    """A sum of distances from the middle of the bounds, and the number of rows."""

    column: NumericColumn

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of a mean halfway between the middle and a bound, times the rows."""
        half = float((self.column.upper - self.column.lower) * self.column.step) / 2
        return hypot(errors[0], TYPICAL_MEAN * half * errors[1])

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        """Why distances are summed, where two answers have a part of the loss."""
        answered = [part for part in self.queries if part.weight]
        reason = (
            "the sum of the distances from the middle of the bounds and the number of rows "
            "are answered. A value lies at most half the width of the bounds from their "
            "middle, so this sum needs less noise than one of the values themselves"
        )
        return (reason,) if len(answered) == 2 else ()

    def or_distances(self, degree: int = 1) -> tuple[Design, ...]:
        """It, and distances from both bounds for pure noise, unless the rows are public."""
        is_public = not self.queries[1].weight
        pure = () if is_public else DistancesFromBounds.of(self.request, self.column, degree)
        return (replace(self, families=("l2",)), *pure) if pure else (self,)


DISTANCES = (
    "two sums are answered, of the distances of the values from either bound. Together they "
    "are the width between the bounds for each value, whatever it is, so both cost no more "
    "than one; they give the mean and how many values there are"
)

WEIGHTED_DISTANCES = (
    "two sums are answered, of the distances of the values from either bound, each times the "
    "weight of its row. Together they are the width between the bounds times the weight, "
    "whatever the value is, so both cost no more than one; they give the mean and the sum of "
    "weights"
)

SQUARED_DISTANCES = (
    "three sums are answered, of the squared distances of the values from either bound and of "
    "twice their product. Together they are the squared width for each value, whatever it is, "
    "so all cost no more than one; they give the mean and the variance"
)
"""Why sums of distances from both bounds are answered, of their squares and with weights."""


@dataclass(frozen=True, kw_only=True)
class DistancesFromBounds(QuotientDesign):
    """Sums of distances of a column from both bounds, and of their products, for pure noise."""

    distances: BernsteinQuery

    @classmethod
    def of(cls, request: Request, column: NumericColumn, degree: int = 1) -> tuple[Design, ...]:
        """The design for a column, or nothing if it is not possible."""
        if column.lower == column.upper:
            return ()
        query = BernsteinQuery(
            by=request.by, where=request.where, column=column, degree=degree, weight=request.weight
        )
        if query.largest >= MAX_PRODUCT:
            return ()
        step = column.step**degree * weight_step(request)
        queries = (WeightedQuery("distances from both bounds", query, step=step),)
        reason = DISTANCES if query.weight is None else WEIGHTED_DISTANCES
        reason = SQUARED_DISTANCES if degree > 1 else reason
        return (cls(request, queries, ("l1",), reason=reason, distances=query),)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of a mean halfway between the middle and a bound, times the rows."""
        if self.distances.degree == 1:
            return errors[0] * hypot(1 - TYPICAL_MEAN, 1 + TYPICAL_MEAN) / 2
        column = self.distances.column
        width = float((column.upper - column.lower) * column.step)
        return errors[0] * hypot(1 - TYPICAL_MEAN, TYPICAL_MEAN, 1 + TYPICAL_MEAN) / (2 * width)

    def error_of_rows(
        self, noises: Sequence[Noise], rows: Fraction, confidence: Fraction
    ) -> Fraction | None:
        """A bound for sums of Bernstein polynomials of degree d, each with noise up to s.

        Each noise has an equal part of the allowed risk. The mean is a weighted average of d + 1
        numbers from zero to the width of the bounds. It changes by at most (d + 1)/2 s times the
        width, over the noisy total.
        """
        query, step, sums = self.distances, self.queries[0].step, self.distances.cells_per_group
        noise = noises[0].half_width(1 - (1 - confidence) / sums) * step
        min_total = rows * query.largest * step - sums * noise
        width = query.width * query.column.step
        return width * noise * sums / 2 / min_total if min_total > 0 else None
