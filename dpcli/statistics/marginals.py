"""All tables of some of several columns, with totals that agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import Annotated, Any

from pydantic import Field

from dpcli.fields import Fault, TableColumns, at_most
from dpcli.privacy.relation import Relation
from dpcli.queries import Key, LinearQuery
from dpcli.statistics.agreement import agreed
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
    """The axes of every table."""
    return list(combinations(request.margins, request.ways))


def _groups(request: Request, answers: Sequence[Answer]) -> int:
    """How many groups there are answers for."""
    (first, *_) = _tables(request)
    return len(answers[0].values) // prod(len(key) for key in first)
