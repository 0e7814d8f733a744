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
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import ClassVar, Literal

from dpcli.data.column import Column, Ranges, ValuedColumn, common_ranges, merged_ranges
from dpcli.data.grid_columns import NumericColumn
from dpcli.problems.light_dataclasses import dataclass

ComparisonSign = Literal["<", "<=", "=", ">=", ">"]

MAX_COMPARED = 1 << 126
"""Values in a common unit stay below this limit, so that they fit 128 bits."""


class Filter(ABC):
    """A test of one row: true, false, or unknown if a cell is missing."""

    __slots__ = ()

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns that the filter reads."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The test in words, such as `income from 100000 to 200000`."""


@dataclass(frozen=True, slots=True)
class InRanges(Filter):
    """True if the value of a column lies in one of the ranges, ends included."""

    column: ValuedColumn
    ranges: Ranges

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return self.column.condition_text(self.ranges)


@dataclass(frozen=True, slots=True)
class IsMissing(Filter):
    """Whether a cell is missing, before a constant replaces it; never unknown.

    Raises ValueError for a column with such a constant.
    """

    column: Column

    def __post_init__(self) -> None:
        if self.column.missing is not None:
            raise ValueError("a missing cell of this column is replaced by a constant")

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"{self.column.name} is missing"


@dataclass(frozen=True, slots=True)
class Compared(Filter):
    """Compares the values of two columns, exactly; unknown if one of them is missing.

    Raises ValueError unless both are numbers, or both are dates, or if their steps are so different
    that the values do not fit 128 bits in a common unit.
    """

    left: NumericColumn
    comparison: ComparisonSign
    right: NumericColumn

    def __post_init__(self) -> None:
        if not self.left.is_like(self.right):
            raise ValueError("a date cannot be compared with a number")
        for column, factor in zip(self.columns, self.factors, strict=True):
            if max(map(abs, column.limits)) * factor >= MAX_COMPARED:
                raise ValueError("the steps of the columns are too different")

    @property
    def columns(self) -> tuple[NumericColumn, NumericColumn]:
        return (self.left, self.right)

    @property
    def factors(self) -> tuple[int, int]:
        """The whole numbers that bring the steps of `left` and `right` to one unit."""
        ratio = Fraction(self.left.step / self.right.step)
        return ratio.numerator, ratio.denominator

    @property
    def text(self) -> str:
        words = self.left.comparison_words[self.comparison]
        return f"{self.left.name} {words} {self.right.name}"


@dataclass(frozen=True, slots=True)
class Not(Filter):
    """True if a filter is false, false if it is true, else unknown."""

    inner: Filter

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.inner.columns

    @property
    def text(self) -> str:
        if isinstance(self.inner, IsMissing):
            return f"{self.inner.column.name} is not missing"
        return f"not ({self.inner.text})"


@dataclass(frozen=True, slots=True)
class _Several(Filter):
    """Several tests that a word joins."""

    parts: tuple[Filter, ...]

    word: ClassVar[str]

    @property
    def columns(self) -> tuple[Column, ...]:
        return filtered_columns(self.parts)

    @property
    def text(self) -> str:
        single = len(self.parts) == 1
        texts = (part.text if single else _part_text(part) for part in self.parts)
        return f" {self.word} ".join(texts)


class AllOf(_Several):
    """True if all parts are true, false if one is false, else unknown."""

    __slots__ = ()
    word = "and"


class AnyOf(_Several):
    """True if one part is true, false if all are false, else unknown."""

    __slots__ = ()
    word = "or"


FILTERS: tuple[type[Filter], ...] = (InRanges, IsMissing, Compared, Not, AllOf, AnyOf)
"""Every kind of filter."""


def filtered_columns(filters: Iterable[Filter]) -> tuple[Column, ...]:
    """The different columns that some filters read."""
    return tuple(dict.fromkeys(column for test in filters for column in test.columns))


def _part_text(part: Filter) -> str:
    has_or = isinstance(part, InRanges) and len(part.column.range_texts(part.ranges)) > 1
    several = isinstance(part, _Several) or has_or
    return f"({part.text})" if several else part.text


def joint_texts(filters: Sequence[Filter]) -> list[str]:
    """The texts of filters to be joined by ` and `, in brackets where needed."""
    in_brackets = len(filters) > 1
    return [
        f"({test.text})" if in_brackets and isinstance(test, _Several) else test.text
        for test in filters
    ]


def negates(test: Filter) -> bool:
    """Whether a filter negates a test that can be unknown, because a cell is missing."""
    match test:
        case Not(inner):
            return not isinstance(inner, IsMissing)
        case AllOf(parts) | AnyOf(parts):
            return any(map(negates, parts))
    return False


def implied_ranges(test: Filter, *, outcome: bool = True) -> dict[ValuedColumn, Ranges] | None:
    """Ranges in which the values of columns lie if a filter has an outcome.

    Only simple conclusions are drawn, so the ranges may be too wide. None if ranges alone show that
    the filter never has this outcome. A column without ranges may have any value, or none.
    """
    match test:
        case InRanges(column, ranges):
            found = ranges if outcome else _complement(ranges, column.limits)
            return {column: found} if found else None
        case Not(inner):
            return implied_ranges(inner, outcome=not outcome)
        case AllOf(parts) | AnyOf(parts):
            implied = [implied_ranges(part, outcome=outcome) for part in parts]
            if isinstance(test, AllOf) == outcome:
                return all_implied(implied)
            possible = [part for part in implied if part is not None]
            if not possible:
                return None
            # One part decides, and it is not known which.
            return {
                column: merged_ranges(chain.from_iterable(part[column] for part in possible))
                for column in possible[0]
                if all(column in part for part in possible)
            }
    return {}


def _complement(ranges: Ranges, limits: tuple[int, int]) -> Ranges:
    """The values within limits that lie in none of the ranges."""
    gaps, first = [], limits[0]
    for low, high in sorted(ranges):
        if first < low:
            gaps.append((first, min(low - 1, limits[1])))
        first = max(first, high + 1)
    if first <= limits[1]:
        gaps.append((first, limits[1]))
    return tuple(gaps)


def all_implied(
    implied: Iterable[Mapping[ValuedColumn, Ranges] | None],
) -> dict[ValuedColumn, Ranges] | None:
    """The ranges if all of `implied` hold; None if they cannot all hold."""
    common: dict[ValuedColumn, Ranges] = {}
    for part in implied:
        if part is None:
            return None
        for column, ranges in part.items():
            common[column] = common_ranges(common.get(column, ranges), ranges)
            if not common[column]:
                return None
    return common
