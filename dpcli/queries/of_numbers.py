"""Queries that are made of the numbers of another query."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from dpcli.data.column import Column
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query, require_numbers
from dpcli.queries.sums import Shape
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class QueryOfNumbers(Query):
    """A query whose answer follows from the numbers of another query.

    Both are about the same rows and cells. Raises ValueError for private groups, for choices,
    minimizers and vectors, and if rows or cells are not those of the other query.
    """

    of: Query

    @classmethod
    def about(cls, of: Query) -> Self:
        """The query about the numbers of another one, with its rows and cells."""
        return cls(by=of.by, items=of.items, where=of.where, present=of.present, of=of)

    def __post_init__(self) -> None:
        require_numbers(self.of)
        if self.of.cells is None:
            raise ValueError("cells of private groups are not known before they are selected")
        own = (self.by, self.items, self.where, self.present)
        if own != (self.of.by, self.of.items, self.of.where, self.of.present):
            raise ValueError("the rows and cells are those of the other query")

    def terms(self, relation: Relation) -> QueryTerms:
        """Those of a query of its own rule, with those of the other query."""
        return replace(super().terms(relation), of=(self.of.terms(relation),))

    @property
    def operands(self) -> tuple[Column, ...]:
        return self.of.operands

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.of.columns

    @property
    def cells_per_group(self) -> int:
        return self.of.cells_per_group

    @property
    def total_clamp(self) -> tuple[int, int] | None:
        return self.of.total_clamp

    @property
    def shape(self) -> Shape:
        """The shape of the other query: the engine answers its parts, not this query."""
        return self.of.shape

    @property
    def parts(self) -> tuple[Query, ...]:
        return self.of.parts
