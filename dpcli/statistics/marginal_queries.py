"""The queries behind marginal tables, and what their noisy answers measure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod

from dpcli.columns import Column
from dpcli.privacy.effect_sensitivity import MOST_AXES, effect_sensitivity
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.sensitivity import sensitivity
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.effects import EffectQuery
from dpcli.queries.query import LinearQuery
from dpcli.statistics.agreement import Axes, Measured, MeasuredEffect, MeasuredTable, cells
from dpcli.statistics.statistic import NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.table_designs import Design, Table, effects_design, wanted_tables


def sizes_of(request: Request) -> tuple[int, ...]:
    """The number of labels of each column."""
    return tuple(map(len, request.margins))


def limits_groups(relation: Relation) -> bool:
    """Whether the rows of a person are limited by the cells of each table."""
    return isinstance(relation.unit, PersonUnit) and relation.unit.limits_groups


def _columns(request: Request) -> tuple[Column, ...]:
    return tuple(axis.column for axis in request.margins)


def _names(axes: Axes) -> str:
    return ", ".join(axis.column.name for axis in axes)


def measured_tables(request: Request, design: Design) -> tuple[WeightedQuery, ...]:
    """The queries for the tables of a design."""
    queries, present, summed = [], _columns(request), 1
    if len(design) == 1:
        # A published count sums at most as many cells as the columns have that the smallest
        # tables leave out.
        others = combinations(request.margins, len(design[0][0]) - request.ways[0])
        summed = max(map(cells, others))
    for places, share in design:
        table = tuple(request.margins[place] for place in places)
        query = LinearQuery(by=request.by, items=table, where=request.where, present=present)
        queries.append(WeightedQuery(f"table of {_names(table)}", query, share, summed=summed))
    return tuple(queries)


def measured_effects(request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
    """The effects with the best shares of rho; none if the published tables are as good.

    If the rows of a person are limited by cells, each effect would be about other rows.
    """
    sizes, unit, neighbors = sizes_of(request), relation.unit, relation.neighbors
    if request.ways[-1] > MOST_AXES or limits_groups(relation):
        return ()
    is_private = any(axis.is_private for axis in request.by)
    groups = None if is_private else prod(map(len, request.by))
    counts = LinearQuery(by=request.by, where=request.where, present=_columns(request))

    def of_table(table: Table) -> int:
        declared = None if groups is None else groups * prod(sizes[place] for place in table)
        return sensitivity(counts.row_contribution, neighbors, unit, declared).l2_squared

    def of_effect(effect: Table) -> float:
        if not effect:
            return of_table(effect)
        axes = tuple(sizes[place] for place in effect)
        square = effect_sensitivity(axes, neighbors, unit, groups).l2_squared
        return square / prod(axes) ** 2

    # The squares differ only if a table has a single cell.
    largest = max(map(of_table, wanted_tables(len(sizes), request.ways)))
    queries = []
    for places, share in effects_design(sizes, request.ways, largest, of_effect) or ():
        axes = tuple(request.margins[place] for place in places)
        if not axes:
            queries.append(WeightedQuery("number of rows", counts, share))
            continue
        query = EffectQuery(by=request.by, items=axes, where=request.where, present=counts.present)
        queries.append(
            WeightedQuery(f"effect of {_names(axes)}", query, share, Fraction(1, cells(axes)))
        )
    return tuple(queries)


def read_measured(answers: Sequence[NoisyAnswer]) -> list[Measured]:
    """The noisy counts of each measured table, and the noisy numbers of each effect.

    Raises TypeError for an answer without its query: only that says what was measured.
    """
    measured: list[Measured] = []
    for answer in answers:
        if answer.query is None:
            raise TypeError("an answer of several tables has its query")
        axes = answer.query.items
        numbers = answer.values.astype(object).reshape(-1, *map(len, axes))
        kind = MeasuredEffect if isinstance(answer.query, EffectQuery) else MeasuredTable
        measured.append(kind(axes, numbers, answer.noise))
    return measured
