"""Grids of bounds: the public candidates for bounds, and their bins.

A grid depends on the spec alone: its kind, the step of the column, and the outermost bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

from dpcli.data.kinds import Axis
from dpcli.data.numeric import NumericColumn
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GridKind:
    """Candidates that repeat in every power of a base, such as 1, 2, 5 and then 10, 20, 50.

    `decay` is how much further a bin must rise above the noise, in scales, for each candidate
    that it lies beyond the last accepted one: three to four times the logarithm of `ratio`.
    """

    name: str
    summary: str
    base: int
    firsts: tuple[int, ...]
    decay: Fraction

    @property
    def ratio(self) -> float:
        """The ratio of two neighboring candidates, on average."""
        return float(self.base ** (1 / len(self.firsts)))


GRID_KINDS = (
    GridKind("1-2-5", "1, 2, 5, 10, 20, 50, and so on.", 10, (1, 2, 5), Fraction(31, 10)),
    GridKind("powers-of-2", "1, 2, 4, 8, and so on.", 2, (1,), Fraction(28, 10)),
    GridKind("powers-of-10", "1, 10, 100, and so on.", 10, (1,), Fraction(69, 10)),
)
"""Every kind of grid. Specs and reports call it a ladder."""


@dataclass(frozen=True)
class BoundsGrid:
    """The candidate bounds of a column, in its steps, within the `column`'s outermost bounds.

    Those above zero are for the upper bound, and those below zero for the lower one. A side without
    candidates keeps its outermost bound.

    >>> column = IntegerColumn("amount", bounds=(-10, 50))
    >>> grid = BoundsGrid(column, GRID_KINDS[0])
    >>> grid.above, grid.below
    ((1, 2, 5, 10, 20, 50), (-1, -2, -5, -10))
    >>> grid.axis.starts
    (-10, -5, -2, -1, 0, 2, 3, 6, 11, 21)
    """

    column: NumericColumn
    kind: GridKind

    @cached_property
    def above(self) -> tuple[int, ...]:
        """The candidates for the upper bound from zero outward; empty if it is not above zero."""
        low, high = self.column.limits
        return (*self._between(max(low, 0), high), high) if high > 0 else ()

    @cached_property
    def below(self) -> tuple[int, ...]:
        """The candidates for the lower bound from zero outward; empty if it is not below zero."""
        low, high = self.column.limits
        candidates = self._between(max(-high, 0), -low) if low < 0 else ()
        return (*(-candidate for candidate in candidates), low) if low < 0 else ()

    @cached_property
    def axis(self) -> Axis:
        """The bins: bin k holds the values between candidate k - 1 and candidate k of a side."""
        low = self.column.lower
        inner = (
            (max(low, 0), *(candidate + 1 for candidate in self.above[:-1])) if self.above else ()
        )
        return Axis(self.column, (*reversed(self.below), *inner))

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each bin, in steps."""
        starts = list(self.axis.starts)
        ends = [*(start - 1 for start in starts[1:]), self.column.upper]
        return list(zip(starts, ends, strict=True))

    def _between(self, low: int, high: int) -> tuple[int, ...]:
        """The positive candidates between two numbers of steps, both excluded."""
        return tuple(candidate for candidate in self._multiples(high) if low < candidate < high)

    def _multiples(self, farthest: int) -> Iterator[int]:
        """The candidates up to a number of steps that are whole numbers of steps."""
        step, power = self.column.step, Fraction(1)
        while power > step:
            power /= self.kind.base
        while power <= farthest * step:
            for first in self.kind.firsts:
                steps = first * power / step
                if steps.denominator == 1:
                    yield steps.numerator
            power *= self.kind.base
