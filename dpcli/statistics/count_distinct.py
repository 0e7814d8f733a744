"""How many different people, or values of a column, there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.fields import CountedColumnName, PrivateKeys
from dpcli.privacy.relation import PersonUnit, Relation
from dpcli.queries import DistinctQuery, LinearQuery, Query
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, shifted
from dpcli.values import Shape


class DistinctFields(Shape):
    """A column whose different values are counted, in place of people."""

    column: CountedColumnName | None = None
    keys: PrivateKeys | None = None


class CountDistinct(Statistic):
    """The number of different people, or of different values of `column`.

    Without `column`, people with a row that counts, overall or in each group of `by`; all
    rows of a person are considered. With `column`, the values that the kept rows have
    there; numbers are compared on their grid, and ids as texts.

    Privacy: a person adds one to each group they are in, at most `max_groups` of them: that
    number in L1, its square root in L2. A row adds at most one value, and a value that was
    there already adds none, so the values in a group change by no more than the number of
    rows that the limits allow. Under change-one, a row or person may remove as much and add
    as much elsewhere.
    """

    name = "count_distinct"
    fields = DistinctFields
    counts_people = True

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the people, or the values, in each cell."""
        column = request.column
        query: Query
        if column is None or self._is_person(column.name, relation):
            query = LinearQuery(by=request.by, where=request.where, totals=(0, 1))
        else:
            query = DistinctQuery(
                by=request.by, where=request.where, present=(column,), column=column
            )
        return (Question("distinct", query),)

    @staticmethod
    def _is_person(name: str, relation: Relation) -> bool:
        """Whether the values of a column are the people who are protected."""
        return isinstance(relation.unit, PersonUnit) and relation.unit.column == name

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The noisy numbers as they are."""
        return shifted(answers[0], confidence, unit=Fraction(1), places=0)
