"""Widths of sums of two or more noises, for confidence intervals.

Widths and margins are post-processing of public parameters, so floats are precise enough. Bounds
are rounded outwards.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, log, sqrt

from dpcli.noise.distribution import Noise, NoNoise, normal_quantile
from dpcli.numeric.search import search_least

BLOCKS_PER_SCALE = 12
"""Blocks per scale into which one of two noises is cut: more give a tighter bound."""

MARGIN_PRECISION = 10**6
"""The search for a margin stops within one part in this number of the scale."""


def blended_half_width(noise: Noise, own: float, variance: float, confidence: Fraction) -> float:
    """About the z for which P[|blend| <= z] is `confidence`, in steps.

    The blend is a weighted sum of many independent noises with this `variance`. One of them, a
    `noise` with weight `own`, dominates its excess kurtosis (Cornish and Fisher 1938).
    """
    normal = normal_quantile(float(1 - confidence))
    excess = noise.fourth_cumulant(own) / variance**2
    return sqrt(variance) * (normal + excess * (normal**3 - 3 * normal) / 24)


@lru_cache(maxsize=256)
def one_sided_width(noise: Noise, outside: float) -> int:
    """The least k with P[X > k] <= `outside`, in steps."""
    if isinstance(noise, NoNoise):
        return 0
    return search_least(lambda width: noise.approximate_tail(width + 1) <= outside, -1, 1)


@lru_cache(maxsize=256)
def blended_margin(
    one: Noise, weight: Fraction, other: Noise, other_weight: Fraction, outside: float
) -> Fraction:
    """Nearly the least t with P[weight X + other_weight Y > t] <= `outside`.

    X and Y are independent noises, symmetric around zero. Weights are not negative. The
    probability is bounded by cutting X into blocks and taking the worst end of each.
    """
    if not weight or isinstance(one, NoNoise):
        return other_weight * one_sided_width(other, outside)
    if not other_weight or isinstance(other, NoNoise):
        return weight * one_sided_width(one, outside)
    blocks = _blocks(one, outside)
    first, second = float(weight), float(other_weight)
    # The last steps of the search need the tail at the same whole numbers again.
    far = cache(other.approximate_tail)

    def beyond(t: float) -> float:
        """An upper bound of P[weight X + other_weight Y > t]."""
        return sum(
            chance * (far(ceil((t - first * end) / second)) if end is not None else 1.0)
            for end, chance in blocks
        )

    scale = first * float(one.scale) + second * float(other.scale)
    margin = search_least(
        lambda t: beyond(t) <= outside,
        0.0,
        scale,
        lambda low, high: high - low <= scale / MARGIN_PRECISION,
    )
    return Fraction(margin)


def _blocks(noise: Noise, outside: float) -> list[tuple[int | None, float]]:
    """The greatest value of each block and its probability; None for the block without an end."""
    scale = float(noise.scale)
    width = max(1, int(scale / BLOCKS_PER_SCALE))
    reach = ceil(scale * (log(1 / outside) + 10))
    blocks: list[tuple[int | None, float]] = [(None, noise.approximate_tail(reach + 1))]
    start, before = reach + 1, blocks[0][1]
    while start > -reach:
        start -= width
        now = noise.approximate_tail(start)
        blocks.append((start + width - 1, now - before))
        before = now
    # Values below all blocks are counted at the end of the lowest block.
    blocks.append((start - 1, 1.0 - before))
    return blocks
