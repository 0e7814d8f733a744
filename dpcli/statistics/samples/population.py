"""Numbers of a population, estimated from the noisy answers about a sample.

Their intervals contain the error of the sample as well as the noise: from every plausible answer
without noise, numbers of the population are drawn by the formulas below. The file is a simple
random sample without replacement of n from N units.

Privacy: a function of noisy answers and declared numbers, so nothing is revealed beyond the
answers. That the rows are a sample does not reduce the loss: who is in it may be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.data.grid_columns import NumericColumn
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.statistics.design import (
    Design,
    Inputs,
    NoisyAnswer,
    PublishedAnswer,
    SampleDesign,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import (
    DRAWS,
    UNIFORM_DRAWS,
    FiducialInterval,
    Outcome,
    Printed,
    wider,
)
from dpcli.statistics.moments import Moments, bernstein_moments

MEAN_SQUARES, SUM_SQUARES = Fraction(1, 10), Fraction(1, 5)
"""Parts of epsilon for squares that show the variance of a mean, and of a sum.

A bound on the variance from the bounds alone makes most intervals two to five times as wide. For
400 to 10,000 rows and epsilon from 0.5 to 2, these parts give the narrowest intervals, or nearly
so.
"""


FEWEST = 1e-9
"""The least number of rows, of which any share is possible in the population."""


def sample_of(inputs: Inputs) -> SampleDesign:
    """The sample design of inputs that have one.

    Raises TypeError if none is declared.
    """
    if inputs.sample is None:
        raise TypeError("no sample is declared")
    return inputs.sample


def mean_with_squares(
    queries: Sequence[WeightedQuery], inputs: Inputs, column: NumericColumn, relation: Relation
) -> tuple[WeightedQuery, ...]:
    """The queries of the mean of a column, and the sum of squares over the same rows.

    Privacy: the squares are a third answer about the same rows, charged like the others. Squares
    are measured from the middle of the possible squares, as for `variance`.
    """
    *_, squares = Moments((column,)).queries(inputs, relation)
    weighted = [replace(query, weight=query.weight * (1 - MEAN_SQUARES)) for query in queries]
    return (*weighted, replace(squares, weight=MEAN_SQUARES))


def sampled_counts(inputs: Inputs, query: Query, *, is_part: bool) -> PublishedAnswer:
    """Counts of a sample, from which those of the population follow.

    They follow if they are of a part of the rows, and the number of all rows is public.
    """
    has_size = sample_of(inputs).size is not None and inputs.user_clamp is None
    found = counts_of_population if is_part and has_size else None
    return PublishedAnswer(inputs, (WeightedQuery("count", query),), population_of=found)


def counts_of_population(
    design: Design, answers: Sequence[NoisyAnswer], confidence: Fraction
) -> Estimates:
    """The numbers of the population in cells, from counts of a sample.

    For totals, a number of rows with the greatest value stands for each. The squares of values
    between zero and that are at most the value times the greatest, so totals vary no more than such
    numbers of rows.
    """
    sample, part = sample_of(design.inputs), design.queries[0]
    size, most = float(sample.size or sample.population), part.query.row_contribution.high

    def outcome(values: Floats) -> Floats:
        counts, normal = values
        rows = np.full_like(counts, size)
        share = share_of_population(sample, counts / most / size, rows, normal)
        numbers: Floats = (share * sample.population)[None]
        return numbers

    intervals = FiducialInterval(answers, outcome, confidence, sampled=1)
    _unbound_private(intervals, design.inputs)
    unit = most * part.step
    limits = Fraction(0), sample.population * unit
    return intervals.estimates(Printed(unit, decimal_places(part.step), limits))


@dataclass(frozen=True)
class SampledNumber:
    """A number of each population group, from plausible answers about a sample.

    `outcome` also takes draws of as many standard normal numbers as there are `errors` of samples,
    after the answers. The number is as it is `printed`, plus `shift`. Draws with less than one row
    in the answer `denominator` allow any number.
    """

    outcome: Outcome
    printed: Printed
    shift: Fraction = Fraction(0)
    denominator: int | None = None
    errors: int = 1

    def estimates(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The numbers, with intervals for the noise and the error of the sample."""
        several = self.errors > 1
        intervals = FiducialInterval(
            answers,
            self.outcome,
            wider(confidence) if several else confidence,
            self.denominator,
            sampled=self.errors,
            draws=UNIFORM_DRAWS if several else DRAWS,
        )
        return intervals.estimates(self.printed).shifted(self.shift)

    def plausible(self, values: Floats) -> Floats:
        """The numbers of plausible answers; not a number where any number is allowed."""
        found: Floats = self.outcome(values)[0]
        if self.denominator is not None:
            found = np.where(values[self.denominator] >= 1, found, np.nan)
        return found


