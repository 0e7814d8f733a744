"""Counts of different people, and of different values."""

from __future__ import annotations

from fractions import Fraction

from dpcli.data.column import ValuedColumn
from dpcli.fields.columns import CountedColumnName, PrivateKeys
from dpcli.fields.section import field_types
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.query import DistinctQuery, LinearQuery
from dpcli.statistics.counts.person_counts import PersonCounts
from dpcli.statistics.design import Design, Request, WeightedQuery
from dpcli.statistics.estimates import Limits


class CountDistinct(PersonCounts):
    """The number of different people, or of different values of `column`.

    Without `column`, it counts people with a row that counts, overall or in each group of
    `by`; all rows of a person are considered. With `column`, it counts the values of the
    kept rows in that column; numbers are compared on their grid, and ids as texts.

    Privacy: a person adds one to each group they are in, at most `max_groups` of them: that
    number in L1, its square root in L2. A row adds at most one value, and a value that is
    there already adds none. So the values in a group change by at most the number of rows
    that the limits allow. Under change-one, a row or person can remove as much and add as
    much elsewhere.

    If people are added or removed and can be in most of the d groups, Gaussian noise costs less
    for twice the people of each group less all people, and all people once, whose sum is twice the
    count: a person changes each of the first by one at most, and the second by one. The noise has
    the deviation (sqrt(d) + 1)/2 instead of sqrt(d), and the groups share a part of it (Lebeda
    2025). Both are protected as one answer.

    >>> people = {"unit": "{column: id, max_rows: 5, max_groups: 2}", "id": "{type: id}"}
    >>> l1("statistic: count_distinct", **people)
    {'add-remove': [1], 'change-one': [1]}
    >>> l1("statistic: count_distinct, by: [sex]", sex="{type: category, values: [f, m]}", **people)
    {'add-remove': [2], 'change-one': [2]}
    """

    name = "count_distinct"
    takes = field_types(column=CountedColumnName | None, keys=PrivateKeys | None)
    measure = "counts"
    counts_people = True

    def limits(self, request: Request) -> tuple[Limits, ...]:
        """No more values than are declared can be counted."""
        column = request.column
        if isinstance(column, ValuedColumn):
            low, high = column.limits
            return ((Fraction(0), Fraction(high - low + 1)),)
        return super().limits(request)

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        """The people, or the distinct values, in each cell."""
        column, unit = request.column, relation.unit
        id_column = unit.column if isinstance(unit, PersonUnit) else None
        if column is None or column.name == id_column:
            people = LinearQuery(by=request.by, where=request.where, user_clamp=(0, 1))
            return self.by_people(request, people, "distinct", relation)
        query = DistinctQuery(by=request.by, where=request.where, present=(column,), column=column)
        return (Design(request, (WeightedQuery("distinct", query),)),)
