"""The total of a numeric column, in all or in each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.fields import BoundName, NumericColumnName, UnitBounds
from dpcli.privacy.decimals import decimal_places
from dpcli.privacy.relation import Relation
from dpcli.queries import Factor, LinearQuery
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, numeric, shifted
from dpcli.values import Shape


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

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the total of each cell, in steps."""
        column = numeric(request)
        query = LinearQuery(
            factors=(Factor(column),), by=request.by, where=request.where, totals=request.totals
        )
        return (Question("sum", query, unit=column.step),)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The noisy totals as they are, in the column's unit."""
        step = numeric(request).step
        return shifted(answers[0], confidence, unit=step, places=decimal_places(step))
