"""Inequality: the Gini coefficient and the share of the top tenth of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from dpcli.data.column import Column
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import FieldFault, NumericColumnName
from dpcli.fields.values import whole_number
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import readable_text
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.points import PointsQuery
from dpcli.statistics.design import (
    TYPICAL_MEAN,
    TYPICAL_VARIANCE,
    Design,
    Inputs,
    NoisyAnswer,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.intervals import FiducialInterval, Printed
from dpcli.statistics.statistic import Statistic

BINS, MAX_BINS = 10, 1_000
"""The usual and the most bins: more have more noise, and less error of grouping."""

TENTH = Fraction(1, 10)
"""The part of the rows whose share of the total is published."""

LIMITS: tuple[Limits, ...] = ((Fraction(0), Fraction(1)), (TENTH, Fraction(1)))

DECIMALS = 4

EVEN_GINI, EVEN_TOP = 1 / 12, 1 / 4
"""What values spread evenly in bins take from upper bounds: see `outcome`."""


@dataclass(frozen=True, kw_only=True)
class InequalityDesign(Design):
    """Gini coefficient and share of the top tenth, from noisy weights of points.

    With F(t) the rows up to t, n all rows and S their total, the Gini coefficient is the integral
    of F (n - F) over n S, and the share at the top the least over t of k t + sum(max(x - t, 0)),
    over S, with k a tenth of n (Rockafellar and Uryasev 2000). The weights w give the mean of F in
    each bin: the sum of those below.

    Grouping: where F is its mean, the integral is largest: values at the points. In a bin of width
    h it is less by h times the variance of F there, at most the product of the distances of F to
    its ends (Bhatia and Davis 2000). F at a point is between the means on both sides, so the sum of
    the products is largest where it is one of these: for bins of which no two are neighbors, h
    times the product of the weights at their ends. Above a point, the sum is convex in t, and so
    above the lines of both neighboring bins: least where these meet, with all values of the bin
    and its ends at one place. Both errors are of the order of the squared width.

    Intervals are of the bounds: the lower end of the lower bound and the upper one of the upper.
    The point of the upper bound of the top is chosen once, from the noisy weights: any point gives
    a bound, and the least of many noisy ones would be too low.
    """

    has_typical = True

    counts_rows: bool = True

    @property
    def points(self) -> tuple[int, Floats]:
        """How many steps they are apart, and the values at them, in steps."""
        query: Any = self.queries[0].query
        distances = query.width * np.arange(query.cells_per_group, dtype=np.float64)
        return query.width, query.column.lower + distances

    def typical_sums(self, rows: Fraction) -> Floats:
        """Values with the mean and the variance of typical ones, of a beta distribution."""
        width, values = self.points
        column, mean = self.inputs.numeric, (1 + TYPICAL_MEAN) / 2
        levels, both = (np.arange(1000) + 0.5) / 1000, 4 * mean * (1 - mean) / TYPICAL_VARIANCE - 1
        shares = levels ** (mean * both - 1) * (1 - levels) ** ((1 - mean) * both - 1)
        found = column.lower + levels * (column.upper - column.lower)
        parts = np.maximum(width - abs(found - values[:, None]), 0) @ shares / shares.sum()
        weights: Floats = float(rows) * parts
        return weights

    def sums_of_top(self, weights: Floats) -> Floats:
        """Bounds on the total of the top tenth by each point."""
        width, values = self.points
        below = np.cumsum(weights, axis=0)
        above = np.cumsum((below[-1] - below)[::-1], axis=0)[::-1]
        bounds: Floats = float(TENTH) * below[-1] * values[:, None] + width * above
        return bounds

    def outcome(self, answers: Floats) -> Floats:
        """Both numbers, their lower and their upper bounds; shape (6, cells).

        The last answer is the point of the upper bound. Not a number without a row or a total.
        """
        weights, point = answers[:-1], answers[-1:].astype(np.int64)
        width, values = self.points
        below, total = np.cumsum(weights, axis=0)[:-1], values @ weights
        rows, tops = weights.sum(axis=0), self.sums_of_top(weights)
        usable = (rows >= width) & (total > 0)
        rows, total = (np.where(usable, part, np.nan) for part in (rows, total))
        spread = (below * (rows - below)).sum(axis=0)
        # No value is between points that are one step apart.
        even = EVEN_GINI * (1 - 1 / width**2) * (weights[:-1] * weights[1:]).sum(axis=0)
        weights = np.maximum(weights, 0) * (width > 1)
        products, ends = weights[:-1] * weights[1:], weights[:-1] + weights[1:]
        before = lost = np.zeros_like(spread)
        for product in products:
            before, lost = lost, np.maximum(lost, before + product)
        upper = np.take_along_axis(tops, point, axis=0)[0]
        part = weights[1:] / np.where(ends, ends, 1)
        joined = tops[:-1] + part * (tops[1:] - tops[:-1]) - width * part * weights[:-1]
        lower = np.minimum(tops.min(axis=0), joined.min(axis=0))
        ginis = np.stack([spread - even, spread - lost, spread]) * width / rows
        shares = np.stack([upper - EVEN_TOP * (upper - lower), lower, upper])
        outcomes: Floats = np.stack([ginis, shares], axis=1).reshape(6, -1) / total
        return outcomes

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        parts = self.divided(answers)
        noisy = np.array([part.values for part in parts], np.float64)
        point = NoisyAnswer(self.sums_of_top(noisy).argmin(axis=0), NO_NOISE)
        interval = FiducialInterval([*parts, point], self.outcome, confidence)
        interval.values, interval.lower, interval.upper = (
            interval.values[:2], interval.lower[2:4], interval.upper[4:],
        )  # fmt: skip
        return interval.estimates(*(Printed(Fraction(1), DECIMALS, ends) for ends in LIMITS))


class Inequality(Statistic):
    """The Gini coefficient of a column, and the share of the top tenth in its total.

    They are of values from zero on, overall or in each group of `by`: `gini` is zero if all are
    equal, and near one if one row has everything (Gini 1912); `top_tenth` is the part of the total
    that the tenth of the rows with the greatest values has. Both follow from one answer: how many
    values are near each of the ends of `bins` (10 without that key), where a value between two
    ends counts for both of them in parts. So the number and the total of the values have no error
    of grouping. Noisy numbers are not clamped at zero, which would bias small groups. An interval
    contains what noise and the places of values within bins leave possible. More `bins` leave less
    open in large groups, and have more noise in small ones; they are of equal widths in whole
    steps, and so may be fewer than asked. Values are clamped to the bounds first: what is above
    them is not part of the total.

    Privacy: the parts of a value sum to one, whatever it is. So adding or removing a row changes
    the numbers together by 1 in L1 and in L2, as for a `histogram`; changing a row, by 2 and
    sqrt(2). A person changes them by that for every row that the limits allow.

    >>> l1("statistic: inequality, column: x", x="{type: integer, bounds: [0, 100]}")
    {'add-remove': [1], 'change-one': [2]}
    """

    name = "inequality"
    noun = "Gini coefficient and share of the top tenth"
    takes = field_types(
        column=NumericColumnName,
        bins=Annotated[int, whole_number(MAX_BINS, "bins"), Field(examples=[10])] | None,
    )
    item = "number"
    mixed_units = True
    derivation = "both numbers of the noisy rows near the ends of bins, spread evenly in the bins"

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        return replace(bare, column=given["column"], options=(("bins", given["bins"] or BINS),))

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """The fault of values below zero."""
        if inputs.numeric.lower < 0:
            yield FieldFault("inequality-negative", "column", column=inputs.numeric.name)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        column, bins = inputs.numeric, inputs.option("bins")
        width = max(-((column.lower - column.upper) // bins), 1)
        query = PointsQuery(by=inputs.by, where=inputs.where, column=column, width=width)
        points, first = query.cells_per_group, column.text(column.lower)
        reason = (
            f"a value counts for both of the nearest of {points:,} points from {first} on, "
            f"{readable_text(width * column.step)} apart, in parts that sum to one: so the number "
            "and the total of the values are known without an error of grouping"
        )
        part = WeightedQuery("rows near points", query, step=Fraction(1, width))
        return (InequalityDesign(inputs, (part,), reason=reason),)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return LIMITS

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return "gini", "top_tenth"

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        return "", "share"
