"""A statistic of the tests alone, in one file; `toy_registry` has its registry line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from dpcli.data.filters import InRanges
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import FieldFault, NumericColumnName, check_max
from dpcli.fields.values import NO_FIXED_LIMIT, whole_number
from dpcli.privacy.unit import Relation
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import Design, Inputs, WeightedQuery
from dpcli.statistics.statistic import Statistic

HINT = "values are high"


Top = Annotated[
    int,
    whole_number(NO_FIXED_LIMIT, HINT),
    Field(description="How many of the greatest values are high.", examples=[1]),
]


class HighCount(Statistic):
    """The number of rows whose value is among the `top` greatest values of the column.

    Privacy: a `count` of the rows that pass a public condition.
    """

    name = "high_count"
    takes = field_types(column=NumericColumnName, top=Top)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """`top` is at most the number of values of the column."""
        column = inputs.numeric
        values = column.upper - column.lower + 1
        yield from check_max(inputs.option("top"), "top", values, HINT)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The count of high values."""
        column = inputs.numeric
        high = InRanges(column, ((column.upper - inputs.option("top") + 1, column.upper),))
        query = LinearQuery(by=inputs.by, where=(*inputs.where, high))
        return (Design(inputs, (WeightedQuery("high", query),)),)
