"""Proven deltas of Gaussian noise.

Everything is certified and rounded to the safe side: tails are sums or enclosures with directed
rounding, and every approximation has a bound on its remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from dpcli.numeric.interval_arithmetic import (
    PRECISION,
    Interval,
    erfc,
    exp,
    exp_down,
    pi,
    round_up,
    sqrt,
    sqrt_up,
)
from dpcli.problems.light_dataclasses import dataclass

LARGEST_SUMMED = 64**2
"""Greatest variance for which tails are sums; beyond, integrals enclose them."""

MAX_BITS = 4096
"""Most bits of a sum: probabilities below 2^-4000 are only bounded."""

LARGEST_EPSILON = 1 << 13
"""From this epsilon on, exp(epsilon) is too large to compute."""

DELTA_BITS = 48
"""Significant bits of a published delta."""


@lru_cache(maxsize=1024)
def cells_delta(sigma: Fraction, cells: int, change: int, epsilon: Fraction) -> Fraction:
    """Delta at `epsilon` when at most `cells` cells change, each by at most `change`.

    One cell (Canonne, Kamath and Steinke 2020, theorem 7), with D the change:

        P[Y > epsilon sigma^2/D - D/2] - exp(epsilon) P[Y > epsilon sigma^2/D + D/2].

    It is largest for the largest change. The noise is log-concave, so one family of threshold
    tests is optimal for every shift, and has more power for a longer shift. Shorter shifts are
    therefore post-processings of longer ones (Blackwell 1953), and so are products of them. Hence
    the worst case is that all m cells change by D. Then only the sum s of the noises matters: its
    probability is C(s mod m) exp(-s^2/(2 m sigma^2)), and a shift by m D keeps s mod m. So delta
    is at most max C/min C times the delta of one cell with variance m sigma^2 and change m D. By
    Poisson summation over the lattice of zero-sum vectors, max C/min C <= (1 + e)/(1 - e), where
    `_unevenness` bounds e.
    """
    delta = _line_delta(cells * sigma * sigma, cells * change, epsilon)
    uneven = _unevenness(sigma, cells)
    if uneven >= 1:
        return Fraction(1)
    return _shorten(delta * (1 + uneven) / (1 - uneven))


@dataclass(frozen=True, slots=True)
class ChangedCells:
    """An answer with noise of scale `sigma`; at most `cells` of its cells change.

    `l2_squared` bounds the sum of the squares of their changes.
    """

    sigma: Fraction
    cells: int
    l2_squared: int


def joint_delta(answers: Sequence[ChangedCells], epsilon: Fraction) -> Fraction:
    """Delta at `epsilon` when the cells of all answers change together.

    Continuous noise of variance t^2 has the delta of one answer with scale 1 whose change v has
    v^2 = sum L2^2/t^2 (Balle and Wang 2018, theorem 8). Discrete noise of variance t^2 + s^2
    reveals hardly more. Draw a whole number from the discrete Gaussian of variance s^2 around the
    continuous answer. Its probabilities are those of discrete noise of variance t^2 + s^2, times
    a constant, times a factor from 1/(1 + e) to 1/(1 - e). By Poisson summation, e is at most
    2x/(1 - x) with x = exp(-2 pi^2 s^2). Cells that do not change are noise alone. So with m
    changed cells and a = ((1 + e)/(1 - e))^m, delta is at most a times the continuous delta at
    epsilon - log a. This holds for every s; the best of a few is taken.
    """
    return min(_joint_delta(answers, epsilon, bits) for bits in (8, 16, 32))


def _joint_delta(answers: Sequence[ChangedCells], epsilon: Fraction, bits: int) -> Fraction:
    """The delta of `joint_delta` with a factor a of at most about 1 + 2^-`bits`."""
    cells = sum(answer.cells for answer in answers)
    rounding = rounding_variance(cells, bits)
    if any(answer.sigma**2 <= rounding for answer in answers):
        return Fraction(1)
    x = exp(pi() * pi() * (-2 * rounding)).high
    e = 2 * x / (1 - x)
    # log((1 + e)/(1 - e)) <= 2e/(1 - e), and exp(u) <= 1 + u + u^2 for u <= 1.
    log_factor = round_up(cells * 2 * e / (1 - e))
    squares = (answer.l2_squared / (answer.sigma**2 - rounding) for answer in answers)
    delta = _continuous_delta(sum(squares, start=Fraction(0)), epsilon - log_factor)
    return _shorten(max(delta, Fraction(0)) * (1 + log_factor + log_factor**2))


def rounding_variance(cells: int, bits: int) -> Fraction:
    """The variance s^2 of `joint_delta` at which log a is at most 2^(1 - `bits`)."""
    # 9/256 exceeds log(2)/(2 pi^2), so x is at most 2^-(bits + 2)/cells.
    return (bits + 2 + cells.bit_length()) * Fraction(9, 256)


@lru_cache(maxsize=1024)
def _continuous_delta(change_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Delta of continuous noise of scale 1 for a change with this square, rounded up."""
    # A greater change has a greater delta.
    change = sqrt_up(change_squared)
    near, far = (
        erfc(Interval.of(epsilon / change + side * change / 2) / sqrt(Interval.of(Fraction(2))))
        for side in (-1, 1)
    )
    exp_epsilon = exp_down(epsilon) if epsilon < LARGEST_EPSILON else Fraction(0)
    return (near.high - exp_epsilon * max(far.low, Fraction(0))) / 2


