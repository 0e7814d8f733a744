"""The numbers of another query as vectors, which noise protects together."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from dpcli.numeric.arrays import Array
from dpcli.privacy.norms import NORMS, Changes
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.of_numbers import QueryOfNumbers
from dpcli.queries.query import AnswerWords, Query
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class VectorQuery(QueryOfNumbers):
    """The answer to another query, as one vector or as one for each group.

    The L1 of its sensitivity is the largest change in the norm of the noise: the sum of the norms
    of all vectors. Raises ValueError for an unknown norm, too.

    Privacy: the norm of what one unit changes is bounded by the sensitivities of the other query
    (`Norm.most`). A unit that is exchanged is one that is removed and one that is added. The
    sum of all numbers is fixed if the number of rows is public, and each row adds the same. That of
    a group is not, because a row can move to another group.
    """

    norm: str
    by_group: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in NORMS:
            raise ValueError("the norm is not known")

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return self.of.cells_per_group if self.by_group else self.of.cells or 1

    @property
    def vectors(self) -> tuple[int, str]:
        return self.size, self.norm

    @property
    def sum_of_row(self) -> int | None:
        return self.of.sum_of_row

    def without_clamp(self) -> Query:
        return replace(self, of=self.of.without_clamp())

    @property
    def row_contribution(self) -> RowContribution:
        return self.of.row_contribution

    def combined(self, answer: Array, *following: Array) -> Array:
        return self.of.combined(answer, *following)

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(
            super().terms(relation),
            rule="vectors",
            norm=self.norm,
            sizes=(self.size,),
            fixed_sum=self._changes(relation).has_fixed_sum,
        )

    def sensitivity(self, relation: Relation) -> Sensitivity:
        one = self.of.sensitivity(relation)
        norm = NORMS[self.norm].most(self._changes(relation))
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
            return self.of.changes_of_groups(relation)
        return self.of.sensitivity(relation).linf

    def protection(self, words: AnswerWords) -> str:
        """How the vectors are protected, in a sentence or two."""
        each = "" if self.size == self.of.cells else ", summed over all groups"
        return (
            f"{words.role}: one {words.unit} can change the answer by at most {words.change}, "
            f"where a change is {NORMS[self.norm].change}{each}. Discrete {words.noise} noise of "
            f"scale {words.scale} was added to all numbers together; that of a number is within "
            f"{words.error} in {words.percent}% of cases."
        )