def mean_by_centered_sums(
    column: NumericColumn, published: Printed, design: Design
) -> SampledNumber:
    """The mean, from the sum, the number of rows and the squares around the middle."""
    moments = Moments((column,))

    def to_moments(sums: Floats) -> tuple[Floats, Floats, Floats]:
        answered = np.stack([sums[index] for index in (1, 0, 2)])
        rows, (mean,), ((variance,),) = moments.centered(answered, clamp=True)
        return rows, mean, variance

    return replace(_mean(column, published, design, to_moments), denominator=1)


def mean_by_squared_distances(
    column: NumericColumn, published: Printed, design: Design
) -> SampledNumber:
    """The mean, from squared distances from both bounds and twice their product."""

    def to_moments(sums: Floats) -> tuple[Floats, Floats, Floats]:
        # A mean is not a number where the rows are fewer than one.
        rows, mean, variance = bernstein_moments(sums, column.upper - column.lower)
        return np.maximum(rows, 1.0), np.clip(mean, -1.0, 1.0), variance

    return _mean(column, published, design, to_moments)


def _mean(
    column: NumericColumn,
    published: Printed,
    design: Design,
    to_moments: Callable[[Floats], tuple[Floats, Floats, Floats]],
) -> SampledNumber:
    """The mean of each population group, from noisy answers about a sample.

    It is printed as the mean of the file is `published`. `to_moments` gives the number of rows,
    their mean and their variance, in half-widths from the middle of the bounds. The variance is
    clamped to the range from zero to the greatest that the bounds allow.
    """
    sample = sample_of(design.inputs)

    def outcome(values: Floats) -> Floats:
        rows, mean, variance = to_moments(values[:-1])
        variance = np.clip(variance, 0.0, 1.0 - mean**2)
        numbers: Floats = mean_of_population(sample, mean, variance, rows, values[-1])[None]
        return numbers

    unit = column.step * published.unit
    half = (column.upper - column.lower) * unit / 2
    printed = replace(published, unit=half, limits=(-half, half))
    return SampledNumber(outcome, printed, column.lower * unit + half)


def compared_counts_of_population(
    inputs: Inputs, answers: Sequence[NoisyAnswer], most: int, confidence: Fraction
) -> FiducialInterval:
    """The difference and the ratio of numbers of the population in two groups.

    `answers` are the counts of both groups, or totals to which a row adds `most` at most. The units
    in one of them are a part of the population, and those in the second a part of these. Of a
    random sample, the errors of both parts do not depend on each other, though those of the counts
    do. The difference is one of numbers of rows.
    """
    sample = sample_of(inputs)
    size = float(sample.size or sample.population)

    def outcome(values: Floats) -> Floats:
        first, other = values[:2] / most
        both = np.maximum(first + other, FEWEST)
        either = share_of_population(sample, both / size, np.full_like(both, size), values[2])
        part = share_of_population(sample, other / both, both, values[3])
        ratio = part / np.where(part < 1, 1 - part, np.nan)
        return np.array([either * (2 * part - 1) * sample.population, ratio])

    intervals = FiducialInterval(answers, outcome, confidence, sampled=2)
    _unbound_private(intervals, inputs)
    return intervals


