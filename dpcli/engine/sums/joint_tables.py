"""Joint tables: which queries share one, its sums, and the answers from them.

Queries whose axes span a small joint table are answered from the sums in that table, which
`roll_up` adds up for each query. All tables share one scan, and queries share sums. Every number is
an exact integer: a machine word where no sum can overflow, else a Python integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import cast

import numpy as np
import polars as pl

from dpcli.data.column import Column
from dpcli.data.filters import row_filter
from dpcli.data.kinds import Axis
from dpcli.engine.sums.sum_expressions import factor_value, sum_expression, weighted_sums
from dpcli.numeric.arrays import SAFE_INTEGER, Array, Bools, Ints
from dpcli.privacy.confidential import Cells, Groups
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import BoundedQuery, Query
from dpcli.queries.sums import (
    CountedFactors,
    DistinctValues,
    Factor,
    PlainSum,
    UserBins,
    UserTotals,
)

JOINT_CELLS = 1 << 14
"""A table of at most this number of cells costs about as much as a single cell."""

FITS_32_BITS = 1 << 30
"""The sum of two numbers below it fits 32 bits."""

SUMS = pl.col(r"^s\d+$")
"""The columns of a partial that hold sums."""


@dataclass(frozen=True, slots=True)
class TableLimits:
    """Which rows of a user a table uses; None for a limit that changes nothing.

    A table uses the `rows` rows of a user with the smallest priorities; of these, or for totals of
    all rows, those in at most `groups` groups, and at most `in_group` rows in each.
    """

    rows: int | None = None
    groups: int | None = None
    in_group: int | None = None


@dataclass(frozen=True, slots=True)
class JointTableKind:
    """What two queries must have in common to share a joint table.

    `private` are the private axes. `groups` are the axes whose cells count as groups of a user,
    if the limits on groups can drop rows. `totals` states that rows are first added up per user,
    and `bins` in which bins users are counted. `distinct` states which distinct values are counted.
    `factors` are columns of numbers: rows with equal numbers are counted together. The `limits` are
    on the rows of a user. A table `of_people` adds up lines of people: one for each person, or one
    for each of the person's groups by the axes of rows among `groups`.
    """

    limits: TableLimits = TableLimits()
    private: tuple[Axis, ...] = ()
    groups: tuple[Axis, ...] | None = None
    totals: bool = False
    bins: UserBins | None = None
    distinct: DistinctValues | None = None
    factors: tuple[Factor, ...] = ()
    of_people: bool = False


@dataclass(frozen=True, slots=True)
class JointTable:
    """A table that several queries share: its axes, and the queries.

    `members` are the queries by their positions in the list of all queries. Each axis has one more
    index than labels: the last index is for rows outside all labels. Private axes are separate
    columns.
    """

    kind: JointTableKind
    axes: tuple[Axis, ...]
    members: Mapping[int, Query]

    @property
    def private_names(self) -> list[str]:
        """The names of the private axes in frames."""
        return [f"o{index}" for index in range(len(self.kind.private))]

    @property
    def factor_names(self) -> list[str]:
        """The names of the factors in frames."""
        return [f"f{index}" for index in range(len(self.kind.factors))]

    @property
    def keys(self) -> list[str]:
        """The columns of a partial that identify its lines."""
        return ["cell", *self.private_names, *self.factor_names]

    def combine_partials(self, partials: pl.LazyFrame) -> pl.LazyFrame:
        """The partial of one scan, from partials of its rows; all sums fit their types."""
        if self.kind.distinct is not None:
            return partials.unique()
        return partials.group_by(self.keys).agg(SUMS.sum())

    def merge(self, partials: pl.LazyFrame) -> pl.LazyFrame:
        """One line per cell, from the partials of all scans, with sums in 128 bits."""
        if self.kind.distinct is None:
            return self.combine_partials(partials.with_columns(SUMS.cast(pl.Int128)))
        count = pl.col("value").is_not_null().cast(pl.Int64).sum()
        return self.combine_partials(partials).group_by(self.keys).agg(count.alias("s0"))

    @property
    def index_type(self) -> pl.DataType:
        """A type that fits all joint cells, and values of the columns of all axes.

        The sum of two such values fits it too. Rows are grouped faster by half a machine word.
        """
        columns = (axis.column for axis in self.axes)
        limits = [pair for column in columns for pair in column.declared_ranges]
        sizes = (
            prod(len(axis) + 1 for axis in self.axes),
            *(abs(end) for ends in limits for end in ends),
        )
        return pl.Int32() if max(sizes) < FITS_32_BITS else pl.Int64()

    @property
    def sums(self) -> dict[PlainSum, str]:
        """The plain sums that the members need, with their names in frames."""
        weighted = (
            part
            for query in self.members.values()
            for part in weighted_sums(query, of_people=self.kind.of_people)
        )
        plain = dict.fromkeys(plain for part in weighted for _, plain in part)
        return {part: f"s{number}" for number, part in enumerate(plain)}

    @property
    def user_totals(self) -> list[UserTotals]:
        """The totals of each user that the members need."""
        shapes = (query.shape for query in self.members.values())
        return [shape for shape in shapes if isinstance(shape, UserTotals)]


def joint_tables(queries: Sequence[BoundedQuery]) -> list[JointTable]:
    """The joint tables of all queries.

    Each query joins the first table of its kind that stays small or gets no new axis.
    """
    tables: list[JointTable] = []
    for position, asked in enumerate(queries):
        query, kind = asked.query, _kind(asked.query, asked.unit)
        public = tuple(axis for axis in query.grouping_axes if not axis.is_private)
        for index, table in enumerate(tables):
            axes = tuple(dict.fromkeys(table.axes + public))
            small = prod(len(axis) + 1 for axis in axes) <= JOINT_CELLS
            if kind == table.kind and (small or set(axes) == set(table.axes)):
                tables[index] = JointTable(kind, axes, {**table.members, position: query})
                break
        else:
            tables.append(JointTable(kind, public, {position: query}))
    return tables


def _kind(query: Query, unit: Unit) -> JointTableKind:
    shape = query.shape
    totals = isinstance(shape, UserTotals)
    if isinstance(unit, PersonUnit) and unit.of_people:
        return _kind_of_people(query, unit)
    drops_rows = totals or (unit.limits_groups and bool(query.axes))
    limits = TableLimits()
    if isinstance(unit, PersonUnit):
        # Without axes a user has one total, whatever the limit on groups is.
        groups = (unit.max_groups if query.axes else 1) if drops_rows else None
        in_group = unit.max_rows_per_group if drops_rows and not totals else None
        limits = TableLimits(None if totals else unit.max_rows, groups, in_group)
    kind = JointTableKind(
        limits,
        tuple(axis for axis in query.by if axis.is_private),
        tuple(sorted(query.axes, key=repr)) if drops_rows else None,
        totals,
    )
    match shape:
        case UserBins():
            return JointTableKind(TableLimits(shape.kept_rows), bins=shape)
        case DistinctValues():
            return replace(kind, distinct=shape)
        case CountedFactors(factors=factors):
            return replace(kind, factors=factors)
        case _:
            return kind


def _kind_of_people(query: Query, unit: PersonUnit) -> JointTableKind:
    of_rows = [axis for axis in query.axes if not axis.column.is_of_people]
    kind = JointTableKind(
        TableLimits(groups=unit.max_groups if of_rows else None),
        of_people=True,
        private=tuple(axis for axis in query.by if axis.is_private),
        groups=tuple(sorted(of_rows, key=repr)) or None,
    )
    match query.shape:
        case DistinctValues() as shape:
            return replace(kind, distinct=shape)
        case CountedFactors(factors=factors):
            return replace(kind, factors=factors)
        case UserTotals() as shape if shape.total == shape.counted and shape.clamp == (0, 1):
            return kind
        case UserTotals() | UserBins():
            raise ValueError("a query of people adds up one line of each person")
        case _:
            return kind


class JointTableExpressions:
    """The expressions of one joint table: the cells of rows, and the sums in a cell.

    `names` are the names of decoded columns, and there are at most `size` rows. The column `cell`
    is the joint cell of the public axes, the last axis fastest; on each axis, one index past the
    end stands for rows outside it. `o0` and so on are the private axes, null for rows outside them.
    `g0` and so on are the indices on the axes of a user's groups, `f0` and so on the factors by
    which rows are counted.
    """

    def __init__(self, table: JointTable, names: Mapping[Column, str], size: int) -> None:
        self.table, self.names, self.size = table, names, size
        self._sums = [
            sum_expression(plain, names, size).alias(name) for plain, name in table.sums.items()
        ]
        self.private_names, self.keys = table.private_names, table.keys
        kind = table.kind
        public = [axis for axis in table.axes if axis in (kind.groups or ())]
        self.group_axes = public
        self._group_axes = {f"g{index}": axis for index, axis in enumerate(public)}
        self.groups = [*self._group_axes, *self.private_names]

    def assign_cells(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with the columns to group by, and a column `row` of ones to count by."""
        dtype = self.table.index_type
        # One past the end for a row outside an axis.
        indices = {
            axis: axis.index(pl.col(self.names[axis.column]).cast(dtype)).fill_null(len(axis))
            for axis in self.table.axes
        }
        private = [
            pl.col(self.names[axis.column]).alias(name)
            for axis, name in zip(self.table.kind.private, self.private_names, strict=True)
        ]
        groups = [indices[axis].alias(name) for name, axis in self._group_axes.items()]
        cell = pl.lit(0, dtype=dtype)
        for axis in self.table.axes:
            cell = cell * (len(axis) + 1) + indices[axis]
        row = pl.lit(1, dtype=pl.Int64).alias("row")
        factors = [
            factor_value(factor, self.names, pl.Int64()).alias(name)
            for factor, name in zip(self.table.kind.factors, self.table.factor_names, strict=True)
        ]
        return rows.with_columns(cell.alias("cell"), row, *private, *groups, *factors)

    @property
    def in_user_group(self) -> pl.Expr:
        """Whether a row of `assign_cells` lies in one of the groups of its user."""
        inside = [pl.col(name) < len(axis) for name, axis in self._group_axes.items()]
        inside += [pl.col(name).is_not_null() for name in self.private_names]
        return pl.all_horizontal(inside) if inside else pl.lit(value=True)

    def group(
        self, rows: pl.LazyFrame, aggregates: Sequence[pl.Expr], first: Sequence[str] = ()
    ) -> pl.LazyFrame:
        """One line per occupied cell and value of `first`, with the aggregates."""
        lines = rows.group_by(*first, *self.keys).agg(aggregates)
        return lines.with_columns(pl.col("cell").cast(pl.Int64))

    def partial(self, rows: pl.LazyFrame, also: Sequence[pl.Expr] = ()) -> pl.LazyFrame:
        """One line per occupied cell with its sums, or per distinct value in the cell.

        `rows` are results of `assign_cells`. `also` are further aggregates, only for sums.
        """
        distinct = self.table.kind.distinct
        if distinct is not None:
            mask = row_filter(distinct.where, distinct.not_missing, self.names)
            value = pl.col(self.names[distinct.column])
            # A row that does not count has the value null.
            value = value if mask is None else pl.when(mask).then(value)
            lines = rows.select(*self.keys, value.alias("value")).unique()
            return lines.with_columns(pl.col("cell").cast(pl.Int64))
        if self.table.axes or len(self.table.keys) > 1:
            return self.group(rows, [*self._sums, *also])
        # Without axes there is one cell, even if there is no row.
        return rows.select(pl.lit(0, dtype=pl.Int64).alias("cell"), *self._sums, *also)


