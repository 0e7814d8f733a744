"""The most frequent category of a column, in all or in each group."""

from __future__ import annotations

from dpcli.fields import LabelColumnName
from dpcli.statistics.base import Request
from dpcli.statistics.top_k import TopK
from dpcli.values import Shape


class ModeFields(Shape):
    """The column whose labels are compared."""

    column: LabelColumnName


class Mode(TopK):
    """The most frequent category of a column, overall or in each group of `by`.

    One of the declared labels is chosen by the number of rows that have it: `item` is the
    label, and `value` its rank, one. The number of rows that have it is not published; a
    `histogram` publishes that.

    Privacy: a row that is added or removed changes the count of one label by 1, and the
    difference of two counts by as much; changing a row changes it by 2 (McSherry and Talwar
    2007).

    No interval is given: a label is not a number with an error.
    """

    name = "mode"
    fields = ModeFields

    def items(self, request: Request) -> tuple[str, ...]:
        """A single label."""
        return ("",)

    def item_name(self, request: Request) -> str:
        """A single label."""
        return ""
