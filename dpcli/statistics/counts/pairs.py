"""Counts and totals in pairs: the difference and the sum of two cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt

from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import summed_margin
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.paired import PairedQuery, paired
from dpcli.statistics.design import Inputs, LinearDesign, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates

MAX_RELATIVE_DEVIATION = 0.95
"""Other designs are used with at most this part of the noise of plain counts."""

REASON = (
    "cells are answered in pairs, by their difference and their sum, and a cell is half of what "
    "both add up to. Together, difference and sum change by no more than twice the larger change "
    "of the two cells, so this needs less noise than separate cells; the cells of a pair share it"
)


def less_noise(query: PairedQuery, relation: Relation) -> float:
    """The deviation of a cell by pairs over that of a separate cell.

    Both have Laplace noise.
    """
    separate = query.of.sensitivity(relation).l1
    return query.sensitivity(relation).l1 / sqrt(2) / separate if separate else inf


@dataclass(frozen=True, kw_only=True)
class CellsFromPairs(LinearDesign):
    """Cells from their differences and sums, with Laplace noise.

    At the same rho, separate cells have as little noise: differences and sums change by more.
    """

    @classmethod
    def of(
        cls, inputs: Inputs, separate: WeightedQuery, relation: Relation
    ) -> tuple[CellsFromPairs, ...]:
        """The design instead of `separate` cells; empty unless it has less noise."""
        pairs = pairs_instead(inputs, separate, relation)
        if pairs is None:
            return ()
        return (cls(inputs, (pairs,), ("l1",), reason=REASON, gains_by_epsilon=True),)

    @property
    def block(self) -> tuple[int, ...]:
        return (self.queries[0].query.cells or 0,)

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0] / sqrt(2)

    def error(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction | None = None
    ) -> Fraction:
        return double_margin(noises[0], confidence).width * self.queries[0].step / 2

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (answer,), unit = answers, self.queries[0].step / 2
        cells = self.queries[0].query.cells_from(answer.values)
        return Estimates.around(cells, double_margin(answer.noise, confidence), unit)


def pairs_instead(
    inputs: Inputs, separate: WeightedQuery, relation: Relation
) -> WeightedQuery | None:
    """The query of pairs, if it has less noise than `separate` cells.

    None for filters under change-one: a row may leave the rows of an entry and enter those of
    another. Separate counts of disjoint entries then cost no more than those of one, but pairs
    cost twice as much. None also for a sample, whose numbers are estimated from separate cells.
    """
    moves = relation.neighbors is Neighbors.CHANGE_ONE and bool(inputs.where)
    if inputs.sample or moves or separate.query.cells in {None, 0, 1}:
        return None
    query = paired(separate.query)
    if less_noise(query, relation) > MAX_RELATIVE_DEVIATION:
        return None
    return replace(separate, role=f"{separate.role} in pairs", query=query)


def double_margin(noise: Noise, confidence: Fraction) -> Margin:
    """The margin of twice a cell, which has two noises."""
    return summed_margin(noise, 2, confidence)
