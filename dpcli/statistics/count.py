"""How many rows there are, in all or in each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.fields import BoundName, PrivateKeys, UnitBounds, ValuedColumnName
from dpcli.privacy.relation import Relation
from dpcli.queries import LinearQuery
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, shifted
from dpcli.values import Shape


class CountFields(Shape):
    """A column whose cells must be present; totals, and private keys."""

    column: ValuedColumnName | None = None
    bound: BoundName | None = None
    unit_bounds: UnitBounds | None = None
    keys: PrivateKeys | None = None


class Count(Statistic):
    """The number of rows, overall or in each group of `by`.

    With `column`, only rows whose cell in that column is present are counted. The published
    count is the noisy one: whole, unbiased, and possibly negative. With `bound: sum`, all
    rows of a person in a group are counted, up to `unit_bounds`.

    Privacy: a row adds one to one cell, so adding or removing a row changes the counts by 1
    in L1 and L2. Changing a row moves it from one cell to another: 2 in L1, sqrt(2) in L2;
    a single count without conditions then does not change at all, because the number of
    rows is public (Dwork and Roth 2014, section 3.3). A person with several rows changes
    the counts by as many rows as the limits allow.
    """

    name = "count"
    fields = CountFields

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the rows in each cell."""
        present = (request.column,) if request.column else ()
        query = LinearQuery(
            by=request.by, where=request.where, present=present, totals=request.totals
        )
        return (Question("count", query),)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The noisy counts as they are."""
        return shifted(answers[0], confidence, unit=Fraction(1), places=0)
