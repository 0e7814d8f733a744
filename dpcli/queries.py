"""The questions, as data: what each row, or each person, adds to which cell.

A query says nothing of how it is computed. The engine executes it, the plan
prints it, and a few lines of plain Python in the tests recompute it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from dpcli.columns import CategoryColumn, Column, NumericColumn, OpenColumn
from dpcli.privacy.sensitivity import Influence
from dpcli.scores import Utility


def bin_label(column: NumericColumn, starts: Sequence[int], place: int) -> str:
    """The label of one bin, which holds the values from its start to below the next start.

    The last bin ends with the upper bound of the column. Whole numbers and days are
    closed ranges of the values that a bin holds, finer numbers are intervals:

    =====================================  ==================================
    column                                 labels
    =====================================  ==================================
    whole numbers, none below zero         ``0-9``, ``10-19``, ``20``
    whole numbers, some below zero         ``[-10,-1]``, ``[0,9]``, ``10``
    dates                                  ``2024-03-01..2024-03-31``
    numbers whose step is not whole        ``[0.0,0.5)``, ``[0.5,1.0]``
    =====================================  ==================================

    No label begins with a character that starts a formula in a spreadsheet, except the
    minus of a plain negative number, which is a number there too. So a label is the same
    text in CSV, Parquet, JSON and HTML.
    """
    low, last = starts[place], place == len(starts) - 1
    if column.whole:
        return _closed(column, low, column.upper if last else starts[place + 1] - 1)
    end = column.upper if last else starts[place + 1]
    return f"[{column.text(low)},{column.text(end)}{']' if last else ')'}"


def _closed(column: NumericColumn, low: int, high: int) -> str:
    first, last = column.text(low), column.text(high)
    if low == high:
        return first
    if column.kind == "date":
        return f"{first}..{last}"
    return f"[{first},{last}]" if column.lower < 0 else f"{first}-{last}"


@dataclass(frozen=True, slots=True)
class Key:
    """One axis of a table: the labels of a category, or the bins of a number.

    `starts`, in steps, are the least values of the bins of a numeric column, rising from
    its lower bound. A bin holds the values from its start to below the next start, the
    last one up to the upper bound, so every value that is present lies in exactly one
    bin. The labels of an open column are in the data, and private: it has neither labels
    nor length here.
    """

    column: CategoryColumn | NumericColumn | OpenColumn
    starts: tuple[int, ...] | range = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The published names along this axis, in order."""
        if isinstance(self.column, CategoryColumn):
            return self.column.labels
        return tuple(self.label(place) for place in range(len(self)))

    def label(self, place: int) -> str:
        """The published name at a place along this axis."""
        if isinstance(self.column, CategoryColumn):
            return self.column.labels[place]
        if isinstance(self.column, OpenColumn):
            raise TypeError("an open column has no public labels")
        return bin_label(self.column, self.starts, place)

    def __len__(self) -> int:
        """How many cells lie along this axis."""
        if isinstance(self.column, OpenColumn):
            raise TypeError("an open column has no public labels")
        if isinstance(self.column, CategoryColumn):
            return len(self.column.labels)
        return len(self.starts)

    @property
    def open(self) -> bool:
        """Whether its labels are known from the data alone."""
        return isinstance(self.column, OpenColumn)


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
    def influence(self) -> Influence:
        """The least and the most that one row (or one person) can add to one cell."""

    @cached_property
    def axes(self) -> tuple[Key, ...]:
        """All axes, groups first."""
        return self.by + self.items

    @cached_property
    def table(self) -> tuple[Key, ...]:
        """The axes that rows are grouped by to answer it."""
        return self.axes

    @cached_property
    def open(self) -> bool:
        """Whether its groups are private: known from the data alone."""
        return any(key.open for key in self.by)

    @cached_property
    def cells(self) -> int | None:
        """How many numbers the query asks for; None if its groups are private."""
        return None if self.open else prod(len(key) for key in self.axes)

    @cached_property
    def width(self) -> int:
        """How many numbers it asks for in each group."""
        return prod(len(key) for key in self.items)

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns whose values the answer is made of, beyond axes and conditions."""
        return ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads, each once."""
        axes = (key.column for key in self.table)
        conditions = (condition.column for condition in self.where)
        return tuple(dict.fromkeys((*axes, *conditions, *self.present, *self.operands)))

    @cached_property
    def may_skip(self) -> bool:
        """Whether some row could add nothing anywhere."""
        return bool(self.where) or any(column.missing is None for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class LinearQuery(Query):
    """For each cell, the sum over its rows of a product of factors, less an offset.

    No factor means that every row adds one. With `totals`, what the rows of one
    person add to one cell is first added up and then clamped to this range, in
    steps; a person without a row that counts adds nothing.
    """

    factors: tuple[Factor, ...] = ()
    offset: int = 0
    totals: tuple[int, int] | None = None

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns of the factors."""
        return tuple(factor.column for factor in self.factors)

    @cached_property
    def influence(self) -> Influence:
        """The least and the most that one row can add to one cell.

        Interval arithmetic over the declared bounds, where a factor that occurs twice
        is a square; widened to include zero for rows that may be skipped. With
        `totals`, what one person can add to one cell.
        """
        low, high = 1, 1
        for factor in dict.fromkeys(self.factors):
            powers = _power(factor.limits, self.factors.count(factor))
            corners = [a * b for a in (low, high) for b in powers]
            low, high = min(corners), max(corners)
        low, high = low - self.offset, high - self.offset
        if self.totals is not None:
            low, high = self.totals
        if self.may_skip or self.totals is not None:
            low, high = min(low, 0), max(high, 0)
        return Influence(low, high)


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
    def influence(self) -> Influence:
        """A row adds one value at most, and none that is there already.

        Nor does a person with several rows add more than one for each, so the table
        for sums of numbers from zero to one holds.
        """
        return Influence(0, 1)


@dataclass(frozen=True, kw_only=True)
class ScoreQuery(Query):
    """For each group, the utility of every candidate, of which some are chosen.

    Rows are counted along `classes`, the last one fastest, and `utility` turns the
    counts of a group into scores. `picks` candidates are chosen one after another, each
    from those that are left.
    """

    classes: tuple[Key, ...]
    utility: Utility
    picks: int = 1

    @cached_property
    def table(self) -> tuple[Key, ...]:
        """The groups, and the classes in which rows are counted."""
        return self.by + self.classes

    @cached_property
    def width(self) -> int:
        """How many candidates each group has."""
        return self.utility.candidates

    @cached_property
    def influence(self) -> Influence:
        """How much one row can change the distance of the scores of a group."""
        return self.utility.influence
