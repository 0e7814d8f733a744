"""Quotients in the population of a sample: shares, and ratios of sums or counts."""

from __future__ import annotations

from dataclasses import replace

from dpcli.numeric.arrays import Floats, np
from dpcli.statistics.means.quotient import QuotientDesign
from dpcli.statistics.samples.population import (
    FEWEST,
    SampledNumber,
    sample_of,
    share_of_population,
)

FURTHER = 0.25
"""Rows by which the count behind a share is moved in the direction of its error.

Numbers of rows are whole. Without this, ratios of one or two rows hold in as few as 89% of samples;
with a half, those of 300 rows in 98%.
"""


def with_population(design: QuotientDesign, *, is_share: bool = False) -> QuotientDesign:
    """The design with numbers of the population, where they follow from its sums.

    Two sums do not show the squares of values that may be negative. `is_share` is true for the rows
    of some kind over all rows.
    """
    inputs, each = design.inputs, [part.query.row_contribution for part in design.queries]
    known = all(one.low >= 0 and one.high > 0 for one in each)
    if inputs.sample is None or inputs.weight or not known:
        return design
    return replace(design, sampled=share_by_counts if is_share else quotient_by_parts)


def share_by_counts(design: QuotientDesign) -> SampledNumber:
    """The share of a population that is true, from the rows of each kind."""
    sample, quotient = sample_of(design.inputs), design.quotient

    def outcome(values: Floats) -> Floats:
        coefficients = quotient.above, quotient.below
        inside, rows = (np.array(row, float) @ values[:-1] for row in coefficients)
        divisor = np.maximum(rows, 1.0)
        shares = share_of_population(sample, inside / divisor, divisor, values[-1])
        usable: Floats = np.where(rows >= 1.0, shares, np.nan)[None]
        return usable

    return SampledNumber(outcome, quotient.printed)


def quotient_by_parts(design: QuotientDesign) -> SampledNumber:
    """A quotient in the population, from sums over a sample that are never negative.

    The most that a row adds to a sum stands for one row there, so each sum is a number of rows, and
    each of these rows is in one sum alone. Shares of the sums are drawn one after the other, each
    among the rows that are left, by the score interval.

    Let a row add the parts p_i to the sums, and e_i be the residual, numerator less R times
    denominator, of one that adds the most to sum i alone. Its residual is the sum of p_i e_i. The
    error of a quotient R has the variance of residuals. Where the p_i are one together (kinds of
    rows, distances from bounds), their squares are at most the sum of p_i e_i^2, because squares
    are convex; of kinds, they are that. Of two sums apart, e_1 is not negative and e_2 not
    positive, and p_i is at most one, so they are at most that as well. So the error is nowhere
    greater than the drawn one, and no squares are queried.
    """
    sample, quotient = sample_of(design.inputs), design.quotient
    numbers = [part.query for part in design.queries for _ in range(part.query.cells_per_group)]
    most = [query.row_contribution.high for query in numbers]
    rows = zip(quotient.above, quotient.below, most, strict=True)
    parts = [(float(above * high), float(below * high)) for above, below, high in rows]
    used = [index for index, part in enumerate(parts) if any(part)]
    least = max(below for _, below in parts)

    def outcome(values: Floats) -> Floats:
        sums, errors = values[: len(most)], values[len(most) :]
        counts = np.stack([sums[index] / most[index] for index in used])
        left, (above, below) = np.ones(values.shape[1]), np.zeros((2, values.shape[1]))
        for at, index in enumerate(used):
            share = np.ones_like(left)
            if at < len(used) - 1:
                rest = np.maximum(counts[at:].sum(axis=0), FEWEST)
                moved = counts[at] + np.sign(errors[at]) * FURTHER
                share = share_of_population(sample, moved / rest, rest, errors[at])
            above = above + left * share * parts[index][0]
            below = below + left * share * parts[index][1]
            left = left * (1 - share)
        # A denominator of less than one unit of the population allows any ratio.
        usable = below * sample.population >= least
        found: Floats = np.divide(above, below, out=np.full_like(above, np.nan), where=usable)
        return found[None]

    unit = quotient.printed.unit * quotient.step
    return SampledNumber(outcome, replace(quotient.printed, unit=unit), errors=len(used) - 1)
