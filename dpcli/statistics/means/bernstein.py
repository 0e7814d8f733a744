"""Sums of Bernstein polynomials of a column, which give its moments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb, prod

from dpcli.data.column import Column
from dpcli.data.numeric import NumericColumn
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, divided_sensitivity
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor, RowSums, Shape, WeightedSum

Coefficients = tuple[int, ...]
"""Whole numbers: those of the powers of a value, from the power zero on."""


@dataclass(frozen=True, kw_only=True)
class BernsteinQuery(Query):
    """For each group, sums of the Bernstein polynomials of a value x within its bounds [L, U].

    In steps, the polynomials of degree d are comb(d, j) (x - L)^j (U - x)^(d - j) for j from 0 to
    d. They are never negative, and sum to (U - L)^d, whatever x is. So what a row adds to all sums
    together is public, though not to which of them. Moments up to the degree follow from the sums:
    sums of degree one give the mean (Kulesza, Suresh and Wang 2024), of degree two the variance.
    With a `weight`, all are multiplied by that value of the row.

    >>> age = NumericColumn("age", bounds=(0, 110))
    >>> BernsteinQuery(column=age, degree=1).polynomials
    ((110, -1), (0, 1))

    Raises ValueError without a width between the bounds, or if a weight may be negative.
    """

    column: NumericColumn
    degree: int
    weight: NumericColumn | None = None

    def __post_init__(self) -> None:
        if type(self.degree) is not int or self.degree < 1:
            raise ValueError("the degree is at least one")
        if self.column.lower >= self.column.upper:
            raise ValueError("the bounds of the value have no width")
        if self.weight is not None and self.weight.lower < 0:
            raise ValueError("a weight may be negative")

    @property
    def operands(self) -> tuple[Column, ...]:
        return (self.column,) if self.weight is None else (self.column, self.weight)

    @property
    def width(self) -> int:
        """The distance between the bounds, in steps."""
        return self.column.upper - self.column.lower

    @cached_property
    def largest(self) -> int:
        """The most that one row adds to all sums of its group together, in steps."""
        powers = prod([self.width] * self.degree)
        return powers * (1 if self.weight is None else self.weight.upper)

    @cached_property
    def polynomials(self) -> tuple[Coefficients, ...]:
        """The coefficients of each polynomial."""
        low, high = self.column.limits
        return tuple(
            _times(comb(self.degree, power), (-low, 1), power, (high, -1), self.degree - power)
            for power in range(self.degree + 1)
        )

    @cached_property
    def cells(self) -> int | None:
        """How many numbers the answer has; None if the groups are private."""
        groups = None if self.has_private_groups else prod(len(axis) for axis in self.by)
        return None if groups is None else groups * self.cells_per_group

    @property
    def groups(self) -> int | None:
        """The number of groups; None if they are private."""
        return None if self.cells is None else self.cells // self.cells_per_group

    @property
    def cells_per_group(self) -> int:
        """One number for each polynomial."""
        return self.degree + 1

    @cached_property
    def row_contribution(self) -> RowContribution:
        """From zero to all that a row adds together, because it may be in one sum."""
        return RowContribution(0, self.largest)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of sums to which a row adds parts of a public number."""
        unit = self.bounded_unit(relation.unit)
        numbers, groups = self.cells_per_group, self.groups
        return divided_sensitivity(numbers, relation.neighbors, unit, groups).scaled(self.largest)

    @cached_property
    def shape(self) -> Shape:
        """The sum of each polynomial, from sums of the powers of the value."""
        weights = () if self.weight is None else (Factor(self.weight),)
        powers = [
            LinearQuery(
                by=self.by,
                where=self.where,
                present=self.required_columns,
                factors=(Factor(self.column),) * power + weights,
            ).weighted_sum
            for power in range(self.degree + 1)
        ]
        return RowSums(tuple(_combined(powers, polynomial) for polynomial in self.polynomials))


def _combined(powers: Sequence[WeightedSum], polynomial: Coefficients) -> WeightedSum:
    return tuple(
        (coefficient * weight, plain)
        for coefficient, power in zip(polynomial, powers, strict=True)
        for weight, plain in power
        if coefficient
    )


def _times(
    factor: int, first: Coefficients, first_power: int, second: Coefficients, second_power: int
) -> Coefficients:
    """The coefficients of a product of powers of two polynomials."""
    product: Coefficients = (factor,)
    for polynomial in [first] * first_power + [second] * second_power:
        constant, slope = polynomial
        shifted = (0, *(slope * part for part in product))
        product = tuple(
            constant * same + before for same, before in zip((*product, 0), shifted, strict=True)
        )
    return product