def tail_bound(sigma: Fraction, value: int) -> Fraction:
    """P[Y >= value] of discrete Gaussian noise Y for `value` above zero, rounded up."""
    variance = sigma * sigma
    if variance > LARGEST_SUMMED:
        total = sqrt(pi() * (2 * variance)).low
        return _shorten(_wide_tail(variance, value).high / total)
    near, _, total = _narrow_tails(variance, value, value, Fraction(0))
    return _shorten(near.high / total)


def _shorten(delta: Fraction) -> Fraction:
    return min(round_up(delta, DELTA_BITS), Fraction(1))


def _unevenness(sigma: Fraction, cells: int) -> Fraction:
    """Sum of exp(-2 pi^2 sigma^2 |w|^2) over nonzero dual lattice points, rounded up.

    The dual of the zero-sum lattice is the projection of Z^m along (1, ..., 1). Each point w is the
    projection of one z with last coordinate zero, and |w|^2 = |z|^2 - (sum z)^2/m is at least
    |z|^2/m. So the sum is at most theta^(m-1) - 1 with theta = 1 + 2 (x + x^4 +
    x^9 + ...) <= 1 + 2x/(1 - x), x = exp(-2 pi^2 sigma^2/m).
    """
    if cells == 1:
        return Fraction(0)
    # At least 2^-192: larger denominators would only cost time.
    x = max(exp(pi() * pi() * (-2 * sigma * sigma / cells)).high, Fraction(1, 1 << PRECISION))
    power = (cells - 1) * 2 * x / (1 - x) if x < 1 else Fraction(1)
    # exp(u) - 1 <= u + u^2 for u <= 1.
    return power + power * power if power < 1 else Fraction(1)


def _line_delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """Delta of one cell that changes by `shift`, rounded up; it may exceed one.

    The formula is that of theorem 7 of Canonne, Kamath and Steinke 2020.
    """
    threshold = epsilon * variance / shift - Fraction(shift, 2)
    first = floor(threshold) + 1
    if variance > LARGEST_SUMMED:
        near, far = _wide_tail(variance, first), _wide_tail(variance, first + shift)
        # The sum over all whole numbers is at least the integral (Poisson summation).
        total = sqrt(pi() * (2 * variance)).low
    else:
        near, far, total = _narrow_tails(variance, first, first + shift, epsilon)
    # Rounded down; zero is a valid lower bound where it is too large to compute.
    exp_epsilon = exp_down(epsilon) if epsilon < LARGEST_EPSILON else Fraction(0)
    return (near.high - exp_epsilon * max(far.low, Fraction(0))) / total


def _wide_tail(variance: Fraction, first: int) -> Interval:
    """Sum of f(y) = exp(-y^2/(2 variance)) over y >= `first`, by Euler-Maclaurin.

    With x = first - 1/2, the sum is the integral of f beyond x, plus f'(x)/24. The remainder is at
    most sqrt(3)/216 < 1/124 times the integral of |f'''| beyond x. The integral of |f'''| is f''(x)
    if x >= sqrt(3 variance), because f'' decreases from there on. It never exceeds the total
    variation of f'', which is 3.79/variance.
    """
    x = first - Fraction(1, 2)
    square = x * x / variance
    density = exp(Interval.of(-square / 2))
    scaled = Interval.of(x) / sqrt(Interval.of(2 * variance))
    integral = sqrt(pi() * (variance / 2)) * erfc(scaled)
    varies = density.high * (square - 1) if x > 0 and square >= 3 else Fraction(4)
    remainder = varies / variance / 124
    return integral - density * (x / variance / 24) + Interval(-remainder, remainder)


def _narrow_tails(
    variance: Fraction, first: int, second: int, epsilon: Fraction
) -> tuple[Interval, Interval, Fraction]:
    """Sums of f over y >= `first`, over y >= `second`, and over all y (rounded down).

    For f(y) = exp(-y^2/(2 variance)), f(y + 1) = f(y) r(y) and r(y + 1) = r(y) exp(-1/variance), in
    fixed point: once with every step rounded down, and once with every step rounded up.
    """
    depth = max(first, 0) ** 2 / (2 * variance) + epsilon
    scale = min(MAX_BITS, 128 + ceil(depth * 3 / 2))
    one = 1 << scale

    def weights(up: int) -> list[int]:
        """f at 0, 1 and so on, rounded down or up; the last number sums all the rest."""
        powers = (exp(Interval.of(-1 / (part * variance), scale)) for part in (2, 1))
        ratio, step = (ceil(one * x.high) if up else floor(one * x.low) for x in powers)
        weight, terms = one, []
        while weight > 4:
            terms.append(weight)
            weight = (weight * ratio >> scale) + up
            ratio = (ratio * step >> scale) + up
        # The ratios decrease, so the rest is less than a geometric series.
        return [*terms, up * ((weight << scale) // (one - ratio) + 1)]

    lows, highs = weights(0), weights(1)
    near, far = (
        Interval(Fraction(_sum_from(lows, start), one), Fraction(_sum_from(highs, start), one))
        for start in (first, second)
    )
    return near, far, Fraction(2 * sum(lows) - lows[0], one)


def _sum_from(weights: list[int], start: int) -> int:
    """The sum over y >= `start` of symmetric weights, of which y >= 0 are given.

    The last weight is the sum of all later ones, and counts for every `start` beyond the list.
    """
    if start > 0:
        return sum(weights[min(start, len(weights) - 1) :])
    return sum(weights) + sum(weights[1 : 1 - start])
