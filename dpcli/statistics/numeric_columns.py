"""The numeric column of a request, and facts about such columns."""

from __future__ import annotations

from dpcli.data.numeric import NumericColumn
from dpcli.statistics.design import Request


def numeric(request: Request) -> NumericColumn:
    """The numeric column of a request, which the spec has checked.

    Raises TypeError if the column is not numeric.
    """
    if not isinstance(request.column, NumericColumn):
        raise TypeError("this statistic needs a numeric column")
    return request.column


def date_range(column: NumericColumn) -> int | None:
    """The days between the bounds of a column of dates; None for a column of numbers."""
    return column.upper - column.lower if column.kind == "date" else None
