"""The plain sums that answer queries, and the five shapes of an answer.

sum(a x - c) is a times the sum of x minus c times the number of rows with an x. So a total, a mean
and a count of the same rows need two sums, not four. The offset of a product is also subtracted as
a multiple of the number of rows.

The engine computes answers by their shape alone, and knows no kind of query.
"""

from __future__ import annotations

from fractions import Fraction

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.filters import Filter
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.terms import FactorTerms


@dataclass(frozen=True, slots=True)
class Factor:
    """A multiple of a numeric column minus a public offset, in whole column steps."""

    column: NumericColumn
    offset: int = 0
    times: int = 1

    @classmethod
    def centered(cls, column: NumericColumn) -> Factor:
        """The factor for the distance of a value from the middle of the bounds.

        It counts half steps if the middle is between two steps, else whole steps.
        """
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
    def terms(self) -> FactorTerms:
        """What decides the limits of the factor."""
        lower, upper = self.column.limits
        return FactorTerms(
            column=self.column.name,
            lower=lower,
            upper=upper,
            step=str(self.column.step),
            times=self.times,
            offset=self.offset,
        )

    @property
    def step(self) -> Fraction:
        """The size of one unit of the factor, in the unit of the column."""
        return self.column.step / self.times

    @property
    def origin(self) -> Fraction:
        """The value of the column where the factor is zero, in the unit of the column."""
        return self.offset * self.step


@dataclass(frozen=True, slots=True)
class PlainSum:
    """The sum of a product of factors over the rows of a cell that pass.

    Without factors it is the number of these rows. A row passes if all filters are true and no
    column in `not_missing` is missing in it.
    """

    factors: tuple[Factor, ...] = ()
    where: tuple[Filter, ...] = ()
    not_missing: frozenset[Column] = frozenset()

    @property
    def columns(self) -> set[Column]:
        """Every column that the value of a row depends on."""
        used: set[Column] = {factor.column for factor in self.factors}
        return used | self.not_missing | {column for test in self.where for column in test.columns}


WeightedSum = tuple[tuple[int, PlainSum], ...]
"""Plain sums with their integer weights."""


@dataclass(frozen=True, slots=True)
class RowSums:
    """In each cell, several weighted sums of plain sums."""

    sums: tuple[WeightedSum, ...]


@dataclass(frozen=True, slots=True)
class UserTotals:
    """In each cell, the sum over the users of one number that is clamped first.

    The number of a user is the sum `total` of the user's rows in the cell, clamped to the range
    `clamp`; it is zero if their sum `counted` is.
    """

    counted: PlainSum
    total: PlainSum
    clamp: tuple[int, int]


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Limits on the groups of a user, and on the user's rows in each of them."""

    axes: tuple[Axis, ...]
    max_groups: int
    max_rows_per_group: int


@dataclass(frozen=True, slots=True)
class UserBins:
    """Users by their rows: each user is counted in the first bin that applies.

    `first` is a column with a value in each row, the position of a bin; the least one of a user
    counts. `first_of_people` is one with a value of each user, which counts if it is less.

    The order of bins is: values of `first` below `before`; numbers of rows from `starts` on; for
    each of the `limits`, users with more groups or rows than it allows; the other values of
    `first`. All rows of a user count for the values and the number of rows; for groups, the
    `kept_rows` rows with the smallest priorities.
    """

    starts: tuple[int, ...]
    first: ValuedColumn | None = None
    before: int = 0
    limits: tuple[GroupLimits, ...] = ()
    kept_rows: int = 1
    first_of_people: ValuedColumn | None = None

    @property
    def bins(self) -> int:
        """The number of bins."""
        values = 0 if self.first is None else self.first.max_distinct
        return values + len(self.starts) + len(self.limits)


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """The number of distinct values of a column, per cell of axes, in rows that pass."""

    axes: tuple[Axis, ...]
    column: Column
    where: tuple[Filter, ...]
    not_missing: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class CountedFactors:
    """Weighted sums of the rows of each combination of factor values that occurs.

    The first sum counts rows. Combinations for which it is zero are left out.
    """

    factors: tuple[Factor, ...]
    sums: tuple[WeightedSum, ...]


Shape = RowSums | UserTotals | UserBins | DistinctValues | CountedFactors
"""What the engine computes for a query."""
