"""The questions, as data: what each row adds to which cell.

A query says nothing of how it is computed. The engine executes it, the plan
prints it, and a few lines of plain Python in the tests recompute it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import prod

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.privacy.sensitivity import Influence


@dataclass(frozen=True, slots=True)
class Key:
    """One axis of a table: the labels of a category, or the bins of a number.

    `edges`, in steps, cut a numeric column into half-open bins [e0, e1), [e1, e2)
    and so on; the last one includes its upper edge. First and last edge are the
    column's bounds, so every value that is present lies in exactly one bin.
    """

    column: CategoryColumn | NumericColumn
    edges: tuple[int, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The published names along this axis, in order."""
        if isinstance(self.column, CategoryColumn):
            return self.column.labels
        texts = [self.column.text(edge) for edge in self.edges]
        last = len(texts) - 2
        return tuple(
            f"[{low},{high}{']' if position == last else ')'}"
            for position, (low, high) in enumerate(pairwise(texts))
        )

    def __len__(self) -> int:
        """How many cells lie along this axis."""
        if isinstance(self.column, CategoryColumn):
            return len(self.column.labels)
        return len(self.edges) - 1


@dataclass(frozen=True, slots=True)
class Condition:
    """A row passes when its value lies in one of the inclusive whole ranges."""

    column: CategoryColumn | NumericColumn
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """A numeric column minus a public whole number of steps."""

    column: NumericColumn
    offset: int = 0

    @property
    def limits(self) -> tuple[int, int]:
        """The least and greatest value of the factor, in steps."""
        low, high = self.column.limits
        return low - self.offset, high - self.offset


@dataclass(frozen=True)
class LinearQuery:
    """For each cell, the sum over its rows of a product of factors.

    No factor means that every row adds one. A row is skipped when it fails a
    condition, when a column it needs is missing, or when it lies in no cell.
    `present` names columns that must not be missing beyond those in use.
    """

    factors: tuple[Factor, ...] = ()
    by: tuple[Key, ...] = ()
    where: tuple[Condition, ...] = ()
    present: tuple[Column, ...] = ()

    @cached_property
    def cells(self) -> int:
        """How many numbers the query asks for."""
        return prod(len(key) for key in self.by)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads, each once."""
        used: list[Column] = [key.column for key in self.by]
        used += [condition.column for condition in self.where]
        used += [factor.column for factor in self.factors]
        used += self.present
        return tuple(dict.fromkeys(used))

    @cached_property
    def may_skip(self) -> bool:
        """Whether some row could add nothing anywhere."""
        return bool(self.where) or any(column.missing is None for column in self.columns)

    @cached_property
    def influence(self) -> Influence:
        """The least and the most that one row can add to one cell.

        Interval arithmetic over the declared bounds, widened to include zero for
        rows that may be skipped.
        """
        low, high = 1, 1
        for factor in self.factors:
            corners = [a * b for a in (low, high) for b in factor.limits]
            low, high = min(corners), max(corners)
        if self.may_skip:
            low, high = min(low, 0), max(high, 0)
        return Influence(low, high)

    def keys(self) -> Iterator[tuple[str, ...]]:
        """The labels of every cell, the last axis fastest."""
        return product(*(key.labels for key in self.by))
