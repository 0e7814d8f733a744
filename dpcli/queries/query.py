"""Queries as data: what each row, or each user, adds to which cell.

A query states its sensitivity, the sums from which it is answered, and its words. The engine
computes the sums, the plan prints the words, and a plain-Python evaluator in the tests recomputes
the answer.

Privacy: `answer` and `combined` work on exact values. They compute numbers from numbers and do
nothing else: no error, no message, and no choice of what is computed depends on a value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import ClassVar

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.data.kinds import Axis
from dpcli.numeric.arrays import Array, add_exact, np
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.sums import Factor, PlainSum, RowSums, Shape, UserBins, UserTotals, WeightedSum
from dpcli.queries.terms import QueryTerms, limits_of

MAX_PRODUCT = 1 << 80
"""What a row adds to a sum is below this, so that sums of any file fit 128 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWords:
    """Texts that `Query.protection` inserts into the sentence of a query.

    `change` is the largest change of all numbers together by one unit, in the norm of the noise;
    `farthest` is the largest change of one number. The error is at most `error` in `percent` of
    100 cases.
    """

    role: str
    unit: str
    mechanism: str
    noise: str
    scale: str
    change: str
    farthest: str
    error: str
    percent: str


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

    chooses: ClassVar[bool] = False
    """Whether the answer is a choice among candidates."""

    chooses_by_score: ClassVar[bool] = False
    """Whether the first choice in a group depends on its scores alone."""

    minimizes: ClassVar[bool] = False
    """Whether the answer is the minimizer of an objective."""

    keeps_sums: ClassVar[bool] = False
    """Whether answers of later releases need its exact numbers, which are sealed."""

    overlap: ClassVar[str | None] = None
    """How its numbers overlap in answers of later releases (`privacy.series`)."""

    numbers_of_cell: ClassVar[int] = 1
    """Of how many numbers a cell is the mean, with noise of their own."""

    @property
    def vectors(self) -> tuple[int, str] | None:
        """The size of the vectors that share noise, and the body of their norm.

        None if each number has noise of its own.
        """
        return None

    @property
    def block(self) -> int | None:
        """How many successive numbers of an answer belong together; None for all."""
        return self.vectors[0] if self.vectors else 1

    @property
    @abstractmethod
    def row_contribution(self) -> RowContribution:
        """The least and the most that one row (or one user) can add to one cell."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What the engine computes in each cell of the `grouping_axes`."""

    def answer(self, sums: Array) -> Array:
        """The exact answer, from `sums`, an array of shape (groups, numbers of a group).

        Each row of `sums` has the exact numbers of one group, cell by cell. The default returns all
        of them as one flat array.
        """
        return sums.ravel()

    def narrowed(self, exact: Array, earlier: Sequence[Array]) -> Array:  # noqa: ARG002 - of ranges
        """The numbers that get noise, from the exact answer and noisy answers before it.

        The sensitivity holds whatever these are. The default is the exact answer.
        """
        return exact

    def changes_of_groups(self, relation: Relation) -> int:
        """The most that the largest change in each group is, summed over all groups."""
        return self.sensitivity(relation).l1

    def changes_of_pairs(self, relation: Relation) -> int:
        """The most that the larger change of a pair of cells is, summed over all pairs."""
        return self.sensitivity(relation).l1

    @property
    def parts(self) -> tuple[Query, ...]:
        """The queries that the engine answers instead; by default, only the query itself."""
        return (self,)

    def combined(self, answer: Array, *following: Array) -> Array:  # noqa: ARG002 - of other parts
        """The exact answer to this query, from the exact answers to its `parts`.

        The default, for a query with one part, is the answer to that part.
        """
        return answer

    def cells_from(self, numbers: Array) -> Array:
        """The cells from the numbers of an answer, times `numbers_of_cell`."""
        return numbers

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one unit can change the answer, in steps of its grid.

        Raises ValueError if no bound is proven. The default is the sensitivity of a sum over rows,
        from `dpcli.privacy.sensitivity`.
        """
        unit = self.bounded_unit(relation.unit)
        return sensitivity(self.row_contribution, relation.neighbors, unit, self.cells)

    def add_remove_sensitivity(self, relation: Relation) -> Sensitivity | None:
        """The sensitivity under add-remove, for a query that is used under change-one.

        Parallel composition needs it, because a replaced unit may leave one disjoint part and enter
        another. None if `relation` is add-remove already, and for queries without this bound.
        """
        if relation.neighbors is Neighbors.ADD_REMOVE:
            return None
        return self.sensitivity(Relation(relation.unit, Neighbors.ADD_REMOVE))

    def terms(self, relation: Relation) -> QueryTerms:
        """What decides the sensitivity; by default, that of sums over rows."""
        once, unit = self.row_contribution, self.bounded_unit(relation.unit)
        return QueryTerms(
            rule="sums",
            low=once.low,
            high=once.high,
            groups=self.groups,
            numbers=self.cells_per_group,
            limits=limits_of(unit),
        )

    def bounded_unit(self, unit: Unit) -> Unit:
        """The privacy unit with the limits on rows or totals that apply to this query.

        A query of totals uses one number per user and group: the total.
        """
        if not isinstance(unit, PersonUnit):
            return unit
        if unit.of_people:
            return unit if self.row_axes else unit.in_one_cell
        if self.total_clamp is not None:
            return unit.for_totals
        return unit if self.axes else unit.for_ungrouped

    def trial_errors(self, noisy: Array, exact: Array) -> Array:
        """The signed errors of published numbers, for trials on synthetic rows."""
        return add_exact(noisy, -exact)

    def changes(self, differences: Array) -> Array:
        """The changes that the sensitivity bounds, from `differences` of exact answers.

        Each row is the difference of a pair of answers. The default is the size of each change.
        """
        return np.abs(differences)

    def ledger_details(self) -> dict[str, object]:
        """What ledgers record of the query. The keys never change: entries are chained."""
        return {"cells": self.cells}

    def protection(self, words: AnswerWords) -> str:
        """How an answer with noise is protected, in a sentence or two."""
        if self.cells == 1:
            return (
                f"{words.role}: one {words.unit} can change it by at most {words.change}. Discrete "
                f"{words.noise} noise of scale {words.scale} was added to it; the noise is within "
                f"{words.error} in {words.percent}% of cases."
            )
        each = (
            f"each of {self.cells:,} numbers, independently"
            if self.cells
            else "each of its numbers"
        )
        return (
            f"{words.role}: one {words.unit} changes these numbers in total by at most "
            f"{words.change}. Discrete {words.noise} noise of scale {words.scale} was added to "
            f"{each}; the noise is within {words.error} in {words.percent}% of cases."
        )

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """All axes, the axes of the groups first."""
        return self.by + self.items

    @property
    def inner_axes(self) -> tuple[Axis, ...]:
        """The axes within a group by which the engine groups rows; by default, the items."""
        return self.items

    @cached_property
    def grouping_axes(self) -> tuple[Axis, ...]:
        """The axes by which the engine groups rows to answer the query."""
        return self.by + self.inner_axes

    @cached_property
    def has_private_groups(self) -> bool:
        """Whether only the data say which groups there are."""
        return any(key.is_private for key in self.by)

    @cached_property
    def groups(self) -> int | None:
        """The number of groups; None if they are private."""
        return None if self.has_private_groups else prod(len(key) for key in self.by)

    @cached_property
    def cells(self) -> int | None:
        """How many numbers the answer has; None if the groups are private."""
        return None if self.groups is None else self.groups * self.cells_per_group

    @cached_property
    def cells_per_group(self) -> int:
        """How many numbers the answer has in each group."""
        return prod(len(key) for key in self.items)

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns whose values the query computes with, other than axes and filters."""
        return ()

    @property
    def selects(self) -> bool:
        """Whether conditions, or labels that an axis lacks, exclude rows."""
        return bool(self.where) or any(axis.lacks_values for axis in self.grouping_axes)

    @property
    def sum_of_row(self) -> int | None:
        """What each row that counts adds to all numbers together; None if it differs."""
        return None

    @property
    def valued_columns(self) -> tuple[Column, ...]:
        """Columns whose values within their bounds decide the answer: operands and axes."""
        return (*self.operands, *(axis.column for axis in self.grouping_axes))

    @cached_property
    def required_columns(self) -> tuple[Column, ...]:
        """The columns in which a row needs a value to be counted, without repetition."""
        axes = (key.column for key in self.grouping_axes)
        return tuple(dict.fromkeys((*axes, *self.present, *self.operands)))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads, without repetition."""
        tested = (column for test in self.where for column in test.columns)
        return tuple(dict.fromkeys((*self.required_columns, *tested)))

    def row_limit(self, unit: PersonUnit) -> int | None:
        """The most rows of a person that the query uses; None if it uses all rows.

        A query of totals uses all rows in each group that it uses.
        """
        if self.total_clamp is not None or unit.of_people:
            return None
        return unit.max_grouped_rows if self.axes else unit.max_rows

    def group_limit(self, unit: PersonUnit) -> int | None:
        """The most groups of a person that the query uses; None if it can drop no group.

        It can drop no group if the limit is at least the number of public groups, or at least the
        row limit. Totals use all rows, so the row limit does not bound the groups of totals.
        """
        if not unit.of_people and self.total_clamp is None and unit.max_groups >= unit.max_rows:
            return None
        groups = self.groups_of_user
        return unit.max_groups if groups is None or unit.max_groups < groups else None

    @property
    def groups_of_user(self) -> int | None:
        """In how many groups a user may be; None if these are private."""
        is_private = any(axis.is_private for axis in self.row_axes)
        return None if is_private else prod(map(len, self.row_axes))

    @property
    def row_axes(self) -> tuple[Axis, ...]:
        """The axes on which a person may be in several groups: those of columns of rows."""
        return tuple(axis for axis in self.axes if not axis.column.is_of_people)

    def limit_in_group(self, unit: PersonUnit) -> int | None:
        """The most rows of a person in one group; None if all used rows may be in it."""
        is_limited = bool(self.axes) and unit.max_rows_per_group < unit.max_rows
        is_limited = is_limited and self.total_clamp is None and not unit.of_people
        return unit.max_rows_per_group if is_limited else None

    @property
    def total_clamp(self) -> tuple[int, int] | None:
        """The range of a user's clamped total in a cell; None if rows are counted."""
        return None

    @property
    def counted_values(self) -> Column | None:
        """The column whose distinct values the query counts; None for all other queries."""
        return None

    @property
    def largest_product(self) -> int:
        """The most that one row adds to a sum of products, in absolute value.

        It is zero for a query without a sum of products.
        """
        return 0

    def without_clamp(self) -> Query:
        """The query without clamping per user, for trials; unchanged if it counts users."""
        return self

    @cached_property
    def may_skip(self) -> bool:
        """Whether a row can add nothing to any cell."""
        may_be_missing = any(column.missing is None for column in self.required_columns)
        is_partial = any(axis.chosen is not None for axis in self.grouping_axes)
        return bool(self.where) or may_be_missing or is_partial


