"""Numbers of a population, estimated from the noisy answers about a sample.

Their intervals contain the error of the sample as well as the noise: from every plausible answer
without noise, numbers of the population are drawn by the formulas of `SampleDesign`.

Privacy: a function of noisy answers and declared numbers, so nothing is revealed beyond the
answers. That the rows are a sample does not reduce the loss: who is in it may be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.neighboring import Relation
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.fiducial import FiducialInterval
from dpcli.statistics.moments import Moments
from dpcli.statistics.sampling import SampleDesign
from dpcli.statistics.statistic import (
    NoisyAnswer,
    Request,
    WeightedQuery,
    center,
    date_range,
    numeric,
)

SQUARES_WEIGHT = Fraction(1, 10)
"""The part of epsilon for the squares that show the variance of a mean.

A bound on the variance from the bounds alone makes the interval two to ten times as wide. For 400
to 10,000 rows and epsilon from 0.5 to 2, a tenth gives the narrowest intervals, or nearly so.
"""


def design_of(request: Request) -> SampleDesign:
    """The sample design of a request that has one.

    Raises TypeError if none is declared.
    """
    if request.sample is None:
        raise TypeError("no sample is declared")
    return request.sample


def with_squares(
    queries: Sequence[WeightedQuery], request: Request, relation: Relation
) -> tuple[WeightedQuery, ...]:
    """The queries of a mean, and the sum of squares about the same rows.

    Privacy: a third answer about the same rows, charged like the others. Squares are measured from
    the middle of the possible ones, as for `variance`.
    """
    *_, squares = Moments((numeric(request),)).queries(request, relation)
    kept = [replace(query, weight=query.weight * (1 - SQUARES_WEIGHT)) for query in queries]
    return (*kept, replace(squares, weight=SQUARES_WEIGHT))


def population_counts(request: Request, answer: NoisyAnswer, confidence: Fraction) -> Estimates:
    """The number of units in each cell of the population, from a sample of public size.

    Private groups are shown because their noisy count is large, so nothing bounds their number.
    """
    design = design_of(request)
    size = float(design.size or design.population)

    def outcome(answers: Floats) -> Floats:
        counts, normal = answers
        rows = np.full_like(counts, size)
        share = design.share_of_population(counts / size, rows, normal)
        numbers: Floats = (share * design.population)[None]
        return numbers

    intervals = FiducialInterval([answer], outcome, confidence, sampled=True)
    if any(key.is_private for key in request.by):
        intervals.replace_values(intervals.values, np.ones(len(answer.values), np.bool_))
    return intervals.estimates([Fraction(1)], [0], [(Fraction(0), Fraction(design.population))])


def population_means(
    request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
) -> Estimates:
    """The mean of each group of the population, from the sum, the count and the squares.

    The variance is that of the noisy answers, from zero to the greatest within the bounds.
    """
    column, design = numeric(request), design_of(request)
    moments = Moments((column,))

    def outcome(values: Floats) -> Floats:
        total, count, squares, normal = values
        rows, (mean,), ((variance,),) = moments.centered(
            np.stack([count, total, squares]), clamp=True
        )
        variance = np.clip(variance, 0.0, 1.0 - mean**2)
        numbers: Floats = design.mean_of_population(mean, variance, rows, normal)[None]
        return numbers

    intervals = FiducialInterval(answers, outcome, confidence, denominator=1, sampled=True)
    middle = center(column) * column.step
    low, high = (limit * column.step - middle for limit in column.limits)
    places = 0 if column.kind == "date" else decimal_places(column.step) + 2
    estimates = intervals.estimates([moments.unit(0)], [places], [(low, high)])
    return replace(estimates.shifted(middle), date_range=date_range(column))
