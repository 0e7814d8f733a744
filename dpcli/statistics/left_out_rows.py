"""How many rows a limit leaves out at least, by noisy counts of people.

Bins of numbers of rows begin just above each limit l. A person in a bin that begins at s has at
least s rows, so the limit leaves out at least s - l of them. With N(b) people in bin b, at least

    sum over bins b from the first above l to t of N(b) (s(b) - l)

rows are left out, whatever bin t is. Counts of far bins weigh most, and so does their noise, even
where they are empty: the best of all t is taken, and the error probability is divided among them.
The bound is weak where few people have most of the rows: their bins are within the noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor

from dpcli.noise.distribution import Noise
from dpcli.noise.tails import blended_half_width, one_sided_width
from dpcli.numeric.arrays import np
from dpcli.statistics.design import NoisyAnswer

MULTIPLES = tuple(map(Fraction, ("1.25", "1.5", "2", "3", "4", "6", "8", "16", "32", "64", "128")))
"""The bins above a limit begin one row above it, and at these multiples of it."""

ROWS_PART = 0.2
"""The part of the error probability for the number of rows; the rest is for left-out ones."""

ERROR_PROBABILITY = 0.05
"""The probability with which more rows are stated than a limit leaves out, at most."""


def bin_starts(limits: Iterable[int]) -> tuple[int, ...]:
    """The starts of the bins for all of these limits; the first one holds people within all.

    >>> bin_starts([4])
    (1, 5, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
    """
    above = {limit + 1 for limit in limits}
    above |= {ceil(limit * times) for limit in limits for times in MULTIPLES}
    return tuple(sorted({1, *(start for start in above if start > min(limits, default=0))}))


def least_share(
    people: NoisyAnswer, starts: tuple[int, ...], rows: NoisyAnswer, limit: int, outside: float
) -> Fraction:
    """A lower bound of the share of rows that a limit leaves out; zero if noise explains it.

    `people` are counted by `starts`, and `rows` are those that are used. The bound is above the
    true share with a probability of at most `outside`.

    Privacy: a function of noisy answers.
    """
    least = _least_rows(people, starts, limit, outside * (1 - ROWS_PART))
    (noisy,) = rows.values.tolist()
    most = max(noisy + one_sided_width(rows.noise, outside * ROWS_PART), 0)
    return Fraction(least, most + least) if least > 0 else Fraction(0)


def _least_rows(people: NoisyAnswer, starts: tuple[int, ...], limit: int, outside: float) -> int:
    """A lower bound of the rows that a limit leaves out, except with probability `outside`."""
    left_out = np.maximum(np.array(starts, object) - limit, 0)
    lasts = [last for last, rows in enumerate(left_out, 1) if rows]
    if not lasts:
        return 0
    # An interval of this confidence leaves out the part of each test on one side.
    confidence = 1 - Fraction(2 * outside / len(lasts))
    totals = np.cumsum(people.values.astype(object) * left_out)
    return max(
        floor(int(totals[last - 1]) - _margin(people.noise, left_out[:last].tolist(), confidence))
        for last in lasts
    )


def noticed_rows(noise: Noise, limit: int) -> int:
    """About how many left-out rows noise alone may explain, if people have up to twice the limit.

    Where more than twice as many rows are left out, that is shown in most releases. If few people
    have very many rows, it takes more.
    """
    starts = [start for start in bin_starts([limit]) if limit < start <= 2 * limit]
    weights = [start - limit for start in starts]
    confidence = 1 - Fraction(2 * ERROR_PROBABILITY * (1 - ROWS_PART) / len(bin_starts([limit])))
    return ceil(_margin(noise, weights, confidence))


def _margin(noise: Noise, weights: list[int], confidence: Fraction) -> float:
    """The half-width of the noise of a weighted sum of counts."""
    variance = noise.discrete_variance * sum(weight**2 for weight in weights)
    if not variance:
        return 0.0
    fourth = sum(noise.fourth_cumulant(float(weight)) for weight in weights)
    return blended_half_width(fourth, variance, confidence)
