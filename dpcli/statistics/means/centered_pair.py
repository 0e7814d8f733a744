"""A centered sum and a number of rows, protected together under change-one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import hypot

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.noise.distribution import Noise
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, limits
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor, RowSums, Shape
from dpcli.statistics.design import Design, Request, WeightedQuery
from dpcli.statistics.means.quotient import Printed, Quotient, QuotientDesign
from dpcli.statistics.moments import TYPICAL_MEAN

REASON = (
    "the sum of the distances from the middle of the bounds is answered together with the number "
    "of rows, which counts half the width of the bounds for each row. A changed row changes the "
    "sum alone, by at most the width; a row that counts before the change or after it, but not "
    "both, changes either number by at most half of it. So both cost no more than the sum alone"
)


@dataclass(frozen=True, kw_only=True)
class ChangedPairQuery(Query):
    """Sums of a column and the number of rows, together, where a row may be changed.

    Raises ValueError for groups, and without a width between the bounds.

    Privacy: a person with at most t rows becomes another one by at most t changes of a row, which
    add up in every norm. The rows of both can be put in pairs, and a row without a partner is added
    or removed.
    """

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
    def cells(self) -> int:
        return self.cells_per_group

    @abstractmethod
    def sensitivity_of_row(self, neighbors: Neighbors) -> Sensitivity:
        """The sensitivity for a single row, as the class proves it."""

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of all numbers together, as proven above."""
        _, rows, _ = limits(self.bounded_unit(relation.unit), 1)
        one = self.sensitivity_of_row(relation.neighbors)
        return Sensitivity(one.l0, rows * one.l1, rows**2 * one.l2_squared, rows * one.linf)


@dataclass(frozen=True, kw_only=True)
class CenteredPairQuery(ChangedPairQuery):
    """The sum of distances from the middle of the bounds, and h for each row.

    Everything is in steps of `Factor.centered`. A distance is from -h to h, and `half` is h.

    Privacy: let a row that counts become another one that counts. The sum changes by at most 2 h,
    and the number of rows does not. If only one of the two counts, the sum and h times the number
    of rows change by at most h each. So (L1, L2 squared, Linf) of a changed row are at most
    (2 h, 4 h^2, 2 h), and of an added or a removed one (2 h, 2 h^2, h). `ChangedPairQuery` has the
    proof for persons.

    >>> age = NumericColumn("age", bounds=(0, 110))
    >>> CenteredPairQuery(column=age).half
    55
    """

    @cached_property
    def factor(self) -> Factor:
        """The distance of a value from the middle of the bounds."""
        return Factor.centered(self.column)

    @cached_property
    def half(self) -> int:
        """The greatest distance from the middle, in steps of the factor."""
        return max(map(abs, self.factor.limits))

    @property
    def cells_per_group(self) -> int:
        return 2

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The sum gets from -h to h, the other number h."""
        return RowContribution(-self.half, self.half)

    def sensitivity_of_row(self, neighbors: Neighbors) -> Sensitivity:
        changes = neighbors is Neighbors.CHANGE_ONE
        one = Sensitivity(2, 2, 4, 2) if changes else Sensitivity(2, 2, 2, 1)
        return one.scaled(self.half)

    @cached_property
    def shape(self) -> Shape:
        rows = LinearQuery(where=self.where, present=self.required_columns)
        total = LinearQuery(where=self.where, present=self.present, factors=(self.factor,))
        ((weight, counted),) = rows.weighted_sum
        return RowSums((total.weighted_sum, ((weight * self.half, counted),)))


@dataclass(frozen=True, kw_only=True)
class CenteredPair(QuotientDesign):
    """A centered sum and the number of rows, for pure noise under change-one."""

    pair: CenteredPairQuery

    @classmethod
    def of(cls, request: Request, column: NumericColumn, printed: Printed) -> tuple[Design, ...]:
        """The design; empty by groups, with weights, or without a width."""
        if request.by or request.weight or column.lower == column.upper:
            return ()
        query = CenteredPairQuery(column=column, where=request.where)
        factor, half = query.factor, query.half
        queries = (WeightedQuery("centered sum and number of rows", query, step=factor.step),)
        printed = printed.in_steps(factor.step)
        quotient = Quotient((half, 0), (0, 1), printed, factor.offset, half)
        return (cls(request, queries, ("l1",), reason=REASON, quotient=quotient, pair=query),)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of the mean times the number of rows.

        Both numbers have the same noise.
        """
        return errors[0] * hypot(1, TYPICAL_MEAN)

    def error_of_rows(
        self, noises: Sequence[Noise], rows: Fraction, confidence: Fraction
    ) -> Fraction | None:
        """A bound on the error of a mean of n rows: 2 h s / (n h - s).

        The noise of either number is at most s. None if n h may be less.
        """
        noise = noises[0].half_width((1 + confidence) / 2)
        least = rows * self.pair.half - noise
        half = self.pair.half * self.pair.factor.step
        return half * 2 * noise / least if least > 0 else None
