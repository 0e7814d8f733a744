"""The queries of a series: the sums of a period, with sums of earlier periods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from dpcli.numeric.arrays import Array, add_exact, integer_array, multiply_exact, np
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.series import BLOCK, BLOCKS, KEPT, ROOT, UNIT, coefficients, squared_norm
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.of_numbers import QueryOfNumbers
from dpcli.queries.query import AnswerWords
from dpcli.queries.terms import QueryTerms

EarlierSums = Sequence[Array | None]
"""Exact sums of earlier periods, the last first; None for those that were lost."""


@dataclass(frozen=True, kw_only=True)
class SeriesQuery(QueryOfNumbers):
    """The answer of a period of a series, about the numbers of another query.

    Privacy: `sensitivity` is how far the rows of a person of one period change all answers of the
    series together. A sum that was lost is left out of later answers, which changes less. So each
    period is charged once, with its first answer, and later answers cost it nothing more.
    """

    keeps_sums = True
    block = None

    @property
    @abstractmethod
    def kept(self) -> int:
        """How many earlier sums an answer can need."""

    @property
    @abstractmethod
    def multiples(self) -> tuple[int, ...]:
        """By what a number of a period is multiplied in each answer that it is added to."""

    @abstractmethod
    def with_earlier(self, sums: Array, earlier: EarlierSums, period: int) -> Array:
        """The exact answer of the period with this number, from 0 on."""

    @property
    def row_contribution(self) -> RowContribution:
        return self.of.row_contribution

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(super().terms(relation), rule="repeated", times=self.multiples)

    @property
    def largest_product(self) -> int:
        return self.of.largest_product

    def combined(self, answer: Array, *following: Array) -> Array:
        """The answer of a first period, or of a corrected one: without earlier sums."""
        return self.with_earlier(self.of.combined(answer, *following), (), 0)

    def changes(self, differences: Array) -> Array:
        """The changes of all answers with the sums of a period, its own answer first."""
        sums = self.of_first(differences)
        own, none = sums.ravel(), np.zeros_like(sums).ravel()
        answers = [self.with_earlier(own, (), 0)]
        answers += [
            self.with_earlier(none, [*[None] * (later - 1), own], later)
            for later in range(1, self.kept + 1)
        ]
        # The answers of all pairs at once: numbers depend on those of the same cell alone.
        by_pair = np.concatenate([one.reshape(-1, *sums.shape) for one in answers])
        changes: Array = np.abs(np.moveaxis(by_pair, 1, 0).reshape(len(sums), -1))
        return changes

    @abstractmethod
    def of_first(self, answers: Array) -> Array:
        """The sums of a period, from the exact answers of first periods, one in each row."""

    def protection(self, words: AnswerWords) -> str:
        return (
            f"{words.role}: the rows of one {words.unit} in one period change all answers of the "
            f"series in total by at most {words.change}. Discrete {words.noise} noise of scale "
            f"{words.scale} was added to each number of an answer."
        )


@dataclass(frozen=True, kw_only=True)
class RootQuery(SeriesQuery):
    """The sums of a period times `UNIT`, plus earlier sums times coefficients.

    Privacy: rows of one period change each later answer by a coefficient times the change of their
    sums. So L2 of all answers is that of the sums times the norm of the coefficients (Denisov,
    McMahan, Rush, Smith and Thakurta 2022, also for data that depend on earlier answers).
    """

    overlap = ROOT

    @property
    def kept(self) -> int:
        return KEPT - 1

    @property
    def multiples(self) -> tuple[int, ...]:
        return coefficients()

    def with_earlier(self, sums: Array, earlier: EarlierSums, period: int) -> Array:  # noqa: ARG002 - of blocks
        total = multiply_exact(sums, UNIT)
        for coefficient, past in zip(coefficients()[1:], earlier, strict=False):
            if past is not None:
                total = add_exact(total, multiply_exact(past, coefficient))
        return integer_array(total)

    def of_first(self, answers: Array) -> Array:
        return answers // UNIT

    def sensitivity(self, relation: Relation) -> Sensitivity:
        sums = self.of.sensitivity(relation)
        return Sensitivity(
            sums.l0 * KEPT,
            sums.l1 * sum(coefficients()),
            sums.l2_squared * squared_norm(1),
            sums.linf * UNIT,
        )


@dataclass(frozen=True, kw_only=True)
class BlocksQuery(SeriesQuery):
    """The sums of a period, and after each `BLOCK` periods also those of all of them.

    The numbers of a period come first, then those of the block, which are zero before its end.

    Privacy: rows of one period change the sums of the period and those of one block. So L1 is twice
    that of the sums.
    """

    overlap = BLOCKS

    @property
    def kept(self) -> int:
        return BLOCK - 1

    @property
    def multiples(self) -> tuple[int, ...]:
        return (1, 1)

    @property
    def cells_per_group(self) -> int:
        return 2 * self.of.cells_per_group

    def with_earlier(self, sums: Array, earlier: EarlierSums, period: int) -> Array:
        block = np.zeros_like(sums)
        if ends_block(period):
            block = sums
            for past in earlier[: BLOCK - 1]:
                block = block if past is None else add_exact(block, past)
        return integer_array(np.concatenate([sums, block]))

    def of_first(self, answers: Array) -> Array:
        return answers[:, : answers.shape[1] // 2]

    def sensitivity(self, relation: Relation) -> Sensitivity:
        sums = self.of.sensitivity(relation)
        return Sensitivity(2 * sums.l0, 2 * sums.l1, 2 * sums.l2_squared, sums.linf)


def ends_block(period: int) -> bool:
    """Whether a block of periods ends with the one with this number."""
    return (period + 1) % BLOCK == 0
