"""Exact choices: by probabilities, or by how far candidates fall short."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from dpcli.arrays import Bools, Floats, Ints, np
from dpcli.sampling.bernoulli import (
    BLOCK,
    STEP,
    VECTORISE_FROM,
    bernoulli_exp,
    exponential_coins,
    floor_at,
    uniform_array,
)
from dpcli.sampling.entropy import random_bits, random_bytes, uniform_below


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


MOST_GAP = 1 << 500
"""Gaps of the array path stay below it: floats hold them, divided by any scale there."""

SCALES = (Fraction(1, 1 << 400), Fraction(1 << 500))
"""Scales of the array path lie between these: floats hold them and their inverses."""


def permute_and_flip(gaps: Sequence[int], scale: Fraction) -> int:
    """The place of a candidate, chosen by permute-and-flip.

    Candidates are visited in a random order, and the first one whose coin falls heads is
    chosen; the coin of gap g does so with probability exp(-g/scale). All coins are
    independent of the order, so the choice is uniform among the heads. The best
    candidate, of gap zero, always has one (McKenna and Sheldon 2020, algorithm 1).
    """
    _check(gaps, scale)
    if _is_small(gaps, scale):
        left = list(range(len(gaps)))
        while True:
            place = uniform_below(len(left))
            left[place], left[-1] = left[-1], left[place]
            candidate = left.pop()
            if _flip(gaps[candidate], scale):
                return candidate
    every = np.arange(len(gaps))
    heads = np.flatnonzero(_flips(gaps, _floats(gaps), every, scale))
    return int(heads[uniform_below(len(heads))])


def exponential(gaps: Sequence[int], scale: Fraction) -> int:
    """The place of a candidate, with probability proportional to exp(-gap/scale).

    A candidate is drawn uniformly and accepted with probability exp(-gap/scale), until
    one is. The best, of gap zero, is accepted whenever it is drawn.
    """
    _check(gaps, scale)
    if _is_small(gaps, scale):
        while True:
            candidate = uniform_below(len(gaps))
            if _flip(gaps[candidate], scale):
                return candidate
    floats = _floats(gaps)
    while True:
        drawn = uniform_array(len(gaps), BLOCK)
        accepted = np.flatnonzero(_flips(gaps, floats, drawn, scale))
        if len(accepted):
            return int(drawn[accepted[0]])


def _check(gaps: Sequence[int], scale: Fraction) -> None:
    if scale <= 0:
        raise ValueError("the scale of a choice must be positive")
    if not gaps or min(gaps) != 0:
        raise ValueError("the best candidate has a gap of zero")


def _is_small(gaps: Sequence[int], scale: Fraction) -> bool:
    """Whether candidates are flipped one by one: there are few, or floats cannot hold them."""
    few = len(gaps) < VECTORISE_FROM
    return few or max(gaps) >= MOST_GAP or not SCALES[0] <= scale <= SCALES[1]


def _flip(gap: int, scale: Fraction) -> bool:
    return bernoulli_exp(gap * scale.denominator, scale.numerator)


def _floats(gaps: Sequence[int]) -> Floats:
    return np.array(gaps, dtype=np.float64)


def _flips(gaps: Sequence[int], floats: Floats, places: Ints, scale: Fraction) -> Bools:
    """Independent coins for these places, true with probability exp(-gap/scale), exactly.

    The exponent x is good to 3 roundings, so p errs by under 3 x exp(-x) 2^-53 and numpy's
    exp by a few units in the last place: under 2^-49 in all, and `MARGIN` is 2^-40.
    """
    estimates = np.exp(floats[places] / -float(scale)) * 2.0**32
    return exponential_coins(estimates, lambda i: gaps[int(places[i])] / scale)
