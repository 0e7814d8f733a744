"""Centered counts: counts by groups less a multiple of the number of people."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod

from dpcli.numeric.arrays import Array, add_exact, multiply_exact
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, centered_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Shape
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class CenteredCountQuery(Query):
    """For each cell, `times` its count minus `less` times the number of people.

    With `of_people`, a cell counts people, else rows. The number of people is the same for all
    cells: it includes each person with a row that counts, even a row outside the cells. Raises
    ValueError for private groups, and unless `times` and `less` are positive.
    """

    times: int
    less: int
    of_people: bool = False

    def __post_init__(self) -> None:
        if self.has_private_groups or not self.axes:
            raise ValueError("only public groups have counts less people")
        if min(self.times, self.less) < 1:
            raise ValueError("the multiples of counts and people are positive")

    @cached_property
    def counts(self) -> LinearQuery:
        """The count of each cell."""
        clamp = (0, 1) if self.of_people else None
        return LinearQuery(
            by=self.by, items=self.items, where=self.where, present=self.present, user_clamp=clamp
        )

    @cached_property
    def people(self) -> LinearQuery:
        """The number of people with a row that counts."""
        return LinearQuery(where=self.where, present=self.present, user_clamp=(0, 1))

    @property
    def parts(self) -> tuple[Query, ...]:
        return self.counts, self.people

    def combined(self, answer: Array, *following: Array) -> Array:
        """Centered counts: `times` each count minus `less` times the number of people."""
        (people,) = following
        subtracted = multiply_exact(people, -self.less).repeat(len(answer))
        return add_exact(multiply_exact(answer, self.times), subtracted)

    @property
    def shape(self) -> Shape:
        """The shape of the plain counts: the engine answers the `parts`, not this query."""
        return self.counts.shape

    @property
    def total_clamp(self) -> tuple[int, int] | None:
        return self.counts.total_clamp

    def terms(self, relation: Relation) -> QueryTerms:
        times, clamp = (self.times, self.less), self.total_clamp
        return replace(super().terms(relation), rule="centered", times=times, clamp=clamp)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of centered counts.

        Raises ValueError unless neighbors add or remove a person.
        """
        unit = self.bounded_unit(relation.unit)
        if relation.neighbors is not Neighbors.ADD_REMOVE or not isinstance(unit, PersonUnit):
            raise ValueError("counts less people have a bound if people are added or removed")
        return centered_sensitivity(self.times, self.less, unit, self.number_of_cells)

    @property
    def number_of_cells(self) -> int:
        """The number of cells: groups times items, both public."""
        return prod(map(len, self.axes))

    @cached_property
    def row_contribution(self) -> RowContribution:
        """From -`less`, for a person without a row in the cell, to `times` for one row."""
        return RowContribution(-self.less, self.times)
