"""A limit on rows per person that is chosen privately, from a noisy histogram."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dpcli.columns import NumericColumn
from dpcli.light_dataclasses import dataclass
from dpcli.privacy.neighboring import Relation
from dpcli.queries.rows_per_user import RowsPerUserQuery
from dpcli.statistics.bounds_choice import BoundsChoice, BoundsHistogram, ChosenBounds, KeptBounds
from dpcli.statistics.bounds_ladder import Ladder, LadderKind
from dpcli.statistics.design import Design, Request, WeightedQuery

MAX_ROWS = "max_rows"
"""The key of the limit in a spec."""

LIMIT_NAME = "limit on rows"
"""The name of the histogram that chooses the limit; no spec can give it."""


class RowsHistogram(BoundsHistogram):
    """The number of people in each bin of a ladder of numbers of rows; it chooses `max_rows`.

    Privacy: a person lies in one bin, that of the number of all their rows, whatever these hold.
    No limit is needed for that: adding or removing a person changes one count by one, 1 in L1, and
    exchanging a person moves one from a bin to another, 2 in L1. The choice of the limit is
    post-processing of the noisy counts. The limit is public after it, and statistics that use it
    add up with it, whatever was chosen (adaptive composition: Dwork, Rothblum and Vadhan 2010).
    Rows without an id count as they do in statistics: not at all, or as one person each.
    """

    name = MAX_ROWS
    item = "rows"

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        """The people in each bin."""
        assert request.bins is not None
        query = RowsPerUserQuery(starts=tuple(request.bins.starts))
        return (Design(request, (WeightedQuery("people", query),)),)


ROWS_HISTOGRAM = RowsHistogram()

ROW_WORTH = 0.4
"""The share of its bound that a value is expected to have: less for amounts, more for ages."""


@dataclass(frozen=True, slots=True)
class LimitChoice(BoundsChoice):
    """How the limit on rows per person is chosen, and what was chosen if that is known.

    The `ladder` is one of whole numbers up to the outermost limit. The chosen limit is the upper
    bound of what was chosen.
    """

    is_limit: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        kind: LadderKind,
        up_to: int,
        cover: Fraction,
        epsilon: Fraction,
        chosen: ChosenBounds | None,
    ) -> LimitChoice:
        """The choice of a limit of at most `up_to`."""
        rows = NumericColumn(MAX_ROWS, "integer", bounds=(0, up_to))
        return cls(Ladder(rows, kind), cover, epsilon, chosen)

    @property
    def name(self) -> str:
        """The name of the histogram."""
        return LIMIT_NAME

    @property
    def histogram(self) -> BoundsHistogram:
        """The statistic from whose noisy counts it is chosen."""
        return ROWS_HISTOGRAM

    @property
    def worth(self) -> float:
        """What a row that is left out takes from a sum, as a share of the column's bound."""
        return ROW_WORTH

    @property
    def request(self) -> Request:
        """What is asked of the data: nothing of the cells of a row but the id."""
        return Request(self.name, bins=self.ladder.axis)

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest number of rows in each bin.

        People with more rows are in the last bin.
        """
        return [(max(low, 1), high) for low, high in self.ladder.bins]

    @property
    def limit(self) -> int:
        """The chosen limit, or before that the outermost one."""
        return self.column.upper if self.chosen is None else chosen_limit(self.chosen)


def chosen_limit(chosen: ChosenBounds) -> int:
    """The limit that was chosen; ValueError unless it is a whole number above zero."""
    if chosen.upper.denominator != 1 or chosen.upper < 1:
        raise ValueError("a limit is a whole number above zero")
    return chosen.upper.numerator


@dataclass(frozen=True, slots=True)
class KeptLimit(KeptBounds):
    """The limit that an earlier release chose: public since then, and free."""

    is_limit: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name of the histogram that chose it."""
        return LIMIT_NAME
