"""All tables of some of several columns, brought to agree on their totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations, product
from math import ceil, prod
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dpcli.fields import Fault, TableColumns, at_most
from dpcli.privacy.relation import Relation
from dpcli.privacy.tails import blended_half_width
from dpcli.queries import Key, LinearQuery
from dpcli.statistics.base import (
    NUMBER_STEPS,
    Answer,
    Estimate,
    Question,
    Request,
    Statistic,
    shifted,
)
from dpcli.values import UNLIMITED, Shape, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Exact rationals.
    Rationals = NDArray[Any]

Axes = tuple[int, ...]

SURE = Fraction(1, 1 << 100)
"""The variance that stands for none."""

Ways = Annotated[int, whole(UNLIMITED, "of the columns each table has"), Field(examples=[2])]


class MarginalsFields(Shape):
    """The axes of all tables, and how many each table has."""

    columns: TableColumns
    ways: Ways


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
    """

    name = "marginals"
    fields = MarginalsFields
    measure = "counts"
    steps = ("consistent", *NUMBER_STEPS)
    default_steps = ("consistent",)
    item = "cell"

    def request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The axes, and how many of them each table has."""
        return replace(bare, margins=given["columns"], ways=given["ways"])

    def faults(self, request: Request, relation: Relation) -> Iterable[Fault]:
        """No table has more axes than there are."""
        most = len(request.margins)
        yield from at_most(request.ways, "ways", most, "of the columns each table has")

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One table of each choice of columns."""
        tables = _tables(request)
        present = tuple(key.column for key in request.margins)
        return tuple(
            Question(
                f"table of {', '.join(key.column.name for key in table)}",
                LinearQuery(by=request.by, items=table, where=request.where, present=present),
                Fraction(1, len(tables)),
            )
            for table in tables
        )

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The noisy counts as they are, group by group, table by table."""
        found = [shifted(answer, confidence, Fraction(1)) for answer in answers]
        many = _groups(request, answers)
        sizes = [prod(len(key) for key in table) for table in _tables(request)]
        return tuple(
            estimate
            for group in range(many)
            for table, size in zip(found, sizes, strict=True)
            for estimate in table[group * size : (group + 1) * size]
        )

    def items(self, request: Request) -> tuple[str, ...]:
        """The columns and labels of each cell."""
        return tuple(
            "; ".join(f"{key.column.name}={label}" for key, label in zip(table, cell, strict=True))
            for table in _tables(request)
            for cell in product(*(key.labels for key in table))
        )

    def size(self, request: Request) -> int:
        """How many cells all tables have."""
        return sum(prod(len(key) for key in table) for table in _tables(request))

    def consistent(
        self,
        request: Request,
        answers: Sequence[Answer],
        estimates: Sequence[Estimate],
        confidence: Fraction,
    ) -> tuple[Estimate, ...]:
        """The counts of each group with totals that agree."""
        places = {key: place for place, key in enumerate(request.margins)}
        tables = [tuple(places[key] for key in table) for table in _tables(request)]
        sizes = tuple(len(key) for key in request.margins)
        return tuple(
            replace(estimate, value=value, lower=value - width, upper=value + width, places=2)
            for estimate, (value, width) in zip(
                estimates,
                agreed(tables, sizes, answers, _groups(request, answers), confidence),
                strict=True,
            )
        )


def _tables(request: Request) -> list[tuple[Key, ...]]:
    return list(combinations(request.margins, request.ways))


def _groups(request: Request, answers: Sequence[Answer]) -> int:
    """How many groups there are answers for."""
    (first, *_) = _tables(request)
    return len(answers[0].values) // prod(len(key) for key in first)


def agreed(
    tables: Sequence[Axes],
    sizes: tuple[int, ...],
    answers: Sequence[Answer],
    groups: int,
    confidence: Fraction,
) -> Iterator[tuple[Fraction, Fraction]]:
    """Every cell's agreed count with the half-width of its interval, group by group.

    `tables` name the axes of each table, `sizes` the labels of each axis; each cell of a
    table has independent noise of one variance. A table is the sum of its effects: the
    mean, what each axis adds to it, what each two add beyond that, and so on. Effects of
    different axes are uncorrelated, so generalised least squares takes for each the mean of
    the tables that contain it, weighted by the inverse of the variance it has there.
    """
    import numpy as np

    def cells(axes: Axes, without: Axes = ()) -> int:
        return prod(sizes[axis] for axis in axes if axis not in without)

    # The inverse of the variance of each total in each table, and in all tables together. A
    # table that no unit can change is exact: its weight is very large.
    precisions = [
        {
            inner: 1 / ((answer.noise.variance or SURE) * cells(axes, inner))
            for inner in _inner(axes)
        }
        for axes, answer in zip(tables, answers, strict=True)
    ]
    joint: dict[Axes, Fraction] = defaultdict(Fraction)
    for inner, precision in chain.from_iterable(each.items() for each in precisions):
        joint[inner] += precision
    widths = []
    for axes, answer, own in zip(tables, answers, precisions, strict=True):
        # The variance of a cell, and the part that the noise of its own table has in it.
        variance, part = Fraction(0), Fraction(0)
        for inner in _inner(axes):
            free = prod((1 - Fraction(1, sizes[axis]) for axis in inner), start=Fraction(1))
            variance += free / joint[inner] / cells(axes, inner) ** 2
            part += free * own[inner] / joint[inner] / cells(axes, inner)
        steps = blended_half_width(answer.noise, float(part), float(variance), confidence)
        widths.append(Fraction(ceil(steps * 100), 100))
    for group in range(groups):
        effects: dict[Axes, Rationals] = {}
        for axes, answer, own in zip(tables, answers, precisions, strict=True):
            counts = answer.values[group * cells(axes) : (group + 1) * cells(axes)]
            table: Rationals = np.array([Fraction(count) for count in counts], dtype=object)
            table = table.reshape([sizes[axis] for axis in axes])
            for inner in _inner(axes):
                weighted = _effect(table, axes, inner) * (own[inner] / joint[inner])
                effects[inner] = effects[inner] + weighted if inner in effects else weighted
        for axes, width in zip(tables, widths, strict=True):
            whole: Rationals = np.zeros([sizes[axis] for axis in axes], dtype=object)
            for inner in _inner(axes):
                shape = [sizes[axis] if axis in inner else 1 for axis in axes]
                whole = whole + effects[inner].reshape(shape) / cells(axes, inner)
            yield from ((Fraction(value), width) for value in whole.ravel())


def _inner(axes: Axes) -> Iterator[Axes]:
    for count in range(len(axes) + 1):
        yield from combinations(axes, count)


def _effect(table: Rationals, axes: Axes, inner: Axes) -> Rationals:
    """What the inner axes add, beyond each choice of fewer, to the totals over the others."""
    for place, axis in enumerate(axes):
        total = table.sum(axis=place, keepdims=True)
        table = table - total / table.shape[place] if axis in inner else total
    return table.ravel()
