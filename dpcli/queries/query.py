"""Queries as data: what each row, or each user, adds to which cell.

A query does not say how it is computed. The engine executes it, the plan prints it, and a
plain-Python evaluator in the tests recomputes it.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from math import prod

from dpcli.columns import Axis, Column, NumericColumn
from dpcli.filters import Filter
from dpcli.light_dataclasses import dataclass
from dpcli.privacy.sensitivity import RowContribution
from dpcli.privacy.unit import PersonUnit

MAX_PRODUCT = 1 << 80
"""What one row adds to a sum stays below this, so that the sums of any file fit 128 bits."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A multiple of a numeric column minus a public offset, in whole steps of the column."""

    column: NumericColumn
    offset: int = 0
    times: int = 1

    @classmethod
    def centered(cls, column: NumericColumn) -> Factor:
        """The distance from the middle of the bounds: in half steps if it is between two steps."""
        twice = column.lower + column.upper
        return cls(column, twice, 2) if twice % 2 else cls(column, twice // 2)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest value of the factor."""
        low, high = sorted(self.times * limit for limit in self.column.limits)
        return low - self.offset, high - self.offset

    def power_limits(self, exponent: int) -> tuple[int, int]:
        """The least and the greatest value of a power of the factor."""
        low, high = self.limits
        ends = [low**exponent, high**exponent]
        if exponent % 2 == 0 and low <= 0 <= high:
            # The value nearest to zero, which is not zero if the middle is between two steps.
            beyond = self.offset % self.times
            ends.append(min(beyond, self.times - beyond) ** exponent)
        return min(ends), max(ends)

    @property
    def step(self) -> Fraction:
        """What one of its whole numbers is, in the unit of the column."""
        return self.column.step / self.times

    @property
    def origin(self) -> Fraction:
        """The value of the column where the factor is zero, in the unit of the column."""
        return self.offset * self.step


@dataclass(frozen=True, kw_only=True)
class Query:
    """Which rows count, and in which cell each of them lies.

    `by` are the axes of the groups, `items` the axes within each group. A row is skipped unless
    all filters of `where` are true, if a value that the query uses is missing, or if it lies in no
    cell. Values of the columns in `present` must not be missing either.
    """

    by: tuple[Axis, ...] = ()
    items: tuple[Axis, ...] = ()
    where: tuple[Filter, ...] = ()
    present: tuple[Column, ...] = ()

    @property
    @abstractmethod
    def row_contribution(self) -> RowContribution:
        """The least and the most that one row (or one user) can add to one cell."""

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """All axes, those of the groups first."""
        return self.by + self.items

    @cached_property
    def grouping_axes(self) -> tuple[Axis, ...]:
        """The axes by which the engine groups rows to answer the query."""
        return self.axes

    @cached_property
    def has_private_groups(self) -> bool:
        """Whether only the data say which groups there are."""
        return any(key.is_private for key in self.by)

    @cached_property
    def cells(self) -> int | None:
        """How many numbers the answer has; None if the groups are private."""
        return None if self.has_private_groups else prod(len(key) for key in self.axes)

    @cached_property
    def cells_per_group(self) -> int:
        """How many numbers the answer has in each group."""
        return prod(len(key) for key in self.items)

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns whose values the query computes with, other than axes and filters."""
        return ()

    @property
    def valued_columns(self) -> tuple[Column, ...]:
        """The columns whose values within their bounds decide the answer: operands and axes."""
        return (*self.operands, *(axis.column for axis in self.grouping_axes))

    @cached_property
    def required_columns(self) -> tuple[Column, ...]:
        """The columns without which a row is skipped, without repetition."""
        axes = (key.column for key in self.grouping_axes)
        return tuple(dict.fromkeys((*axes, *self.present, *self.operands)))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads, without repetition."""
        tested = (column for test in self.where for column in test.columns)
        return tuple(dict.fromkeys((*self.required_columns, *tested)))

    def row_limit(self, unit: PersonUnit) -> int | None:
        """The most rows of a person that are used; None if all are."""
        return unit.max_grouped_rows if self.axes else unit.max_rows

    def group_limit(self, unit: PersonUnit) -> int | None:
        """The most groups of a person that are used; None if those of all used rows are."""
        return self._fewer_groups(unit) if unit.max_groups < unit.max_rows else None

    def _fewer_groups(self, unit: PersonUnit) -> int | None:
        """The limit on the groups of a person, if there are more groups."""
        if any(axis.is_private for axis in self.axes):
            return unit.max_groups
        groups = prod(len(axis) for axis in self.axes)
        return unit.max_groups if unit.max_groups < groups else None

    def limit_in_group(self, unit: PersonUnit) -> int | None:
        """The most rows of a person in a group that are used; None if all used rows may be."""
        is_limited = bool(self.axes) and unit.max_rows_per_group < unit.max_rows
        return unit.max_rows_per_group if is_limited else None

    @cached_property
    def may_skip(self) -> bool:
        """Whether a row can add nothing to any cell."""
        return bool(self.where) or any(column.missing is None for column in self.required_columns)


@dataclass(frozen=True, kw_only=True)
class LinearQuery(Query):
    """For each cell, the sum over its rows of a product of factors minus an offset.

    Without factors every row adds one. With `user_clamp`, what the rows of one user add to one
    cell is summed first and then clamped to this range, in steps. A user without a row that
    counts adds nothing.
    """

    factors: tuple[Factor, ...] = ()
    offset: int = 0
    user_clamp: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.user_clamp is not None and self.user_clamp[0] > self.user_clamp[1]:
            raise ValueError("the lower bound of the clamp is above the upper one")

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns of the factors."""
        return tuple(factor.column for factor in self.factors)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The least and the most that one row (with `user_clamp`, one user) can add to one cell.

        This is interval arithmetic over the declared bounds. A factor that occurs twice is a
        square. The range includes zero if a row can be skipped.
        """
        low, high = 1, 1
        for factor in dict.fromkeys(self.factors):
            powers = factor.power_limits(self.factors.count(factor))
            corners = [a * b for a in (low, high) for b in powers]
            low, high = min(corners), max(corners)
        low, high = low - self.offset, high - self.offset
        if self.user_clamp is not None:
            low, high = self.user_clamp
        if self.may_skip or self.user_clamp is not None:
            low, high = min(low, 0), max(high, 0)
        return RowContribution(low, high)

    def row_limit(self, unit: PersonUnit) -> int | None:
        """None for totals of users, which are of all rows in the groups that are used."""
        return super().row_limit(unit) if self.user_clamp is None else None

    def group_limit(self, unit: PersonUnit) -> int | None:
        """Totals of users are in no more groups than that, however many rows they are of."""
        return super().group_limit(unit) if self.user_clamp is None else self._fewer_groups(unit)

    def limit_in_group(self, unit: PersonUnit) -> int | None:
        """None for totals of users, which are of all rows in a group."""
        return super().limit_in_group(unit) if self.user_clamp is None else None


@dataclass(frozen=True, kw_only=True)
class DistinctQuery(Query):
    """For each cell, the number of distinct values that its rows have in a column."""

    column: Column

    @property
    def operands(self) -> tuple[Column, ...]:
        """The column whose values are counted."""
        return (self.column,)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """From zero to one.

        A row adds at most one value, and none if the value is there already. A user adds at most
        one value for each row, so the sensitivity is that of a sum of numbers from zero to one.
        """
        return RowContribution(0, 1)


@dataclass(frozen=True, kw_only=True)
class ReadabilityQuery(Query):
    """The number of rows, and for each column its readable minus its unreadable cells.

    A cell is readable if it can be read as the column declares. The columns in `checked` have no
    constants that replace unreadable cells. Every row adds one to the number of rows, and one or
    minus one to each column. Without `with_rows` the answer has no number of rows.
    """

    checked: tuple[Column, ...]
    with_rows: bool = True

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns that are checked."""
        return self.checked

    @cached_property
    def cells(self) -> int:
        """One number for the rows if asked for, and one for each column."""
        return len(self.checked) + int(self.with_rows)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """From minus one to one; exactly one if no column is checked."""
        return RowContribution(-1 if self.checked else 1, 1)
