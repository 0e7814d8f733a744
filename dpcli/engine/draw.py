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
from dpcli.sampling.splitmix import ODD, scrambled


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
        mixed = scrambled((words ^ self._first) * ODD)
        mixed += ordinals * ODD
        mixed ^= self._second
        return scrambled(mixed)
