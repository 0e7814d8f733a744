"""Sums of distances from bounds, and the designs of means that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from math import comb, prod

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, divided_sensitivity
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import MAX_PRODUCT, LinearQuery, Query
from dpcli.queries.sums import Factor, PlainSum, RowSums, Shape, WeightedSum
from dpcli.queries.terms import QueryTerms
from dpcli.statistics.design import TYPICAL_MEAN, Design, Inputs, Queries, WeightedQuery
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.quotient import Coefficients, Quotient, QuotientDesign
from dpcli.statistics.weights import min_denominator, weight_step


@dataclass(frozen=True, kw_only=True)
class BernsteinQuery(Query):
    """By group, sums of products of Bernstein polynomials of values in their bounds.

    In steps, the polynomials of degree d of a value x in [L, U] are comb(d, j) (x - L)^j
    (U - x)^(d - j) for j from 0 to d. They are never negative, and sum to (U - L)^d, whatever x is.
    So what a row adds to all sums together is public, though not to which of them. Moments up to
    the degree follow from the sums: sums of degree one give the mean (Kulesza, Suresh and Wang
    2024), of degree two the variance.

    With several columns, each sum is of a product with one polynomial of every column, the last
    column fastest. By the distributive law, all products of a row sum to the product of the sums,
    which is that of the (U - L)^d. With a `weight`, all are multiplied by that value of the row.

    >>> age = NumericColumn("age", bounds=(0, 110))
    >>> BernsteinQuery(numeric_columns=(age,), degree=1).polynomials
    (((110, -1), (0, 1)),)

    Raises ValueError without a column or a width between bounds, or if a weight may be negative.
    """

    numeric_columns: tuple[NumericColumn, ...]
    degree: int
    weight: NumericColumn | None = None

    def __post_init__(self) -> None:
        if type(self.degree) is not int or self.degree < 1:
            raise ValueError("the degree is at least one")
        if not self.numeric_columns:
            raise ValueError("there is no column")
        if any(column.lower >= column.upper for column in self.numeric_columns):
            raise ValueError("the bounds of the value have no width")
        if self.weight is not None and self.weight.lower < 0:
            raise ValueError("a weight may be negative")

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        columns: tuple[NumericColumn, ...],
        degree: int,
        weight: NumericColumn | None = None,
    ) -> BernsteinQuery | None:
        """The query of inputs; None if bounds have no width, or sums are too large."""
        if any(column.lower == column.upper for column in columns):
            return None
        query = cls(
            by=inputs.by, where=inputs.where, numeric_columns=columns, degree=degree,
            weight=weight,
        )  # fmt: skip
        return query if query.largest < MAX_PRODUCT else None

    @property
    def operands(self) -> tuple[Column, ...]:
        return self.numeric_columns if self.weight is None else (*self.numeric_columns, self.weight)

    @property
    def widths(self) -> tuple[int, ...]:
        """The distances between the bounds of each column, in its steps."""
        return tuple(column.upper - column.lower for column in self.numeric_columns)

    @property
    def sum_of_row(self) -> int | None:
        return self.largest if self.weight is None else None

    @cached_property
    def largest(self) -> int:
        """The most that one row adds to all sums of its group together, in steps."""
        powers = prod(self.widths * self.degree)
        return powers * (1 if self.weight is None else self.weight.upper)

    @cached_property
    def polynomials(self) -> tuple[tuple[Coefficients, ...], ...]:
        """Coefficients of polynomials of the distance from a lower bound, by column."""
        return tuple(
            tuple(_bernstein(width, self.degree, power) for power in range(self.degree + 1))
            for width in self.widths
        )

    @property
    def cells_per_group(self) -> int:
        return prod([self.degree + 1] * len(self.numeric_columns))

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds from zero to `largest` to a sum, because one sum may get everything."""
        return RowContribution(0, self.largest)

    def terms(self, relation: Relation) -> QueryTerms:
        """With the columns, the degree of the polynomials of each, and the weight last."""
        weights = () if self.weight is None else (self.weight,)
        return replace(
            super().terms(relation),
            rule="divided",
            factors=tuple(Factor(column).terms for column in (*self.numeric_columns, *weights)),
            times=(self.largest,),
            sizes=(*(self.degree for _ in self.numeric_columns), *(0 for _ in weights)),
        )

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of the sums: what a row adds to all sums together is public."""
        unit = self.bounded_unit(relation.unit)
        numbers, groups = self.cells_per_group, self.groups
        return divided_sensitivity(numbers, relation.neighbors, unit, groups).scaled(self.largest)

    @cached_property
    def shape(self) -> Shape:
        weights = () if self.weight is None else (Factor(self.weight),)
        distances = [Factor(column, column.lower) for column in self.numeric_columns]
        powers = [
            LinearQuery(
                by=self.by,
                where=self.where,
                present=self.required_columns,
                factors=tuple(
                    factor
                    for factor, exponent in zip(distances, exponents, strict=True)
                    for _ in range(exponent)
                )
                + weights,
            ).weighted_sum
            for exponents in product(range(self.degree + 1), repeat=len(self.numeric_columns))
        ]
        products = (
            tuple(map(prod, product(*polynomials))) for polynomials in product(*self.polynomials)
        )
        return RowSums(tuple(_weighted_sum(powers, coefficients) for coefficients in products))


def _weighted_sum(powers: Sequence[WeightedSum], polynomial: Coefficients) -> WeightedSum:
    combined: dict[PlainSum, int] = {}
    for coefficient, power in zip(polynomial, powers, strict=True):
        for weight, plain in power:
            combined[plain] = combined.get(plain, 0) + coefficient * weight
    return tuple((weight, plain) for plain, weight in combined.items() if weight)


def _bernstein(width: int, degree: int, power: int) -> Coefficients:
    """The coefficients of comb(degree, power) y^power (width - y)^(degree - power)."""
    rest = degree - power
    factors = (comb(rest, at) * (-1) ** at * width ** (rest - at) for at in range(rest + 1))
    return (*(0,) * power, *(comb(degree, power) * factor for factor in factors))


SUM_WEIGHT = Fraction(3, 5)
"""The part of epsilon for a centered sum that is divided by a number of rows.

