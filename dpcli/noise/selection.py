"""Random choices: by probabilities, or by gaps to the best score."""

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
    VECTORISE_FROM,
    bernoulli_exp,
    exponential_coins,
    floor_at,
    uniforms,
)
from dpcli.noise.distribution import Noise, NoiseSamples
from dpcli.noise.entropy import random_bits, random_bytes, uniform_below
from dpcli.numeric.arrays import Array, Bools, Ints, largest, np
from dpcli.privacy.dominating_pairs import BoundedRangePair

MOST_GAP = 1 << 500
"""Gaps of the array path stay below it: floats hold them, divided by any scale there."""

SCALES = (Fraction(1, 1 << 400), Fraction(1 << 500))
"""Scales of the array path lie between these: floats hold them and their inverses."""


class ChoiceNoise(Noise):
    """Adds nothing: a candidate that falls short of the best by g has a weight of exp(-g / scale).

    A new kind states how it picks.
    """

    @property
    def name(self) -> str:
        """That of the mechanism."""
        return self.kind.replace("_", "-")

    @abstractmethod
    def pick(self, gaps: Array) -> Ints:
        """The place of the chosen candidate in each row.

        Each falls short of the best of its row by its gap.
        """

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        """Nothing is added, so there are none."""
        raise ValueError(f"a choice of scale {self.scale} is not added {count} times, {many}")

    def tail(self, least: int) -> float:
        """Nothing is added, so there is none."""
        raise ValueError(f"a choice of scale {self.scale} has no tail at {least}")


@final
class PermuteAndFlipChoice(ChoiceNoise):
    """Coins are tossed for candidates in random order, until one shows heads."""

    kind = "permute_and_flip"

    def pick(self, gaps: Array) -> Ints:
        """The first whose coin shows heads."""
        return permute_and_flip(gaps, self.scale)


@final
class ExponentialChoice(ChoiceNoise):
    """A candidate is chosen with a probability in proportion to its weight."""

    kind = "exponential"
    dominating_pair = BoundedRangePair

    def pick(self, gaps: Array) -> Ints:
        """One by its weight."""
        return exponential(gaps, self.scale)


def permute_and_flip(gaps: Array, scale: Fraction) -> Ints:
    """The place of a candidate in each row, chosen by permute-and-flip.

    Candidates are visited in a random order, and the first one whose coin falls heads is
    chosen; the coin of gap g does so with probability exp(-g/scale). All coins are
    independent of the order, so the choice is uniform among the heads. The best
    candidate, of gap zero, always has one (McKenna and Sheldon 2020, algorithm 1).
    """
    if _is_small(gaps, scale):
        return np.array([_first_heads(row, scale) for row in gaps.tolist()], np.int64)
    heads = _flips(gaps.ravel(), scale).reshape(gaps.shape)
    chosen = uniforms(heads.sum(axis=1), len(heads)) + 1
    places: Ints = (heads.cumsum(axis=1) == chosen[:, None]).argmax(axis=1)
    return places


def _first_heads(gaps: Sequence[int], scale: Fraction) -> int:
    left = list(range(len(gaps)))
    while True:
        place = uniform_below(len(left))
        left[place], left[-1] = left[-1], left[place]
        candidate = left.pop()
        if _flip(gaps[candidate], scale):
            return candidate


def exponential(gaps: Array, scale: Fraction) -> Ints:
    """The place of a candidate in each row, with probability proportional to exp(-gap/scale).

    A candidate is drawn uniformly and accepted with probability exp(-gap/scale), until
    one is. The best, of gap zero, is accepted whenever it is drawn.
    """
    if _is_small(gaps, scale):
        return np.array([_accepted(row, scale) for row in gaps.tolist()], np.int64)
    rows, width = gaps.shape
    chosen, left = np.empty(rows, np.int64), np.arange(rows)
    while left.size:
        tries = max(1, BLOCK // left.size)
        drawn = uniforms(width, left.size * tries).reshape(-1, tries)
        heads = _flips(gaps[left[:, None], drawn].ravel(), scale).reshape(drawn.shape)
        found, first = heads.any(axis=1), heads.argmax(axis=1)
        chosen[left] = np.take_along_axis(drawn, first[:, None], axis=1)[:, 0]
        left = left[~found]
    return chosen


def _accepted(gaps: Sequence[int], scale: Fraction) -> int:
    while True:
        candidate = uniform_below(len(gaps))
        if _flip(gaps[candidate], scale):
            return candidate


def _is_small(gaps: Array, scale: Fraction) -> bool:
    """Whether candidates are flipped one by one: there are few, or floats cannot hold them."""
    if scale <= 0:
        raise ValueError("the scale of a choice must be positive")
    if not gaps.shape[1] or (gaps.min(axis=1) != 0).any():
        raise ValueError("the best candidate has a gap of zero")
    few = gaps.size < VECTORISE_FROM
    return few or largest(gaps) >= MOST_GAP or not SCALES[0] <= scale <= SCALES[1]


def _flip(gap: int, scale: Fraction) -> bool:
    return bernoulli_exp(gap * scale.denominator, scale.numerator)


def _flips(gaps: Array, scale: Fraction) -> Bools:
    """Independent coins for these gaps, true with probability exp(-gap/scale), exactly.

    The exponent x is good to 3 roundings, so p errs by under 3 x exp(-x) 2^-53 and numpy's
    exp by a few units in the last place: under 2^-49 in all, and `MARGIN` is 2^-40.
    """
    estimates = np.exp(gaps.astype(np.float64) / -float(scale)) * 2.0**32
    return exponential_coins(estimates, lambda i: int(gaps[i]) / scale)


def categorical_array(probabilities: Sequence[Fraction], count: int) -> Ints:
    """Independent places, each drawn with exactly its probability; these sum to one.

    A uniform U on [0, 1) falls into one of the intervals that the probabilities cut. Its
    first 64 bits decide that unless they are those of a cut; then more bits are drawn.
    """
    if sum(probabilities) != 1 or min(probabilities) < 0:
        raise ValueError("probabilities are not negative and sum to one")
    cuts = [cut for cut in accumulate(probabilities[:-1]) if cut < 1]
    floors = np.array([floor_at(cut, STEP) for cut in cuts], np.uint64)
    words = np.frombuffer(random_bytes(8 * count), np.uint64)
    places = np.searchsorted(floors, words, side="right").astype(np.int64)
    doubtful = [cut for cut in cuts if (cut * (1 << STEP)).denominator != 1]
    if doubtful:
        marks = np.array([floor_at(cut, STEP) for cut in doubtful], np.uint64)
        for undecided in np.flatnonzero(np.isin(words, marks)):
            places[undecided] = _decide(cuts, int(words[undecided]), STEP)
    return places


def _decide(cuts: Sequence[Fraction], prefix: int, length: int) -> int:
    """The place of a U that begins with these bits and goes on at random."""
    while True:
        # U lies in [low, high): every cut up to low is passed, and none from high on.
        low, high = Fraction(prefix, 1 << length), Fraction(prefix + 1, 1 << length)
        place = bisect_right(cuts, low)
        if place == len(cuts) or cuts[place] >= high:
            return place
        prefix, length = prefix << STEP | random_bits(STEP), length + STEP
