"""Quantiles of a numeric column: any, the median, and the low and the high end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import ClassVar

from dpcli.columns import Key, NumericColumn
from dpcli.numeric.arrays import integer_array, multiply_exact, np
from dpcli.numeric.exact import plain_text
from dpcli.privacy.neighboring import Relation
from dpcli.scores import Points, Rank, ScoreQuery
from dpcli.spec_fields import Candidates, NumericColumnName, Quantiles
from dpcli.spec_values import field_types
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import NoisyAnswer, Request, Statistic, WeightedQuery, numeric

KEPT = 4
"""Cuts that are kept: statistics with the same candidates share one."""


@lru_cache(maxsize=KEPT)
def classes_at_and_between(column: NumericColumn, points: Points) -> tuple[Key, Points]:
    """Classes for the values at each point, below, between and above them.

    With the classes comes the place of each point's own class.
    """
    if points == range(column.lower, column.upper + 1):
        return Key(column, points), range(len(points))
    if not isinstance(points, range) or points.step == 1 or points[0] != column.lower:
        starts = {column.lower} | {end for point in points for end in (point, point + 1)}
        return _cut(column, sorted(starts - {column.upper + 1}), points)
    # Regular candidates, of which there may be a million: a class at each, one after each.
    ends = tuple(chain.from_iterable((point, point + 1) for point in points))
    last = len(ends) - 1 if points[-1] == column.upper else len(ends)
    return Key(column, ends[:last]), range(0, 2 * len(points), 2)


@lru_cache(maxsize=KEPT)
def classes_from_each(column: NumericColumn, points: Points) -> tuple[Key, Points]:
    """Classes for the values from each point up to the next.

    With the classes comes the place of the class that begins at each point.
    """
    if isinstance(points, range) and points[0] == column.lower:
        return Key(column, tuple(points)), range(len(points))
    return _cut(column, sorted({column.lower, *points}), points)


def _cut(column: NumericColumn, starts: Sequence[int], points: Points) -> tuple[Key, Points]:
    """The axis whose classes begin at `starts`, and the class that begins at each point."""
    places = {start: place for place, start in enumerate(starts)}
    return Key(column, tuple(starts)), tuple(places[point] for point in points)


def chosen_candidates(request: Request, answers: Sequence[NoisyAnswer]) -> Estimates:
    """The candidates that were chosen in each group, answer by answer, in the column's unit."""
    points, places = request.candidates, np.stack([one.values for one in answers], axis=1).ravel()
    if isinstance(points, range):
        values = points.start + multiply_exact(places, points.step)
    else:
        values = integer_array(points)[places]
    return Estimates.chosen(values, numeric(request).step)


