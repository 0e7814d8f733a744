"""Moments and ratios of several columns, from products of distances from bounds.

Weights of a row that are never negative and sum to one have a sensitivity of one in L1 together,
whatever the row is. Products of such weights of several columns are such weights again. So all sums
of them get all of epsilon, where sums of the columns and of their products would divide it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod, sqrt

from dpcli.data.grid_columns import NumericColumn
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.scaled import ScaledSumsQuery
from dpcli.statistics.design import (
    MEASURES,
    TYPICAL_MEAN,
    TYPICAL_SQUARE,
    Design,
    Inputs,
    Measure,
    NoisyAnswer,
    Queries,
    WeightedQuery,
    typical_value,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import FiducialInterval, Outcome, Printed
from dpcli.statistics.means.distances import BernsteinQuery
from dpcli.statistics.means.population_quotients import with_population
from dpcli.statistics.means.quotient import Coefficients, Quotient, QuotientDesign
from dpcli.statistics.moments import MOMENTS_REASON, Moments

Pair = tuple[int, int]
"""The indices of two columns of inputs; the same index twice for a variance."""

MAX_PRODUCTS = 27
"""The most sums of products that are answered in a group: those of three columns."""

PRODUCTS_REASON = (
    "sums of products are answered. The square of the distance of a value from either bound, and "
    "twice the product of both, are three parts of the squared width of the bounds; each of "
    "{numbers} products has one part of every column. Together they are the same number for each "
    "row, whatever its values are, so all cost no more than one; all moments follow from them"
)

CORNERS_REASON = (
    "four sums are answered, of products of the distances of both values from either bound. "
    "Together they are the product of the widths for each row, whatever its values are, so all "
    "cost no more than one; both sums of the ratio follow from them"
)
"""Reasons for products of distances of degree two and one."""

SCALED_REASON = (
    "both sums are answered by their difference and their sum, in units in which a row changes "
    "both equally. Together these change by no more than twice that, so this needs less noise than "
    "sums apart"
)


class PublishedMoments(Moments, ABC):
    """Moments from which numbers are computed that a statistic publishes."""

    @abstractmethod
    def estimate(
        self, design: MomentsDesign, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The published numbers, from noisy answers to the queries of a design."""

    def rows_for_interval(self, design: MomentsDesign, noises: Sequence[Noise]) -> int:
        """About how many rows a bounded interval needs; zero if every number has one."""
        return 0


