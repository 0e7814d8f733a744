"""Counts and totals in pairs: the difference and the sum of two cells."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt

from dpcli.privacy.unit import Neighbors, Relation
from dpcli.queries.paired import PairedQuery, paired
from dpcli.statistics.counts.vectors import MAX_RELATIVE_DEVIATION
from dpcli.statistics.design import Inputs, WeightedQuery

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