def require_numbers(*queries: Query) -> None:
    """Raise ValueError unless another query can be made of these.

    Privacy: their sensitivity must be that of the exact numbers. That of a choice is about scores,
    that of a minimizer about its objective, and the L1 of vectors is the norm of their noise.
    """
    if any(query.chooses or query.minimizes or query.vectors for query in queries):
        raise ValueError("only numbers with norms of their own become another query")


@dataclass(frozen=True, slots=True)
class BoundedQuery:
    """A query, and the privacy unit for which rows are bounded to answer it.

    The queries of one scan have the same people. Their limits may differ.
    """

    query: Query
    unit: Unit


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
        return tuple(factor.column for factor in self.factors)

    @property
    def sum_of_row(self) -> int | None:
        if self.factors or (
            self.user_clamp is not None and (self.axes or self.user_clamp != (0, 1))
        ):
            return None
        return 1 - self.offset

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The least and most that a row (with `user_clamp`, a user) can add to one cell.

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

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(
            super().terms(relation),
            factors=tuple(factor.terms for factor in self.factors),
            offset=self.offset,
            clamp=self.user_clamp,
            skips=self.may_skip,
        )

    @property
    def shape(self) -> Shape:
        if self.user_clamp is None:
            return RowSums((self.weighted_sum,))
        used = (*self.present, *(factor.column for factor in self.factors))
        not_missing = frozenset(column for column in used if column.missing is None)
        counted = PlainSum((), self.where, not_missing)
        total = PlainSum(self.factors, self.where, not_missing) if self.factors else counted
        return UserTotals(counted, total, self.user_clamp)

    @property
    def weighted_sum(self) -> WeightedSum:
        """The weighted sum that answers the query in each cell, before any clamping."""
        # Rows that are missing on an axis lie in no cell, so axes need no test.
        axes = {key.column for key in self.axes}
        present = {column for column in self.present if column.missing is None}
        factors = {factor.column for factor in self.factors if factor.column.missing is None}
        # A product with a missing factor is missing, and adds nothing.
        not_missing = frozenset(present - factors - axes)
        counted = PlainSum((), self.where, frozenset((present | factors) - axes))
        single = len(self.factors) == 1
        factors_summed = tuple(Factor(factor.column) for factor in self.factors)
        total = PlainSum(factors_summed if single else self.factors, self.where, not_missing)
        times, offset = (self.factors[0].times, self.factors[0].offset) if single else (1, 0)
        offset += self.offset
        return ((times, total), (-offset, counted)) if offset else ((times, total),)

    @property
    def total_clamp(self) -> tuple[int, int] | None:
        return self.user_clamp

    @property
    def largest_product(self) -> int:
        return self.row_contribution.max_abs

    def is_public(self, relation: Relation) -> bool:
        """Whether all neighbors have this answer, because every row adds the same number.

        The relation must make the number of rows public, and the query must have one cell.
        """
        once = self.row_contribution
        return relation.size_is_public and once.low == once.high and self.cells == 1

    def without_clamp(self) -> Query:
        """The query without its `user_clamp`; unchanged if it counts users."""
        counts_users = not self.factors and self.user_clamp == (0, 1)
        return self if counts_users else replace(self, user_clamp=None)


