"""The statistic `count_distinct`: numbers of different values or people."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpcli.data.column import Column
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import CountedColumnName, PrivateKeys
from dpcli.privacy.sensitivity import RowContribution
from dpcli.privacy.unit import PersonUnit, Relation, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import DistinctValues, Shape
from dpcli.queries.terms import QueryTerms
from dpcli.statistics.counts.person_counts import PersonCounts
from dpcli.statistics.design import Design, Inputs, PublishedAnswer, WeightedQuery
from dpcli.statistics.estimates import Limits


@dataclass(frozen=True, kw_only=True)
class DistinctQuery(Query):
    """For each cell, the number of distinct values that its rows have in a column."""

    column: Column

    @property
    def operands(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def counted_values(self) -> Column:
        return self.column

    @property
    def shape(self) -> Shape:
        not_missing = tuple(column for column in self.present if column.missing is None)
        return DistinctValues(self.axes, self.column, self.where, not_missing)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds zero or one distinct value: zero if another row has it too.

        A person adds at most one value for each row, so the sensitivity is that of a sum of numbers
        from zero to one.
        """
        return RowContribution(0, 1)

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(super().terms(relation), rule="distinct", counted=self.column.max_distinct)

    def bounded_unit(self, unit: Unit) -> Unit:
        """The unit with no more rows in a cell than the column has values."""
        bounded = super().bounded_unit(unit)
        values = self.column.max_distinct
        if not isinstance(bounded, PersonUnit) or values is None:
            return bounded
        rows = min(bounded.max_rows_per_group, values)
        return replace(bounded, max_rows_per_group=rows)


class CountDistinct(PersonCounts):
    """The number of different people, or of different values of `column`.

    Without `column`, it counts people with a row that counts, overall or in each group of
    `by`; all rows of a person are considered. With `column`, it counts the values of the
    kept rows in that column; numbers are compared on their grid, and ids as texts.

    Privacy: a person adds one to each group they are in, at most `max_groups` of them: that
    number in L1, its square root in L2. A row adds at most one value, and a value that is
    there already adds none. So the values in a group change by at most the number of rows
    that the limits allow, and at most by the number of possible values. Under change-one, a row
    or person can remove as much and add as much elsewhere.

    If a person can be in many of the d groups, K-norm noise costs less than Laplace noise: it
    covers the largest change of a group, which is one, instead of the sum of changes
    (`explain mechanism k_norm`). The factor is sqrt((d + 2)(d + 3)/12) instead of d if people are
    added or removed: 3.6 for ten groups, and 29.6 for a hundred. With Gaussian noise under
    add-remove, noise costs less for twice the people of each group less all people, and all people
    once, whose sum is twice the count: a person changes each of the first by one at most, and the
    second by one. The deviation is (sqrt(d) + 1)/2 instead of sqrt(d) (Lebeda 2025); both are
    protected as one answer. With Laplace noise where rho counts, it is (d^(2/3) + 1)^(3/2)/2
    instead of d. The groups share a part of the noise.

    >>> people = {"unit": "{column: id, max_rows: 5, max_groups: 2}", "id": "{type: id}"}
    >>> l1("statistic: count_distinct", **people)
    {'add-remove': [1], 'change-one': [1]}
    >>> l1("statistic: count_distinct, by: [sex]", sex="{type: category, values: [f, m]}", **people)
    {'add-remove': [1], 'change-one': [1]}
    >>> l1("statistic: count_distinct, column: sex", sex="{type: boolean}", **people)
    {'add-remove': [2], 'change-one': [2]}
    """

    name = "count_distinct"
    noun = "number of {}"
    takes = field_types(column=CountedColumnName | None, keys=PrivateKeys | None)
    measure = "counts"
    counts_people = True

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        values = inputs.column.max_distinct if inputs.column else None
        return super().limits(inputs) if values is None else ((Fraction(0), Fraction(values)),)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        column, unit = inputs.column, relation.unit
        id_column = unit.column if isinstance(unit, PersonUnit) else None
        if column is None or column.name == id_column:
            people = LinearQuery(by=inputs.by, where=inputs.where, user_clamp=(0, 1))
            return self.by_people(inputs, people, "distinct", relation)
        query = DistinctQuery(by=inputs.by, where=inputs.where, present=(column,), column=column)
        return (PublishedAnswer(inputs, (WeightedQuery("distinct", query),)),)
