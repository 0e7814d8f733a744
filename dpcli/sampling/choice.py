"""Exact choices among candidates, by how far each falls short of the best."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.sampling.bernoulli import bernoulli_exp_ratio
from dpcli.sampling.entropy import random_bytes, uniform_below
from dpcli.sampling.threshold import Threshold
from dpcli.sampling.vectorised import BLOCK, VECTORISE_FROM, uniform_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARGIN = 2.0**-8
"""Distrust of a float probability, in units of 2^-32."""

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
    import numpy as np

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
    import numpy as np

    floats = _floats(gaps)
    while True:
        drawn = uniform_array(len(gaps), BLOCK)
        accepted = np.flatnonzero(_flips(gaps, floats, drawn, scale))
        if len(accepted):
            return int(drawn[accepted[0]])


def _check(gaps: Sequence[int], scale: Fraction) -> None:
    """Refuses what is no choice."""
    if scale <= 0:
        raise ValueError("the scale of a choice must be positive")
    if not gaps or min(gaps) != 0:
        raise ValueError("the best candidate has a gap of zero")


def _is_small(gaps: Sequence[int], scale: Fraction) -> bool:
    """Whether candidates are flipped one by one: there are few, or floats cannot hold them."""
    few = len(gaps) < VECTORISE_FROM
    return few or max(gaps) >= MOST_GAP or not SCALES[0] <= scale <= SCALES[1]


def _flip(gap: int, scale: Fraction) -> bool:
    """True with probability exp(-gap/scale)."""
    return bernoulli_exp_ratio(gap * scale.denominator, scale.numerator)


def _floats(gaps: Sequence[int]) -> NDArray[np.float64]:
    """The gaps as floats, each correctly rounded."""
    import numpy as np

    return np.array(gaps, dtype=np.float64)


def _flips(
    gaps: Sequence[int],
    floats: NDArray[np.float64],
    places: NDArray[np.int64],
    scale: Fraction,
) -> NDArray[np.bool_]:
    """Independent coins for these places, true with probability exp(-gap/scale), exactly.

    The first 32 bits of a uniform U, read as the whole number u, place 2^32 U in
    [u, u + 1). Where that lies clear of the float estimate of 2^32 p by `MARGIN`,
    U < p is settled; elsewhere the same bits are continued and compared with
    certified digits of p. The exponent x is good to 3 roundings, so p errs by under
    3 x exp(-x) 2^-53 and numpy's exp by a few units in the last place: under 2^-49 in
    all, and `MARGIN` is 2^-40.
    """
    import numpy as np

    bits = np.frombuffer(random_bytes(4 * places.size), np.uint32).astype(np.float64)
    above = np.exp(floats[places] / -float(scale)) * 2.0**32 - bits
    heads: NDArray[np.bool_] = above >= 1 + MARGIN
    for i in np.flatnonzero(~heads & (above > -MARGIN)):
        threshold = Threshold.exponential(gaps[int(places[i])] / scale)
        heads[i] = threshold.exceeds(int(bits[i]), 32)
    return heads