Answer = Cells | Groups
"""The exact answer to a query, before it becomes `Confidential`."""

Partial = list[pl.DataFrame]
"""Joint tables' exact sums or distinct values by cell: mergeable, confidential."""


def roll_up(merged: pl.DataFrame, table: JointTable) -> dict[int, Answer]:
    """Answers to a joint table's queries by position; callers make them confidential.

    `merged` has one line per occupied joint cell: `cell`, the texts of private axes and the sums.
    """
    indices: dict[Axis, Ints] = {}
    cell = merged["cell"].to_numpy()
    for axis in reversed(table.axes):
        cell, indices[axis] = np.divmod(cell, len(axis) + 1)
    kind = table.kind
    if kind.bins is not None:
        numbers = np.zeros(kind.bins.bins, dtype=np.int64)
        numbers[cell] = merged["s0"].cast(pl.Int64).to_numpy()
        # Equal queries share the table.
        return {
            position: query.answer(numbers[None].copy())
            for position, query in table.members.items()
        }
    private = {axis: merged[f"o{index}"] for index, axis in enumerate(kind.private)}
    names = table.sums
    answers: dict[int, Answer] = {}
    for order, (position, query) in enumerate(table.members.items()):
        if kind.totals or kind.distinct is not None:
            needed = [[(1, f"s{order}" if kind.totals else "s0")]]
        else:
            needed = [
                [(weight, names[plain]) for weight, plain in weighted]
                for weighted in weighted_sums(query, of_people=kind.of_people)
            ]
        sums = [_weighted_sum(merged, columns) for columns in needed]
        if kind.factors:
            # A row with a missing factor is not counted.
            values = [merged[name].fill_null(0).to_numpy() for name in table.factor_names]
            answers[position] = query.answer(np.stack([*values, *sums], axis=1)[sums[0] > 0])
        elif query.has_private_groups:
            answers[position] = _groups(query, indices, private, np.stack(sums, axis=1))
        else:
            axes = query.grouping_axes
            cell, inside = _cells(axes, indices, len(merged))
            cells: list[Array] = [np.zeros(prod(map(len, axes)), part.dtype) for part in sums]
            for total, part in zip(cells, sums, strict=True):
                np.add.at(total, cell[inside], part[inside])
            groups = prod(len(axis) for axis in query.by)
            numbers = np.array(cells, dtype=None if cells else np.int64)
            answers[position] = query.answer(numbers.T.reshape(groups, -1))
    return answers


