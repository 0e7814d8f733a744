"""The middle value of a numeric column, in all or in each group."""

from __future__ import annotations

from fractions import Fraction

from dpcli.fields import Candidates, NumericColumnName
from dpcli.statistics.base import Request
from dpcli.statistics.quantile import Quantile
from dpcli.values import Shape


class MedianFields(Shape):
    """The column, and the values to choose from."""

    column: NumericColumnName
    candidates: Candidates | None = None


class Median(Quantile):
    """The middle value of a numeric column, overall or in each group of `by`.

    Half of the rows lie on either side of it. It is the `quantile` 0.5, chosen from the
    same public `candidates` in the same way.

    Privacy: as for `quantile`: the score is minus the number of rows by which the rank of a
    candidate is off, in halves; adding or removing a row changes the difference of two
    scores by at most 2 halves, changing a row by 4.

    No interval is given: how far a few ranks are apart in value is itself private.
    """

    name = "median"
    fields = MedianFields
    steps = ()

    def quantiles(self, request: Request) -> tuple[Fraction, ...]:
        """One half."""
        return (Fraction(1, 2),)

    def items(self, request: Request) -> tuple[str, ...]:
        """A single number."""
        return ("",)

    def item_name(self, request: Request) -> str:
        """A single number."""
        return ""
