"""Exact draws of noise: discrete Laplace and discrete Gaussian."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dpcli.noise.bernoulli import (
    BLOCK,
    VECTORISE_FROM,
    Threshold,
    bernoulli_array,
    bernoulli_exp,
    exponential_coins,
    sign_array,
)
from dpcli.noise.entropy import random_bits, uniform_below
from dpcli.numeric.arrays import Bools, Ints, np

Draws = list[int] | Ints
"""Whole numbers: a list of few or of very large ones, else an array."""

LAPLACE_WIDEST = Fraction(1 << 50)
"""Greatest scale of the array path: beyond, draws might not fit 64 bits."""

RARE = 28
"""Scales that the binary digits cover: exp(-28) < 2^-40 is left to the tail."""

TAILS = 32
"""Tail events in a row that 64 bits hold; one more has probability under 2^-1280."""

GAUSSIAN_WIDEST = Fraction(1 << 49)
"""Greatest sigma of the array path: its Laplace proposals must fit 64 bits."""

GAUSSIAN_NARROWEST = Fraction(1, 1 << 64)
"""Least sigma of the array path: its square must not vanish as a float."""


def discrete_laplace(scale: Fraction, count: int, *, many: bool = False) -> Draws:
    """Independent draws with P[k] proportional to exp(-|k| / scale), exactly."""
    if scale <= 0:
        raise ValueError("the scale of noise must be positive")
    few = count < VECTORISE_FROM and not many
    if few or scale > LAPLACE_WIDEST:
        return [discrete_laplace_scalar(scale) for _ in range(count)]
    return discrete_laplace_array(scale, count)


def discrete_laplace_scalar(scale: Fraction) -> int:
    """One draw, in whole numbers only (Canonne, Kamath and Steinke 2020, algorithm 2)."""
    width, thinning = scale.numerator, scale.denominator
    while True:
        low = uniform_below(width)
        if not bernoulli_exp(low, width):
            continue
        high = 0
        while bernoulli_exp(1, 1):
            high += 1
        size = (low + width * high) // thinning
        negative = random_bits(1)
        # Zero has two signs; one is rejected, or it would count twice.
        if size or not negative:
            return -size if negative else size


def discrete_laplace_array(scale: Fraction, count: int) -> Ints:
    """Independent draws as an array, for scales up to `LAPLACE_WIDEST`.

    A geometric variable of ratio exp(-1/scale) with a fair sign, where a negative
    zero is rejected.
    """
    if not 0 < scale <= LAPLACE_WIDEST:
        raise ValueError("a scale outside the range of the array path")

    def block(many: int) -> Ints:
        size = _geometric_block(scale, many)
        negative = sign_array(size.size)
        kept = ~(negative & (size == 0))
        # -n = (n xor -1) + 1, without a branch for each draw.
        flip = negative.astype(np.int64)
        signed: Ints = ((size ^ -flip) + flip)[kept]
        return signed

    return _collected(count, block)


def _collected(count: int, block: Callable[[int], Ints]) -> Ints:
    """Draws that are left of blocks of proposals, until there are enough."""
    draws = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        kept = block(min(BLOCK, 2 * (count - filled) + 64))[: count - filled]
        draws[filled : filled + kept.size] = kept
        filled += kept.size
    return draws


@lru_cache(maxsize=16)
def _digit_thresholds(scale: Fraction) -> tuple[tuple[Threshold, ...], Threshold]:
    """The probability of each binary digit, and of the tail beyond them."""
    digits = 0
    while (1 << digits) < RARE * scale:
        digits += 1
    each = tuple(Threshold.logistic((1 << i) / scale) for i in range(digits))
    return each, Threshold.exponential((1 << digits) / scale)


def _geometric_block(scale: Fraction, count: int) -> Ints:
    """Independent draws with P[g] proportional to exp(-g / scale), g >= 0.

    exp(-g/scale) is a product over the binary digits of g, so below 2^m the digits
    are independent and digit i is one with probability 1/(1 + exp(2^i/scale)). And
    g >= 2^m has probability exp(-2^m/scale), after which g - 2^m is geometric again.
    """
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


def discrete_gaussian(sigma: Fraction, count: int, *, many: bool = False) -> Draws:
    """Independent draws with P[k] proportional to exp(-k^2 / (2 sigma^2)), exactly."""
    if sigma <= 0:
        raise ValueError("the scale of noise must be positive")
    few = count < VECTORISE_FROM and not many
    if few or not GAUSSIAN_NARROWEST <= sigma <= GAUSSIAN_WIDEST:
        return [discrete_gaussian_scalar(sigma) for _ in range(count)]
    return discrete_gaussian_array(sigma, count)


def discrete_gaussian_scalar(sigma: Fraction) -> int:
    """One draw, in whole numbers only (Canonne, Kamath and Steinke 2020, algorithm 3)."""
    scale = sigma.__floor__() + 1
    above, below = sigma.numerator**2, sigma.denominator**2
    while True:
        draw = discrete_laplace_scalar(Fraction(scale))
        # (|draw| - sigma^2/scale)^2 / (2 sigma^2), over one denominator.
        gap = abs(draw) * scale * below - above
        if bernoulli_exp(gap * gap, 2 * above * below * scale * scale):
            return draw


def discrete_gaussian_array(sigma: Fraction, count: int) -> Ints:
    """Independent draws as an array, for sigma from `GAUSSIAN_NARROWEST` to `GAUSSIAN_WIDEST`.

    Discrete Laplace proposals y of scale t = floor(sigma) + 1, each accepted with
    probability exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)) (Canonne, Kamath and Steinke
    2020, algorithm 3).
    """
    if not GAUSSIAN_NARROWEST <= sigma <= GAUSSIAN_WIDEST:
        raise ValueError("a sigma outside the range of the array path")
    scale = Fraction(sigma.__floor__() + 1)

    def block(many: int) -> Ints:
        proposed = discrete_laplace_array(scale, many)
        accepted: Ints = proposed[_accept(sigma, scale, proposed)]
        return accepted

    return _collected(count, block)


def _accept(sigma: Fraction, scale: Fraction, proposed: Ints) -> Bools:
    """Which proposals to keep, decided exactly by `exponential_coins`.

    `MARGIN` is 2^-40 of p. The estimate errs by far less: z = (|y| - s^2/t)/s
    comes from three correctly rounded numbers of size at most s (|z| + 2), so its
    error is under 2^-50 (|z| + 2), that of exp(-z^2/2) under
    2^-50 |z| (|z| + 3) exp(-z^2/2) < 2^-47, and numpy's exp is good to a few units
    in the last place, under 2^-49.
    """
    center = sigma * sigma / scale
    estimate = np.abs(proposed).astype(np.float64)
    estimate -= float(center)
    estimate *= float(1 / sigma)
    estimate *= estimate
    estimate *= -0.5
    np.exp(estimate, out=estimate)
    estimate *= 2.0**32
    return exponential_coins(
        estimate, lambda i: (abs(int(proposed[i])) - center) ** 2 / (2 * sigma * sigma)
    )
