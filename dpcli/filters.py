"""Filters: which rows count, as a small tree of tests on decoded cells.

A test of a missing cell is neither true nor false but unknown, except `IsMissing`. `Not`, `AllOf`
and `AnyOf` follow the three-valued logic (Kleene 1938), as SQL does: not unknown is unknown; one
false part makes `AllOf` false and one true part makes `AnyOf` true, whatever the others are. A row
passes only if the filter is true.

A filter is public: it comes from the spec. Whether a row passes depends on that row alone, so a
filter never raises a sensitivity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpcli.columns import CategoryColumn, Column, NumericColumn

Ranges = tuple[tuple[int, int], ...]
"""Ranges of whole numbers, whose ends are included."""

Comparison = Literal["<", "<=", "=", ">=", ">"]

COMPARISON_WORDS: dict[str, str] = {
    "<": "below",
    "<=": "at most",
    "=": "equal to",
    ">=": "at least",
    ">": "above",
}


class Filter(ABC):
    """A test of one row: true, false, or unknown if a cell is missing."""

    __slots__ = ()

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns that it reads."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The test in words, such as `income from 100000 to 200000`."""


@dataclass(frozen=True, slots=True)
class InRanges(Filter):
    """True if the value of a column lies in one of the ranges, whose ends are included."""

    column: CategoryColumn | NumericColumn
    ranges: Ranges

    @property
    def columns(self) -> tuple[Column, ...]:
        """The tested column."""
        return (self.column,)

    @property
    def text(self) -> str:
        """The labels, values and ranges that pass."""
        column = self.column
        if isinstance(column, CategoryColumn):
            labels = [label for low, high in self.ranges for label in column.labels[low : high + 1]]
            return f"{column.name} is {' or '.join(labels)}"
        spans = [
            column.text(low) if low == high else f"from {column.text(low)} to {column.text(high)}"
            for low, high in self.ranges
        ]
        return f"{column.name} {' or '.join(spans)}"


@dataclass(frozen=True, slots=True)
class IsMissing(Filter):
    """True if a cell is missing, before a constant replaces it; else false, never unknown.

    Raises ValueError for a column with such a constant.
    """

    column: Column

    def __post_init__(self) -> None:
        if self.column.missing is not None:
            raise ValueError("a missing cell of this column is replaced by a constant")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The tested column."""
        return (self.column,)

    @property
    def text(self) -> str:
        """The column whose cell is missing."""
        return f"{self.column.name} is missing"


@dataclass(frozen=True, slots=True)
class Compared(Filter):
    """Compares the values of two columns, exactly; unknown if one of them is missing.

    Raises ValueError unless both are numbers, or both are dates.
    """

    left: NumericColumn
    comparison: Comparison
    right: NumericColumn

    def __post_init__(self) -> None:
        if (self.left.kind == "date") != (self.right.kind == "date"):
            raise ValueError("a date cannot be compared with a number")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Both columns."""
        return (self.left, self.right)

    @property
    def factors(self) -> tuple[int, int]:
        """Whole numbers by which steps are multiplied, so that both sides have the same unit."""
        ratio = Fraction(self.left.step / self.right.step)
        return ratio.numerator, ratio.denominator

    @property
    def text(self) -> str:
        """Both columns, and how they compare."""
        return f"{self.left.name} {COMPARISON_WORDS[self.comparison]} {self.right.name}"


@dataclass(frozen=True, slots=True)
class Not(Filter):
    """True if a filter is false, false if it is true, else unknown."""

    inner: Filter

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the inner filter."""
        return self.inner.columns

    @property
    def text(self) -> str:
        """The inner filter, negated."""
        return f"not ({self.inner.text})"


@dataclass(frozen=True, slots=True)
class AllOf(Filter):
    """True if all parts are true, false if one is false, else unknown."""

    parts: tuple[Filter, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all parts."""
        return _columns(self.parts)

    @property
    def text(self) -> str:
        """All parts."""
        return _joined(self.parts, " and ")


@dataclass(frozen=True, slots=True)
class AnyOf(Filter):
    """True if one part is true, false if all are false, else unknown."""

    parts: tuple[Filter, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all parts."""
        return _columns(self.parts)

    @property
    def text(self) -> str:
        """All parts."""
        return _joined(self.parts, " or ")


FILTERS: tuple[type[Filter], ...] = (InRanges, IsMissing, Compared, Not, AllOf, AnyOf)
"""Every kind of filter."""


def _columns(parts: Sequence[Filter]) -> tuple[Column, ...]:
    return tuple(dict.fromkeys(column for part in parts for column in part.columns))


def _joined(parts: Sequence[Filter], word: str) -> str:
    return word.join(
        f"({part.text})" if isinstance(part, AllOf | AnyOf) else part.text for part in parts
    )
