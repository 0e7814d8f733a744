"""A kind of derived column for tests, in one file; `toy_registry` has its registry line."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import polars as pl

from dpcli.data.column import Names
from dpcli.data.derived.arithmetic import Arithmetic, Difference
from dpcli.data.derived.declared import Pair
from dpcli.fields.values import Fields
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Distance(Arithmetic):
    """How far two numbers are apart."""

    key = "distance"
    fields: ClassVar[Fields] = {"distance": Pair}

    @property
    def difference(self) -> Difference:
        """The first number minus the second."""
        return Difference(self.terms, self.step)

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """From zero, or from the gap between ranges that have no value in common."""
        low, high = self.difference.span
        return max(low, -high, Fraction(0)), max(high, -low)

    @property
    def magnitude(self) -> int:
        return self.difference.magnitude

    @property
    def text(self) -> str:
        """The difference between bars, as in mathematics."""
        return f"|{self.difference.text}|"

    def value(self, names: Names) -> pl.Expr:
        return self.difference.value(names).abs()
