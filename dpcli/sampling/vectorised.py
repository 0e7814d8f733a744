"""Exact Bernoulli draws by the thousand; numpy is imported on first use only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcli.sampling.entropy import random_bytes
from dpcli.sampling.threshold import Threshold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1 << 16
"""Draws made at a time: their temporary arrays stay in a core's cache."""

VECTORISE_FROM = 4096
"""Fewer draws than this cost less than importing numpy."""


def bernoulli_array(threshold: Threshold, count: int) -> NDArray[np.bool_]:
    """Independent draws, each true with exactly the threshold's probability.

    Eight random bits decide 255 of 256 draws, 64 more nearly all the others, and
    `Threshold.exceeds` the rest; all compare the same expansion.
    """
    import numpy as np

    first = np.frombuffer(random_bytes(count), np.uint8)
    digits = threshold.digits(8)
    if digits == 1 << 8:
        return np.ones(count, np.bool_)
    drawn: NDArray[np.bool_] = first < digits
    ties = np.flatnonzero(first == digits)
    if ties.size:
        drawn[ties] = _decide_ties(threshold, ties.size)
    return drawn


def _decide_ties(threshold: Threshold, count: int) -> NDArray[np.bool_]:
    """Draws whose first eight bits equal the first eight digits."""
    import numpy as np

    more = np.frombuffer(random_bytes(8 * count), np.uint64)
    digits = np.uint64(threshold.digits(72) & (1 << 64) - 1)
    drawn: NDArray[np.bool_] = more < digits
    for tie in np.flatnonzero(more == digits):
        drawn[tie] = threshold.exceeds(threshold.digits(72), 72)
    return drawn


def sign_array(count: int) -> NDArray[np.bool_]:
    """Independent fair coins."""
    import numpy as np

    packed = np.frombuffer(random_bytes((count + 7) // 8), np.uint8)
    return np.unpackbits(packed, count=count).view(np.bool_)


def uniform_array(limit: int, count: int) -> NDArray[np.int64]:
    """At most `count` independent uniform whole numbers below `limit`, at most 2^32.

    Words beyond the last full multiple of the limit are rejected, so that no remainder is
    more likely than another.
    """
    import numpy as np

    if not 0 < limit <= 1 << 32:
        raise ValueError("a limit outside the range of the array path")
    words = np.frombuffer(random_bytes(8 * count), np.uint64)
    beyond = (1 << 64) % limit
    if beyond:
        words = words[words < np.uint64((1 << 64) - beyond)]
    return (words % np.uint64(limit)).astype(np.int64)


def uniforms(limit: int, count: int) -> NDArray[np.int64]:
    """Just so many independent uniform whole numbers below `limit`, at most 2^32."""
    import numpy as np

    draws = uniform_array(limit, count)
    while draws.size < count:
        draws = np.concatenate((draws, uniform_array(limit, count - draws.size)))
    return draws
