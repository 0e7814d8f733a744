"""First and second moments: sums of columns and of products of two columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import prod
from typing import NamedTuple

from dpcli.data.grid_columns import NumericColumn
from dpcli.numeric.arrays import Floats, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Inputs, WeightedQuery

MOMENTS_REASON = (
    "the number of rows, and the sums of the distances from the middle of the bounds, of "
    "their squares and of their products are answered. A value lies at most half the width of "
    "the bounds from their middle, so these sums need less noise than those of the values "
    "themselves"
)
"""Why moments around the middle of the bounds are answered."""


class CenteredMoments(NamedTuple):
    """Moments of centered columns in half-widths of these, cell by cell; all float64.

    Attributes:
        rows: The number of rows, at least one; shape (cells,).
        means: Shape (columns, cells).
        covariances: Shape (columns, columns, cells).
    """

    rows: Floats
    means: Floats
    covariances: Floats


def bernstein_moments(sums: Floats, width: int) -> tuple[Floats, Floats, Floats]:
    """The rows, mean and variance of each cell, from sums of Bernstein polynomials.

    `sums` are those of degree two, shape (3, cells). Means and variances are in half-widths from
    the exact middle of the bounds. They are NaN where the number of rows is below one.
    """
    first, middle, last = sums / float(width) ** 2
    rows = first + middle + last
    divisor = np.where(rows >= 1.0, rows, np.nan)
    means = (last - first) / divisor
    variances = 1.0 - 2.0 * middle / divisor - means**2
    return rows, means, variances


@dataclass(frozen=True)
class Moments:
    """The joint queries for all first and second moments of some columns.

    Values are measured from the middle of their bounds, and squares from the middle of the
    possible squares, so that one row changes each answer as little as possible. Rows count if
    all columns are present.

    Weights are proportional to (k + 1)/2 for the number of rows, with k columns, to 2 for a sum, to
    2 for a sum of squares and to 3 for a sum of products. These are close to the best ones, for
    means a quarter of the way from the middle to a bound. The best weight of an answer is
    proportional to the cube root of the sum, over all covariances, of the squared coefficients of
    its noise, in units of its sensitivity.
    """

    columns: tuple[NumericColumn, ...]

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The distance of each column from the middle of its bounds."""
        return tuple(map(Factor.centered, self.columns))

    @cached_property
    def halves(self) -> tuple[int, ...]:
        """The greatest distance of each column from its middle, in steps of its factor."""
        return tuple(max(map(abs, factor.limits)) for factor in self.factors)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The indices of the two columns of each product."""
        return tuple(combinations_with_replacement(range(len(self.columns)), 2))

    def queries(self, inputs: Inputs, relation: Relation) -> tuple[WeightedQuery, ...]:
        """The queries for the number of rows, and the sums of columns and products."""
        rows = LinearQuery(by=inputs.by, where=inputs.where, present=self.columns)
        count = Fraction(0) if rows.is_public(relation) else Fraction(len(self.columns) + 1, 2)
        queries = [WeightedQuery("count", rows, count)]
        for factor in self.factors:
            query = replace(rows, factors=(factor,))
            role = f"sum of {factor.column.name}"
            queries.append(WeightedQuery(role, query, Fraction(2), factor.step))
        for i, j in self.pairs:
            first, second = self.factors[i], self.factors[j]
            names = first.column.name, second.column.name
            role = f"squares of {names[0]}" if i == j else f"products of {', '.join(names)}"
            query = replace(rows, factors=(first, second), offset=self.middle(i, j))
            weight = Fraction(2 if i == j else 3)
            queries.append(WeightedQuery(role, query, weight, first.step * second.step))
        total = sum(weighted.weight for weighted in queries)
        return tuple(replace(weighted, weight=weighted.weight / total) for weighted in queries)

    def centered(self, answers: Floats, *, clamp: bool = False) -> CenteredMoments:
        """Number of rows, means and covariances of noisy answers, shape (queries, cells).

        With `clamp`, means and mean products are clamped to the values that the bounds allow.
        """
        count = len(self.columns)
        rows = np.maximum(answers[0], 1.0)
        halves = np.array(self.halves, dtype=np.float64)
        means = answers[1 : count + 1] / rows / halves[:, None]
        means = np.clip(means, -1.0, 1.0) if clamp else means
        covariances = np.empty((count, count, answers.shape[1]))
        for (i, j), answer in zip(self.pairs, answers[count + 1 :], strict=True):
            product = (answer / rows + self.middle(i, j)) / (halves[i] * halves[j])
            product = np.clip(product, -1.0, 1.0) if clamp else product
            covariances[i, j] = covariances[j, i] = product - means[i] * means[j]
        return CenteredMoments(rows, means, covariances)

    def unit(self, *indexes: int) -> Fraction:
        """The product of the half-widths of these columns, in the units of the columns."""
        units = (self.halves[index] * self.factors[index].step for index in indexes)
        return prod(units, start=Fraction(1))

    def middle(self, i: int, j: int) -> int:
        """The middle of the possible products of columns i and j; zero if i is not j."""
        return sum(self.factors[i].power_limits(2)) // 2 if i == j else 0
