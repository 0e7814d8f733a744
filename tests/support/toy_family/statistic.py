"""The statistic of counts up to a public number."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.fields.section import field_types
from dpcli.fields.values import NO_FIXED_LIMIT, whole_number
from dpcli.privacy.unit import Relation
from dpcli.statistics.design import Design, Inputs, WeightedQuery
from dpcli.statistics.estimates import Limits
from dpcli.statistics.statistic import Statistic
from tests.support.toy_family.capped_counts import CappedCountQuery

Cap = Annotated[
    int,
    whole_number(NO_FIXED_LIMIT, "rows are counted in a group"),
    Field(description="How many rows of a group are counted at most.", examples=[2]),
]


class CappedCount(Statistic):
    """The number of rows in each group of `by`, or the `cap` if that is less.

    Privacy: a row changes a count by one, or not at all where the count has reached the cap.
    `CappedCountQuery` has the proof.

    >>> l1("statistic: capped_count, cap: 2")
    {'add-remove': [1], 'change-one': [0]}
    >>> unit = "{column: id, max_rows: 5}"
    >>> l1("statistic: capped_count, cap: 2", unit=unit, id="{type: id}")
    {'add-remove': [2], 'change-one': [2]}
    """

    name = "capped_count"
    takes = field_types(cap=Cap)
    measure = "counts"

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The capped counts."""
        query = CappedCountQuery(by=inputs.by, where=inputs.where, cap=inputs.option("cap"))
        return (Design(inputs, (WeightedQuery("capped count", query),)),)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        """From zero to the cap."""
        return ((Fraction(0), Fraction(inputs.option("cap"))),)
