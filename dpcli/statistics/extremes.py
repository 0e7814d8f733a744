"""The low and the high end of a numeric column, in all or in each group."""

from __future__ import annotations

from fractions import Fraction

from dpcli.statistics.base import Request
from dpcli.statistics.median import Median

PART = Fraction(1, 100)
"""How many of the rows lie beyond what is called an end."""


class Minimum(Median):
    """The low end of a numeric column: the value below which 1% of the rows lie.

    The smallest value of all belongs to one person, and no private answer can reveal it. So
    this is the `quantile` 0.01, chosen from the same public `candidates` in the same way;
    in groups of few rows noise moves it towards the lower bound.

    Privacy: as for `quantile`, in hundredths: adding or removing a row changes the
    difference of two scores by at most 198 hundredths of a row, changing a row by 200.

    No interval is given: how far a few ranks are apart in value is itself private.
    """

    name = "min"

    def quantiles(self, request: Request) -> tuple[Fraction, ...]:
        """The first hundredth."""
        return (PART,)

    def warnings(self, request: Request) -> tuple[str, ...]:
        """What is published is no extreme."""
        return (f"{request.name}: not the least value, but the one below which 1 % of rows lie",)


class Maximum(Median):
    """The high end of a numeric column: the value above which 1% of the rows lie.

    The greatest value of all belongs to one person, and no private answer can reveal it. So
    this is the `quantile` 0.99, chosen from the same public `candidates` in the same way;
    in groups of few rows noise moves it towards the upper bound.

    Privacy: as for `quantile`, in hundredths: adding or removing a row changes the
    difference of two scores by at most 198 hundredths of a row, changing a row by 200.

    No interval is given: how far a few ranks are apart in value is itself private.
    """

    name = "max"

    def quantiles(self, request: Request) -> tuple[Fraction, ...]:
        """The last hundredth."""
        return (1 - PART,)

    def warnings(self, request: Request) -> tuple[str, ...]:
        """What is published is no extreme."""
        return (f"{request.name}: not the greatest value, but the one above which 1 % of rows lie",)
