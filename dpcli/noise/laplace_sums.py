"""How far a sum of continuous Laplace noises lies from zero.

Of known scales, the width is computed; of any scales with a known variance, it is bounded.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, log10, pi, prod, sin, sqrt

from dpcli.numeric.arrays import np
from dpcli.numeric.search import bisect, search_min

MIN_TAIL = 1e-5
"""The least tail probability that `laplace_sum_width` computes by a series."""

TERMS = 3000
"""Terms of the series for Laplace sums: its error is below a tenth of `MIN_TAIL`."""

WIDTH_PRECISION = 10**6
"""The search for a width stops at an error of the largest one over this number."""

POINTS = 300
"""Points at which functions of a variance are evaluated."""

MIN_LAST_POINT = 40.0
"""The last point is at least this; V exceeds it with probability exp(-40)."""

ACCURACY = 1e-4
"""The search for a quantile stops at this relative error, above the least one."""


@lru_cache(maxsize=256)
def laplace_sum_width(scales: tuple[float, ...], outside: float) -> float:
    """About the t with P[|sum| > t] = `outside`, for Laplace noises of these scales.

    The noises are independent and continuous; t has the unit of the scales.

    The characteristic function of the sum is the product of 1/(1 + b^2 u^2) over the scales b, and
    P[|sum| <= t] an integral of it (Gil-Pelaez 1951), here by the trapezoidal rule. The rule has a
    period so long that the tail beyond it is negligible. Tails below `MIN_TAIL` are extrapolated
    as exponential, so these widths are a little too large.
    """
    if outside < MIN_TAIL:
        near, far = (laplace_sum_width(scales, tail) for tail in (10 * MIN_TAIL, MIN_TAIL))
        return far + (far - near) * log10(MIN_TAIL / outside)
    # The density is log-concave, so P[|sum| > t] <= exp(1 - t/deviation).
    max_width = 16 * sqrt(2 * sum(scale**2 for scale in scales))
    step = 2 * pi / (2 * max_width + 60 * max(scales))
    factors = [
        1 / (term * prod(1 + (scale * term * step) ** 2 for scale in scales))
        for term in range(1, TERMS)
    ]

    def beyond(width: float) -> float:
        turn = width * step
        series = sum(factor * sin(turn * term) for term, factor in enumerate(factors, 1))
        return 1 - (turn + 2 * series) / pi

    precision = max_width / WIDTH_PRECISION
    return bisect(
        lambda width: beyond(width) <= outside,
        0.0,
        max_width,
        lambda low, high: high - low <= precision,
    )[1]


@lru_cache(maxsize=64)
def laplace_sum_quantile(outside: float) -> float:
    """A z with P[|sum| > z] <= `outside`, for each weighted sum of variance one.

    The sum is of independent Laplace and normal variables, whatever their number and weights. A
    Laplace variable has the distribution of sqrt(V) N for a normal N and an exponential V (Andrews
    and Mallows 1974), and a normal one that of N alone. So the sum has that of sqrt(W) N, where W
    is a weighted average of exponential variables of mean one and of ones. For a convex h, the mean
    of h(W) is at most that of h(V), by Jensen's inequality. P[|sqrt(w) N| > z] is not convex in w,
    but at most a convex h: itself up to some a below z^2/3, where it is convex, and from there the
    least line that is nowhere below it. The best a is used.

    It is 2.16 for 5%, where a single Laplace variable has 2.12 and a normal one 1.96.
    """
    return search_min(
        lambda z: _bound(z) <= outside, 0.0, 4.0, lambda low, high: high - low <= ACCURACY * high
    )


def _bound(z: float) -> float:
    """The least mean of h(V), as above, for P[|sqrt(W) N| > z]."""
    convex_up_to = z**2 / 3
    inner = np.linspace(0.0, convex_up_to, POINTS + 1)[1:]
    outer = np.geomspace(convex_up_to, max(MIN_LAST_POINT, 10 * convex_up_to), POINTS + 1)[1:]
    variances = np.concatenate([inner, outer])
    tails = np.array([erfc(z / (2 * variance) ** 0.5) for variance in variances.tolist()])
    # Where the tail is convex, trapezoids are above it; the error of the factor is far smaller.
    weighted = np.concatenate([[0.0], tails[:POINTS] * np.exp(-inner)])
    before = np.cumsum(weighted[1:] + weighted[:-1]) * inner[0] / 2
    rises = tails[None, :] - tails[:POINTS, None]
    runs = variances[None, :] - inner[:, None]
    slopes = np.max(rises / np.where(runs > 0, runs, np.inf), axis=1)
    return float(np.min(before + np.exp(-inner) * (tails[:POINTS] + slopes)))
