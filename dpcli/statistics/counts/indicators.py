"""Several tests of each row at once: a vector of counts that one entry pays for."""

from __future__ import annotations

from functools import cached_property
from math import prod

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.sensitivity import (
    RowContribution,
    Sensitivity,
    indicator_sensitivity,
    signed_sensitivity,
)
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.sums import PlainSum, RowSums, Shape


@dataclass(frozen=True, slots=True)
class PassesAmongFirst(Filter):
    """True if a test is true and fewer than `max_counted` of the tests before it are, else false.

    So of all tests, at most `max_counted` are counted for a row: the first ones that are true.
    """

    tests: tuple[Filter, ...]
    index: int
    max_counted: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the test and of those before it."""
        tested = (column for test in self.tests[: self.index + 1] for column in test.columns)
        return tuple(dict.fromkeys(tested))

    @property
    def text(self) -> str:
        return self.tests[self.index].text


@dataclass(frozen=True, kw_only=True)
class IndicatorQuery(Query):
    """For each group and each of several tests, the number of rows for which the test is true.

    A row adds one for at most `max_counted` tests, the first ones that are true for it. With
    `signed`, it also adds minus one for each of the other tests. Raises ValueError unless
    `max_counted` is between one and the number of tests, if it is less and the counts are signed,
    or if groups are private.
    """

    tests: tuple[Filter, ...]
    max_counted: int
    signed: bool = False

    def __post_init__(self) -> None:
        if type(self.max_counted) is not int or not 1 <= self.max_counted <= len(self.tests):
            raise ValueError("a row is counted for at least one test, and at most for all")
        if self.signed and self.max_counted < len(self.tests):
            raise ValueError("signed counts are of all tests")
        if self.has_private_groups or self.items:
            raise ValueError("only public groups have counts of tests")

    @property
    def indicators(self) -> tuple[PassesAmongFirst, ...]:
        """What is counted for each test."""
        indexes = range(len(self.tests))
        return tuple(PassesAmongFirst(self.tests, index, self.max_counted) for index in indexes)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads; those of the tests may be missing."""
        tested = (column for test in (*self.where, *self.tests) for column in test.columns)
        return tuple(dict.fromkeys((*self.required_columns, *tested)))

    @cached_property
    def cells(self) -> int:
        """How many numbers the answer has: those of a group are together."""
        return self.groups * len(self.tests)

    @cached_property
    def groups(self) -> int:
        """The number of groups."""
        return prod(len(axis) for axis in self.by)

    @cached_property
    def cells_per_group(self) -> int:
        return len(self.tests)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """From zero or minus one to one in each cell; `max_counted` bounds the number of cells."""
        return RowContribution(-1 if self.signed else 0, 1)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of counts of tests, of which a row adds to a few, or of signed ones."""
        tests, neighbors = len(self.tests), relation.neighbors
        unit = self.bounded_unit(relation.unit)
        if self.signed:
            return signed_sensitivity(tests, neighbors, unit, self.groups)
        return indicator_sensitivity(tests, self.max_counted, neighbors, unit, self.groups)

    @property
    def shape(self) -> Shape:
        """For each test the rows that pass it; signed, twice those less all rows."""
        axes = {axis.column for axis in self.axes}
        not_missing = frozenset(
            {column for column in self.present if column.missing is None} - axes
        )
        passing = (PlainSum((), (*self.where, test), not_missing) for test in self.indicators)
        if not self.signed:
            return RowSums(tuple(((1, counted),) for counted in passing))
        every = PlainSum((), self.where, not_missing)
        return RowSums(tuple(((2, counted), (-1, every)) for counted in passing))
