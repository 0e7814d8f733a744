"""Bounds that are chosen privately: a noisy histogram, and what it chooses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from dpcli.columns import NumericColumn
from dpcli.light_dataclasses import dataclass
from dpcli.noise.distribution import Noise
from dpcli.privacy.neighboring import Relation
from dpcli.queries.query import LinearQuery
from dpcli.statistics.bounds_ladder import Ladder
from dpcli.statistics.bounds_rule import BoundsRule
from dpcli.statistics.design import Design, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.statistic import Statistic


class BoundsHistogram(Statistic):
    """The number of rows in each bin of a ladder, from which bounds are chosen.

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
        """The rows in each bin."""
        assert request.bins is not None
        query = LinearQuery(items=(request.bins,))
        return (Design(request, (WeightedQuery("count", query),)),)

    def names(self, request: Request) -> tuple[str, ...]:
        """The labels of the bins."""
        assert request.bins is not None
        return request.bins.labels


BOUNDS_HISTOGRAM = BoundsHistogram()


def bounds_name(column: str) -> str:
    """The name of the histogram that chooses the bounds of a column; no spec can give it."""
    return f"bounds of {column}"


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """The bounds of a column as they were chosen: public numbers.

    `lower` and `upper` are in the unit of the column. `counts` are the noisy counts of the bins
    from the lowest on. Unless it was `decided`, the counts were too small, and the bounds are the
    outermost ones. `entry` and `head` identify the entry of the ledger that was charged.
    """

    lower: Fraction
    upper: Fraction
    counts: tuple[int, ...] = ()
    decided: bool = True
    entry: int = 0
    head: str = ""


@dataclass(frozen=True, slots=True)
class KeptBounds:
    """The bounds of a column that an earlier release chose: public since then, and free.

    If it `is_limit`, `column` is the key of a limit, which is the upper bound.
    """

    column: str
    release_id: str
    bounds: ChosenBounds
    is_limit: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name of the histogram that chose them."""
        return bounds_name(self.column)


@dataclass(frozen=True, slots=True)
class BoundsChoice:
    """How the bounds of a column are chosen, and what was chosen if that is known.

    The column of the `ladder` has the outermost bounds. If it `is_limit`, the column has the key of
    a limit as its name, and the limit is its upper bound.
    """

    ladder: Ladder
    cover: Fraction
    epsilon: Fraction
    chosen: ChosenBounds | None = None
    is_limit: ClassVar[bool] = False

    @property
    def column(self) -> NumericColumn:
        """The column with its outermost bounds."""
        return self.ladder.column

    @property
    def name(self) -> str:
        """The name of the histogram."""
        return bounds_name(self.column.name)

    @property
    def histogram(self) -> BoundsHistogram:
        """The statistic from whose noisy counts they are chosen."""
        return BOUNDS_HISTOGRAM

    @property
    def worth(self) -> float:
        """By how much a sum falls short if clamping takes one from a value."""
        return 1.0

    @property
    def request(self) -> Request:
        """What is asked of the data."""
        return Request(self.name, column=self.column, bins=self.ladder.axis)

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each bin, in steps."""
        return self.ladder.bins

    def rule(self, noise: Noise) -> BoundsRule:
        """The rule that chooses from counts with this noise."""
        return BoundsRule.of(noise, self.ladder, self.cover, self.worth)

    def choose(self, answer: NoisyAnswer) -> ChosenBounds:
        """The bounds that the noisy counts of the bins choose: post-processing."""
        counts: list[int] = answer.values.tolist()
        ladder, column = self.ladder, self.column
        split = len(ladder.below)
        places = self.rule(answer.noise).choose(counts[:split][::-1], counts[split:])
        low, high = column.limits
        if places is not None:
            below, above = places
            # A side without an accepted bin ends at zero, where the other side begins.
            if ladder.below:
                low = 0 if below is None else ladder.below[below]
            if ladder.above:
                high = 0 if above is None else ladder.above[above]
        ends = (low * column.step, high * column.step)
        return ChosenBounds(*ends, tuple(counts), decided=places is not None)

    def bounded(self, chosen: ChosenBounds | None) -> NumericColumn:
        """The column within chosen bounds, which also clamp a constant for missing cells."""
        if chosen is None:
            return self.column
        bounds = chosen.lower / self.column.step, chosen.upper / self.column.step
        if any(bound.denominator != 1 for bound in bounds):
            raise ValueError("chosen bounds are whole numbers of steps")
        low, high = (bound.numerator for bound in bounds)
        missing = self.column.missing
        clamped = None if missing is None else min(max(missing, low), high)
        return replace(self.column, bounds=(low, high), missing=clamped)

    def at_third(self, third: int) -> ChosenBounds:
        """The bounds after one, two or three thirds of the rungs, to show what they would mean."""
        most = max(len(self.ladder.above), len(self.ladder.below)) - 1
        return self.at_rung(third * most // 3)

    def at_rung(self, place: int) -> ChosenBounds:
        """The bounds at this place of the ladder on both sides; minus one is the outermost."""
        low, high = self.column.limits
        below, above = self.ladder.below, self.ladder.above
        low = below[min(place, len(below) - 1)] if below else low
        high = above[min(place, len(above) - 1)] if above else high
        return ChosenBounds(low * self.column.step, high * self.column.step)

    @property
    def narrowest(self) -> tuple[ChosenBounds, ...]:
        """The narrowest bounds that can be chosen: with rungs on both sides, those of each side."""
        inner = self.at_rung(0)
        if not (self.ladder.below and self.ladder.above):
            return (inner,)
        return replace(inner, lower=Fraction(0)), replace(inner, upper=Fraction(0))


THIRDS = (1, 2, 3)
"""The thirds of the ladders for which a plan shows errors: near, middle and outermost."""
