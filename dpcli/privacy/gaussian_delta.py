"""Proven deltas of discrete Gaussian noise, rounded up; mechanisms call these.

Everything is certified: tails are summed or enclosed with directed rounding, and
no approximation enters without its remainder.
"""

from __future__ import annotations

from fractions import Fraction
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
)

SUMMED = 64**2
"""Variances up to this are summed term by term, larger ones enclosed by integrals."""

FINEST = 4096
"""Most bits of a sum: smaller probabilities than 2^-4000 are only bounded."""

HOPELESS = 1 << 13
"""An epsilon from which on exp(epsilon) is not worth writing down."""

SHORT = 48
"""Significant bits of a published delta."""


def cells_delta(sigma: Fraction, cells: int, change: int, epsilon: Fraction) -> Fraction:
    """Delta at `epsilon` when at most `cells` cells change, each by at most `change`.

    One cell (Canonne, Kamath and Steinke 2020, theorem 7), with D the change:

        P[Y > epsilon sigma^2/D - D/2] - exp(epsilon) P[Y > epsilon sigma^2/D + D/2].

    It is largest at the largest change: the noise is log-concave, so one family of
    threshold tests is optimal for every shift, with more power the longer the
    shift; shorter shifts are therefore post-processings of longer ones (Blackwell
    1953), and so are products of them. Hence the worst is that all m cells change
    by D. Then only the sum s of the noises matters: its probability is
    C(s mod m) exp(-s^2/(2 m sigma^2)), and a shift by m D keeps s mod m. So delta is
    at most max C/min C times the delta of one cell with variance m sigma^2 and
    change m D; by Poisson summation over the lattice of zero-sum vectors,
    max C/min C <= (1 + e)/(1 - e), where `_unevenness` bounds e.
    """
    delta = _line_delta(cells * sigma * sigma, cells * change, epsilon)
    uneven = _unevenness(sigma, cells)
    if uneven >= 1:
        return Fraction(1)
    return _shorten(delta * (1 + uneven) / (1 - uneven))


def tail_bound(sigma: Fraction, least: int) -> Fraction:
    """P[Y >= least] of discrete Gaussian noise Y for `least` above zero, rounded up."""
    variance = sigma * sigma
    if variance > SUMMED:
        total = sqrt(pi() * (2 * variance)).low
        return _shorten(_wide_tail(variance, least).high / total)
    near, _, total = _narrow_tails(variance, least, least, Fraction(0))
    return _shorten(near.high / total)


def _shorten(delta: Fraction) -> Fraction:
    return min(round_up(delta, SHORT), Fraction(1))


def _unevenness(sigma: Fraction, cells: int) -> Fraction:
    """Sum of exp(-2 pi^2 sigma^2 |w|^2) over the dual lattice without zero, rounded up.

    The dual of the zero-sum lattice is the projection of Z^m along (1, ..., 1). Each
    point has one z with last coordinate zero, and |w|^2 = |z|^2 - (sum z)^2/m is at
    least |z|^2/m. So the sum is at most theta^(m-1) - 1 with theta = 1 + 2 (x + x^4 +
    x^9 + ...) <= 1 + 2x/(1 - x), x = exp(-2 pi^2 sigma^2/m).
    """
    if cells == 1:
        return Fraction(0)
    # Not less than 2^-192: immense denominators would only cost time.
    x = max(exp(pi() * pi() * (-2 * sigma * sigma / cells)).high, Fraction(1, 1 << PRECISION))
    power = (cells - 1) * 2 * x / (1 - x) if x < 1 else Fraction(1)
    # exp(u) - 1 <= u + u^2 for u <= 1.
    return power + power * power if power < 1 else Fraction(1)


def _line_delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """Theorem 7 of Canonne, Kamath and Steinke 2020, rounded up; may exceed one."""
    threshold = epsilon * variance / shift - Fraction(shift, 2)
    first = floor(threshold) + 1
    if variance > SUMMED:
        near, far = _wide_tail(variance, first), _wide_tail(variance, first + shift)
        # The sum over all whole numbers is at least the integral (Poisson summation).
        total = sqrt(pi() * (2 * variance)).low
    else:
        near, far, total = _narrow_tails(variance, first, first + shift, epsilon)
    # Rounded down; zero where it is too large to write.
    rising = exp_down(epsilon) if epsilon < HOPELESS else Fraction(0)
    return (near.high - rising * max(far.low, Fraction(0))) / total


def _wide_tail(variance: Fraction, first: int) -> Interval:
    """Sum of f(y) = exp(-y^2/(2 variance)) over y >= `first`, by Euler and Maclaurin.

    With x = first - 1/2: the integral of f beyond x, plus f'(x)/24, with a remainder
    of at most sqrt(3)/216 < 1/124 times the integral of |f'''| beyond x. That
    integral is f''(x) where x >= sqrt(3 variance), since f'' falls from there on, and
    never more than the total variation of f'', 3.79/variance.
    """
    x = first - Fraction(1, 2)
    square = x * x / variance
    density = exp(Interval.of(-square / 2))
    scaled = Interval.of(x) / sqrt(Interval.of(2 * variance))
    integral = sqrt(pi() * (variance / 2)) * erfc(scaled)
    varies = density.high * (square - 1) if x > 0 and square >= 3 else Fraction(4)
    rest = varies / variance / 124
    return integral - density * (x / variance / 24) + Interval(-rest, rest)


def _narrow_tails(
    variance: Fraction, first: int, second: int, epsilon: Fraction
) -> tuple[Interval, Interval, Fraction]:
    """The sums of f from two places on, and the sum of all of f rounded down.

    f(y + 1) = f(y) r(y) and r(y + 1) = r(y) exp(-1/variance), in fixed point, once
    with every step rounded down and once with every step rounded up.
    """
    depth = max(first, 0) ** 2 / (2 * variance) + epsilon
    scale = min(FINEST, 128 + ceil(depth * 3 / 2))
    one = 1 << scale

    def weights(up: int) -> list[int]:
        """f at zero, one and so on, rounded down or up; the last stands for all beyond."""
        powers = (exp(Interval.of(-1 / (part * variance), scale)) for part in (2, 1))
        ratio, step = (ceil(one * x.high) if up else floor(one * x.low) for x in powers)
        weight, found = one, []
        while weight > 4:
            found.append(weight)
            weight = (weight * ratio >> scale) + up
            ratio = (ratio * step >> scale) + up
        # The ratios fall, so the rest is less than a geometric series.
        return [*found, up * ((weight << scale) // (one - ratio) + 1)]

    lows, highs = weights(0), weights(1)
    near, far = (
        Interval(Fraction(_sum_from(lows, start), one), Fraction(_sum_from(highs, start), one))
        for start in (first, second)
    )
    return near, far, Fraction(2 * sum(lows) - lows[0], one)


def _sum_from(weights: list[int], start: int) -> int:
    """Sum over y >= `start` of weights known for y >= 0 and even in y.

    The last weight stands for all beyond, wherever the sum starts among those.
    """
    if start > 0:
        return sum(weights[min(start, len(weights) - 1) :])
    return sum(weights) + sum(weights[1 : 1 - start])