def sampled_sum(inputs: Inputs, total: WeightedQuery) -> PublishedAnswer:
    """The query of a sum, and the sum of squares over the same rows, about a sample.

    Privacy: the squares are a second answer about the same rows, charged like the first. A row
    changes the sum of squares by at most the square of the greatest absolute value.
    """
    column = inputs.numeric
    factor = Factor(column)
    squares = LinearQuery(factors=(factor, factor), by=inputs.by, where=inputs.where)
    role = f"squares of {column.name}"
    queries = (
        replace(total, weight=1 - SUM_SQUARES),
        WeightedQuery(role, squares, SUM_SQUARES, column.step**2),
    )
    return PublishedAnswer(inputs, queries, population_of=_total)


def _total(design: Design, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
    """The total of the population.

    A row outside the group, or without a value, adds zero. So the total is the size of the
    population times a mean over the whole sample, whose size is public.
    """
    column, sample = design.inputs.numeric, sample_of(design.inputs)
    size = float(sample.size or sample.population)
    low, high = min(column.lower, 0), max(column.upper, 0)

    def outcome(values: Floats) -> Floats:
        total, squares, normal = values
        mean = np.clip(total / size, low, high)
        # Squares around zero are noisier than those around a mean. A variance that noise makes
        # negative counts as positive, so that the interval does not become too narrow.
        variance = np.minimum(abs(squares / size - mean**2), (high - mean) * (mean - low))
        rows = np.full_like(mean, size)
        numbers: Floats = mean_of_population(sample, mean, variance, rows, normal)[None]
        return numbers

    intervals = FiducialInterval(answers, outcome, confidence, sampled=1)
    _unbound_private(intervals, design.inputs)
    unit, decimals = column.step * sample.population, decimal_places(column.step)
    return intervals.estimates(Printed(unit, decimals, (low * unit, high * unit)))


def _unbound_private(intervals: FiducialInterval, inputs: Inputs) -> None:
    """Make intervals of private groups infinite: groups are selected for being large."""
    if inputs.has_private_groups:
        cells = intervals.values.shape[1]
        intervals.replace_values(intervals.values, np.ones(cells, np.bool_))


def share_of_population(
    design: SampleDesign, share: Floats, rows: Floats, normal: Floats
) -> Floats:
    """The share in the population, from the share in the sample and a normal draw.

    It solves share = P - normal * sqrt(c P (1 - P)) with c = (1 - n/N) / rows. So quantiles of
    `normal` give the score interval (Wilson 1927) with the finite population correction
    (Sarndal, Swensson and Wretman 1992, chapter 3). It stays between 0 and 1.
    """
    share = np.clip(share, 0.0, 1.0)
    spread = remaining(design, rows) / rows * normal**2
    root = np.sqrt(spread * share * (1.0 - share) + spread**2 / 4)
    found: Floats = (share + spread / 2 + np.sign(normal) * root) / (1.0 + spread)
    return found


def mean_of_population(
    design: SampleDesign, mean: Floats, variance: Floats, rows: Floats, normal: Floats
) -> Floats:
    """The mean of the population, from the mean of the sample and a normal draw.

    `variance` divides by the number of rows in the sample; the estimate for the population divides
    by one row less (Sarndal, Swensson and Wretman 1992, chapter 3).
    """
    spread = variance * remaining(design, rows) / np.maximum(rows - 1.0, 1.0)
    found: Floats = mean + normal * np.sqrt(spread)
    return found


def remaining(design: SampleDesign, rows: Floats) -> Floats:
    """The finite population correction 1 - n/N for `rows` of a sample, at least zero.

    The sampled fraction n/N of a group is that of the whole population. Without a public size, n is
    the rows of the group alone. The fraction is then too small, and the interval too wide.
    """
    sampled = rows if design.size is None else np.full_like(rows, design.size)
    remaining: Floats = 1.0 - np.minimum(sampled / design.population, 1.0)
    return remaining
