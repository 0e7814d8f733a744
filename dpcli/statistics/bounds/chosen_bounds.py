"""Bounds and a limit that are chosen privately, from noisy histograms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.distribution import Noise
from dpcli.numeric.exact import readable_text
from dpcli.privacy.unit import PersonUnit, Relation, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.statistics.bounds.rule import BoundsGrid, BoundsRule
from dpcli.statistics.design import Design, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.statistic import Statistic

MAX_ROWS = "max_rows"
"""The key of the limit on rows per person in a spec, and in what a ledger stores."""

LIMIT_NAME = "limit on rows"
"""The name of the histogram that chooses this limit; no spec can give it."""


class BoundsHistogram(Statistic):
    """The number of rows in each bin of a grid, from which bounds are chosen.

    Privacy: a row lies in one bin, so this is a histogram: adding or removing a row changes one
    count by one, 1 in L1, and changing a row moves it from one bin to another, 2 in L1. A person
    moves as many rows as the limits allow; each bin counts as a group. The choice of bounds is
    post-processing of the noisy counts. The bounds are public after it, and statistics that use
    them add up with it, whatever was chosen (adaptive composition: Dwork, Rothblum and Vadhan
    2010).
    """

    name = "bounds"
    steps = ()
    has_raw = False
    measure = "counts"
    item = "bin"

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        assert request.bins is not None
        query = LinearQuery(items=(request.bins,))
        return (Design(request, (WeightedQuery("count", query),)),)

    def names(self, request: Request) -> tuple[str, ...]:
        assert request.bins is not None
        return request.bins.labels


class RowsHistogram(BoundsHistogram):
    """The number of people in each bin of a grid of numbers of rows; it chooses `max_rows`.

    Privacy: a person lies in one bin, that of the number of all their rows, whatever these hold.
    No limit is needed for that: adding or removing a person changes one count by one, 1 in L1, and
    exchanging a person moves one from a bin to another, 2 in L1. What follows from the noisy counts
    is public, as for bounds. Rows without an id count as they do in statistics: not at all, or as
    one person each.
    """

    name = MAX_ROWS
    item = "rows"

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        assert request.bins is not None
        query = RowsPerUserQuery(starts=tuple(request.bins.starts))
        return (Design(request, (WeightedQuery("people", query),)),)


BOUNDS_HISTOGRAM, ROWS_HISTOGRAM = BoundsHistogram(), RowsHistogram()


def bounds_name(column: str) -> str:
    """The name of the histogram that chooses the bounds of a column; no spec can give it."""
    return f"bounds of {column}"


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """What was chosen: public numbers, in the unit of the column; a limit is `upper`.

    `counts` are the noisy counts of the bins from the lowest on. Unless it was `decided`, the
    counts were too small, and the bounds are the outermost ones. `entry` and `head` identify the
    entry of the ledger that was charged.
    """

    lower: Fraction
    upper: Fraction
    counts: tuple[int, ...] = ()
    decided: bool = True
    entry: int = 0
    head: str = ""


@dataclass(frozen=True, slots=True)
class BoundsChoice:
    """How the bounds of a column are chosen, and what was chosen if that is known.

    The column of the `grid` has the outermost bounds. At least `coverage` of the counts lies within
    the chosen ones. `clamping_weight` is the weight of the bias of clamping against noise: 1 for
    values, less for rows of a person, of which a dropped one costs less than the bound. With
    `serves_check`, a quality check alone is a use of it.
    """

    grid: BoundsGrid
    coverage: Fraction
    epsilon: Fraction
    chosen: ChosenBounds | None = None
    histogram: ClassVar[BoundsHistogram] = BOUNDS_HISTOGRAM
    clamping_weight: ClassVar[float] = 1.0
    code: ClassVar[str] = "bounds-unused"
    serves_check: ClassVar[bool] = False

    @property
    def column(self) -> NumericColumn:
        """The column with its outermost bounds."""
        return self.grid.column

    @property
    def column_name(self) -> str | None:
        """The column of the file; None if there is none."""
        return self.column.name

    @property
    def name(self) -> str:
        """The name of the histogram."""
        return bounds_name(self.column.name)

    @property
    def noun(self) -> str:
        """What is chosen, in sentences."""
        return self.name

    def counted(self, rows: str, cells: str) -> str:
        """What the histogram counts: the `cells` of its column, or people by their `rows`."""
        return cells

    def beyond(self, rows: str) -> str:
        """What happens to that which lies beyond what is chosen."""
        return "values beyond count as the nearest bound"

    @property
    def request(self) -> Request:
        """What is asked of the data."""
        return Request(self.name, column=self.column, bins=self.grid.axis)

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each bin, in steps."""
        return self.grid.bins

    def text(self, ends: ChosenBounds) -> str:
        """What may be chosen, as sentences write it."""
        return f"{readable_text(ends.lower)} to {readable_text(ends.upper)}"

    def decides(self, query: Query) -> bool:
        """Whether the choice decides what is answered to a query, or its noise."""
        return any(column.name == self.column.name for column in query.columns)

    def rule(self, noise: Noise) -> BoundsRule:
        """The rule that chooses from counts with this noise."""
        return BoundsRule.of(noise, self.grid, self.coverage, self.clamping_weight)

    def choose(self, answer: NoisyAnswer) -> ChosenBounds:
        """What the noisy counts of the bins choose: post-processing."""
        counts: list[int] = answer.values.tolist()
        split = len(self.grid.below)
        positions = self.rule(answer.noise).choose(counts[:split][::-1], counts[split:])
        return self._at(
            *(positions or (-1, -1)), counts=tuple(counts), decided=positions is not None
        )

    def at_candidate(self, position: int) -> ChosenBounds:
        """The bounds at this position of the grid on both sides; minus one is the outermost."""
        grid = self.grid
        return self._at(
            *(min(position, len(candidates) - 1) for candidates in (grid.below, grid.above))
        )

    def at_part(self, part: int) -> ChosenBounds:
        """The bounds after a number of `PARTS` of the candidates, to show what they would mean."""
        last = max(len(self.grid.above), len(self.grid.below)) - 1
        return self.at_candidate(part * last // 3)

    def _at(self, below: int | None, above: int | None, **found: Any) -> ChosenBounds:
        """The bounds at these positions; a side without one ends at zero, the end of the other."""
        grid, (low, high) = self.grid, self.column.limits
        if grid.below:
            low = 0 if below is None else grid.below[below]
        if grid.above:
            high = 0 if above is None else grid.above[above]
        return ChosenBounds(low * self.column.step, high * self.column.step, **found)

    @property
    def extremes(self) -> tuple[ChosenBounds, ChosenBounds, ChosenBounds]:
        """The narrowest bounds that begin at zero, those that end at it, and the widest ones.

        With candidates on one side, there are single narrowest bounds. Each choice contains some.
        """
        inner, widest = self.at_candidate(0), self.at_candidate(-1)
        if not (self.grid.below and self.grid.above):
            return inner, inner, widest
        return self._at(None, 0), self._at(0, None), widest

    def with_chosen(self, chosen: ChosenBounds) -> Self:
        """The same choice, made. ValueError unless these bounds can be chosen."""
        made, (min_limit, max_limit) = replace(self, chosen=chosen), self.column.limits
        low, high = made.limits
        if not min_limit <= low < high <= max_limit:
            raise ValueError("chosen bounds lie within the outermost ones")
        return made

    @property
    def limits(self) -> tuple[int, int]:
        """The chosen bounds in steps, or before that the outermost ones."""
        if self.chosen is None:
            return self.column.limits
        ends = self.chosen.lower / self.column.step, self.chosen.upper / self.column.step
        if any(end.denominator != 1 for end in ends):
            raise ValueError("chosen bounds are whole numbers of steps")
        return ends[0].numerator, ends[1].numerator

    def bounded(self, column: Column) -> Column:
        """A column as it is after the choice; bounds also clamp a constant for missing cells."""
        if not isinstance(column, NumericColumn) or column.name != self.column_name:
            return column
        low, high = self.limits
        constant = None if column.missing is None else min(max(column.missing, low), high)
        return replace(column, bounds=(low, high), missing=constant)

    def limited(self, unit: Unit) -> Unit:
        """The privacy unit as it is after the choice."""
        return unit


PARTS = (1, 2, 3)
"""The thirds of the candidates for which a plan shows errors: near, middle and outermost."""

ROW_CLAMPING_WEIGHT = 0.4
"""The share of its bound that a value is expected to have: less for amounts, more for ages."""


@dataclass(frozen=True, slots=True)
class LimitChoice(BoundsChoice):
    """How the limit on rows per person is chosen, and what was chosen if that is known.

    The grid is one of whole numbers up to the outermost limit, and the limit is the upper bound.
    The limit on groups equals it, unless that is declared as `max_groups`.
    """

    max_groups: int | None = None
    histogram: ClassVar[BoundsHistogram] = ROWS_HISTOGRAM
    clamping_weight: ClassVar[float] = ROW_CLAMPING_WEIGHT
    code: ClassVar[str] = "bounds-unused.limit"
    serves_check: ClassVar[bool] = True

    @staticmethod
    def rows(up_to: int) -> NumericColumn:
        """Numbers of rows per person up to the outermost limit, for a grid."""
        return IntegerColumn(MAX_ROWS, bounds=(0, up_to))

    @property
    def column_name(self) -> None:
        """None: whatever the rows of a person hold."""

    @property
    def name(self) -> str:
        return LIMIT_NAME

    @property
    def noun(self) -> str:
        return "limit on rows per person"

    def counted(self, rows: str, cells: str) -> str:
        return f"people by their number of {rows}"

    def beyond(self, rows: str) -> str:
        return f"of the {rows} of a person beyond it, some are left out, at random"

    @property
    def request(self) -> Request:
        return Request(self.name, bins=self.grid.axis)

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest number of rows in each bin; the last has no end."""
        return [(max(low, 1), high) for low, high in self.grid.bins]

    def text(self, ends: ChosenBounds) -> str:
        return readable_text(ends.upper)

    def decides(self, query: Query) -> bool:
        """Whether rows count. Totals are of all rows, in as many groups as are allowed."""
        return query.total_clamp is None or (query.cells != 1 and self.max_groups is None)

    def limited(self, unit: Unit) -> Unit:
        """The unit of people with the limit."""
        assert isinstance(unit, PersonUnit)
        _, max_rows = self.limits
        in_group = min(unit.max_rows_per_group, max_rows)
        groups = self.max_groups or max_rows
        return replace(unit, max_rows=max_rows, max_rows_per_group=in_group, max_groups=groups)
