"""Variance, standard deviation, covariance and correlation, from noisy moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import NumericColumns, OrderedColumnName
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import Design, Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import FiducialInterval, Outcome, Printed
from dpcli.statistics.means.distances import SQUARED_DISTANCES
from dpcli.statistics.means.products import JointMoments, MomentsDesign, Pair, PublishedMoments
from dpcli.statistics.means.quadratic_pair import designs_of_one
from dpcli.statistics.moments import Moments, bernstein_moments
from dpcli.statistics.statistic import Statistic

CORRELATION_DECIMALS = 4
"""Decimals of a correlation."""


@dataclass(frozen=True)
class PublishedCovariances(PublishedMoments):
    """The numbers of pairs of columns that a statistic makes from covariances."""

    statistic: Covariance

    def estimate(
        self, design: MomentsDesign, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        def outcomes(covariances: Floats) -> Floats:
            return np.stack([self.statistic.outcome(covariances, pair) for pair in design.pairs])

        intervals = design.covariance_intervals(answers, outcomes, confidence)
        # Zero is published for what is not a number, with the widest possible interval.
        intervals.values[~np.isfinite(intervals.values)] = 0.0
        return intervals.estimates(*(self.statistic.printed(self, pair) for pair in design.pairs))


class Covariance(Statistic):
    """The covariance of each pair of several numeric columns, and the variance of each.

    They are means over n (not n - 1) rows in which all of the `columns` are present, overall
    or in each group of `by`. Items are called `a:b`. All first and second moments are
    answered once, jointly, and serve every pair. With Laplace noise and up to three columns,
    they are computed from sums of products: a value has three parts, the squares of its
    distances from both bounds and twice the product of these, and each product has one part
    of every column. All products of a row sum to a public number. With more columns or Gaussian
    noise, or where that has the smaller expected error, the count, the centered sums and their
    squares and products are answered. Variances are never negative, and no covariance is larger
    than the bounds allow. A matrix of noisy covariances is not always positive definite. Each
    interval covers the covariances of all exact answers that are plausible given the noisy ones.

    Privacy: the products of a row are never negative, and sum to the product of the (U-L)^2 of all
    columns, whatever the values of the row are. So adding or removing a row changes all sums
    together by that in L1, and changing a row by at most twice as much. Of separate answers, with
    h the distance from the middle of a column's bounds to a bound, adding or removing a row changes
    the count by 1, the sum of column i by at most h_i, the sum of its squares by h_i^2/2, rounded
    up to a whole number, and that of products by h_i h_j. These answers share epsilon. If the noise
    is Gaussian, they are protected as one answer whose squared changes add up. Changing a row
    changes each sum by at most twice as much.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: covariance, columns: [x, y]", x=x, y=x)
    {'add-remove': [10000], 'change-one': [20000]}
    >>> l1("statistic: covariance, columns: [x, y, z, w]", x=x, y=x, z=x, w=x)["add-remove"]
    [1, 5, 5, 5, 5, 13, 25, 25, 25, 13, 25, 25, 13, 25, 13]
    """

    name = "covariance"
    takes = field_types(columns=NumericColumns)
    item = "pair"
    mixed_units = True
    derivation = "noisy mean products less products of noisy means, no larger than possible"

    def columns(self, inputs: Inputs) -> tuple[NumericColumn, ...]:
        """The columns whose moments are queried."""
        return inputs.columns

    def pairs(self, inputs: Inputs) -> Sequence[Pair]:
        """Pairs of columns, one per item: every two columns, and each with itself."""
        return Moments(self.columns(inputs)).pairs

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        names = [column.name for column in inputs.columns]
        return tuple(f"{names[i]}:{names[j]}" for i, j in self.pairs(inputs))

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return self._separate(inputs, relation).or_products(relation)

    def _separate(self, inputs: Inputs, relation: Relation) -> MomentsDesign:
        moments = PublishedCovariances(self.columns(inputs), self)
        return MomentsDesign.separate(inputs, relation, moments, self.pairs(inputs))

    def outcome(self, covariances: Floats, pair: Pair) -> Floats:
        """The published number of a pair of columns, in half-widths; shape (cells,)."""
        covariance: Floats = covariances[pair]
        return covariance

    def printed(self, moments: Moments, pair: Pair) -> Printed:
        """The unit of the number of a pair, its printed decimals, and its limits."""
        unit = moments.unit(*pair)
        decimals = sum(decimal_places(moments.columns[index].step) for index in pair) + 2
        return Printed(unit, decimals, (Fraction(0) if pair[0] == pair[1] else -unit, unit))


class Correlation(Covariance):
    """The correlation of each pair of several numeric columns (Pearson 1895).

    It is the covariance over the square root of the product of the variances, from the same
    noisy moments as `covariance` and at the same cost: over rows in which all of the
    `columns` are present, overall or in each group of `by`. Items are called `a:b`. It lies
    between -1 and 1. If noise makes a variance zero or less, it is zero, and its interval
    is the widest possible.

    Privacy: as for `covariance`, of which it is a function.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: correlation, columns: [x, y]", x=x, y=x)
    {'add-remove': [10000], 'change-one': [20000]}
    """

    name = "correlation"
    has_raw = False
    mixed_units = False
    derivation = "noisy covariances over the roots of noisy variances, from -1 to 1"

    def pairs(self, inputs: Inputs) -> Sequence[Pair]:
        return list(combinations(range(len(inputs.columns)), 2))

    def outcome(self, covariances: Floats, pair: Pair) -> Floats:
        first, second = (covariances[index, index] for index in pair)
        positive = (first > 0) & (second > 0)
        root = np.sqrt(np.where(positive, first * second, 1.0))
        return np.where(positive, covariances[pair] / root, np.nan)

    def printed(self, moments: Moments, pair: Pair) -> Printed:
        return Printed(Fraction(1), CORRELATION_DECIMALS, (Fraction(-1), Fraction(1)))


class Variance(Covariance):
    """The variance of a numeric column, overall or in each group of `by`.

    It is the mean squared distance from the mean, over n (not n - 1) rows. With Laplace noise, it
    is computed from three sums over the rows: of the squared distances from the lower bound, of
    those from the upper bound, and of twice the product of both. Together they are the squared
    width between the bounds times the number of rows (the idea of Kulesza, Suresh and Wang 2024 for
    means). If neighbors change a row, and there are no groups, it is computed from two quadratic
    sums and the number of rows, with 1.2 to 2.4 times smaller errors. With Gaussian noise, there
    are three noisy answers about the same rows: their number, the sum of their distances from the
    middle of the bounds, and the sum of the squares of these distances, each minus half of the
    greatest square. The variance lies between zero and the square of half the width of the bounds;
    `raw: true` also shows the noisy variance before it is clamped to that range. The interval
    covers the variances of all exact answers that are plausible given the noisy ones. The variance
    of dates is in squared days.

    Privacy: what a row adds to the three sums is (U-L)^2 together, whatever its value is, so adding
    or removing it changes them by that in L1, and by at most that in L2; changing a row, by twice
    as much in L1. The quadratic sums and the number of rows, which counts (U-L)^2 for each row,
    change by at most 2 (U-L)^2 in L1, whether a row is changed, added or removed;
    `QuadraticPairQuery` has the proof. Of the three answers with Gaussian noise, with h the
    distance from the middle to a bound, adding or removing a row changes the count by 1, the sum by
    at most h, and the sum of squares by at most h^2/2, rounded up to a whole number; they are
    protected as one answer. Changing a row changes the sum by at most 2 h and the squares by at
    most h^2. If no row can be skipped, the number of rows is then public and has no privacy cost.

    >>> l1("statistic: variance, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [100], 'change-one': [200]}
    """

    name = "variance"
    takes = field_types(column=OrderedColumnName)
    item = ""
    mixed_units = False
    derivation = "noisy mean square less the square of the noisy mean, from 0 to what is possible"

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        unit = unit_of(inputs.numeric)
        return (unit if self.in_column_unit or not unit else f"{unit} squared",)

    def columns(self, inputs: Inputs) -> tuple[NumericColumn, ...]:
        return (inputs.numeric,)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        separate = self._separate(inputs, relation)
        return designs_of_one(separate, DistancesOfVariance.of(separate), relation)


@dataclass(frozen=True, kw_only=True)
class DistancesOfVariance(JointMoments):
    """Products of one column, from which a variance is computed directly.

    Sums around the middle of the bounds would lose digits where bounds are wide. A group with fewer
    than one noisy row has no variance.
    """

    @classmethod
    def of(cls, separate: MomentsDesign) -> tuple[Design, ...]:
        """The design instead of separate answers; empty if there are no products."""
        joint = separate.as_products()
        if joint is None:
            return ()
        queries = (replace(joint.queries[0], role="distances from both bounds"),)
        designed = cls(
            joint.inputs, queries, joint.families, reason=SQUARED_DISTANCES,
            moments=joint.moments, pairs=joint.pairs, rows=joint.rows,
        )  # fmt: skip
        return (designed,)

    def covariance_intervals(
        self, answers: Sequence[NoisyAnswer], outcome: Outcome, confidence: Fraction
    ) -> FiducialInterval:
        (column,) = self.moments.columns

        def of_sums(sums: Floats) -> Floats:
            *_, variances = bernstein_moments(sums, column.upper - column.lower)
            return outcome(variances[None, None])

        return FiducialInterval(self.divided(answers), of_sums, confidence)


class StandardDeviation(Variance):
    """The standard deviation of a numeric column, overall or in each group of `by`.

    It is the square root of the `variance`, over n rows, from the same noisy sums
    and at the same cost. If noise makes the variance negative, it is zero; `raw: true` then
    shows minus the root of the absolute value. The ends of the interval are the square
    roots of those for the variance. That of dates is a number of days.

    Privacy: as for `variance`, of which it is a function.

    >>> l1("statistic: std, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [100], 'change-one': [200]}
    """

    name = "std"
    noun = "standard deviation"
    in_column_unit = True
    derivation = "the root of the noisy variance, from 0 to half the width of the bounds"

    def outcome(self, covariances: Floats, pair: Pair) -> Floats:
        variance = covariances[pair]
        rooted: Floats = np.sign(variance) * np.sqrt(np.abs(variance))
        return rooted

    def printed(self, moments: Moments, pair: Pair) -> Printed:
        (column,), half = moments.columns, moments.unit(0)
        return Printed(half, decimal_places(column.step) + 2, (Fraction(0), half))
