"""How numeric columns vary, alone and together: all from noisy moments."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from dpcli.columns import NumericColumn
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.neighboring import Relation
from dpcli.spec_fields import NumericColumnName, NumericColumns
from dpcli.spec_values import field_types
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.fiducial import FiducialInterval
from dpcli.statistics.moments import Moments
from dpcli.statistics.statistic import NoisyAnswer, Request, Statistic, WeightedQuery, numeric

Pair = tuple[int, int]
"""The places of two columns among those of a request; twice the same for a variance."""

PLACES = 4
"""Decimals of a correlation."""


class Covariance(Statistic):
    """The covariance of each pair of several numeric columns, and the variance of each.

    Over n (not n - 1) rows in which all of the `columns` are present, overall or in each
    group of `by`; items are called `a:b`. All first and second moments are answered once,
    jointly, and serve every pair. Variances are never negative, and no covariance is larger
    than the bounds allow. A matrix of noisy covariances need not be positive definite. The
    interval of each covers the values that the exact answers may give it.

    Privacy: with h the distance from the middle of a column's bounds to a bound, adding or
    removing a row changes the count by 1, the sum of column i by at most h_i, the sum of
    its squares by h_i^2/2 and that of products by h_i h_j, all rounded up to whole steps.
    These answers share epsilon, and if the noise is Gaussian, they are protected as one
    answer whose squared changes add up. Changing a row changes each twice as much.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: covariance, columns: [x, y]", x=x, y=x)
    {'add-remove': [1, 5, 5, 13, 25, 13], 'change-one': [1, 10, 10, 25, 50, 25]}
    """

    name = "covariance"
    takes = field_types(columns=NumericColumns)
    item = "pair"
    mixed_units = True
    derivation = "noisy mean products less products of noisy means, no larger than possible"

    def columns(self, request: Request) -> tuple[NumericColumn, ...]:
        """The columns whose moments are answered."""
        return request.columns

    def pairs(self, request: Request) -> Sequence[Pair]:
        """The pair of columns that each item is about: every two, and each with itself."""
        return Moments(self.columns(request)).pairs

    def names(self, request: Request) -> tuple[str, ...]:
        """The two columns of each pair."""
        names = [column.name for column in request.columns]
        return tuple(f"{names[i]}:{names[j]}" for i, j in self.pairs(request))

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """All moments up to the second."""
        return Moments(self.columns(request)).queries(request, relation)

    def outcome(self, covariances: Floats, pair: Pair) -> Floats:
        """The number of a pair, cell by cell, in half-widths of its columns."""
        found: Floats = covariances[pair]
        return found

    def printed(self, moments: Moments, pair: Pair) -> tuple[Fraction, int, Limits]:
        """The unit of that number, its decimals, and what is possible within the bounds."""
        unit = moments.unit(*pair)
        places = sum(decimal_places(moments.columns[place].step) for place in pair) + 2
        return unit, places, (Fraction(0) if pair[0] == pair[1] else -unit, unit)

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """What the noisy covariances make of each pair."""
        moments, pairs = Moments(self.columns(request)), self.pairs(request)

        def outcomes(sums: Floats) -> Floats:
            covariances = moments.read(sums)[2]
            return np.stack([self.outcome(covariances, pair) for pair in pairs])

        found = FiducialInterval(answers, outcomes, confidence, count=0)
        # Where noise leaves no number, zero is published, and the interval knows no bound.
        found.values[~np.isfinite(found.values)] = 0.0
        units, places, limits = zip(*(self.printed(moments, pair) for pair in pairs), strict=True)
        return found.estimates(units, places, limits)


class Correlation(Covariance):
    """The correlation of each pair of several numeric columns (Pearson 1895).

    The covariance over the square root of the product of the variances, from the same noisy
    moments as `covariance`, at the same cost; over rows in which all of the `columns` are
    present, overall or in each group of `by`. Items are called `a:b`. It lies between -1
    and 1, and is zero where noise makes a variance zero or less; the interval then says
    that nothing is known.

    Privacy: as for `covariance`, of which it is a function.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: correlation, columns: [x, y]", x=x, y=x)
    {'add-remove': [1, 5, 5, 13, 25, 13], 'change-one': [1, 10, 10, 25, 50, 25]}
    """

    name = "correlation"
    has_raw = False
    mixed_units = False
    derivation = "noisy covariances over the roots of noisy variances, from -1 to 1"

    def pairs(self, request: Request) -> Sequence[Pair]:
        """Every two columns."""
        return list(combinations(range(len(request.columns)), 2))

    def outcome(self, covariances: Floats, pair: Pair) -> Floats:
        """The covariance over the root of both variances."""
        one, other = (covariances[place, place] for place in pair)
        known = (one > 0) & (other > 0)
        root = np.sqrt(np.where(known, one * other, 1.0))
        return np.where(known, covariances[pair] / root, np.nan)

    def printed(self, moments: Moments, pair: Pair) -> tuple[Fraction, int, Limits]:
        """A number without a unit, from -1 to 1."""
        return Fraction(1), PLACES, (Fraction(-1), Fraction(1))


class Variance(Covariance):
    """The variance of a numeric column, overall or in each group of `by`.

    The mean squared distance from the mean, over n (not n - 1) rows. It is computed from
    three noisy answers about the same rows: their number, the sum of their distances from
    the middle of the bounds, and the sum of the squares of these distances, each less half
    the greatest square. It is never negative, nor above the square of half the width of the
    bounds; `raw: true` shows what the noise made of it before. The interval covers the
    variances of the exact answers that may be behind the noisy ones.

    Privacy: with h the distance from the middle to a bound, adding or removing a row
    changes the count by 1, the sum by at most h, and the sum of squares by at most h^2/2,
    all rounded up to whole steps; the three share epsilon, and if the noise is Gaussian,
    they are protected as one answer. Changing a row changes the sum by at most 2 h and the
    squares by h^2; the number of rows is then public, if no row can be skipped, and has no
    privacy cost.

    >>> l1("statistic: variance, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [1, 5, 13], 'change-one': [1, 10, 25]}
    """

    name = "variance"
    takes = field_types(column=NumericColumnName)
    item = ""
    mixed_units = False
    derivation = "noisy mean square less the square of the noisy mean, from 0 to what is possible"

    def columns(self, request: Request) -> tuple[NumericColumn, ...]:
        """The one column."""
        return (numeric(request),)

    def printed(self, moments: Moments, pair: Pair) -> tuple[Fraction, int, Limits]:
        """At most the square of half the width of the bounds."""
        unit, places, _ = super().printed(moments, pair)
        return unit, places, (Fraction(0), _half(moments) ** 2)


class StandardDeviation(Variance):
    """The standard deviation of a numeric column, overall or in each group of `by`.

    The square root of the `variance`, over n rows, from the same three noisy answers and at
    the same cost; zero where noise makes the variance negative (`raw: true` then shows
    minus the root of its absolute value). The interval is that of the variance, as square
    roots.

    Privacy: as for `variance`, of which it is a function.

    >>> l1("statistic: std, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [1, 5, 13], 'change-one': [1, 10, 25]}
    """

    name = "std"
    derivation = "the root of the noisy variance, from 0 to half the width of the bounds"

    def outcome(self, covariances: Floats, pair: Pair) -> Floats:
        """The root of the variance, with its sign."""
        variance = covariances[pair]
        rooted: Floats = np.sign(variance) * np.sqrt(np.abs(variance))
        return rooted

    def printed(self, moments: Moments, pair: Pair) -> tuple[Fraction, int, Limits]:
        """At most half the width of the bounds."""
        places = decimal_places(moments.columns[0].step) + 2
        return moments.unit(0), places, (Fraction(0), _half(moments))


def _half(moments: Moments) -> Fraction:
    (column,) = moments.columns
    return (column.upper - column.lower) * column.step / 2
