"""SplitMix64: a reproducible scrambling of words. It is never used for noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
"""Whole numbers from 0 to 2^64 - 1."""

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: its multiples are spread evenly over all words."""


def scramble(words: Words) -> Words:
    """A bijection that makes similar 64-bit words unrelated (Steele, Lea and Flood 2014)."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
