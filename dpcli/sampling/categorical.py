"""Exact draws from a few outcomes with rational probabilities."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from dpcli.sampling.entropy import random_bits, random_bytes
from dpcli.sampling.threshold import STEP, floor_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def categorical_array(probabilities: Sequence[Fraction], count: int) -> NDArray[np.int64]:
    """Independent places, each drawn with exactly its probability; these sum to one.

    A uniform U on [0, 1) falls into one of the intervals that the probabilities cut. Its
    first 64 bits decide that unless they are those of a cut; then more bits are drawn.
    """
    import numpy as np

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
