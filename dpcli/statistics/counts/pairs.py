"""Counts and totals in pairs: the difference and the sum of two cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import inf, prod, sqrt

from dpcli.data.column import Column
from dpcli.noise.distribution import Margin, Noise, summed_margin
from dpcli.numeric.arrays import Array, add_exact, np
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.sums import Shape
from dpcli.statistics.design import (
    Design,
    NoiseOfNumbers,
    NoisyAnswer,
    Request,
    WeightedQuery,
    error_sentence,
)
from dpcli.statistics.estimates import Estimates

MAX_RELATIVE_DEVIATION = 0.95
"""Other designs are used with at most this part of the noise of plain counts."""

REASON = (
    "cells are answered in pairs, by their difference and their sum, and a cell is half of what "
    "both add up to. Together, difference and sum change by no more than twice the larger change "
    "of the two cells, so this needs less noise than separate cells; the cells of a pair share it"
)


@dataclass(frozen=True, kw_only=True)
class PairedQuery(Query):
    """For each pair of cells of another query, their difference and their sum.

    If the number of cells is odd, the last pair has a cell that is always zero. Raises ValueError
    for private groups, and if rows or cells are not those of the other query.

    Privacy: for the changes a and b of a pair, |a - b| + |a + b| is twice the larger of |a| and
    |b|, and (a - b)^2 + (a + b)^2 is 2 (a^2 + b^2). So L1 is at most twice that of the cells, and
    at most twice their Linf for each pair; L2 squared is twice that of the cells; and Linf is at
    most their L1, and at most twice their Linf.
    """

    of: Query

    def __post_init__(self) -> None:
        if self.of.cells is None:
            raise ValueError("cells of private groups are not known before they are selected")
        own = (self.by, self.items, self.where, self.present)
        if own != (self.of.by, self.of.items, self.of.where, self.of.present):
            raise ValueError("the rows and cells are those of the other query")

    @property
    def operands(self) -> tuple[Column, ...]:
        return self.of.operands

    @cached_property
    def pairs(self) -> int:
        """How many pairs there are."""
        return -(-(self.of.cells or 0) // 2)

    @property
    def cells(self) -> int:
        return 2 * self.pairs

    @property
    def total_clamp(self) -> tuple[int, int] | None:
        return self.of.total_clamp

    @cached_property
    def row_contribution(self) -> RowContribution:
        """What a row adds to its cell, or its negative, in a difference."""
        largest = self.of.row_contribution.max_abs
        return RowContribution(-largest, largest)

    @property
    def shape(self) -> Shape:
        """The shape of the other query: the engine answers its parts, not this query."""
        return self.of.shape

    @property
    def parts(self) -> tuple[Query, ...]:
        return self.of.parts

    def combined(self, answer: Array, *following: Array) -> Array:
        """Differences and sums of the cells, pair by pair."""
        cells = self.of.combined(answer, *following)
        first, second = np.append(cells, [0] * (self.cells - len(cells))).reshape(-1, 2).T
        return np.stack([add_exact(first, -second), add_exact(first, second)], axis=1).ravel()

    def sensitivity(self, relation: Relation) -> Sensitivity:
        one = self.of.sensitivity(relation)
        return Sensitivity(
            min(2 * one.l0, self.cells),
            min(2 * one.l1, 2 * self.pairs * one.linf),
            2 * one.l2_squared,
            min(one.l1, 2 * one.linf),
        )


def paired(of: Query) -> PairedQuery:
    """The query of the differences and sums of the cells of another one."""
    return PairedQuery(by=of.by, items=of.items, where=of.where, present=of.present, of=of)


def doubled_cells(numbers: Array, query: Query) -> Array:
    """Twice the cells, from noisy differences and sums; `query` has their axes."""
    differences, sums = numbers.reshape(-1, 2).T
    both = [add_exact(sums, differences), add_exact(sums, -differences)]
    cells = prod(map(len, query.axes))
    return np.stack(both, axis=1).reshape(-1, cells + cells % 2)[:, :cells].ravel()


def less_noise(query: PairedQuery, relation: Relation) -> float:
    """The deviation of a cell by pairs over that of a separate cell.

    Both have Laplace noise.
    """
    separate = query.of.sensitivity(relation).l1
    return query.sensitivity(relation).l1 / sqrt(2) / separate if separate else inf


@dataclass(frozen=True, kw_only=True)
class CellsFromPairs(Design):
    """Cells from their differences and sums, with Laplace noise."""

    noise_of_numbers = NoiseOfNumbers.GAUSSIAN

    @classmethod
    def of(
        cls, request: Request, separate: WeightedQuery, relation: Relation
    ) -> tuple[CellsFromPairs, ...]:
        """The design instead of `separate` cells; empty unless it has less noise."""
        query = pairs_instead(request, separate.query, relation)
        if query is None:
            return ()
        queries = (replace(separate, role=f"{separate.role} in pairs", query=query),)
        return (cls(request, queries, ("l1",), reason=REASON),)

    @property
    def block(self) -> tuple[int, ...]:
        return (self.queries[0].query.cells or 0,)

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0] / sqrt(2)

    def known_error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        return double_margin(noises[0], confidence).width * self.queries[0].step / 2

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        return self.reason, error_sentence(self.known_error(noises, confidence), confidence)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (answer,), unit = answers, self.queries[0].step / 2
        cells = doubled_cells(answer.values, self.queries[0].query)
        return Estimates.around(cells, double_margin(answer.noise, confidence), unit)


def pairs_instead(request: Request, separate: Query, relation: Relation) -> PairedQuery | None:
    """The query of pairs, if it has less noise than `separate` cells.

    None for filters under change-one: a row may leave the rows of an entry and enter those of
    another. Separate counts of disjoint entries then cost no more than those of one, but pairs
    cost twice as much. None also for a sample, whose numbers are estimated from separate cells.
    """
    moves = relation.neighbors is Neighbors.CHANGE_ONE and bool(request.where)
    if request.sample or moves or not separate.cells or separate.cells == 1:
        return None
    query = paired(separate)
    return query if less_noise(query, relation) <= MAX_RELATIVE_DEVIATION else None


def double_margin(noise: Noise, confidence: Fraction) -> Margin:
    """The margin of twice a cell, which has two noises."""
    return summed_margin(noise, 2, confidence)
