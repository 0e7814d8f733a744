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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from operator import eq, ge, gt, le, lt
from typing import Any, ClassVar, Literal

from dpcli.data.column import Column, Names, Ranges, ValuedColumn, common_ranges, merged_ranges
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.polars_text import pl
from dpcli.problems.light_dataclasses import dataclass

ComparisonSign = Literal["<", "<=", "=", ">=", ">"]

COMPARE: Mapping[ComparisonSign, Callable[[Any, Any], pl.Expr]] = {
    "<": lt, "<=": le, "=": eq, ">=": ge, ">": gt,
}  # fmt: skip

MAX_COMPARED = 1 << 126
"""Values in a common unit stay below this limit, so that they fit 128 bits."""

Implied = dict[ValuedColumn, Ranges] | None
"""Ranges in which the values of columns lie; None if no values are possible."""


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

    @property
    def joined_text(self) -> str:
        """The text as part of a longer one, in brackets if it could be misread there."""
        return self.text

    @abstractmethod
    def truth(self, names: Names) -> pl.Expr:
        """Whether a row is true, false or unknown (null)."""

    def implied(self, *, outcome: bool = True) -> Implied:
        """Ranges in which the values of columns lie if the filter has an outcome.

        Only simple conclusions are drawn, so the ranges may be too wide. None if ranges alone show
        that the filter never has this outcome. A column without ranges may have any value, or none.
        """
        return {}

    def states(self, *, outcome: bool = True) -> Iterator[tuple[Column, bool]]:
        """Columns that certainly have a value, or none, if the filter has an outcome."""
        return iter(())

    @property
    def single_tests(self) -> tuple[Filter, ...]:
        """The tests of which the filter is made, without operators."""
        return (self,)

    @property
    def negates(self) -> bool:
        """Whether a test is negated that can be unknown, because a cell is missing."""
        return False

    @property
    def misled_by(self) -> tuple[Column, ...]:
        """The columns whose values outside bounds may change the outcome of a test.

        A value outside bounds is clamped to them, and the clamped one may lie in a range that the
        value itself is not in.
        """
        return ()


@dataclass(frozen=True, slots=True)
class InRanges(Filter):
    """True if the value of a column lies in one of the ranges, ends included.

    `open_ends` are the bounds of the column that end a range only because no end is stated, so
    that values beyond them are meant as well.
    """

    column: ValuedColumn
    ranges: Ranges
    open_ends: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return self.column.condition_text(self.ranges)

    @property
    def joined_text(self) -> str:
        return f"({self.text})" if len(self.column.range_texts(self.ranges)) > 1 else self.text

    def truth(self, names: Names) -> pl.Expr:
        cell = pl.col(names[self.column])
        return pl.any_horizontal(cell.is_between(low, high) for low, high in self.ranges)

    def implied(self, *, outcome: bool = True) -> Implied:
        found = self.ranges if outcome else complement(self.ranges, self.column.limits)
        return {self.column: found} if found else None

    @property
    def misled_by(self) -> tuple[Column, ...]:
        derivation = self.column.derivation
        if derivation is not None:
            return (self.column,) if derivation.misled_by_clamped else ()
        ends = {end for ends in self.ranges for end in ends} - {*self.open_ends}
        return (self.column,) if ends & {*self.column.limits} else ()


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

    def states(self, *, outcome: bool = True) -> Iterator[tuple[Column, bool]]:
        yield self.column, not outcome

    def truth(self, names: Names) -> pl.Expr:
        return pl.col(names[self.column]).is_null()


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
    def misled_by(self) -> tuple[Column, ...]:
        return self.columns

    @property
    def factors(self) -> tuple[int, int]:
        """The whole numbers that bring the steps of `left` and `right` to one unit."""
        ratio = Fraction(self.left.step / self.right.step)
        return ratio.numerator, ratio.denominator

    @property
    def text(self) -> str:
        words = self.left.comparison_words[self.comparison]
        return f"{self.left.name} {words} {self.right.name}"

    def truth(self, names: Names) -> pl.Expr:
        pairs = zip(self.columns, self.factors, strict=True)
        left, right = (_multiplied(pl.col(names[one]), one, factor) for one, factor in pairs)
        return COMPARE[self.comparison](left, right)


def _multiplied(cell: pl.Expr, column: NumericColumn, factor: int) -> pl.Expr:
    if factor == 1:
        return cell
    is_short = max(map(abs, column.limits)) * factor < 1 << 63 and factor < 1 << 63
    dtype = pl.Int64() if is_short else pl.Int128()
    return cell.cast(dtype) * pl.lit(factor, dtype=dtype)


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

    def truth(self, names: Names) -> pl.Expr:
        return ~self.inner.truth(names)

    def implied(self, *, outcome: bool = True) -> Implied:
        return self.inner.implied(outcome=not outcome)

    def states(self, *, outcome: bool = True) -> Iterator[tuple[Column, bool]]:
        return self.inner.states(outcome=not outcome)

    @property
    def single_tests(self) -> tuple[Filter, ...]:
        return self.inner.single_tests

    @property
    def negates(self) -> bool:
        return not isinstance(self.inner, IsMissing)


