"""How far noise strays to one side, alone and as a weighted sum of two noises.

Post-processing of public parameters: floats serve, and bounds are rounded outwards.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, log, sqrt

from dpcli.privacy.noise import Noise
from dpcli.privacy.search import least_up

FINE = 12
"""Blocks per scale into which one of two noises is cut: the bound is that coarse."""

SMALL = 50
"""Up to this scale the tail of the discrete Gaussian is added up, not approximated."""

DIGITS = 10**6
"""Margins are rounded up to this part of their size."""


def tail(noise: Noise, least: int) -> float:
    """P[X >= least] for noise X, `least` in steps.

    Laplace exactly, 1 / (1 + q) q^least for least >= 0. Gaussian by summation, or for large
    scales by the continuous tail with a continuity correction.
    """
    if least <= 0:
        return 1.0 - tail(noise, 1 - least)
    scale = float(noise.scale)
    match noise.kind:
        case "none":
            return 0.0
        case "laplace":
            return exp(-least / scale) / (1 + exp(-1 / scale))
        case "gaussian":
            if scale > SMALL:
                return erfc((least - 0.5) / (scale * sqrt(2))) / 2
            beyond = _gaussian_tails(scale)
            return beyond[least] if least < len(beyond) else 0.0
        case "choice":
            raise ValueError("a choice has no tail")


@lru_cache(maxsize=64)
def _gaussian_tails(sigma: float) -> tuple[float, ...]:
    """P[X >= k] of the discrete Gaussian for k = 0, 1, and so on."""
    reach = ceil(sigma * 38) + 2
    weights = [exp(-(k * k) / (2 * sigma * sigma)) for k in range(reach + 1)]
    total = weights[0] + 2 * sum(weights[1:])
    beyond, found = 0.0, []
    for weight in reversed(weights):
        beyond += weight / total
        found.append(beyond)
    return tuple(reversed(found))


@lru_cache(maxsize=256)
def one_sided_width(noise: Noise, outside: float) -> int:
    """The least k with P[X > k] <= `outside`, in steps."""
    if noise.kind == "none":
        return 0
    return least_up(lambda width: tail(noise, width + 1) <= outside, -1, 1)


@lru_cache(maxsize=256)
def blended_margin(
    one: Noise, weight: Fraction, other: Noise, other_weight: Fraction, outside: float
) -> Fraction:
    """A t with P[weight X + other_weight Y > t] <= `outside`, nearly the least.

    X and Y are independent noises, symmetric around zero; weights are not negative. The
    probability is bounded by cutting X into blocks and taking the worst end of each.
    """
    if not weight or one.kind == "none":
        return other_weight * one_sided_width(other, outside)
    if not other_weight or other.kind == "none":
        return weight * one_sided_width(one, outside)
    blocks = _blocks(one, outside)
    first, second = float(weight), float(other_weight)

    def beyond(t: float) -> float:
        """An upper bound of P[weight X + other_weight Y > t]."""
        return sum(
            chance * (tail(other, ceil((t - first * end) / second)) if end is not None else 1.0)
            for end, chance in blocks
        )

    scale = first * float(one.scale) + second * float(other.scale)
    found = least_up(
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
