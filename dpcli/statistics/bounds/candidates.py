"""Public ladders: the rungs among which bounds are chosen, and their bins.

A ladder depends on the spec alone: its kind, the step of the column, and the outermost bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

from dpcli.data.axis import Axis
from dpcli.data.numeric import NumericColumn
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LadderKind:
    """Rungs that repeat in every power of a base, such as 1, 2, 5 and then 10, 20, 50.

    `decay` is how much further a bin must rise above the noise, in scales, for each rung that it
    lies beyond the last accepted one: three to four times the logarithm of the ratio of two rungs.
    """

    name: str
    summary: str
    base: int
    firsts: tuple[int, ...]
    decay: Fraction

    @property
    def ratio(self) -> float:
        """The ratio of two neighboring rungs, on average."""
        return float(self.base ** (1 / len(self.firsts)))


LADDERS = (
    LadderKind("1-2-5", "1, 2, 5, 10, 20, 50, and so on.", 10, (1, 2, 5), Fraction(31, 10)),
    LadderKind("powers-of-2", "1, 2, 4, 8, and so on.", 2, (1,), Fraction(28, 10)),
    LadderKind("powers-of-10", "1, 10, 100, and so on.", 10, (1,), Fraction(69, 10)),
)
"""Every kind of ladder."""


@dataclass(frozen=True)
class Ladder:
    """The rungs of a column, in its steps, within the `column`'s outermost bounds.

    Rungs above zero are candidates for the upper bound, and rungs below zero for the lower one. A
    side without rungs keeps its outermost bound.

    >>> column = IntegerColumn("amount", bounds=(-10, 50))
    >>> ladder = Ladder(column, LADDERS[0])
    >>> ladder.above, ladder.below
    ((1, 2, 5, 10, 20, 50), (-1, -2, -5, -10))
    >>> ladder.axis.starts
    (-10, -5, -2, -1, 0, 2, 3, 6, 11, 21)
    """

    column: NumericColumn
    kind: LadderKind

    @cached_property
    def above(self) -> tuple[int, ...]:
        """The candidates for the upper bound from zero outward; empty if it is not above zero."""
        low, high = self.column.limits
        return (*self._between(max(low, 0), high), high) if high > 0 else ()

    @cached_property
    def below(self) -> tuple[int, ...]:
        """The candidates for the lower bound from zero outward; empty if it is not below zero."""
        low, high = self.column.limits
        rungs = self._between(max(-high, 0), -low) if low < 0 else ()
        return (*(-rung for rung in rungs), low) if low < 0 else ()

    @cached_property
    def axis(self) -> Axis:
        """The bins: a value lies in one, whose outer end is the least rung that contains it."""
        low = self.column.lower
        inner = (max(low, 0), *(rung + 1 for rung in self.above[:-1])) if self.above else ()
        return Axis(self.column, (*reversed(self.below), *inner))

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each bin, in steps."""
        starts = list(self.axis.starts)
        ends = [*(start - 1 for start in starts[1:]), self.column.upper]
        return list(zip(starts, ends, strict=True))

    def _between(self, low: int, high: int) -> tuple[int, ...]:
        """The positive rungs between two numbers of steps, both excluded."""
        return tuple(rung for rung in self._rungs(high) if low < rung < high)

    def _rungs(self, farthest: int) -> Iterator[int]:
        """The rungs up to a number of steps that are whole numbers of steps."""
        step, power = self.column.step, Fraction(1)
        while power > step:
            power /= self.kind.base
        while power <= farthest * step:
            for first in self.kind.firsts:
                steps = first * power / step
                if steps.denominator == 1:
                    yield steps.numerator
            power *= self.kind.base