@dataclass(frozen=True, slots=True)
class _Several(Filter):
    """Several filters that a word joins, by the logic of Kleene.

    One part whose outcome is `decisive` decides.
    """

    parts: tuple[Filter, ...]

    word: ClassVar[str]
    decisive: ClassVar[bool]

    @property
    def columns(self) -> tuple[Column, ...]:
        return filtered_columns(self.parts)

    @property
    def text(self) -> str:
        single = len(self.parts) == 1
        texts = (part.text if single else part.joined_text for part in self.parts)
        return f" {self.word} ".join(texts)

    @property
    def joined_text(self) -> str:
        return f"({self.text})"

    def implied(self, *, outcome: bool = True) -> Implied:
        implied = [part.implied(outcome=outcome) for part in self.parts]
        if outcome != self.decisive:
            return all_implied(implied)
        possible = [part for part in implied if part is not None]
        if not possible:
            return None
        # It is not known which part decides.
        return {
            column: merged_ranges(chain.from_iterable(part[column] for part in possible))
            for column in possible[0]
            if all(column in part for part in possible)
        }

    def states(self, *, outcome: bool = True) -> Iterator[tuple[Column, bool]]:
        return chain.from_iterable(
            part.states(outcome=outcome) for part in self.parts if outcome != self.decisive
        )

    @property
    def single_tests(self) -> tuple[Filter, ...]:
        return tuple(chain.from_iterable(part.single_tests for part in self.parts))

    @property
    def negates(self) -> bool:
        return any(part.negates for part in self.parts)


class AllOf(_Several):
    """True if all parts are true, false if one is false, else unknown."""

    __slots__ = ()
    word, decisive = "and", False

    def truth(self, names: Names) -> pl.Expr:
        return pl.all_horizontal(part.truth(names) for part in self.parts)


class AnyOf(_Several):
    """True if one part is true, false if all are false, else unknown."""

    __slots__ = ()
    word, decisive = "or", True

    def truth(self, names: Names) -> pl.Expr:
        return pl.any_horizontal(part.truth(names) for part in self.parts)


@dataclass(frozen=True, slots=True)
class PassesAmongFirst(Filter):
    """Whether a test is true and fewer than `max_counted` of those before it are.

    So at most `max_counted` of all tests are counted for a row: the first tests that are true.
    """

    tests: tuple[Filter, ...]
    index: int
    max_counted: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the test and of those before it."""
        return filtered_columns(self.tests[: self.index + 1])

    @property
    def text(self) -> str:
        return self.tests[self.index].text

    def truth(self, names: Names) -> pl.Expr:
        tests = self.tests[: self.index + 1]
        *before, passes = [test.truth(names).fill_null(value=False) for test in tests]
        if self.index < self.max_counted:
            return passes
        return passes & (pl.sum_horizontal(before) < self.max_counted)


FILTERS: tuple[type[Filter], ...] = (
    InRanges, IsMissing, Compared, Not, AllOf, AnyOf, PassesAmongFirst,
)  # fmt: skip
"""Every kind of filter."""


def row_filter(
    where: Sequence[Filter], not_missing: Iterable[Column], names: Names
) -> pl.Expr | None:
    """Whether a row passes all filters and has values in the columns `not_missing`.

    None if there is nothing to test, so that every row passes.
    """
    tests = [test.truth(names) for test in where]
    tests += [pl.col(names[column]).is_not_null() for column in not_missing]
    return pl.all_horizontal(tests).fill_null(value=False) if tests else None


def filtered_columns(filters: Iterable[Filter]) -> tuple[Column, ...]:
    """The different columns that some filters read."""
    return tuple(dict.fromkeys(column for test in filters for column in test.columns))


def joint_texts(filters: Sequence[Filter]) -> list[str]:
    """The texts of filters to be joined by ` and `, in brackets where needed."""
    in_brackets = len(filters) > 1
    return [
        f"({test.text})" if in_brackets and isinstance(test, _Several) else test.text
        for test in filters
    ]


def complement(ranges: Ranges, limits: tuple[int, int]) -> Ranges:
    """The values within limits that lie in none of the ranges."""
    gaps, first = [], limits[0]
    for low, high in sorted(ranges):
        if first < low:
            gaps.append((first, min(low - 1, limits[1])))
        first = max(first, high + 1)
    if first <= limits[1]:
        gaps.append((first, limits[1]))
    return tuple(gaps)


def all_implied(implied: Iterable[Mapping[ValuedColumn, Ranges] | None]) -> Implied:
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
