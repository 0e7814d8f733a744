"""Whether errors that were seen could come from the noise that a plan promises.

Noise is independent from cell to cell, so how often it exceeds something is a sum of coins
whose chance the plan tells. A verdict is only spoken where chance alone would lead to it in
less than one of a thousand million judgements, so nobody is alarmed for nothing.
"""

from __future__ import annotations

from enum import Enum
from math import inf, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

MISTAKEN = log(1e-9 / 4)
"""Logarithm of the chance of a mistake; a question is judged in up to four ways."""


class Verdict(Enum):
    """What was seen, compared with what the plan says."""

    KEPT = "as predicted"
    LARGER = "larger than predicted"
    SMALLER = "smaller than predicted"


def unlikely(seen: int, trials: int, chance: Fraction) -> tuple[bool, bool]:
    """Whether so many, or more, and so many, or fewer, are not what this chance gives.

    P[X >= x] <= exp(-n KL(x/n || p)) for x >= n p, and P[X <= x] likewise below (Chernoff
    1952); so both hold as well where the true chance is below, or above, the one given.
    """
    if not trials:
        return False, False
    share, expected = seen / trials, float(chance)
    surprising = -trials * _divergence(share, expected) < MISTAKEN
    return surprising and share > expected, surprising and share < expected


def _divergence(share: float, expected: float) -> float:
    """How far two coins are apart, in nats (Kullback and Leibler 1951)."""
    total = 0.0
    for one, other in ((share, expected), (1 - share, 1 - expected)):
        if one > 0:
            total += one * log(one / other) if other > 0 else inf
    return total
