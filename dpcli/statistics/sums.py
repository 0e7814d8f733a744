"""Totals and averages of a numeric column, in all or in each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.fields import BoundName, NumericColumnName, UnitBounds
from dpcli.privacy.decimals import decimal_places
from dpcli.privacy.relation import Relation
from dpcli.queries import Factor, LinearQuery
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, centre, numeric
from dpcli.statistics.plausible import Plausible, moved
from dpcli.values import Shape

if TYPE_CHECKING:
    from dpcli.statistics.plausible import Numbers


class SumFields(Shape):
    """The column that is added up, and totals of people."""

    column: NumericColumnName
    bound: BoundName | None = None
    unit_bounds: UnitBounds | None = None


class Sum(Statistic):
    """The total of a numeric column, overall or in each group of `by`.

    Every value is rounded to the grid of the column and clamped to its bounds before it is
    added, so the total is that of the clamped values. With `bound: sum`, all rows of a
    person in a group are added up first, and their total is clamped to `unit_bounds`: that
    needs less noise than clamping each row, if people have many rows.

    Privacy: for values in [L, U], adding or removing a row changes one total by at most
    max(|L|, |U|). Changing a row changes a single total by at most U - L (of values that
    cannot be skipped); among several groups the row can also move, and the change is at
    most max(2 max(|L|, |U|), U - L) in L1. A person changes the totals by as much for every
    row that the limits allow, or by `unit_bounds` in every group. The sum is over whole
    steps, hence exact, so these are the true sensitivities (Casacuberta, Shoemate, Vadhan
    and Wagaman 2022).
    """

    name = "sum"
    fields = SumFields
    measure = "amounts"

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the total of each cell, in steps."""
        column = numeric(request)
        query = LinearQuery(
            factors=(Factor(column),), by=request.by, where=request.where, totals=request.totals
        )
        return (Question("sum", query, unit=column.step),)

    def unit(self, request: Request) -> Fraction:
        """A step of the column."""
        return numeric(request).step


SUM_SHARE = Fraction(3, 5)
"""The centred sum gets more than half: its noise reaches the mean in full, while the
noise of the count is weighted by the mean's distance from the centre, at most as
much and usually less."""


class MeanFields(Shape):
    """The column that is averaged."""

    column: NumericColumnName


class Mean(Statistic):
    """The average of a numeric column, overall or in each group of `by`.

    A noisy sum of distances from the middle of the bounds is divided by a noisy count,
    which is taken as at least one; the result lies within the bounds. The epsilon of the
    entry is split: 3/5 for the sum and 2/5 for the count. The interval covers the means of
    the exact sums and counts that may be behind the noisy ones.

    Privacy: two answers about the same rows, and both are charged. Centered values lie in
    [-(U-L)/2, (U-L)/2], so adding or removing a row changes the sum by at most (U-L)/2,
    rounded up to a whole step, and the count by 1; a person changes both by that for every
    row that the limits allow. When neighbors change a row and no row can be skipped, the
    number of rows is public: the divisor is exact at no privacy cost, the average of n rows
    has sensitivity (U-L)/n, and the sum gets all of epsilon.
    """

    name = "mean"
    fields = MeanFields
    made = "noisy sum divided by noisy count (at least 1), clamped to the bounds"

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """The centred sum and the count of the same rows."""
        column = numeric(request)
        rows = LinearQuery(by=request.by, where=request.where, present=(column,))
        total = LinearQuery(
            factors=(Factor(column, centre(column)),), by=request.by, where=request.where
        )
        public = relation.size_is_public and not rows.may_skip and rows.cells == 1
        share = Fraction(1) if public else SUM_SHARE
        return (
            Question("centred sum", total, share, column.step),
            Question("count", rows, 1 - share),
        )

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """Noisy sum over noisy count, within the bounds."""
        column = numeric(request)
        middle = centre(column) * column.step
        within = column.lower * column.step - middle, column.upper * column.step - middle
        places = decimal_places(column.step) + 2
        means = Plausible(answers, _ratio, confidence, count=1)
        return tuple(
            moved(estimate, middle)
            for estimate in means.estimates([column.step], [places], [within])
        )


def _ratio(answers: Numbers) -> Numbers:
    """The sum over the count, which is one at least."""
    import numpy as np

    total, count = answers
    ratio: Numbers = (total / np.maximum(count, 1.0))[None]
    return ratio
