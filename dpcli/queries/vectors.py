"""The numbers of another query as vectors, which noise protects together."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from dpcli.data.column import Column
from dpcli.numeric.arrays import Array
from dpcli.privacy.norms import NORMS, Changes
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import AnswerWords, Query, require_numbers
from dpcli.queries.sums import Shape


@dataclass(frozen=True, kw_only=True)
class VectorQuery(Query):
    """The answer to another query, as one vector or as one for each group.

    The L1 of its sensitivity is the largest change in the norm of the noise: the sum of the norms
    of all vectors. Raises ValueError for private groups, for an unknown body, for choices,
    minimizers and other vectors, and if rows or cells are not those of the other query.

    Privacy: the norm of what one unit changes is bounded by the sensitivities of the other query
    (`Norm.most`). A unit that is exchanged is one that is removed and one that is added. The
    sum of all numbers is fixed if the number of rows is public, and each row adds the same. That of
    a group is not, because a row can move to another group.
    """

    of: Query
    body: str
    by_group: bool = False

    def __post_init__(self) -> None:
        require_numbers(self.of)
        if self.of.cells is None:
            raise ValueError("cells of private groups are not known before they are selected")
        own = (self.by, self.items, self.where, self.present)
        if own != (self.of.by, self.of.items, self.of.where, self.of.present):
            raise ValueError("the rows and cells are those of the other query")
        if self.body not in NORMS:
            raise ValueError("a norm has a known body")

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return self.of.cells_per_group if self.by_group else self.of.cells or 1

    @property
    def vectors(self) -> tuple[int, str]:
        return self.size, self.body

    @property
    def operands(self) -> tuple[Column, ...]:
        return self.of.operands

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.of.columns

    @property
    def cells(self) -> int | None:
        return self.of.cells

    @property
    def cells_per_group(self) -> int:
        return self.of.cells_per_group

    @property
    def total_clamp(self) -> tuple[int, int] | None:
        return self.of.total_clamp

    @property
    def sum_of_row(self) -> int | None:
        return self.of.sum_of_row

    def without_clamp(self) -> Query:
        return replace(self, of=self.of.without_clamp())

    @property
    def row_contribution(self) -> RowContribution:
        return self.of.row_contribution

    @property
    def shape(self) -> Shape:
        """The shape of the other query: the engine answers its parts, not this query."""
        return self.of.shape

    @property
    def parts(self) -> tuple[Query, ...]:
        return self.of.parts

    def combined(self, answer: Array, *following: Array) -> Array:
        return self.of.combined(answer, *following)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        one = self.of.sensitivity(relation)
        norm = NORMS[self.body].most(self._changes(relation))
        return Sensitivity(one.l0, norm, one.l2_squared, one.linf)

    def add_remove_sensitivity(self, relation: Relation) -> Sensitivity | None:
        """That of the norm; None if the norm is only for numbers with a fixed sum."""
        with suppress(ValueError):
            return super().add_remove_sensitivity(relation)
        return None

    def _changes(self, relation: Relation) -> Changes:
        exchanged, of = relation.neighbors is Neighbors.CHANGE_ONE, self.of
        added = Relation(relation.unit, Neighbors.ADD_REMOVE)
        only_adds = self.row_contribution.low >= 0
        is_counted = of.sum_of_row is not None and not of.may_skip
        is_public = exchanged and isinstance(relation.unit, RowUnit) and is_counted
        is_single = self.size == of.cells
        return Changes(
            largest=self._largest(relation),
            total=of.sensitivity(relation).l1,
            largest_of_added=self._largest(added) if only_adds else None,
            total_of_added=of.sensitivity(added).l1 if only_adds else None,
            times=1 + exchanged,
            is_single=is_single,
            has_fixed_sum=is_public and is_single,
        )

    def _largest(self, relation: Relation) -> int:
        """The greatest change of a number of each vector, summed over all vectors."""
        if self.by_group:
            return self.of.largest_changes(relation)
        return self.of.sensitivity(relation).linf

    def protection(self, words: AnswerWords) -> str:
        """How the vectors are protected, in a sentence or two."""
        each = "" if self.size == self.of.cells else ", summed over all groups"
        return (
            f"{words.role}: one {words.unit} can change the answer by at most {words.change}, "
            f"where a change is {NORMS[self.body].change}{each}. Discrete {words.noise} noise of "
            f"scale {words.scale} was added to all numbers together; that of a number is within "
            f"{words.error} in {words.percent}% of cases."
        )
