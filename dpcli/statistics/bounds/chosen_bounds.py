"""Bounds and a limit that are chosen privately, from noisy histograms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpcli.data.candidate_bounds import LIMIT_NAME
from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.distribution import Noise
from dpcli.noise.sums import weighted_margin
from dpcli.numeric.exact import readable_text
from dpcli.privacy.unit import NO_LIMITS, Limits, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.statistics.bounds.rule import BoundsGrid, BoundsRule
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.statistic import Statistic

MAX_ROWS = "max_rows"
"""The key of the limit on rows per person in a spec, and in what a ledger stores."""


class BoundsHistogram(Statistic):
    """The number of rows in each bin of a grid, from which bounds are chosen.

    Privacy: a row lies in one bin, so this is a histogram: adding or removing a row changes one
    count by one, 1 in L1, and changing a row moves it from one bin to another, 2 in L1. A person
    moves as many rows as the limits allow; each bin counts as a group. The choice of bounds is
    post-processing of the noisy counts, so the bounds are public after it. The losses of this
    histogram and of the statistics that use the bounds add up, whatever was chosen (adaptive
    composition: Dwork, Rothblum and Vadhan 2010).
    """

    name = "bounds"
    chooses_bounds = True
    steps = ()
    has_raw = False
    measure = "counts"
    item = "bin"

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        assert inputs.bins is not None
        query = LinearQuery(items=(inputs.bins,))
        return (Design(inputs, (WeightedQuery("count", query),)),)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        assert inputs.bins is not None
        return inputs.bins.labels


class RowsHistogram(BoundsHistogram):
    """Numbers of people in bins of a grid of numbers of rows; it chooses `max_rows`.

    Privacy: a person lies in one bin, that of the number of all their rows, whatever these hold.
    No limit is needed for that: adding or removing a person changes one count by one, 1 in L1, and
    exchanging a person moves one from a bin to another, 2 in L1. What follows from the noisy counts
    is public, as for bounds. Rows without an id count as they do in statistics: not at all, or as
    one person each.
    """

    name = MAX_ROWS
    item = "rows"

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        assert inputs.bins is not None
        query = RowsPerUserQuery(starts=tuple(inputs.bins.starts))
        return (Design(inputs, (WeightedQuery("people", query),)),)


BOUNDS_HISTOGRAM, ROWS_HISTOGRAM = BoundsHistogram(), RowsHistogram()


def bounds_name(column: str) -> str:
    """The name of the histogram that chooses bounds; no spec entry can have it."""
    return f"bounds of {column}"


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """The chosen bounds: public numbers, in the unit of the column.

    A chosen limit on rows is `upper`. `counts` are the noisy counts of the bins, lowest bin first.
    `decided` is false if no count was large enough for a choice; the bounds are then the outermost
    ones. `entry` and `head` identify the ledger entry that was charged.
    """

    lower: Fraction
    upper: Fraction
    counts: tuple[int, ...] = ()
    decided: bool = True
    entry: int = 0
    head: str = ""


@dataclass(frozen=True, slots=True)
class BoundsChoice:
    """How the bounds of a column are chosen, and the chosen bounds once known.

    The column of the `grid` has the outermost bounds. At least the share `coverage` of the counts
    lies within the chosen bounds. `clamping_weight` is as in `BoundsRule`.
    """

    grid: BoundsGrid
    coverage: Fraction
    epsilon: Fraction
    chosen: ChosenBounds | None = None
    histogram: ClassVar[BoundsHistogram] = BOUNDS_HISTOGRAM
    clamping_weight: ClassVar[float] = 1.0
    code: ClassVar[str] = "bounds-unused"

    @property
    def column(self) -> NumericColumn:
        """The column with its outermost bounds."""
        return self.grid.column

    @property
    def column_name(self) -> str | None:
        """The name of the column in the file; None if the choice is not about a column."""
        return self.column.name

    @property
    def name(self) -> str:
        """The name of the histogram."""
        return bounds_name(self.column.name)

    @property
    def noun(self) -> str:
        """What sentences call the chosen bounds or limit."""
        return self.name

    @property
    def limits_of_counts(self) -> Limits:
        """The limits of the histogram: of a column of people, each person counts once."""
        return Limits(of_people=True) if self.column.is_of_people else NO_LIMITS

    def counted(self, rows: str, cells: str) -> str:
        """What the histogram counts: `cells` of its column, or people by their `rows`."""
        return f"people by `{self.column.name}`" if self.column.is_of_people else cells

    def beyond(self, rows: str) -> str:
        """What happens to values or rows beyond the chosen bounds or limit."""
        return "values beyond count as the nearest bound"

    @property
    def inputs(self) -> Inputs:
        """The inputs for the histogram."""
        return Inputs(self.name, column=self.column, bins=self.grid.axis)

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each bin, in steps."""
        return self.grid.bins

    def text(self, ends: ChosenBounds) -> str:
        """These bounds or this limit, as sentences write them."""
        return f"{readable_text(ends.lower)} to {readable_text(ends.upper)}"

    def decides(self, query: Query, own: Limits) -> bool:
        """Whether the choice affects the answer to a query, or the noise of the answer.

        `own` are the limits that the entry of the query states.
        """
        return any(column.name == self.column.name for column in query.columns)

    def changes(self, query: Query) -> bool:
        """Whether values or rows beyond what is chosen change the answer to a query."""
        return any(column.name == self.column.name for column in query.valued_columns)

    def counted_as_lost(self, rows: str) -> str:
        """What is beyond the chosen bounds or limit, as a noun."""
        return f"the values of `{self.column.name}` beyond the chosen bounds, which clamp them"

    def rule(self, noise: Noise) -> BoundsRule:
        """The rule that chooses bounds from counts with this noise."""
        return BoundsRule.of(noise, self.grid, self.coverage, self.clamping_weight)

    def choose(self, answer: NoisyAnswer) -> ChosenBounds:
        """The bounds that follow from the noisy counts of the bins: post-processing."""
        counts: list[int] = answer.values.tolist()
        split = len(self.grid.below)
        positions = self.rule(answer.noise).choose(counts[:split][::-1], counts[split:])
        return self._at(
            *(positions or (-1, -1)), counts=tuple(counts), decided=positions is not None
        )

    def at_candidate(self, position: int) -> ChosenBounds:
        """The bounds at this position of the candidates on both sides, from zero outward.

        A side with fewer candidates has its last one; -1 is the last candidate of each side.
        """
        grid = self.grid
        return self._at(
            *(min(position, len(candidates) - 1) for candidates in (grid.below, grid.above))
        )

    def at_part(self, part: int) -> ChosenBounds:
        """The bounds `part` thirds of the way to the last candidates; plans show these."""
        last = max(len(self.grid.above), len(self.grid.below)) - 1
        return self.at_candidate(part * last // 3)

    def _at(self, below: int | None, above: int | None, **found: Any) -> ChosenBounds:
        """The bounds at these positions of the candidates; zero for the position None.

        A side without candidates keeps its outermost bound. `found` are more fields of the result.
        """
        grid, (low, high) = self.grid, self.column.limits
        if grid.below:
            low = 0 if below is None else grid.below[below]
        if grid.above:
            high = 0 if above is None else grid.above[above]
        return ChosenBounds(low * self.column.step, high * self.column.step, **found)

    @property
    def extremes(self) -> tuple[ChosenBounds, ChosenBounds, ChosenBounds]:
        """The narrowest bounds above zero, the narrowest below it, and the widest.

        If only one side has candidates, both narrowest bounds are the same. Any bounds that can be
        chosen contain one of the narrowest.
        """
        inner, widest = self.at_candidate(0), self.at_candidate(-1)
        if not (self.grid.below and self.grid.above):
            return inner, inner, widest
        return self._at(None, 0), self._at(0, None), widest

    def with_chosen(self, chosen: ChosenBounds) -> Self:
        """The choice, now with these chosen bounds.

        Raises ValueError unless the bounds are whole steps and lie within the outermost bounds.
        """
        made, (min_limit, max_limit) = replace(self, chosen=chosen), self.column.limits
        low, high = made.limits
        if not min_limit <= low < high <= max_limit:
            raise ValueError("chosen bounds lie within the outermost ones")
        return made

    @property
    def limits(self) -> tuple[int, int]:
        """The chosen bounds in steps; the outermost bounds if none are chosen yet."""
        if self.chosen is None:
            return self.column.limits
        ends = self.chosen.lower / self.column.step, self.chosen.upper / self.column.step
        if any(end.denominator != 1 for end in ends):
            raise ValueError("chosen bounds are whole numbers of steps")
        return ends[0].numerator, ends[1].numerator

    def shares_of_bin(self, low: int, high: int) -> tuple[int, int]:
        """What a member of a bin surely loses to the choice, and the most that it keeps."""
        lower, upper = self.limits
        is_lost = low > upper or high < lower
        return int(is_lost), int(not is_lost)

    def min_lost(self, noise: Noise, outside: float) -> Fraction:
        """A lower bound on the share of values, or rows, that the choice leaves out.

        It is above the true share with a probability of at most `outside`.
        """
        if self.chosen is None or not self.chosen.counts:
            return Fraction(0)
        shares = [self.shares_of_bin(*ends) for ends in self.bins]

        def bound(weights: Sequence[int], part: float, sign: int) -> int:
            terms = Counter(weight for weight in weights if weight)
            noises = tuple((noise, weight, number) for weight, number in terms.items())
            width = weighted_margin(noises, 1 - 2 * Fraction(part)).width if noises else 0
            counts = zip(weights, self.chosen.counts if self.chosen else (), strict=True)
            return sum(weight * count for weight, count in counts) + sign * width

        least = bound([lost for lost, _ in shares], 0.8 * outside, -1)
        most = bound([kept for _, kept in shares], 0.2 * outside, 1)
        return Fraction(least, max(most, 0) + least) if least > 0 else Fraction(0)

    def bounded(self, column: Column) -> Column:
        """The column with chosen bounds, which also clamp the constant for missing cells.

        Any other column is returned unchanged.
        """
        if column.name != self.column_name:
            return column
        low, high = self.limits
        constant = None if column.missing is None else min(max(column.missing, low), high)
        return replace(require_numeric(column), bounds=(low, high), missing=constant)

    def limited(self, limits: Limits) -> Limits:
        """The limits of the unit after the choice; only a chosen limit changes."""
        return limits


PARTS = (1, 2, 3)
"""The thirds of candidates whose errors a plan shows: near, middle and outermost."""

ROW_CLAMPING_WEIGHT = 0.4
"""The `clamping_weight` of row limits: an expected value as share of its bound.

This share is smaller for amounts and larger for ages.
"""


@dataclass(frozen=True, slots=True)
class LimitChoice(BoundsChoice):
    """How the limit on rows per person is chosen, and the chosen limit once known.

    The grid holds whole numbers up to the outermost limit; the limit is the upper bound. The limit
    on groups equals the limit on rows, unless `max_groups` is `declared`.
    """

    declared: Limits = NO_LIMITS
    histogram: ClassVar[BoundsHistogram] = ROWS_HISTOGRAM
    clamping_weight: ClassVar[float] = ROW_CLAMPING_WEIGHT
    code: ClassVar[str] = "bounds-unused.limit"
    name = LIMIT_NAME
    noun = "limit on rows per person"

    @staticmethod
    def rows(up_to: int) -> NumericColumn:
        """The column of a grid for the limit: rows per person, from 0 to `up_to`."""
        return IntegerColumn(MAX_ROWS, bounds=(0, up_to))

    @property
    def column_name(self) -> None:
        """None: the choice depends on the number of rows, not on a column."""

    def counted(self, rows: str, cells: str) -> str:
        return f"people by their number of {rows}"

    def beyond(self, rows: str) -> str:
        return f"of the {rows} of a person beyond it, some are left out, at random"

    @property
    def inputs(self) -> Inputs:
        return Inputs(self.name, bins=self.grid.axis)

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest number of rows in each bin, at least one row."""
        return [(max(low, 1), high) for low, high in self.grid.bins]

    def text(self, ends: ChosenBounds) -> str:
        return readable_text(ends.upper)

    def shares_of_bin(self, low: int, high: int) -> tuple[int, int]:
        _, limit = self.limits
        return max(low - limit, 0), min(high, limit)

    def decides(self, query: Query, own: Limits) -> bool:
        """Whether the limit, or a limit on groups that follows from it, affects a query.

        A query of clamped totals per person uses all rows; only a limit on groups affects it. An
        entry with a `max_rows` of its own, or about people, does not depend on the choice.
        """
        if own.max_rows is not None or own.of_people:
            return False
        max_groups = own.max_groups or self.declared.max_groups
        return query.total_clamp is None or (query.cells != 1 and max_groups is None)

    def changes(self, query: Query) -> bool:
        return query.total_clamp is None

    def counted_as_lost(self, rows: str) -> str:
        return f"the {rows} beyond the chosen limit, which leaves them out"

    def limited(self, limits: Limits) -> Limits:
        _, max_rows = self.limits
        return replace(limits, max_rows=max_rows)
