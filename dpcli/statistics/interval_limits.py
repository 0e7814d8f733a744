"""Limits of what is possible, and intervals that are cut to them.

Limits come from the spec alone, such as the bounds of a mean. Noisy numbers are never among them:
an interval that was cut by another noisy number would hold less often.
"""

from __future__ import annotations

from fractions import Fraction

from dpcli.numeric.arrays import Array, add_exact, clip_exact, np

Limits = tuple[Fraction | None, Fraction | None]
"""The least and the greatest value that a number can have; None if there is no limit."""

ANY: Limits = (None, None)

NONNEGATIVE: Limits = (Fraction(0), None)

Steps = tuple[int | None, int | None]
"""Limits in whole steps."""


def intersection(ends: Limits, more: Limits) -> Limits:
    """The limits that hold if both do; the second ones where they exclude each other."""
    low, high = (
        end if other is None else other if end is None else stricter(end, other)
        for end, other, stricter in zip(ends, more, (max, min), strict=True)
    )
    return more if low is not None and high is not None and low > high else (low, high)


def cut_intervals(lower: Array, upper: Array, limits: Steps, unit: int) -> tuple[Array, Array]:
    """The ends of intervals, cut to what is possible; all are whole numbers of steps.

    If less than a `unit`, the last printed digit, is left of an interval that was wider, it begins
    at the nearest possible number and has half of its width, again within the limits.

    Cutting does not change which possible numbers an interval has. What is added where nothing
    is left can only raise the coverage. If Laplace noise led beyond a limit, and all possible
    numbers were equally likely before, that interval has the stated confidence by the rule of
    Bayes: the distance from the limit then has the distribution of the absolute noise.

    >>> cut_intervals(np.array([-9, -90]), np.array([5, -10]), (0, None), 1)
    (array([0, 0]), array([ 5, 40]))
    """
    low, high = limits
    left, right = clip_exact(lower, low, high), clip_exact(upper, low, high)
    is_lost = (right - left < unit) & (upper - lower >= unit)
    if not is_lost.any():
        return left, right
    half = (upper - lower + 1) // 2
    nearest = left if low is None else np.where(right < low + unit, low, left)
    below, above = (clip_exact(add_exact(nearest, reach), low, high) for reach in (-half, half))
    return np.where(is_lost, below, left), np.where(is_lost, above, right)