class Quantile(Statistic):
    """Values below which given shares of a numeric column lie, overall or in each group.

    Each of the `quantiles` is chosen from public `candidates` (a list, or `{step: ...}`
    from bound to bound; all steps of the column if absent), by the number of rows by which
    the rank of a candidate is off. The expected error in `plan` is a number of rows: that
    many ranks may lie between the published value and the quantile. Several quantiles share
    epsilon evenly, and `post: [consistent]` puts them in order where noise has swapped
    them.

    Privacy: for the quantile p/d in lowest terms, the score of a candidate is minus the
    number of rows by which its rank is off, in units of 1/d. Adding or removing a row
    changes the difference of two scores by at most 2 max(p, d - p), and changing a row by 2
    d, or by twice the former if the row moves to another group; the scale of the mechanism
    is that over epsilon. Candidates are public; values are counted and never shown (Smith
    2011).

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: quantile, column: x, quantiles: [0.25, 0.9]", x=x)
    {'add-remove': [1.5, 1.8], 'change-one': [2, 2]}

    No interval is given: how far a few ranks are apart in value is itself private, and the
    choice reveals nothing about it. Two quantiles around the one of interest give honest
    bounds for it.
    """

    name = "quantile"
    has_raw = False
    item = "quantile"
    takes = field_types(column=NumericColumnName, quantiles=Quantiles, candidates=Candidates | None)
    chooses = True
    steps: ClassVar[tuple[str, ...]] = ("consistent",)

    def quantiles(self, request: Request) -> tuple[Fraction, ...]:
        """Which quantiles are asked for."""
        return request.quantiles

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """One choice for each quantile."""
        column, asked = numeric(request), self.quantiles(request)
        classes, places = classes_at_and_between(column, request.candidates)
        return tuple(
            WeightedQuery(
                f"rank of {plain_text(quantile)}",
                ScoreQuery(
                    by=request.by,
                    where=request.where,
                    classes=(classes,),
                    score_function=Rank(places, quantile),
                ),
                Fraction(1, len(asked)),
                Fraction(1, quantile.denominator),
            )
            for quantile in asked
        )

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The chosen candidates, in the column's unit."""
        return chosen_candidates(request, answers)

    def names(self, request: Request) -> tuple[str, ...]:
        """The quantiles."""
        return tuple(plain_text(quantile) for quantile in request.quantiles)

    def make_consistent(
        self,
        request: Request,
        answers: Sequence[NoisyAnswer],
        estimates: Estimates,
        confidence: Fraction,
    ) -> Estimates:
        """The values of each group, put in the order of their quantiles."""
        asked = self.quantiles(request)
        values = estimates.value.reshape(-1, len(asked))
        order = sorted(range(len(asked)), key=lambda place: asked[place])
        agreed = np.empty_like(values)
        agreed[:, order] = np.sort(values, axis=1)
        return replace(estimates, value=agreed.ravel())


class Median(Quantile):
    """The middle value of a numeric column, overall or in each group of `by`.

    Half of the rows lie on either side of it. It is the `quantile` 0.5, chosen from the
    same public `candidates` in the same way.

    Privacy: as for `quantile`: the score is minus the number of rows by which the rank of a
    candidate is off, in halves; adding or removing a row changes the difference of two
    scores by at most 2 halves, changing a row by 4.

    >>> l1("statistic: median, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [1], 'change-one': [2]}

    No interval is given: how far a few ranks are apart in value is itself private.
    """

    name = "median"
    item = ""
    takes = field_types(column=NumericColumnName, candidates=Candidates | None)
    steps = ()
    quantile: ClassVar[Fraction] = Fraction(1, 2)

    def quantiles(self, request: Request) -> tuple[Fraction, ...]:
        """The one that is meant."""
        return (self.quantile,)


PART = Fraction(1, 100)
"""The share of the rows that lies beyond a minimum or maximum."""


class Minimum(Median):
    """The low end of a numeric column: the value below which 1% of the rows lie.

    The smallest value of all belongs to one person, and no private answer can reveal it. So
    this is the `quantile` 0.01, chosen from the same public `candidates` in the same way;
    in groups of few rows noise moves it towards the lower bound.

    Privacy: as for `quantile`, in hundredths: adding or removing a row changes the
    difference of two scores by at most 198 hundredths of a row, changing a row by 200.

    >>> l1("statistic: min, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [1.98], 'change-one': [2]}

    No interval is given: how far a few ranks are apart in value is itself private.
    """

    name = "min"
    quantile = PART
    warning = "not the least value, but the one below which 1 % of rows lie"


class Maximum(Median):
    """The high end of a numeric column: the value above which 1% of the rows lie.

    The greatest value of all belongs to one person, and no private answer can reveal it. So
    this is the `quantile` 0.99, chosen from the same public `candidates` in the same way;
    in groups of few rows noise moves it towards the upper bound.

    Privacy: as for `quantile`, in hundredths: adding or removing a row changes the
    difference of two scores by at most 198 hundredths of a row, changing a row by 200.

    >>> l1("statistic: max, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [1.98], 'change-one': [2]}

    No interval is given: how far a few ranks are apart in value is itself private.
    """

    name = "max"
    quantile = 1 - PART
    warning = "not the greatest value, but the one above which 1 % of rows lie"
