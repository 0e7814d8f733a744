"""The bound with the least expected error, from how noisy counts decline.

Privacy: the counts are noisy, and nothing else is read that depends on a record: post-processing.

Noise hides the few rows beyond the last count that rises above it, but not how the counts before it
decline. A tail is a guess at the expected counts: the logarithm of their density, per rung, follows
a parabola up to some bin, and no row lies beyond. Each tail has a weight, by how well it agrees
with the noisy counts on both sides of the last accepted one. Candidates are compared by the mean
square of the error of a sum: what clamping takes from it, on average over the tails, and the noise,
which grows with the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dpcli.numeric.arrays import Floats, np

BEFORE, BEYOND = 3, 4
"""How many counts before and beyond the last accepted one a tail has to agree with."""

SLOPES = tuple(third / 3 for third in range(-21, 4))
"""Doublings of the density from the last but one accepted bin to the last, for each rung."""

CURVATURES = (0.0, -1 / 8, -1 / 4, -1 / 2, -1.0, -2.0, -4.0)
"""How much the slope changes from rung to rung: zero for a power law."""

ENDING = 0.5
"""The probability, before any count is seen, that a tail ends at a bin."""

INACCURACY = 1 / 20
"""The share of an expected count by which a tail may be wrong, as if it was noise."""

INNER = 4 / 3
"""The mean of the values in a bin of a tail over its inner end: near it, as the tail declines."""

RISE = 2
"""A last count above this multiple of the one before shows no decline."""

EPSILON_RATIO = 9
"""The epsilon of the sum over that of the choice, if the choice takes a tenth of both."""


def best_place(
    counts: Sequence[int],
    rungs: Sequence[int],
    last: int,
    scale: float,
    ratio: float,
    worth: float = 1.0,
) -> int:
    """The place of the rung, from the last accepted one outward, with the least expected error.

    Noisy counts and rungs are given from zero outward, rungs by their distance. `scale` is that of
    the noise, and `ratio` the usual one of two rungs. `worth` is by how much the sum falls short if
    clamping takes one from a count: less than one for rows of a person, whose values are smaller
    than their bound.

    >>> rungs = [1, 2, 4, 8, 16, 32, 64]
    >>> best_place([4000, 2000, 1000, 500, 0, 0, 0], rungs, 3, 10.0, 2.0)
    3
    >>> best_place([4000, 2000, 1000, 500, 250, 125, 63], rungs, 3, 10.0, 2.0)
    6
    """
    first, end = max(last - BEFORE, 0), min(last + BEYOND + 1, len(counts))
    if last == 0 or last + 1 == len(counts):
        return last
    at = last - first
    outer = np.array(rungs[first:end], np.float64)
    inner = np.array([0, *rungs][first:end], np.float64)
    noisy = np.array(counts[first:end], np.float64) / scale
    if noisy[at] > RISE * max(noisy[at - 1], 1):
        return last
    tails, ends = _tails(outer, np.maximum(inner, rungs[0] / ratio), noisy, at, ratio)
    inaccuracy = 1 + INACCURACY * tails
    agreement = -(np.abs(noisy - tails) / inaccuracy + np.log(inaccuracy)).sum(axis=1)
    agreement += ends * np.log(1 - ENDING)
    weights = np.exp(agreement - agreement.max())
    # By how much clamping to each rung changes an average value of each bin.
    clamped = np.maximum(np.minimum(INNER * inner, outer) - outer[:, None], 0)
    squared_bias = weights / weights.sum() @ (tails @ clamped.T) ** 2
    noise_variance = 2 * (outer / EPSILON_RATIO) ** 2
    return last + int(np.argmin((worth**2 * squared_bias + noise_variance)[at:]))


def _tails(
    outer: Floats, inner: Floats, noisy: Floats, at: int, ratio: float
) -> tuple[Floats, Floats]:
    """Expected counts, tails by bins, in scales of the noise, and after how many bins each ends.

    A tail has the noisy count of the bin before the place `at`.
    """
    width = np.log(outer / inner) / np.log(ratio)
    middle = np.log(outer * inner) / np.log(ratio) / 2
    further = len(outer) - at
    slope, curvature, ends = np.array(list(product(SLOPES, CURVATURES, range(further)))).T
    distance = middle - middle[at - 1]
    bend = distance * (distance - distance[at]) / 2
    density = 2 ** (np.outer(slope, distance) + np.outer(curvature, bend))
    tails = max(noisy[at - 1], 1.0) / width[at - 1] * width * density
    return np.where(np.arange(len(outer)) - at <= ends[:, None], tails, 0.0), ends