The noise of the sum affects the mean in full. The noise of the count is multiplied by the distance
of the mean from the center, in half-widths: it affects the mean at most as much, usually less.
"""

CENTERED = (
    "the sum of the distances from the middle of the bounds and the number of rows are answered. A "
    "value lies at most half the width of the bounds from their middle, so this sum needs less "
    "noise than one of the values themselves"
)

PAIR = (
    "the sum of the distances from the middle of the bounds is answered together with the number "
    "of rows, which counts half the width of the bounds for each row. A changed row changes the "
    "sum alone, by at most the width; a row that counts before the change or after it, but not "
    "both, changes either number by at most half of it. So both cost no more than the sum alone"
)

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
"""Reasons for centered sums, apart and together, and for distances."""


def mean_design(
    inputs: Inputs, queries: Queries, column: NumericColumn, quotient: Quotient, reason: str
) -> QuotientDesign:
    """A design of the mean of a column, by any quotient.

    The typical mean lies halfway between the middle and the upper bound.
    """
    middle, half = column.upper + column.lower, column.upper - column.lower
    typical = (middle + Fraction(TYPICAL_MEAN) * half) * column.step / 2
    unit, row = quotient.printed.unit, (typical / quotient.step - quotient.shift, Fraction(1))
    return QuotientDesign(
        inputs, queries, reason=reason, quotient=quotient, typical_row=row, typical=unit * typical
    )


def designs_of_mean(
    inputs: Inputs, queries: Queries, column: NumericColumn, printed: Printed, relation: Relation
) -> tuple[Design, ...]:
    """The designs of the mean of a column: centered sums, or distances.

    The `queries` are the sum of distances from the middle of the bounds, and the number of rows.
    With them, the design is for Gaussian noise, if there are others for pure noise and the number
    of rows is not public. With the squares, a mean of a sample shows that of the population.
    """
    sampled, rows = inputs.sample and not inputs.weight, queries[1].query
    pure = distances_from_bounds(inputs, column, printed, degree=2 if sampled else 1)
    if relation.neighbors is Neighbors.CHANGE_ONE and not sampled:
        pure = for_changed_rows(pure, rows, relation)
    distance, smallest = Factor.centered(column), min_denominator(inputs)
    quotient = Quotient(
        (1, 0), (0, 1), printed, distance.step, shift=distance.offset, min_below=smallest
    )
    is_public = not queries[1].weight
    design = mean_design(inputs, queries, column, quotient, "" if is_public else CENTERED)
    if sampled:
        from dpcli.statistics.samples.population import mean_by_centered_sums, mean_with_squares

        design = replace(
            design,
            queries=mean_with_squares(queries, inputs, column, relation),
            sampled=partial(mean_by_centered_sums, column, printed),
        )
    return (design,) if is_public or not pure else (replace(design, families=("l2",)), *pure)


def distances_from_bounds(
    inputs: Inputs, column: NumericColumn, printed: Printed, degree: int = 1
) -> tuple[QuotientDesign, ...]:
    """Sums of a column's distances from bounds and of their products, for pure noise.

    Empty if bounds are equal, or sums are too large.
    """
    query = BernsteinQuery.of(inputs, (column,), degree, inputs.weight)
    if query is None:
        return ()
    step = column.step**degree * weight_step(inputs)
    queries = (WeightedQuery("distances from both bounds", query, step=step),)
    reason = DISTANCES if query.weight is None else WEIGHTED_DISTANCES
    (width,) = query.widths
    # The polynomials sum to a power of the width for each row.
    quotient = Quotient(
        above=tuple(width * index for index in range(degree + 1)),
        below=(degree,) * (degree + 1),
        printed=printed,
        step=column.step,
        shift=column.lower,
        min_below=min_denominator(inputs) * degree * width**degree,
    )
    design = mean_design(inputs, queries, column, quotient, reason)
    design = replace(design, families=("l1",))
    if degree > 1:
        from dpcli.statistics.samples.population import mean_by_squared_distances

        number = partial(mean_by_squared_distances, column, printed)
        design = replace(design, reason=SQUARED_DISTANCES, sampled=number)
    return (design,)


def for_changed_rows(
    distances: tuple[QuotientDesign, ...], rows: Query, relation: Relation
) -> tuple[QuotientDesign, ...]:
    """The designs with the least noise, under change-one, of means of these `rows`."""
    vectors = (together for one in distances for together in _together(one, relation))
    return (*vectors, *(map(_centered_pair, distances) if rows.may_skip else distances))


def _together(distances: QuotientDesign, relation: Relation) -> tuple[QuotientDesign, ...]:
    """Distances of all groups as one vector; empty unless that has less noise.

    Privacy: the numbers are not negative, and a row adds the width of the bounds to all of them
    together. So a changed row moves at most that from some to others: half of the L1 of separate
    numbers, and the norm of K-norm noise. `VectorQuery` has the proof.
    """
    if not distances.inputs.by:
        return ()
    from dpcli.statistics.counts.vectors import in_vectors, vectors_instead

    (sums,) = distances.queries
    found = vectors_instead(sums, relation, of_differences=True)
    if found is None:
        return ()
    return (replace(distances, queries=(found[0],), **in_vectors(found[1])),)


def _centered_pair(distances: QuotientDesign) -> QuotientDesign:
    """A centered sum and the number of rows, for pure noise under change-one.

    In half steps, they are the difference and the sum of the sums of distances from both bounds.

    Privacy: a changed row moves at most the width w of the bounds from one of the two sums to the
    other, and a row that counts before the change or after it, but not both, changes one of them by
    w, or both by w together. So each of them changes by at most w, and their difference and their
    sum by at most 2 w together in L1; with up to t rows of a person, by t times as much.
    `BernsteinQuery` and `PairedQuery` have the proof. By groups and with weights, the distances
    themselves are answered.
    """
    from dpcli.queries.paired import paired

    inputs = distances.inputs
    if inputs.by or inputs.weight:
        return distances
    (sums,) = distances.queries
    role = "centered sum and number of rows"
    pair = replace(sums, role=role, query=paired(sums.query), step=sums.step / 2)
    return replace(distances, queries=(pair,), reason=PAIR, quotient=distances.quotient.of_pair)
