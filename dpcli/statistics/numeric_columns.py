"""The numeric column of a request."""

from __future__ import annotations

from dpcli.data.numeric import NumericColumn, require_numeric
from dpcli.statistics.design import Request


def numeric(request: Request) -> NumericColumn:
    """The numeric column of a request, which the spec has checked.

    Raises TypeError if the column is not numeric.
    """
    return require_numeric(request.column)
