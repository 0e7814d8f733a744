"""Counts of rows, and sums."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.fields.columns import (
    BoundName,
    NumericColumnName,
    PrivateKeys,
    UnitBounds,
    ValuedColumnName,
    WeightColumnName,
)
from dpcli.fields.section import field_types
from dpcli.privacy.neighboring import Relation
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.person_counts import PersonCounts
from dpcli.statistics.design import Design, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.population import population_counts, population_sums, sum_with_squares
from dpcli.statistics.statistic import WeightedStatistic, weight_factors, weight_step


class Count(PersonCounts, WeightedStatistic):
    """The number of rows, overall or in each group of `by`.

    With `column`, only rows with a value in that column are counted. The published count is
    the noisy one: unbiased, possibly negative, and whole unless groups share noise. With
    `bound: sum`, all rows of a person in a group are counted, up to `unit_bounds`. With
    `weight`, each row counts by its value in that column, and the answer is the sum of the
    weights. If a `sample` of public size is declared, a count of a part of the rows is also
    estimated for the population.

    Privacy: a row adds one to one cell, so adding or removing a row changes the counts by 1
    in L1 and L2. Changing a row moves it from one cell to another: 2 in L1, sqrt(2) in L2;
    a single count without conditions then does not change at all, because the number of
    rows is public (Dwork and Roth 2014, section 3.3). A person with several rows changes
    the counts by as many rows as the limits allow; with Gaussian noise and many groups of a
    person, the groups share noise (see `count_distinct`). A weighted row adds its weight,
    clamped to [0, W], so the sensitivities are W times as large.

    >>> l1("statistic: count")
    {'add-remove': [1], 'change-one': [0]}
    >>> l1("statistic: count, by: [sex]", sex="{type: category, values: [f, m]}")
    {'add-remove': [1], 'change-one': [2]}
    >>> l1("statistic: count, weight: w", w="{type: number, bounds: [0, 12.5], step: 0.5}")
    {'add-remove': [12.5], 'change-one': [12.5]}
    """

    name = "count"
    takes = field_types(
        column=ValuedColumnName | None,
        weight=WeightColumnName | None,
        bound=BoundName | None,
        unit_bounds=UnitBounds | None,
        keys=PrivateKeys | None,
    )
    measure = "counts"

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        """The rows in each cell, or their weights."""
        query = LinearQuery(
            factors=weight_factors(request),
            by=request.by,
            where=request.where,
            present=(request.column,) if request.column else (),
            user_clamp=request.user_clamp,
        )
        if request.weight:
            weights = WeightedQuery("sum of weights", query, step=self.step(request))
            return (Design(request, (weights,)),)
        if request.sample:
            return (Design(request, (WeightedQuery("count", query),)),)
        return self.by_people(request, query, "count", relation)

    def has_population(self, request: Request) -> bool:
        """A part of the rows is a share of a sample of public size."""
        size = request.sample and request.sample.size
        is_part = bool(request.by or request.where or request.column)
        return bool(size) and is_part and not request.weight and request.user_clamp is None

    def population(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The number of the population in each group."""
        return population_counts(request, answers[0], confidence)

    def step(self, request: Request) -> Fraction:
        """A row, or a step of the weights."""
        return weight_step(request)


class Sum(WeightedStatistic):
    """The total of a numeric column, overall or in each group of `by`.

    Every value is rounded to the grid of the column and clamped to its bounds before it is
    added, so the total is that of the clamped values. With `bound: sum`, the rows of a
    person in a group are summed first, and their total is clamped to `unit_bounds`. That
    needs less noise than clamping each row if people have many rows. With `weight`, each
    value is multiplied by the weight of its row. If a `sample` of public size is declared, a
    fifth of epsilon goes to the sum of squares, which shows the error of the sample.

    Privacy: for values in [L, U], adding or removing a row changes one total by at most
    max(|L|, |U|). Changing a row changes a single total by at most U - L (of values that
    cannot be skipped). Among several groups the row can also move, and the change is at
    most max(2 max(|L|, |U|), U - L) in L1. A person changes the totals by as much for every
    row that the limits allow, or by `unit_bounds` in every group. With weights up to W, the
    changes are W times as large. Whole steps are summed exactly, so these are the true
    sensitivities (Casacuberta, Shoemate, Vadhan and Wagaman 2022).

    >>> l1("statistic: sum, column: x", x="{type: integer, bounds: [-20, 110]}")
    {'add-remove': [110], 'change-one': [130]}
    >>> l1("statistic: sum, column: x", x="{type: integer, bounds: [10, 110], missing: 10}")
    {'add-remove': [110], 'change-one': [100]}
    """

    name = "sum"
    takes = field_types(
        column=NumericColumnName,
        weight=WeightColumnName | None,
        bound=BoundName | None,
        unit_bounds=UnitBounds | None,
    )
    measure = "amounts"
    in_column_unit = True

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        """The sum of each cell, in steps."""
        query = LinearQuery(
            factors=(Factor(request.numeric), *weight_factors(request)),
            by=request.by,
            where=request.where,
            user_clamp=request.user_clamp,
        )
        role = "weighted sum" if request.weight else "sum"
        total = WeightedQuery(role, query, step=self.step(request))
        sampled = self.has_population(request)
        return (Design(request, sum_with_squares(total, request) if sampled else (total,)),)

    def limits(self, request: Request) -> tuple[Limits, ...]:
        """A total of values that are not negative is not negative, and so for negative values."""
        low, high = request.user_clamp or request.numeric.limits
        return ((Fraction(0) if low >= 0 else None, Fraction(0) if high <= 0 else None),)

    def has_population(self, request: Request) -> bool:
        """The rows are a share of a population if their number is public."""
        size = request.sample and request.sample.size
        return bool(size) and not request.weight and request.user_clamp is None

    def population(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The total of each group of the population."""
        return population_sums(request, answers, confidence)

    def step(self, request: Request) -> Fraction:
        """A step of the column, times a step of the weights."""
        return request.numeric.step * weight_step(request)
