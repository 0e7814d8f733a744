"""Random choices among candidates, by gaps of scores or by probabilities.

The gap of a score is the best score of its row minus the score; the best has gap zero.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import final

from dpcli.noise.bernoulli import (
    BLOCK,
    STEP,
    VECTORIZE_FROM,
    bernoulli_exp,
    exponential_coins,
    floor_at,
    uniforms,
)
from dpcli.noise.distribution import Noise, NoiseSamples
from dpcli.noise.entropy import random_bits, random_bytes, uniform_below
from dpcli.numeric.arrays import Array, Bools, Ints, largest_magnitude, np
from dpcli.privacy.loss import BoundedRangePair

MAX_GAP = 1 << 500
"""Limit of gaps in the array path: over scales in `SCALES`, they fit floats."""

SCALES = (Fraction(1, 1 << 400), Fraction(1 << 500))
"""Least and greatest scale of the array path: they and their inverses fit floats."""


class ChoiceNoise(Noise):
    """Randomness of a choice: a candidate with gap g has the weight exp(-g / scale).

    No noise is added to numbers, so `sample` and tails raise ValueError. A subclass defines `pick`.
    """

    @property
    def name(self) -> str:
        return self.kind.replace("_", "-")

    @abstractmethod
    def pick(self, gaps: Array) -> Ints:
        """The index of the chosen candidate in each row of `gaps`, as an array of int64."""

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        """Raises ValueError: a choice adds no noise to numbers."""
        raise ValueError(f"a choice of scale {self.scale} is not added {count} times, {many}")

    def positive_tail(self, value: int) -> float:
        """Raises ValueError: a choice adds no noise to numbers."""
        raise ValueError(f"a choice of scale {self.scale} has no tail at {value}")


@final
class PermuteAndFlipChoice(ChoiceNoise):
    """Flips a coin for each candidate in random order, until one shows heads."""

    kind = "permute_and_flip"

    def pick(self, gaps: Array) -> Ints:
        """The first candidate in random order whose coin shows heads.

        Candidates are visited in random order. The first whose coin shows heads is chosen; the coin
        of gap g shows heads with probability exp(-g/scale). All coins are independent of the order,
        so the choice is uniform among the heads. The best candidate, with gap zero, always shows
        heads (McKenna and Sheldon 2020, algorithm 1).
        """
        if _is_small(gaps, self.scale):
            return np.array([_first_heads(row, self.scale) for row in gaps.tolist()], np.int64)
        heads = _flips(gaps.ravel(), self.scale).reshape(gaps.shape)
        chosen = uniforms(heads.sum(axis=1), len(heads)) + 1
        indexes: Ints = (heads.cumsum(axis=1) == chosen[:, None]).argmax(axis=1)
        return indexes


@final
class ExponentialChoice(ChoiceNoise):
    """Chooses a candidate with a probability proportional to its weight."""

    kind = "exponential"
    dominating_pair = BoundedRangePair

    def pick(self, gaps: Array) -> Ints:
        """A candidate with probability proportional to exp(-gap/scale).

        Uniform candidates are proposed until one is accepted, with probability exp(-gap/scale). The
        best, with gap zero, is always accepted.
        """
        if _is_small(gaps, self.scale):
            return np.array([_accepted(row, self.scale) for row in gaps.tolist()], np.int64)
        rows, width = gaps.shape
        chosen, left = np.empty(rows, np.int64), np.arange(rows)
        while left.size:
            tries = max(1, BLOCK // left.size)
            drawn = uniforms(width, left.size * tries).reshape(-1, tries)
            heads = _flips(gaps[left[:, None], drawn].ravel(), self.scale).reshape(drawn.shape)
            accepted, first = heads.any(axis=1), heads.argmax(axis=1)
            chosen[left] = np.take_along_axis(drawn, first[:, None], axis=1)[:, 0]
            left = left[~accepted]
        return chosen


def _first_heads(gaps: Sequence[int], scale: Fraction) -> int:
    left = list(range(len(gaps)))
    while True:
        index = uniform_below(len(left))
        left[index], left[-1] = left[-1], left[index]
        candidate = left.pop()
        if _flip(gaps[candidate], scale):
            return candidate


def _accepted(gaps: Sequence[int], scale: Fraction) -> int:
    while True:
        candidate = uniform_below(len(gaps))
        if _flip(gaps[candidate], scale):
            return candidate


def _is_small(gaps: Array, scale: Fraction) -> bool:
    """Whether to sample choices one by one: few gaps, or too large for floats.

    Raises ValueError if the scale is not positive, or the least gap of a row is not zero.
    """
    if scale <= 0:
        raise ValueError("the scale of a choice must be positive")
    if not gaps.shape[1] or (gaps.min(axis=1) != 0).any():
        raise ValueError("the best candidate has a gap of zero")
    few = gaps.size < VECTORIZE_FROM
    return few or largest_magnitude(gaps) >= MAX_GAP or not SCALES[0] <= scale <= SCALES[1]


def _flip(gap: int, scale: Fraction) -> bool:
    return bernoulli_exp(gap * scale.denominator, scale.numerator)


def _flips(gaps: Array, scale: Fraction) -> Bools:
    """A sample for each gap: true with probability p = exp(-gap/scale), exactly.

    The exponent x has 3 rounding errors, which change p by less than 3 x exp(-x) 2^-53. The exp
    of numpy errs by a few units in the last place. Both errors together are below 2^-49, and
    `MARGIN` allows 2^-40.
    """
    estimates = np.exp(gaps.astype(np.float64) / -float(scale)) * 2.0**32
    return exponential_coins(estimates, lambda i: int(gaps[i]) / scale)


def categorical_array(probabilities: Sequence[Fraction], count: int) -> Ints:
    """`count` independent indexes, each with exactly its probability, as int64.

    The probabilities cut [0, 1) into intervals, and a uniform U lies in one of them. The first 64
    bits of U decide which, unless they equal those of a cut; then more bits follow. Raises
    ValueError unless the probabilities sum to one and none is negative.
    """
    if sum(probabilities) != 1 or min(probabilities) < 0:
        raise ValueError("probabilities are not negative and sum to one")
    cuts = [cut for cut in accumulate(probabilities[:-1]) if cut < 1]
    prefixes = np.array([floor_at(cut, STEP) for cut in cuts], np.uint64)
    words = np.frombuffer(random_bytes(8 * count), np.uint64)
    indexes = np.searchsorted(prefixes, words, side="right").astype(np.int64)
    doubtful = [cut for cut in cuts if (cut * (1 << STEP)).denominator != 1]
    if doubtful:
        marks = np.array([floor_at(cut, STEP) for cut in doubtful], np.uint64)
        for undecided in np.flatnonzero(np.isin(words, marks)):
            indexes[undecided] = _decide(cuts, int(words[undecided]), STEP)
    return indexes


def _decide(cuts: Sequence[Fraction], prefix: int, length: int) -> int:
    """The index of the interval of U: the bits of `prefix`, followed by random bits."""
    while True:
        # U lies in [low, high): every cut up to low is passed, and none from high on.
        low, high = Fraction(prefix, 1 << length), Fraction(prefix + 1, 1 << length)
        index = bisect_right(cuts, low)
        if index == len(cuts) or cuts[index] >= high:
            return index
        prefix, length = prefix << STEP | random_bits(STEP), length + STEP
