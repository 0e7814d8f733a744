"""The questions, as data: what each row, or each person, adds to which cell.

A query says nothing of how it is computed. The engine executes it, the plan
prints it, and a few lines of plain Python in the tests recompute it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import floor, prod

from dpcli.columns import CategoryColumn, Column, Key, NumericColumn
from dpcli.numeric.interval_arithmetic import round_down, sqrt_down, sqrt_up
from dpcli.privacy.sensitivity import RowContribution, Sensitivity

FINE = 1 << 10
"""Steps of the grid that coefficients can move by; rounding to it adds one more."""


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


@dataclass(frozen=True, kw_only=True)
class Query:
    """What is asked of rows: in which cells they lie, and which of them count.

    `by` are the groups, `items` axes within each group. A row is skipped when it
    fails a condition, when a column it needs is missing, or when it lies in no cell.
    `present` names columns that must not be missing beyond those in use.
    """

    by: tuple[Key, ...] = ()
    items: tuple[Key, ...] = ()
    where: tuple[Condition, ...] = ()
    present: tuple[Column, ...] = ()

    @property
    @abstractmethod
    def row_contribution(self) -> RowContribution:
        """The least and the most that one row (or one person) can add to one cell."""

    @cached_property
    def axes(self) -> tuple[Key, ...]:
        """All axes, groups first."""
        return self.by + self.items

    @cached_property
    def grouping_axes(self) -> tuple[Key, ...]:
        """The axes that rows are grouped by to answer it."""
        return self.axes

    @cached_property
    def has_private_groups(self) -> bool:
        """Whether its groups are private: known from the data alone."""
        return any(key.is_private for key in self.by)

    @cached_property
    def cells(self) -> int | None:
        """How many numbers the query asks for; None if its groups are private."""
        return None if self.has_private_groups else prod(len(key) for key in self.axes)

    @cached_property
    def cells_per_group(self) -> int:
        """How many numbers it asks for in each group."""
        return prod(len(key) for key in self.items)

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns whose values the answer is made of, beyond axes and conditions."""
        return ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads, each once."""
        axes = (key.column for key in self.grouping_axes)
        conditions = (condition.column for condition in self.where)
        return tuple(dict.fromkeys((*axes, *conditions, *self.present, *self.operands)))

    @cached_property
    def may_skip(self) -> bool:
        """Whether some row could add nothing anywhere."""
        return bool(self.where) or any(column.missing is None for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class LinearQuery(Query):
    """For each cell, the sum over its rows of a product of factors, less an offset.

    No factor means that every row adds one. With `user_clamp`, what the rows of one
    person add to one cell is first added up and then clamped to this range, in
    steps; a person without a row that counts adds nothing.
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
        """The least and the most that one row can add to one cell.

        Interval arithmetic over the declared bounds, where a factor that occurs twice
        is a square; widened to include zero for rows that may be skipped. With
        `user_clamp`, what one person can add to one cell.
        """
        low, high = 1, 1
        for factor in dict.fromkeys(self.factors):
            powers = _power(factor.limits, self.factors.count(factor))
            corners = [a * b for a in (low, high) for b in powers]
            low, high = min(corners), max(corners)
        low, high = low - self.offset, high - self.offset
        if self.user_clamp is not None:
            low, high = self.user_clamp
        if self.may_skip or self.user_clamp is not None:
            low, high = min(low, 0), max(high, 0)
        return RowContribution(low, high)


def _power(limits: tuple[int, int], exponent: int) -> tuple[int, int]:
    ends = [end**exponent for end in limits]
    if exponent % 2 == 0 and limits[0] <= 0 <= limits[1]:
        ends.append(0)
    return min(ends), max(ends)


@dataclass(frozen=True, kw_only=True)
class DistinctQuery(Query):
    """For each cell, how many different values its rows have in a column."""

    column: Column

    @property
    def operands(self) -> tuple[Column, ...]:
        """The column whose values are counted."""
        return (self.column,)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds one value at most, and none that is there already.

        Nor does a person with several rows add more than one for each, so the table
        for sums of numbers from zero to one holds.
        """
        return RowContribution(0, 1)


@dataclass(frozen=True, kw_only=True)
class ReadabilityQuery(Query):
    """How many rows there are, and for each column readable less unreadable cells.

    A cell is readable when it can be read as the column declares; `checked` are the columns
    without the constants that replace other cells. Every row adds one to the number of
    rows, and one or minus one to each column. Without `with_rows`, columns alone.
    """

    checked: tuple[Column, ...]
    with_rows: bool = True

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns that are checked."""
        return self.checked

    @cached_property
    def cells(self) -> int:
        """One number for the rows, and one for each column."""
        return len(self.checked) + int(self.with_rows)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """What one row can add to one number."""
        return RowContribution(-1 if self.checked else 1, 1)


@dataclass(frozen=True, kw_only=True)
class RidgeQuery(Query):
    """The coefficients of a ridge regression, in whole steps of a grid.

    Every column is taken from its center and divided by its half-width, so that it lies in
    [-1, 1]; a column of ones goes first. The coefficients minimise, over the rows,

        sum (y - <theta, x>)^2 / (2 n) + ridge |theta|^2 / 2,

    with n the greater of `rows` and the number of rows, and are rounded to `grid`.
    """

    outcome: Factor
    inputs: tuple[Factor, ...]
    ridge: Fraction
    rows: int

    def __post_init__(self) -> None:
        if self.ridge <= 0 or self.rows < 1:
            raise ValueError("a bound needs a ridge above zero, and rows")

    @cached_property
    def change(self) -> Fraction:
        """What replacing a row changes in L2, at most.

        2 (N M + P M^2)/(n ridge) with M^2 = k coefficients, N = 1 and P = 1/sqrt(ridge), rounded
        up; `LinearRegression` has the proof.
        """
        root = sqrt_up(Fraction(self.cells))
        return 2 * (root + self.cells / sqrt_down(self.ridge)) / (self.rows * self.ridge)

    @cached_property
    def grid(self) -> Fraction:
        """The step of the coefficients: a power of two, at most 1/`FINE` of the `change`."""
        return round_down(self.change / FINE, 1)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """What replacing a row changes, in steps: rounding adds one for each coefficient."""
        size, steps = self.cells, self.change / self.grid
        root = sqrt_up(Fraction(size))
        return Sensitivity(
            size, floor(root * steps + size), floor((steps + root) ** 2), floor(steps + 1)
        )

    @property
    def operands(self) -> tuple[Column, ...]:
        """The outcome and the inputs."""
        return tuple(factor.column for factor in (self.outcome, *self.inputs))

    @cached_property
    def cells(self) -> int:
        """How many coefficients there are."""
        return len(self.inputs) + 1

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The most that one coefficient changes, in either direction."""
        return RowContribution(-self.sensitivity.linf, self.sensitivity.linf)

    @cached_property
    def moments(self) -> tuple[LinearQuery, ...]:
        """The sums that it is made of: of products of ones, inputs and outcome, in pairs."""
        terms: list[tuple[Factor, ...]] = [(), *((one,) for one in (*self.inputs, self.outcome))]
        pairs = combinations_with_replacement(terms, 2)
        return tuple(LinearQuery(factors=first + second) for first, second in pairs)