def _weighted_sum(merged: pl.DataFrame, combination: Sequence[tuple[int, str]]) -> Array:
    """The sum of weights times columns in each joint cell; no total overflows."""
    columns = [(weight, merged[name].fill_null(0)) for weight, name in combination]
    # Weights alone may be too large for words, even if the columns hold zeros.
    bound = 0
    for weight, column in columns:
        ends = cast("int", column.min() or 0), cast("int", column.max() or 0)
        bound += abs(weight) * max(1, *map(abs, ends))
    if bound * max(1, len(merged)) < SAFE_INTEGER:
        words = [weight * column.cast(pl.Int64).to_numpy() for weight, column in columns]
    else:
        words = [weight * np.array(column.to_list(), object) for weight, column in columns]
    total: Array = np.sum(words, axis=0)
    return total


def _cells(axes: Sequence[Axis], indices: Mapping[Axis, Ints], count: int) -> tuple[Ints, Bools]:
    """The cell on `axes` of each joint cell, from its `indices`; whether it has one."""
    cell, inside = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    for axis in axes:
        inside &= indices[axis] < len(axis)
        cell = cell * len(axis) + indices[axis]
    return cell, inside


def _groups(
    query: Query, indices: Mapping[Axis, Ints], private: Mapping[Axis, pl.Series], values: Array
) -> Groups:
    """The groups that hold rows, by the labels of all axes, with occupied cells.

    `indices` has the index of each joint cell on each public axis, `private` its texts on private
    ones. `values` has the shape (joint cells, numbers): the numbers of a cell follow one another.
    """
    cell, inside = _cells(query.inner_axes, indices, len(values))
    axes = [
        private[key] if key.is_private else pl.Series([*key.labels, None]).gather(indices[key])
        for key in query.by
    ]
    labels = pl.DataFrame([axis.alias(f"k{index}") for index, axis in enumerate(axes)])
    keys = labels.columns
    lines = labels.with_row_index("line").filter(inside).drop_nulls().sort(keys)
    names = lines.select(keys).unique(maintain_order=True)
    first = pl.any_horizontal(pl.col(keys) != pl.col(keys).shift()).fill_null(value=True)
    group = lines.select(first.cast(pl.Int64).cum_sum() - 1).to_series().to_numpy()
    order = lines["line"].to_numpy()
    numbers = values.shape[1]
    width = prod(len(key) for key in query.inner_axes) * numbers
    return Groups(
        tuple(names.iter_rows()),
        group.repeat(numbers),
        (cell[order][:, None] * numbers + np.arange(numbers)).ravel(),
        values[order].ravel(),
        width,
        query.answer,
    )