@dataclass(frozen=True, kw_only=True)
class MomentsDesign(Design):
    """The number of rows, centered sums, squares and products, apart.

    `pairs` are the pairs of columns whose covariances matter.
    """

    has_typical = True

    counts_rows: bool = True
    moments: PublishedMoments
    pairs: tuple[Pair, ...]

    @classmethod
    def separate(
        cls, inputs: Inputs, relation: Relation, moments: PublishedMoments, pairs: Sequence[Pair]
    ) -> MomentsDesign:
        """The design of separate moments."""
        queries = moments.queries(inputs, relation)
        return cls(inputs, queries, reason=MOMENTS_REASON, moments=moments, pairs=(*pairs,))

    def or_products(self, relation: Relation) -> tuple[Design, ...]:
        """Products for pure noise if their error is smaller, then this design."""
        joint = self.as_products()
        return (self,) if joint is None else _chosen(joint, self, relation)

    def as_products(self) -> JointMoments | None:
        """The design with products; None if they are too many, too large, or zero.

        Products are of quadratic Bernstein polynomials of all columns, for pure noise. With u from
        0 to 1 where a value lies between its bounds, the polynomials (1-u)^2, 2u(1-u) and u^2 sum
        to 1. The distance from the middle, 2u - 1, has the coefficients -1, 0 and 1, and its square
        has 1, -1 and 1. So moments have products of these as coefficients.

        Privacy: a row adds weights to the sums that are not negative and sum to the product of the
        squared widths, so adding or removing a row changes them by that in L1, and replacing one by
        at most twice that. `BernsteinQuery` has the proof.
        """
        columns, inputs = self.moments.columns, self.inputs
        if 3 ** len(columns) > MAX_PRODUCTS:
            return None
        query = BernsteinQuery.of(inputs, columns, degree=2)
        if query is None:
            return None
        step = prod((column.step**2 for column in columns), start=Fraction(1))
        queries = (WeightedQuery("products of distances from bounds", query, step=step),)
        reason = PRODUCTS_REASON.format(numbers=query.cells_per_group)
        return self.jointly(queries, reason, self._of_products() / float(query.largest))

    def _of_products(self) -> Floats:
        """What products of distances between 0 and 1 add to answers of `Moments`."""
        moments, count = self.moments, len(self.moments.columns)
        one, distance, square = (1, 1, 1), (-1, 0, 1), (1, -1, 1)

        def mixed(parts: Mapping[int, Coefficients]) -> Floats:
            numbers = [parts.get(index, one) for index in range(count)]
            return np.array([prod(part) for part in product(*numbers)], dtype=np.float64)

        rows = mixed({})
        lines = [rows, *(mixed({i: distance}) * moments.halves[i] for i in range(count))]
        for i, j in moments.pairs:
            parts = {i: square} if i == j else {i: distance, j: distance}
            area = moments.halves[i] * moments.halves[j]
            lines.append(mixed(parts) * area - moments.middle(i, j) * rows)
        return np.array(lines)

    def jointly(self, queries: Queries, reason: str, matrix: Floats) -> JointMoments:
        """The design of other sums, for pure noise; moments follow by a `matrix`."""
        rows = tuple(map(tuple, matrix.tolist()))
        return JointMoments(
            self.inputs, queries, ("l1",), reason=reason, moments=self.moments, pairs=self.pairs,
            rows=rows,
        )  # fmt: skip

    @property
    def matrix(self) -> Floats:
        """What a noisy sum adds to the answers of `Moments`; shape (moments, sums)."""
        return np.eye(len(self.queries))

    def by_sum(self, numbers: Floats) -> Floats:
        """The number of each answer, repeated for each of its sums in a group."""
        repeated: Floats = np.repeat(
            numbers, [weighted.query.cells_per_group for weighted in self.queries]
        )
        return repeated

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of typical covariances in half-widths, times the number of rows.

        It is the root of the sum of squares over the pairs. Typical columns do not go together.
        """
        steps = [float(weighted.step) for weighted in self.queries]
        sizes = self.by_sum(np.array(errors) / steps)
        changes = np.array([self._typical_change(*pair) for pair in self.pairs])
        return float(np.sqrt(((changes @ self.matrix * sizes) ** 2).sum()))

    def _typical_change(self, i: int, j: int) -> Floats:
        """How answers of `Moments` change a typical covariance, times the rows."""
        moments, mean = self.moments, TYPICAL_MEAN
        changes = np.zeros(1 + len(moments.columns) + len(moments.pairs))
        area = moments.halves[i] * moments.halves[j]
        typical = TYPICAL_SQUARE if i == j else mean**2
        changes[0] = 2 * mean**2 - typical + moments.middle(i, j) / area
        for index in (i, j):
            changes[1 + index] -= mean / moments.halves[index]
        changes[1 + len(moments.columns) + moments.pairs.index((i, j))] = 1 / area
        return changes

    def typical_sums(self, rows: Fraction) -> Floats:
        """Sums with typical moments of columns that do not go together."""
        moments, halves = self.moments, self.moments.halves
        units, typical = [1, *halves], [1.0, *([TYPICAL_MEAN] * len(halves))]
        for i, j in moments.pairs:
            units.append(halves[i] * halves[j])
            square = TYPICAL_SQUARE if i == j else TYPICAL_MEAN**2
            typical.append(square - moments.middle(i, j) / units[-1])
        scaled = self.matrix / np.array(units, float)[:, None]
        found: Floats = np.linalg.pinv(scaled) @ np.array(typical) * float(rows)
        return found

    def half_widths(self, noises: Sequence[Noise], confidence: Fraction) -> Floats:
        """Bounds on the noise in each answer of `Moments`."""
        return np.array([float(noise.half_width(confidence)) for noise in noises])

    def to_moments(self, sums: Floats) -> Floats:
        """The answers of `Moments` from noisy sums; shape (answers, cells)."""
        return sums

    def variance_of_rows(self, answers: Sequence[NoisyAnswer]) -> float:
        """The variance of the noise in the number of rows."""
        noises = [answer.noise.discrete_variance for answer in self.divided(answers)]
        return float((self.matrix[0] ** 2 * noises).sum())

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        sums = np.array([answer.values for answer in self.divided(answers)], np.float64)
        return integer_array(np.rint(self.to_moments(sums)[0]))

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        return self.moments.estimate(self, answers, confidence)

    def rows_for_interval(self, noises: Sequence[Noise]) -> int:
        return self.moments.rows_for_interval(self, noises)

    def intervals(
        self, answers: Sequence[NoisyAnswer], outcome: Outcome, confidence: Fraction
    ) -> FiducialInterval:
        """Outcomes of the answers of `Moments`, with intervals."""
        return FiducialInterval(answers, outcome, confidence, denominator=0)

    def covariance_intervals(
        self, answers: Sequence[NoisyAnswer], outcome: Outcome, confidence: Fraction
    ) -> FiducialInterval:
        """Outcomes of the covariances of the columns, with intervals."""

        def of_moments(sums: Floats) -> Floats:
            return outcome(self.moments.centered(sums).covariances)

        return self.intervals(answers, of_moments, confidence)


@dataclass(frozen=True, kw_only=True)
class JointMoments(MomentsDesign):
    """Sums that are answered together, from which moments follow by a matrix.

    Each of its `rows` has what the sums add to an answer of `Moments`.
    """

    rows: tuple[tuple[float, ...], ...]

    @cached_property
    def matrix(self) -> Floats:
        return np.array(self.rows)

    def half_widths(self, noises: Sequence[Noise], confidence: Fraction) -> Floats:
        """Bounds on the noise in each answer of `Moments`.

        At 95%, a sum of independent Laplace noises is at most 1.02 times as wide as a single one
        with the same variance (`laplace_sum_quantile`).
        """
        width = self.by_sum(super().half_widths(noises, confidence))
        widths: Floats = np.sqrt(((self.matrix * width) ** 2).sum(axis=1))
        return widths

    def to_moments(self, sums: Floats) -> Floats:
        moments: Floats = self.matrix @ sums
        return moments

    def intervals(
        self, answers: Sequence[NoisyAnswer], outcome: Outcome, confidence: Fraction
    ) -> FiducialInterval:
        def counted(sums: Floats) -> Floats:
            moments = self.to_moments(sums)
            return np.where(moments[0] >= 1, outcome(moments), np.nan)

        intervals = FiducialInterval(self.divided(answers), counted, confidence)
        intervals.values = outcome(self.to_moments(intervals.noisy))
        return intervals


def ratio_of_sums(
    inputs: Inputs,
    relation: Relation,
    queries: Queries,
    parts: tuple[NumericColumn, NumericColumn],
    printed: Printed,
) -> tuple[Design, ...]:
    """Two sums apart; products for pure noise where the error is smaller.

    Products are of the distances of both values from either bound. A value is the average of its
    bounds, weighted by its distances from the other bound. So a row divides a weight of one among
    the four corners of the bounds, and both sums are averages of the values at the corners.

    Products are for rows or people that are added or removed. Where they are changed, a sum changes
    by the width of its bounds, but products change by twice that of all. There the difference and
    the sum of both are answered, in units in which both change equally: together they change by
    twice that, and the noise of each sum is the root of two times smaller than apart.

    Privacy: the products of a row are never negative and sum to the product of the widths, so
    adding or removing it changes them by that in L1. `BernsteinQuery` has the proof.
    """
    above, below = parts
    quotient = Quotient((1, 0), (0, 1), printed, above.step / below.step)
    # A value a quarter above its lower bound, over a middle.
    value = sum(above.limits) - Fraction(TYPICAL_MEAN) * (above.upper - above.lower)
    typical = printed.unit * quotient.step * value / sum(below.limits)
    row = typical_value((above.lower, above.upper)), typical_value((below.lower, below.upper))
    separate = with_population(
        QuotientDesign(
            inputs, queries, quotient=quotient, typical_row=row, typical=typical, counts_rows=False
        )
    )
    if relation.neighbors is Neighbors.CHANGE_ONE:
        return (*_scaled_pair(separate, relation), separate)
    query = BernsteinQuery.of(inputs, parts, degree=1)
    if query is None:
        return (separate,)
    role, step = "products of distances from bounds", above.step * below.step
    corners = tuple(product(above.limits, below.limits))
    of_above, of_below = (tuple(corner[index] for corner in corners) for index in (0, 1))
    joint = QuotientDesign(
        inputs,
        (WeightedQuery(role, query, step=step),),
        ("l1",),
        reason=CORNERS_REASON,
        # The sum below is at least one step.
        quotient=replace(quotient, above=of_above, below=of_below, min_below=query.largest),
        typical_row=row,
        typical=typical,
        counts_rows=False,
    )
    return _chosen(with_population(joint), separate, relation)


def _scaled_pair(separate: QuotientDesign, relation: Relation) -> tuple[Design, ...]:
    """The design of the difference and the sum, if it has less noise."""
    above, below = separate.queries
    query = ScaledSumsQuery.of(above.query, below.query, relation)
    if query is None:
        return ()
    times, other = query.times
    cells = WeightedQuery("both sums", query, step=above.step * below.step)
    quotient = replace(
        separate.quotient, above=(other, 0), below=(0, times), min_below=times * other
    )
    joint = replace(separate, queries=(cells,), quotient=quotient).in_pairs(relation)
    return tuple(replace(design, reason=SCALED_REASON) for design in joint)


def _chosen(joint: Design, separate: Design, relation: Relation) -> tuple[Design, ...]:
    """Separate answers, after joint ones for budgets where their error is smaller."""
    better = tuple(
        measure
        for measure in MEASURES
        if _error(joint, relation, measure) < _error(separate, relation, measure)
    )
    return (replace(joint, measures=better), separate) if better else (separate,)


def _error(design: Design, relation: Relation, measure: Measure) -> float:
    """The expected error with Laplace noise, up to a factor that all designs share.

    The scale of noise is the sensitivity over the part of epsilon. Parts of rho go with the square
    of epsilon.
    """
    errors = []
    for weighted in design.queries:
        part = float(weighted.weight) if measure == "epsilon" else sqrt(weighted.weight)
        change = weighted.query.sensitivity(relation).l1 if part else 0
        errors.append(float(change * weighted.step) / (part or 1))
    return design.expected_error(errors)
