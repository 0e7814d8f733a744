"""Exact draws of the discrete Laplace distribution: P[k] ~ exp(-|k| / scale)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dpcli.sampling.bernoulli import (
    BLOCK,
    VECTORISE_FROM,
    Threshold,
    bernoulli_array,
    bernoulli_exp_ratio,
    sign_array,
)
from dpcli.sampling.entropy import random_bits, uniform_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDEST = Fraction(1 << 50)
"""Greatest scale of the array path: beyond, draws might not fit 64 bits."""

RARE = 28
"""Scales that the binary digits cover: exp(-28) < 2^-40 is left to the tail."""

TAILS = 32
"""Tail events in a row that 64 bits hold; one more has probability under 2^-1280."""


def discrete_laplace(scale: Fraction, count: int) -> list[int]:
    """Independent draws with P[k] proportional to exp(-|k| / scale), exactly."""
    if scale <= 0:
        raise ValueError("the scale of noise must be positive")
    if count < VECTORISE_FROM or scale > WIDEST:
        return [discrete_laplace_scalar(scale) for _ in range(count)]
    draws: list[int] = discrete_laplace_array(scale, count).tolist()
    return draws


def discrete_laplace_scalar(scale: Fraction) -> int:
    """One draw, in whole numbers only (Canonne, Kamath and Steinke 2020, algorithm 2)."""
    width, thinning = scale.numerator, scale.denominator
    while True:
        low = uniform_below(width)
        if not bernoulli_exp_ratio(low, width):
            continue
        high = 0
        while bernoulli_exp_ratio(1, 1):
            high += 1
        size = (low + width * high) // thinning
        negative = random_bits(1)
        # Zero has two signs; one is rejected, or it would count twice.
        if size or not negative:
            return -size if negative else size


def discrete_laplace_array(scale: Fraction, count: int) -> NDArray[np.int64]:
    """Independent draws as an array, for scales up to `WIDEST`.

    A geometric variable of ratio exp(-1/scale) with a fair sign, where a negative
    zero is rejected.
    """
    import numpy as np

    if not 0 < scale <= WIDEST:
        raise ValueError("a scale outside the range of the array path")
    draws = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        size = _geometric_block(scale, min(BLOCK, 2 * (count - filled) + 64))
        negative = sign_array(size.size)
        kept = ~(negative & (size == 0))
        # -n = (n xor -1) + 1, without a branch for each draw.
        flip = negative.astype(np.int64)
        size = ((size ^ -flip) + flip)[kept][: count - filled]
        draws[filled : filled + size.size] = size
        filled += size.size
    return draws


@lru_cache(maxsize=16)
def _digit_thresholds(scale: Fraction) -> tuple[tuple[Threshold, ...], Threshold]:
    """The probability of each binary digit, and of the tail beyond them."""
    digits = 0
    while (1 << digits) < RARE * scale:
        digits += 1
    each = tuple(Threshold.logistic((1 << i) / scale) for i in range(digits))
    return each, Threshold.exponential((1 << digits) / scale)


def _geometric_block(scale: Fraction, count: int) -> NDArray[np.int64]:
    """Independent draws with P[g] proportional to exp(-g / scale), g >= 0.

    exp(-g/scale) is a product over the binary digits of g, so below 2^m the digits
    are independent and digit i is one with probability 1/(1 + exp(2^i/scale)). And
    g >= 2^m has probability exp(-2^m/scale), after which g - 2^m is geometric again.
    """
    import numpy as np

    each, beyond = _digit_thresholds(scale)
    # Digits are gathered in bytes: a byte is cheaper to shift than a word.
    planes = np.zeros((8, count), np.uint8)
    for i, threshold in enumerate(each):
        digit = bernoulli_array(threshold, count).view(np.uint8)
        planes[i // 8] |= digit << np.uint8(i % 8)
    words = np.zeros(count, np.int64)
    for plane in range((len(each) + 7) // 8):
        words |= planes[plane].astype(np.int64) << np.int64(8 * plane)
    tails = np.flatnonzero(bernoulli_array(beyond, count))
    rounds = 0
    while tails.size:
        rounds += 1
        if rounds > TAILS:
            raise OverflowError("a draw does not fit 64 bits")
        # The digits were drawn independently, and serve as those of the remainder.
        words[tails] += 1 << len(each)
        tails = tails[bernoulli_array(beyond, tails.size)]
    return words
