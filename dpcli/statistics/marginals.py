"""Marginal tables of several columns, made consistent in their totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, cycle, product
from math import ceil, prod
from typing import Annotated, Any

from pydantic import Field

from dpcli.columns import Axis
from dpcli.noise.tails import blended_half_width
from dpcli.numeric.arrays import Array, np
from dpcli.privacy.neighboring import Relation
from dpcli.queries import LinearQuery
from dpcli.spec_fields import FieldFault, TableColumns, check_at_most
from dpcli.spec_values import NO_FIXED_LIMIT, field_types, whole_number
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import NUMERIC_STEPS, NoisyAnswer, Request, Statistic, WeightedQuery

Rationals = Array
"""Arrays of `Fraction`, dtype object."""

Axes = tuple[Axis, ...]

NEAR_ZERO = Fraction(1, 1 << 100)
"""The variance that stands for zero, because its inverse is needed."""

AxesPerTable = Annotated[
    int, whole_number(NO_FIXED_LIMIT, "of the columns each table has"), Field(examples=[2])
]


class Marginals(Statistic):
    """The number of rows in each cell of every table of `ways` of the `columns`.

    All tables are answered together, overall or for each group of `by`. Items are called
    `sex=f; ward=A`. Tables that share columns contain the same totals, with different
    noise. The step `consistent`, which is the default of `post`, makes all totals agree:
    each becomes the mean of its values in all tables, weighted by the inverse of their
    variances, and cells are adjusted to their totals. That is the best linear unbiased
    estimate (generalized least squares; Gauss and Markov). The raw noisy counts are
    published too, as NAME.raw.

    Privacy: each table is a `histogram` of the same rows: a row that is added or removed
    changes one cell of each table by 1, and a row that is changed, two cells. The tables
    share epsilon evenly, and if the noise is Gaussian, they are protected as one answer. A
    person changes as many rows as the limits allow; the cells of a table count as groups.
    Rows count if all columns are present, so all tables are about the same rows. The
    exception is `max_groups` or `max_rows_per_group`, which can leave out different rows in
    each table: then the exact totals differ, and the consistent ones are a mean of them.

    >>> flag = "{type: boolean}"
    >>> l1("statistic: marginals, columns: [a, b, c], ways: 2", a=flag, b=flag, c=flag)
    {'add-remove': [1, 1, 1], 'change-one': [2, 2, 2]}
    """

    name = "marginals"
    takes = field_types(columns=TableColumns, ways=AxesPerTable)
    measure = "counts"
    steps = ("consistent", *NUMERIC_STEPS)
    default_steps = ("consistent",)
    item = "cell"

    def complete_request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The axes, and the number of axes of each table."""
        return replace(bare, margins=given["columns"], ways=given["ways"])

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """A table has at most as many axes as there are columns."""
        most = len(request.margins)
        yield from check_at_most(request.ways, "ways", most, "of the columns each table has")

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """One table for each combination of columns."""
        tables = _tables(request)
        present = tuple(key.column for key in request.margins)
        return tuple(
            WeightedQuery(
                f"table of {', '.join(key.column.name for key in table)}",
                LinearQuery(by=request.by, items=table, where=request.where, present=present),
                Fraction(1, len(tables)),
            )
            for table in tables
        )

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The noisy counts as they are, in the order of groups, then tables."""
        sizes = [_cells(axes) for axes in _tables(request)]
        pairs = zip(answers, sizes, strict=True)
        values = np.hstack([answer.values.reshape(-1, size) for answer, size in pairs])
        widths = np.repeat([answer.noise.half_width(confidence) for answer in answers], sizes)
        widths = np.tile(widths, len(values))
        return Estimates.around(values.ravel(), widths, Fraction(1))

    def names(self, request: Request) -> tuple[str, ...]:
        """The columns and labels of each cell."""
        return tuple(
            "; ".join(f"{key.column.name}={label}" for key, label in zip(table, cell, strict=True))
            for table in _tables(request)
            for cell in product(*(key.labels for key in table))
        )

    def item_count(self, request: Request) -> int:
        """The number of cells of all tables together."""
        return sum(map(_cells, _tables(request)))

    def make_consistent(
        self,
        request: Request,
        answers: Sequence[NoisyAnswer],
        estimates: Estimates,
        confidence: Fraction,
    ) -> Estimates:
        """The counts of each group, with the same totals in all tables."""
        if not len(estimates):  # No group was selected.
            return estimates
        values, widths = _consistent_counts(_tables(request), answers, confidence)
        return Estimates.single(list(zip(values, cycle(widths), strict=False)), (2,))


def _tables(request: Request) -> list[Axes]:
    return list(combinations(request.margins, request.ways))


def _cells(axes: Axes, without: Axes = ()) -> int:
    return prod(len(axis) for axis in axes if axis not in without)


def _consistent_counts(
    tables: Sequence[Axes], answers: Sequence[NoisyAnswer], confidence: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    """The consistent count of every cell, group by group, and the half-widths in one group.

    The cells of a table have independent noise of one variance. A table is the sum of its
    effects: the mean, the main effect of each axis, the interaction of each two axes, and so on.
    Effects of different axes are uncorrelated. So generalized least squares takes for each effect
    the mean over the tables that contain it, weighted by the inverse of its variance there.
    """
    # The inverse of the variance of each total in each table, and in all tables together. A
    # table that no unit can change is exact: its weight is very large.
    precisions = [
        {
            inner: 1 / ((answer.noise.variance or NEAR_ZERO) * _cells(axes, inner))
            for inner in _inner(axes)
        }
        for axes, answer in zip(tables, answers, strict=True)
    ]
    joint: dict[Axes, Fraction] = defaultdict(Fraction)
    for inner, precision in chain.from_iterable(table.items() for table in precisions):
        joint[inner] += precision
    effects: dict[Axes, Rationals] = {}
    widths: list[Fraction] = []
    for axes, answer, own in zip(tables, answers, precisions, strict=True):
        counts: Rationals = np.array(
            [Fraction(int(count)) for count in answer.values], dtype=object
        )
        counts = counts.reshape(-1, *map(len, axes))
        # The variance of a consistent cell, and the weight of the noise of its own table in it.
        variance, part = Fraction(0), Fraction(0)
        for inner in _inner(axes):
            weight, others = own[inner] / joint[inner], _cells(axes, inner)
            free = prod((1 - Fraction(1, len(axis)) for axis in inner), start=Fraction(1))
            variance += free / joint[inner] / others**2
            part += free * weight / others
            weighted = _effect(counts, axes, inner) * weight
            effects[inner] = effects[inner] + weighted if inner in effects else weighted
        width = blended_half_width(answer.noise, float(part), float(variance), confidence)
        widths += [Fraction(ceil(width * 100), 100)] * _cells(axes)
    consistent = []
    for axes in tables:
        table: Rationals = np.zeros((1, *map(len, axes)), dtype=object)
        for inner in _inner(axes):
            shape = [len(axis) if axis in inner else 1 for axis in axes]
            table = table + effects[inner].reshape(-1, *shape) / _cells(axes, inner)
        consistent.append(table.reshape(len(table), -1))
    return list(map(Fraction, np.hstack(consistent).ravel())), widths


def _inner(axes: Axes) -> Iterator[Axes]:
    """Every subset of the axes."""
    for count in range(len(axes) + 1):
        yield from combinations(axes, count)


def _effect(counts: Rationals, axes: Axes, inner: Axes) -> Rationals:
    """The effect of the inner axes on the totals over the other axes of a table.

    Shape (groups, cells of the inner axes).
    """
    for place, axis in enumerate(axes, start=1):
        total = counts.sum(axis=place, keepdims=True)
        counts = counts - total / len(axis) if axis in inner else total
    return counts.reshape(len(counts), -1)
