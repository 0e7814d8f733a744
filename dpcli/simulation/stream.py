"""Repeatable numbers for invented rows, the same on every machine; never noise.

Noise has one source, the operating system (`dpcli.sampling.entropy`), which this is not: only
the room of simulations may import it. SplitMix64 (Steele, Lea and Flood 2014) in whole
numbers, from a start that SHA-256 makes of a seed and of names.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
"""Numbers from 0 to below 2^64; as fractions, in units of 2^-64."""

Places = npt.NDArray[np.int64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


class Stream:
    """A word for each place, which depends on the seed, the names and the place alone."""

    def __init__(self, seed: int, *names: str) -> None:
        self._seed, self._names = seed, names
        # Names are counted, so that no two lists of them are the same text.
        told = "".join(f"{len(name)}:{name}," for name in ("dpcli dummy 1", str(seed), *names))
        start = hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest()
        self._start = np.uint64(int.from_bytes(start[:8], "big"))

    def named(self, name: str) -> Stream:
        """A stream of its own, for another use."""
        return Stream(self._seed, *self._names, name)

    def words(self, places: Places) -> Words:
        """The words at these places."""
        found: Words = places.astype(np.uint64) * _STEP + self._start
        for shift, factor in _MIXED:
            found ^= found >> np.uint64(shift)
            found *= np.uint64(factor)
        return found

    def below(self, limit: int, places: Places) -> Places:
        """Even whole numbers from 0 to below a limit of 2^63 at most."""
        return scaled(self.words(places), limit)

    def happens(self, percent: int, places: Places) -> npt.NDArray[np.bool_]:
        """Whether something happens that does in so many cases of a hundred."""
        return self.below(100, places) < percent


def scaled(fractions: Words, limit: int) -> Places:
    """Fractions of a limit of 2^63 at most, rounded down: the upper half of the product."""
    high, low = fractions >> _HALF, fractions & _LOW
    upper, lower = np.uint64(limit >> 32), np.uint64(limit & int(_LOW))
    one, other = high * lower, low * upper
    carried = (one & _LOW) + (other & _LOW) + (low * lower >> _HALF)
    whole = high * upper + (one >> _HALF) + (other >> _HALF) + (carried >> _HALF)
    found: Places = whole.astype(np.int64)
    return found
