"""How widely noise spreads, in a sum of two or more.

Widths and margins are post-processing of public parameters: floats serve, and bounds are rounded
outwards.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache, partial
from math import ceil, log, sqrt

from dpcli.noise.distribution import Noise, NoNoise, normal_quantile
from dpcli.numeric.search import search_least

FINE = 12
"""Blocks per scale into which one of two noises is cut: the bound is that coarse."""

DIGITS = 10**6
"""Margins are rounded up to this part of their size."""


def blended_half_width(noise: Noise, own: float, variance: float, confidence: Fraction) -> float:
    """z with P[|blend| <= z] about `confidence`, in steps.

    A blend of many independent noises has this `variance`; one of them stands out, a `noise`
    taken `own` times, and gives the blend its excess kurtosis (Cornish and Fisher 1938).
    """
    normal = normal_quantile(float(1 - confidence))
    excess = noise.fourth_cumulant(own) / variance**2
    return sqrt(variance) * (normal + excess * (normal**3 - 3 * normal) / 24)


def tail(noise: Noise, least: int) -> float:
    """P[X >= least] for noise X, `least` in steps."""
    if least <= 0:
        return 1.0 - tail(noise, 1 - least)
    return noise.tail(least)


@lru_cache(maxsize=256)
def one_sided_width(noise: Noise, outside: float) -> int:
    """The least k with P[X > k] <= `outside`, in steps."""
    if isinstance(noise, NoNoise):
        return 0
    return search_least(lambda width: tail(noise, width + 1) <= outside, -1, 1)


@lru_cache(maxsize=256)
def blended_margin(
    one: Noise, weight: Fraction, other: Noise, other_weight: Fraction, outside: float
) -> Fraction:
    """A t with P[weight X + other_weight Y > t] <= `outside`, nearly the least.

    X and Y are independent noises, symmetric around zero; weights are not negative. The
    probability is bounded by cutting X into blocks and taking the worst end of each.
    """
    if not weight or isinstance(one, NoNoise):
        return other_weight * one_sided_width(other, outside)
    if not other_weight or isinstance(other, NoNoise):
        return weight * one_sided_width(one, outside)
    blocks = _blocks(one, outside)
    first, second = float(weight), float(other_weight)
    # The last steps of the search ask for the same whole numbers again.
    far = cache(partial(tail, other))

    def beyond(t: float) -> float:
        """An upper bound of P[weight X + other_weight Y > t]."""
        return sum(
            chance * (far(ceil((t - first * end) / second)) if end is not None else 1.0)
            for end, chance in blocks
        )

    scale = first * float(one.scale) + second * float(other.scale)
    found = search_least(
        lambda t: beyond(t) <= outside, 0.0, scale, lambda low, high: high - low <= scale / DIGITS
    )
    return Fraction(found)


def _blocks(noise: Noise, outside: float) -> list[tuple[int | None, float]]:
    """Noise in blocks: the greatest value of each and its probability; None has no end."""
    scale = float(noise.scale)
    width = max(1, int(scale / FINE))
    reach = ceil(scale * (log(1 / outside) + 10))
    found: list[tuple[int | None, float]] = [(None, tail(noise, reach + 1))]
    start, before = reach + 1, found[0][1]
    while start > -reach:
        start -= width
        now = tail(noise, start)
        found.append((start + width - 1, now - before))
        before = now
    # What lies below all blocks is taken for the least of them.
    found.append((start - 1, 1.0 - before))
    return found
