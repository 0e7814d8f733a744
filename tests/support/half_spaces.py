"""A lower limit of epsilon from draws of two coordinates, by the best half-space."""

from __future__ import annotations

from math import log

import numpy as np
from scipy.special import betaincinv

from dpcli.numeric.arrays import Floats


def lower_limit(successes: int, draws: int) -> float:
    """The Clopper-Pearson lower limit of a probability, at 1 - 1e-6."""
    return float(betaincinv(successes, draws - successes + 1, 1e-6)) if successes else 0.0


def upper_limit(successes: int, draws: int) -> float:
    """The Clopper-Pearson upper limit of a probability, at 1 - 1e-6."""
    return float(betaincinv(successes + 1, draws - successes, 1 - 1e-6))


def least_epsilon(one: Floats, other: Floats) -> float:
    """A lower limit of epsilon from draws about two neighbors, shape (draws, 2).

    Half of the draws choose the half-space that tells the files apart best; the other half
    counts the draws in it.
    """
    draws, answers = len(one), (one, other)
    half, best, chosen = draws // 2, -1.0, (np.zeros(2), 0.0)
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        direction = np.array([np.cos(angle), np.sin(angle)])
        sides = [answer[:half] @ direction for answer in answers]
        for limit in np.quantile(np.concatenate(sides), (0.5, 0.75, 0.9, 0.95)):
            inside = [int((side > limit).sum()) for side in sides]
            found = lower_limit(inside[0], half) / upper_limit(inside[1], half)
            if found > best:
                best, chosen = found, (direction, float(limit))
    direction, limit = chosen
    inside = [int((answer[half:] @ direction > limit).sum()) for answer in answers]
    ratio = lower_limit(inside[0], draws - half) / upper_limit(inside[1], draws - half)
    return log(ratio) if ratio > 0 else 0.0