@dataclass(frozen=True, kw_only=True)
class RowsPerUserQuery(Query):
    """For each of several bins, the number of users whose number of rows lies in it.

    All rows of a user are counted, whatever their cells are and whatever the limits keep. The bins
    begin at `starts`, of which the first is at most one, and the last bin has no end. Raises
    ValueError unless the starts increase, and for filters and axes: a user lies in one bin.
    """

    starts: tuple[int, ...]

    def __post_init__(self) -> None:
        increasing = list(self.starts) == sorted(set(self.starts))
        if not self.starts or self.starts[0] > 1 or not increasing:
            raise ValueError("bins of numbers of rows begin at one at the latest, and increase")
        if self.by or self.items or self.where or self.present:
            raise ValueError("all rows of a user are counted")

    def row_limit(self, unit: PersonUnit) -> None:
        """None: all rows of a person are counted."""

    @cached_property
    def cells_per_group(self) -> int:
        return len(self.starts)

    @property
    def shape(self) -> UserBins:
        return UserBins(self.starts)

    def bounded_unit(self, unit: Unit) -> Unit:
        """The unit in which a user adds one to one bin; ValueError if rows are the unit."""
        if isinstance(unit, PersonUnit):
            return unit.in_one_cell
        raise ValueError("rows are counted per user where a user is the unit")

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A user adds one to one bin."""
        return RowContribution(0, 1)
