"""The search for the least noise that reveals no more than it may."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpcli.privacy.interval import round_up

SHORT = 30
"""Significant bits of a scale that is searched for: rounding costs less than 2^-29 of it."""

CLOSE = Fraction(1, 1 << 24)
"""Relative distance from the least scale at which the search stops."""


def least_scale(too_little: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """About the least scale that is not too little, a short rational; it was tried itself.

    What is too little at some scale is so at any less; it is near `start` or above.
    """
    low = high = round_up(start, SHORT)
    while too_little(high):
        low, high = high, 2 * high
    while high > low * (1 + CLOSE):
        middle = round_up((low + high) / 2, SHORT)
        if not low < middle < high:
            break
        if too_little(middle):
            low = middle
        else:
            high = middle
    return high
