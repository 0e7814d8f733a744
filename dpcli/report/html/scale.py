"""From numbers to places on a chart: a range with round ends and few ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

from dpcli.report.numbers import exact_or_up

STEPS = (1, 2, 5, 10)
"""Multiples of a power of ten that people count in."""

MARKS = "kMGTPE"
"""Thousand, million and so on."""

WIDEST = 8
"""Characters of a number on an axis, unless it is enormous."""

FINE = 4
"""Into how many parts a step is cut to find the ends of a range."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of numbers, and the step between the round ones within it."""

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def over(cls, numbers: Iterable[Fraction], *, zero: bool, ticks: int = 4) -> Scale:
        """A range that holds all these numbers, and zero if it should."""
        held = [*numbers, *([Fraction(0)] if zero else [])] or [Fraction(0)]
        low, high = min(held), max(held)
        if low == high:
            low, high = low - abs(low) / 2 - 1, high + abs(high) / 2 + 1
            low = max(low, Fraction(0)) if zero and min(held) >= 0 else low
        step = _round_step((high - low) / ticks)
        fine = step / FINE
        return cls(floor(low / fine) * fine, ceil(high / fine) * fine, step)

    def place(self, number: Fraction) -> float:
        """Where a number lies, from 0 at the low end to 1 at the high one."""
        return float((number - self.low) / (self.high - self.low))

    @property
    def ticks(self) -> tuple[Fraction, ...]:
        """The round numbers, from low to high."""
        first, last = ceil(self.low / self.step), floor(self.high / self.step)
        return tuple(place * self.step for place in range(first, last + 1))


def _round_step(least: Fraction) -> Fraction:
    """The least step of 1, 2 or 5 times a power of ten that is not below `least`."""
    power = Fraction(10) ** floor(log10(least))
    return next((multiple * power for multiple in STEPS if multiple * power >= least), 10 * power)


def tick_text(number: Fraction) -> str:
    """A round number in few characters: a thousand is 1k, a million 1M, and so on."""
    size = abs(number)
    if size >= 10**4:
        place = min(len(str(int(size))) - 1, 3 * len(MARKS) + 2) // 3
        short = exact_or_up(number / 10 ** (3 * place)) + MARKS[place - 1]
        if len(short) <= WIDEST:
            return short.replace("-", "\u2212")
        power = len(str(int(size))) - 1
        return f"{exact_or_up(number / 10**power)}\u00b710^{power}".replace("-", "\u2212")
    return exact_or_up(number).replace("-", "\u2212")
