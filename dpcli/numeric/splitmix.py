"""SplitMix64: words scrambled the same way each time; never noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
"""Numbers from 0 to below 2^64."""

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: consecutive multiples spread over all words."""


def scramble(words: Words) -> Words:
    """A bijection of 64-bit words: equal bits leave no trace (Steele, Lea and Flood 2014)."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
