"""Means of numbers and of dates."""

from __future__ import annotations

from fractions import Fraction

from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import AveragedColumnName, GroupSizes, WeightColumnName
from dpcli.privacy.unit import Relation
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, Inputs, Queries, WeightedQuery
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.distances import SUM_WEIGHT, designs_of_mean
from dpcli.statistics.weights import WeightedStatistic, weight_factors, weight_step


class Mean(WeightedStatistic):
    """The average of numbers or dates, overall or in each group of `by`.

    With Laplace noise, two sums are answered: of the distances of the values from the lower
    bound, and of those from the upper bound. Both together are the width between the bounds
    times the number of rows, so they give the average and the number of rows (Kulesza, Suresh
    and Wang 2024). If neighbors change a row and there are no groups, a sum of distances from the
    middle of the bounds and the number of rows are answered together instead, which is more
    accurate by the square root of two. With Gaussian noise, a sum of distances from the middle of
    the bounds gets 3/5 of the rho of the entry, and a count the rest. The noisy divisor is at least
    one row, and the result is clamped to the bounds. The interval covers the means of all exact
    sums that are plausible given the noisy ones. With `weight`, distances are multiplied by the
    weights of their rows, and the sum of the weights replaces the count. If a `sample` is declared,
    the squares that show its error are answered too. The average of dates is rounded to a day, and
    the ends of its interval outwards to whole days. The mean of a boolean column is the
    `proportion` of rows in which it is true.

    With public `sizes` of groups, as declared, one sum of each needs noise: of the distances from
    the middle of the bounds. The mean is the middle plus that sum over the size; the standard
    deviation of its error is sqrt(2) h / (n epsilon), or twice that if neighbors change a row.

    With Laplace noise and n rows, the standard deviation of the error is about
    2 sqrt(1 + t^2) h / (n epsilon). Here h is half the width of the bounds, and t, from -1 to 1,
    is where the mean lies between them. With noises d and e in both sums, the error is
    ((1 - t) d - (1 + t) e)/(2 n), up to terms of second order, and each noise has the standard
    deviation sqrt(2) 2 h / epsilon. If neighbors change a row, or people have several, all is
    multiplied by the L1 sensitivity over 2 h. For a sum and a number of rows together, it is
    multiplied by the square root of two as well.

    Privacy: a row adds its distances x - L and U - x to two sums. These are U - L together,
    whatever x is, so adding or removing a row changes the sums by U - L in L1 and by at most
    that in L2; changing a row, by twice as much in L1. It moves at most U - L from some of the sums
    of all groups to others, which is U - L in the norm of K-norm noise. Few groups without
    conditions have that (`explain mechanism k_norm`): differences of two have 0.84 of the noise of
    separate sums if each row counts, else 0.87. With Gaussian noise there are two answers
    about the same rows, protected as one: a row changes the centered sum by at most (U-L)/2
    and the count by 1. A person changes all of them by that for
    every row that the limits allow. If neighbors change a row and no row can be skipped, the
    number of rows is public: the divisor is exact at no privacy cost, the average of n rows has
    sensitivity (U-L)/n, and a centered sum gets all of epsilon. With weights up to W, a row
    changes the answers by at most W times as much. With `sizes`, a row adds from -h to h to the sum
    of its group: h in L1, and 2 h for a row that is changed or moves between groups, whether or not
    the sizes are true. They are divisors, and never compared with the data. With a `sample`, the
    distances are those of `variance`, for the same loss. `for_changed_rows` has the proofs for
    answers together.

    >>> l1("statistic: mean, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [10], 'change-one': [10]}
    >>> s = "{type: category, values: [a, b]}"
    >>> l1("statistic: mean, column: x, by: [s]", x="{type: integer, bounds: [0, 10]}", s=s)
    {'add-remove': [10], 'change-one': [10]}
    >>> l1("statistic: mean, column: x", x="{type: integer, bounds: [0, 10], missing: 0}")
    {'add-remove': [10], 'change-one': [10, 0]}
    >>> x = "{type: integer, bounds: [0, 10], missing: 0}"
    >>> l1("statistic: mean, column: x, by: [s], sizes: {a: 150, b: 150}", x=x, s=s)
    {'add-remove': [5], 'change-one': [10]}
    >>> w = "{type: integer, bounds: [1, 3], missing: 1}"
    >>> l1("statistic: mean, column: x, weight: w", x=x, w=w)
    {'add-remove': [30], 'change-one': [60]}
    """

    name = "mean"
    takes = field_types(
        column=AveragedColumnName, weight=WeightColumnName | None, sizes=GroupSizes | None
    )
    gives_dates = True
    in_column_unit = True
    derivation = "noisy sum divided by noisy number of rows (at least 1), clamped to the bounds"
    weighted_derivation = (
        "noisy weighted sum divided by noisy sum of weights (at least one weight), clamped to the"
        " bounds"
    )

    def printed(self, inputs: Inputs) -> Printed:
        """How the mean is printed, and its limits: the bounds of the column."""
        if inputs.column is not None and inputs.column.labels:
            from dpcli.statistics.means.ratio import PROPORTION

            return PROPORTION.printed(inputs)
        column = inputs.numeric
        limits = column.lower * column.step, column.upper * column.step
        return Printed(Fraction(1), column.mean_decimals, limits, column.date_range)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """A centered sum and a count, or a sum of weights; or distances from both bounds."""
        if inputs.column is not None and inputs.column.labels:
            # The mean of a boolean or category is the share of its labels.
            from dpcli.statistics.means.ratio import PROPORTION

            return PROPORTION.designs(inputs, relation)
        column, weights = inputs.numeric, weight_factors(inputs)
        if inputs.sizes:
            from dpcli.statistics.means.public_sizes import MeansOfSizes

            return (MeansOfSizes.of(inputs, inputs.sizes, column, self.printed(inputs), relation),)
        weight_size = weight_step(inputs)
        rows = LinearQuery(factors=weights, by=inputs.by, where=inputs.where, present=(column,))
        distance = Factor.centered(column)
        total = LinearQuery(factors=(distance, *weights), by=inputs.by, where=inputs.where)
        weight = Fraction(1) if rows.is_public(relation) else SUM_WEIGHT
        roles = (
            ("weighted centered sum", "sum of weights") if weights else ("centered sum", "count")
        )
        queries: Queries = (
            WeightedQuery(roles[0], total, weight, distance.step * weight_size),
            WeightedQuery(roles[1], rows, 1 - weight, weight_size),
        )
        return designs_of_mean(inputs, queries, column, self.printed(inputs), relation)
