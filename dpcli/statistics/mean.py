"""The average of a numeric column, in all or in each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor

from dpcli.columns import NumericColumn
from dpcli.privacy.decimals import decimal_places
from dpcli.privacy.noise import combined_half_width
from dpcli.privacy.relation import Relation
from dpcli.queries import Factor, LinearQuery
from dpcli.statistics.base import (
    Answer,
    Estimate,
    Fields,
    Question,
    Request,
    Statistic,
    numeric,
)

SUM_SHARE = Fraction(3, 5)
"""The centred sum gets more than half: its noise reaches the mean in full, while the
noise of the count is weighted by the mean's distance from the centre, at most as
much and usually less."""


class Mean(Statistic):
    """The average of a numeric column, in all or in each group of `by`.

    A noisy sum of distances from the middle of the bounds is divided by a noisy
    count, taken as at least one; the result lies within the bounds. The entry's
    epsilon is split, 3/5 for the sum and 2/5 for the count. The interval holds all
    means that the two noisy answers do not contradict (Fieller 1954).

    Privacy: two answers about the same rows, charged both. Centred values lie in
    [-(U-L)/2, (U-L)/2], so adding or removing a row changes the sum by at most
    (U-L)/2, rounded up to a whole step, and the count by 1; a person, by that for every
    row that the limits let in. When neighbours change
    a row and no row can be skipped, the number of rows is public: the divisor is
    exact and free, the average of n rows has sensitivity (U-L)/n, and the sum gets
    all of epsilon.
    """

    name = "mean"
    fields = Fields(column=("integer", "number"))

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """The centred sum and the count of the same rows."""
        column = numeric(request)
        rows = LinearQuery(by=request.by, where=request.where, present=(column,))
        total = LinearQuery(
            factors=(Factor(column, centre(column)),), by=request.by, where=request.where
        )
        public = relation.size_is_public and not rows.may_skip and rows.cells == 1
        share = Fraction(1) if public else SUM_SHARE
        return (
            Question("centred sum", total, share, column.step),
            Question("count", rows, 1 - share),
        )

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """Noisy sum over noisy count, within the bounds."""
        column = numeric(request)
        total, count = answers
        return tuple(
            self._cell(column, (total, value), (count, rows), confidence)
            for value, rows in zip(total.values, count.values, strict=True)
        )

    def _cell(
        self,
        column: NumericColumn,
        total: tuple[Answer, int],
        count: tuple[Answer, int],
        confidence: Fraction,
    ) -> Estimate:
        """One mean with the interval of all means that fit both noisy answers."""
        middle = centre(column)
        low, high = column.lower - middle, column.upper - middle
        value = min(max(Fraction(total[1], max(1, count[1])), Fraction(low)), Fraction(high))

        def fits(mean: float) -> bool:
            width = combined_half_width(total[0].noise, count[0].noise, mean, confidence)
            return abs(total[1] - mean * count[1]) <= width

        lower, upper = float(low), float(high)
        if count[1] > count[0].noise.half_width(confidence):
            lower, upper = _edge(fits, float(value), lower), _edge(fits, float(value), upper)
        places = decimal_places(column.step) + 2
        return Estimate(
            (value + middle) * column.step,
            _rounded(floor, (Fraction(lower) + middle) * column.step, places),
            _rounded(ceil, (Fraction(upper) + middle) * column.step, places),
            places,
        )


def _edge(fits: Callable[[float], bool], inside: float, limit: float) -> float:
    """The farthest point from `inside` towards `limit` that still fits."""
    if fits(limit) or not fits(inside):
        return limit if fits(limit) else inside
    for _ in range(40):
        middle = (inside + limit) / 2
        inside, limit = (middle, limit) if fits(middle) else (inside, middle)
    return limit


def _rounded(direction: Callable[[Fraction], int], value: Fraction, places: int) -> Fraction:
    """`value` rounded to a number of decimals, down or up."""
    return Fraction(direction(value * 10**places), 10**places)


def centre(column: NumericColumn) -> int:
    """The whole step nearest to the middle of the bounds, from below."""
    return (column.lower + column.upper) // 2
