"""The one bisection: where a monotone property begins to hold, up or down."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from dpcli.numeric.interval_arithmetic import round_up

Number = TypeVar("Number", int, float, Fraction)

SHORT = 30
"""Significant bits of a scale that is searched for: rounding costs less than 2^-29 of it."""

CLOSE = Fraction(1, 1 << 24)
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
    """Both ends of a bracket, narrowed until they are `close` or nothing lies between them.

    What `holds` at a number holds at every greater one; it must hold at `high` and not at
    `low`. Each end of the result has been tried itself, or was given, so rounding of the
    `middle` cannot lead to a wrong end.
    """
    while not (close and close(low, high)) and low < (tried := middle(low, high)) < high:
        low, high = (low, tried) if holds(tried) else (tried, high)
    return low, high


def search_least(
    holds: Callable[[Number], bool],
    low: Number,
    high: Number,
    close: Callable[[Number, Number], bool] | None = None,
    middle: Callable[[Number, Number], Number] = _halfway,
) -> Number:
    """The least number above `low` for which it `holds`, from above; `high` is a first guess."""
    while not holds(high):
        low, high = high, 2 * high
    return bisect(holds, low, high, close, middle)[1]


def search_greatest(
    holds: Callable[[Number], bool],
    low: Number,
    high: Number,
    close: Callable[[Number, Number], bool] | None = None,
    middle: Callable[[Number, Number], Number] = _halfway,
) -> Number:
    """The greatest number from `low` on for which it still `holds`, from below."""
    while holds(high):
        low, high = high, 2 * high
    return bisect(lambda tried: not holds(tried), low, high, close, middle)[0]


def least_scale(too_little: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """About the least scale that is not too little, a short rational; it was tried itself.

    What is too little at some scale is so at any less; it is near `start` or above.
    """
    first = round_up(start, SHORT)
    return search_least(
        lambda scale: not too_little(scale),
        first,
        first,
        lambda low, high: high <= low * (1 + CLOSE),
        lambda low, high: round_up((low + high) / 2, SHORT),
    )
