"""Several tests of each row at once: a vector of counts that one entry pays for."""

from __future__ import annotations

from functools import cached_property
from math import prod

from dpcli.columns import Column
from dpcli.filters import Filter
from dpcli.light_dataclasses import dataclass
from dpcli.privacy.sensitivity import RowContribution
from dpcli.queries.query import Query


@dataclass(frozen=True, slots=True)
class PassesAmongFirst(Filter):
    """True if a test is true and fewer than `most` of the tests before it are, else false.

    So of all tests, at most `most` are counted for a row: the first ones that are true.
    """

    tests: tuple[Filter, ...]
    place: int
    most: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the test and of those before it."""
        tested = (column for test in self.tests[: self.place + 1] for column in test.columns)
        return tuple(dict.fromkeys(tested))

    @property
    def text(self) -> str:
        """The test alone."""
        return self.tests[self.place].text


@dataclass(frozen=True, kw_only=True)
class IndicatorQuery(Query):
    """For each group and each of several tests, the number of rows for which the test is true.

    A row adds one for at most `most` tests, the first ones that are true for it. With `signed`, it
    also adds minus one for each of the other tests. Raises ValueError unless `most` is between one
    and the number of tests, if it is less and the counts are signed, or if groups are private.
    """

    tests: tuple[Filter, ...]
    most: int
    signed: bool = False

    def __post_init__(self) -> None:
        if type(self.most) is not int or not 1 <= self.most <= len(self.tests):
            raise ValueError("a row is counted for at least one test, and at most for all")
        if self.signed and self.most < len(self.tests):
            raise ValueError("signed counts are of all tests")
        if self.has_private_groups or self.items:
            raise ValueError("only public groups have counts of tests")

    @property
    def indicators(self) -> tuple[PassesAmongFirst, ...]:
        """What is counted for each test."""
        places = range(len(self.tests))
        return tuple(PassesAmongFirst(self.tests, place, self.most) for place in places)

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
        """One number for each test."""
        return len(self.tests)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """From zero or minus one to one in each cell; `most` bounds the number of cells."""
        return RowContribution(-1 if self.signed else 0, 1)
