"""The one bisection: the point at which a monotone condition becomes true."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from dpcli.numeric.interval_arithmetic import round_up

Number = TypeVar("Number", int, float, Fraction)

SCALE_BITS = 30
"""Significant bits of a scale: rounding up adds less than 2^-29 of it."""

TOLERANCE = Fraction(1, 1 << 24)
"""Relative distance from the least scale at which the search stops."""


def _halfway(low: Any, high: Any) -> Any:
    return (low + high) // 2 if isinstance(low, int) else (low + high) / 2


def bisect(
    holds: Callable[[Number], bool],
    low: Number,
    high: Number,
    close: Callable[[Number, Number], bool] | None = None,
    middle: Callable[[Number, Number], Number] = _halfway,
) -> tuple[Number, Number]:
    """Both ends of a bracket, narrowed until `close` or without a number in between.

    If `holds` is true for a number, it is true for every greater one. It must be true for `high`
    and false for `low`. Each end of the result was tried itself, or was given, so that rounding in
    `middle` cannot lead to a wrong end.
    """
    while not (close and close(low, high)) and low < (tried := middle(low, high)) < high:
        low, high = (low, tried) if holds(tried) else (tried, high)
    return low, high


def search_min(
    holds: Callable[[Number], bool],
    low: Number,
    high: Number,
    close: Callable[[Number, Number], bool] | None = None,
    middle: Callable[[Number, Number], Number] = _halfway,
) -> Number:
    """The least number above `low` for which `holds` is true, approached from above.

    `high` is a first guess; it is doubled until `holds` is true. The rest is as for `bisect`.
    """
    while not holds(high):
        low, high = high, 2 * high
    return bisect(holds, low, high, close, middle)[1]


def search_max(
    holds: Callable[[Number], bool],
    low: Number,
    high: Number,
    close: Callable[[Number, Number], bool] | None = None,
    middle: Callable[[Number, Number], Number] = _halfway,
) -> Number:
    """The greatest number from `low` on for which `holds` is true, found from below.

    `high` is a first guess; it is doubled until `holds` is false. The rest is as for `bisect`.
    """
    while holds(high):
        low, high = high, 2 * high
    return bisect(lambda tried: not holds(tried), low, high, close, middle)[0]


def min_scale(too_little: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """A short rational scale, not too little, within `TOLERANCE` of the least one.

    If a scale is too little, so is every smaller one. The search starts at `start`. The result was
    tried itself.
    """
    first = round_up(start, SCALE_BITS)
    return search_min(
        lambda scale: not too_little(scale),
        first,
        first,
        lambda low, high: high <= low * (1 + TOLERANCE),
        lambda low, high: round_up((low + high) / 2, SCALE_BITS),
    )
