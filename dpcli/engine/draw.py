"""Which of a person's rows are kept: lots, drawn from that person alone.

The lot depends on a secret of this release, on the id, and on how many rows the same
person has before it: never on where the row stands in the file, and never on other
people. So a person who joins or leaves moves nobody else's rows, and whatever the
secret is, each person's rows alone decide which of them are kept.
"""

from __future__ import annotations

import numpy as np

from dpcli.engine.people import Counts, Words
from dpcli.sampling.entropy import random_bytes

ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: consecutive multiples spread over all words."""


class Draw:
    """The lots of one release.

    Uniform over a person's rows as far as the mixing of 64-bit words is (Steele, Lea
    and Flood 2014). Nothing about privacy rests on that: any rule that looks at one
    person's rows alone would do.
    """

    def __init__(self) -> None:
        secret = random_bytes(16)
        self._first = np.uint64(int.from_bytes(secret[:8], "little"))
        self._second = np.uint64(int.from_bytes(secret[8:], "little"))

    def lots(self, words: Words, ordinals: Counts) -> Words:
        """A lot for each row: the word of its person, and its place among their rows."""
        # Mixed before the ordinal is added, or ids in a row would share shifted lots.
        mixed = _mix((words ^ self._first) * ODD)
        mixed += ordinals * ODD
        mixed ^= self._second
        return _mix(mixed)


def _mix(words: Words) -> Words:
    """A bijection of 64-bit words under which equal bits leave no trace."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
