"""All tables of some of several columns, brought to agree on their totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, cycle, product
from math import ceil, prod
from typing import Annotated, Any

from pydantic import Field

from dpcli.columns import Key
from dpcli.noise.tails import blended_half_width
from dpcli.numeric.arrays import Array, np
from dpcli.privacy.neighboring import Relation
from dpcli.queries import LinearQuery
from dpcli.spec_fields import FieldFault, TableColumns, check_at_most
from dpcli.spec_values import NO_FIXED_LIMIT, field_types, whole_number
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import NUMERIC_STEPS, NoisyAnswer, Request, Statistic, WeightedQuery

Rationals = Array
"""Exact rationals."""

Axes = tuple[Key, ...]

SURE = Fraction(1, 1 << 100)
"""The variance that stands for none."""

Ways = Annotated[
    int, whole_number(NO_FIXED_LIMIT, "of the columns each table has"), Field(examples=[2])
]


class Marginals(Statistic):
    """The number of rows in each cell of every table of `ways` of the `columns`.

    All tables are answered together, overall or for each group of `by`; items are called
    `sex=f; ward=A`. Tables that share columns contain the same totals, with different
    noise. The step `consistent`, which is taken if `post` is absent, makes all totals
    agree: each becomes the mean of what the tables have for it, weighted by the inverse of
    their variances, and cells are moved with their totals. That is linear and unbiased, and
    the best that is both (generalized least squares; Gauss and Markov). The raw noisy
    counts are published too, as NAME.raw.

    Privacy: each table is a `histogram` of the same rows: a row that is added or removed
    changes one cell of each table by 1, and a row that is changed, two cells. The tables
    share epsilon evenly, and if the noise is Gaussian, they are protected as one answer. A
    person moves as many rows as the limits allow; the cells of a table count as groups.
    Rows count if all columns are present, so all tables are about the same rows, unless
    `max_groups` or `max_rows_per_group` leave out different rows in each table: then the
    exact tables differ, and the totals that agree are a mean of them.

    >>> flag = "{type: boolean}"
    >>> l1("statistic: marginals, columns: [a, b, c], ways: 2", a=flag, b=flag, c=flag)
    {'add-remove': [1, 1, 1], 'change-one': [2, 2, 2]}
    """

    name = "marginals"
    takes = field_types(columns=TableColumns, ways=Ways)
    measure = "counts"
    steps = ("consistent", *NUMERIC_STEPS)
    default_steps = ("consistent",)
    item = "cell"

    def complete_request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The axes, and how many of them each table has."""
        return replace(bare, margins=given["columns"], ways=given["ways"])

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """No table has more axes than there are."""
        most = len(request.margins)
        yield from check_at_most(request.ways, "ways", most, "of the columns each table has")

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """One table of each choice of columns."""
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
        """The noisy counts as they are, group by group, table by table."""
        sizes = [_cells(axes) for axes in _tables(request)]
        pairs = zip(answers, sizes, strict=True)
        values = np.hstack([answer.values.reshape(-1, size) for answer, size in pairs])
        widths = np.repeat([one.noise.half_width(confidence) for one in answers], sizes)
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
        """How many cells all tables have."""
        return sum(map(_cells, _tables(request)))

    def make_consistent(
        self,
        request: Request,
        answers: Sequence[NoisyAnswer],
        estimates: Estimates,
        confidence: Fraction,
    ) -> Estimates:
        """The counts of each group with totals that agree."""
        if not len(estimates):  # No group was selected.
            return estimates
        values, widths = _agreed(_tables(request), answers, confidence)
        return Estimates.single(list(zip(values, cycle(widths), strict=False)), (2,))


def _tables(request: Request) -> list[Axes]:
    return list(combinations(request.margins, request.ways))


def _cells(axes: Axes, without: Axes = ()) -> int:
    return prod(len(axis) for axis in axes if axis not in without)


def _agreed(
    tables: Sequence[Axes], answers: Sequence[NoisyAnswer], confidence: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    """Every cell's agreed count, group by group, and the half-widths in one group.

    Each cell of a table has independent noise of one variance. A table is the sum of its
    effects: the mean, what each axis adds to it, what each two add beyond that, and so on.
    Effects of different axes are uncorrelated, so generalized least squares takes for each the
    mean of the tables that contain it, weighted by the inverse of the variance it has there.
    """
    # The inverse of the variance of each total in each table, and in all tables together. A
    # table that no unit can change is exact: its weight is very large.
    precisions = [
        {
            inner: 1 / ((answer.noise.variance or SURE) * _cells(axes, inner))
            for inner in _inner(axes)
        }
        for axes, answer in zip(tables, answers, strict=True)
    ]
    joint: dict[Axes, Fraction] = defaultdict(Fraction)
    for inner, precision in chain.from_iterable(each.items() for each in precisions):
        joint[inner] += precision
    effects: dict[Axes, Rationals] = {}
    widths: list[Fraction] = []
    for axes, answer, own in zip(tables, answers, precisions, strict=True):
        counts: Rationals = np.array(
            [Fraction(int(count)) for count in answer.values], dtype=object
        )
        counts = counts.reshape(-1, *map(len, axes))
        # The variance of a cell, and the part that the noise of its own table has in it.
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
    found = []
    for axes in tables:
        total: Rationals = np.zeros((1, *map(len, axes)), dtype=object)
        for inner in _inner(axes):
            shape = [len(axis) if axis in inner else 1 for axis in axes]
            total = total + effects[inner].reshape(-1, *shape) / _cells(axes, inner)
        found.append(total.reshape(len(total), -1))
    return list(map(Fraction, np.hstack(found).ravel())), widths


def _inner(axes: Axes) -> Iterator[Axes]:
    for count in range(len(axes) + 1):
        yield from combinations(axes, count)


def _effect(counts: Rationals, axes: Axes, inner: Axes) -> Rationals:
    """What the inner axes add, beyond each choice of fewer, to the totals over the others.

    Group by group, with the cells of the inner axes in each.
    """
    for place, axis in enumerate(axes, start=1):
        total = counts.sum(axis=place, keepdims=True)
        counts = counts - total / len(axis) if axis in inner else total
    return counts.reshape(len(counts), -1)
