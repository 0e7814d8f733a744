"""Two quadratic sums and a number of rows, protected together under change-one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import isqrt

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.numeric.arrays import np
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, limits
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import MAX_PRODUCT, LinearQuery, Query
from dpcli.queries.sums import Factor, RowSums, Shape
from dpcli.queries.terms import QueryTerms
from dpcli.statistics.design import Design, WeightedQuery
from dpcli.statistics.means.products import MomentsDesign

REASON = (
    "two sums are answered, of a quadratic polynomial of the distances of the values from the "
    "lower bound, and of the same polynomial of those from the upper bound, together with the "
    "number of rows, which counts the squared width of the bounds for each row. For a changed row, "
    "the larger of the change in the sum and that in the sum of squares decides how far both sums "
    "change; a row that counts before the change or after it, but not both, changes them half as "
    "much. So all numbers cost no more than one"
)

PUBLIC_REASON = ". The noisy number of rows is not used, because the exact one is public"


@dataclass(frozen=True, kw_only=True)
class QuadraticPairQuery(Query):
    """The sums of y(4y - 3w) and of z(4z - 3w), and w^2 for each row.

    Here y is the distance of a value from the lower bound, z that from the upper one, and w the
    width y + z of the bounds, all in whole steps of the column. With d = y - z, the difference of
    the two polynomials is w d, and their sum is 2 d^2 - w^2. So the mean follows from the
    difference of both sums, and the mean square from their sum.

    Privacy: |a| + |b| is the larger of |a - b| and |a + b|. So the L1 of a change of both sums is
    the larger of the changes of w d and of 2 d^2 - w^2.

    - A row that counts or does not: |w d| and |2 d^2 - w^2| are at most w^2, since |d| <= w, and
      both reach it at a bound. There one sum changes by w^2, and the other by zero; between the
      bounds, each is from -9/16 w^2 to w^2, and the squares of both sum to half the sum of those
      of w d and 2 d^2 - w^2. So (L1, L2 squared, Linf) are (w^2, w^4, w^2) without the number of
      rows, and (2 w^2, 2 w^4, w^2) with it.
    - A row with another value, k steps away: d changes by 2 k, and the number of rows does not
      change. With |d + d'| = 2 s, w d changes by 2 w k and 2 d^2 by 8 k s. Both |d| and |d'| are at
      most w, so k + s <= w, and s = w - k for a value at a bound. 2 w k and 8 k (w - k) are at most
      2 w^2, so L1 is 2 w^2, which is reached for k = w. L2 squared is the largest of
      ((2 w k)^2 + (8 k (w - k))^2)/2 = 2 k^2 (w^2 + 16 (w - k)^2), and Linf that of
      w k + 4 k (w - k), half the sum of both changes.
    - The first of these rises in k up to w (6 - sqrt 2)/8, falls up to w (6 + sqrt 2)/8, and rises
      again. So it is largest next to the first of these numbers, or for k = w. The other is largest
      next to the vertex 5 w/8. For k = w they are 2 w^4 and w^2, so no norm is larger for a row
      that counts before the change or after it but not both.

    A person with at most t rows becomes another one by at most t changes of a row, which add up in
    every norm. The rows of both can be put in pairs, and a row without a partner is added or
    removed.

    >>> from dpcli.data.grid_columns import NumericColumn
    >>> age = NumericColumn("age", bounds=(0, 110))
    >>> QuadraticPairQuery(column=age).width
    110

    Raises ValueError for groups, and without a width between the bounds.
    """

    cells_per_group = 3

    column: NumericColumn

    def __post_init__(self) -> None:
        if self.axes:
            raise ValueError("a changed row may leave one group and enter another")
        if self.column.lower >= self.column.upper:
            raise ValueError("the bounds of the value have no width")

    @property
    def operands(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def width(self) -> int:
        """The distance between the bounds, in steps."""
        return self.column.upper - self.column.lower

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The least is that of y(4y - 3w) for the whole numbers next to y = 3w/8."""
        width, below = self.width, 3 * self.width // 8
        least = min(y * (4 * y - 3 * width) for y in (below, below + 1))
        return RowContribution(least, width**2)

    def terms(self, relation: Relation) -> QueryTerms:
        of = (Factor(self.column).terms,)
        return replace(super().terms(relation), rule="quadratic", factors=of)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        _, rows, _ = limits(self.bounded_unit(relation.unit), 1)
        width = self.width
        l1, l2_squared, linf = 2 * width**2, 2 * width**4, width**2
        if relation.neighbors is Neighbors.CHANGE_ONE:
            below = (6 * width - isqrt(2 * width**2) - 1) // 8
            apart = (width, below, below + 1)
            l2_squared = max(2 * k**2 * (width**2 + 16 * (width - k) ** 2) for k in apart)
            vertex = 5 * width // 8
            linf = max(k * (5 * width - 4 * k) for k in (width, vertex, vertex + 1))
        return Sensitivity(3, rows * l1, rows**2 * l2_squared, rows * linf)

    @cached_property
    def shape(self) -> Shape:
        rows = LinearQuery(where=self.where, present=self.required_columns)
        distance, width = Factor(self.column, self.column.lower), self.width
        powers = [replace(rows, factors=(distance,) * power).weighted_sum for power in range(3)]
        # z(4z - 3w) is 4y^2 - 5wy + w^2.
        polynomials = [(0, -3 * width, 4), (width**2, -5 * width, 4), (width**2, 0, 0)]
        return RowSums(
            tuple(
                tuple(
                    (coefficient * weight, plain)
                    for coefficient, power in zip(polynomial, powers, strict=True)
                    for weight, plain in power
                    if coefficient
                )
                for polynomial in polynomials
            )
        )


def quadratic_pair(separate: MomentsDesign) -> tuple[Design, ...]:
    """Quadratic sums and the number of rows, instead of separate answers.

    In half-widths from the middle, a value is (y - z)/w, and its square ((2 d^2 - w^2)/w^2 + 1)/2.
    If the number of rows is public, its exact answer follows, and takes the place of the noisy one.
    Empty by groups, without a width, or if sums are too large.
    """
    inputs, moments = separate.inputs, separate.moments
    (column,) = moments.columns
    if inputs.by or not 0 < (column.upper - column.lower) ** 2 < MAX_PRODUCT:
        return ()
    query = QuadraticPairQuery(column=column, where=inputs.where)
    role = "quadratic sums and number of rows"
    public = tuple(weighted for weighted in separate.queries if not weighted.weight)
    queries = (WeightedQuery(role, query, step=column.step**2), *public)
    half, middle = moments.halves[0], moments.middle(0, 0)
    scale, squares = float(query.row_contribution.high), half**2 / 2
    rows = np.array([1 / scale, 0, (squares - middle) / scale])
    sums = np.array([(0, 0), (half, -half), (squares, squares)]) / scale
    exact = [np.zeros(3), rows * scale] if public else [rows]
    matrix = np.column_stack([sums, *exact])
    return (separate.jointly(queries, REASON + PUBLIC_REASON * len(public), matrix),)


def designs_of_one(
    separate: MomentsDesign, joint: Sequence[Design], relation: Relation
) -> tuple[Design, ...]:
    """Designs for the moments of one column: quadratic sums, or else `joint` ones.

    Separate answers are for all other noise and budgets. If the number of rows is public, they get
    all of the loss, so `joint` ones are not better.
    """
    pair = quadratic_pair(separate) if relation.neighbors is Neighbors.CHANGE_ONE else ()
    is_public = not separate.queries[0].weight
    return (*(pair or (() if is_public else joint)), separate)
