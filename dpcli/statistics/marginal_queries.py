"""The designs of marginal tables, and what their noisy answers measure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt

from dpcli.data.column import Column
from dpcli.light_dataclasses import dataclass
from dpcli.messages import note
from dpcli.noise.distribution import Family, Noise
from dpcli.numeric.exact import rounded_text
from dpcli.privacy.effect_sensitivity import MOST_AXES, effect_sensitivity
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.sensitivity import sensitivity
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.effects import EffectQuery
from dpcli.queries.query import LinearQuery, Query
from dpcli.statistics.agreement import (
    Axes,
    Measured,
    MeasuredEffect,
    MeasuredTable,
    agreed_counts,
    cells,
    summed_counts,
)
from dpcli.statistics.design import Design, Measure, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.table_designs import (
    Shares,
    Table,
    count_cells,
    effects_design,
    expected_square,
    wanted_tables,
)


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


def published_tables(request: Request) -> list[Axes]:
    """The axes of each table that is published."""
    places = wanted_tables(len(request.margins), request.ways)
    return [tuple(request.margins[place] for place in table) for table in places]


@dataclass(frozen=True, kw_only=True)
class MeasuredTables(Design):
    """Tables that are measured, or effects and the number of rows: the published tables follow."""

    has_effects: bool = False

    @classmethod
    def of(
        cls, request: Request, shares: Shares, families: tuple[Family, ...], measure: Measure
    ) -> MeasuredTables:
        """The design that measures these tables."""
        queries, present, summed = [], _columns(request), 1
        if len(shares) == 1:
            # A published count sums at most as many cells as the columns have that the smallest
            # tables leave out.
            others = combinations(request.margins, len(shares[0][0]) - request.ways[0])
            summed = max(map(cells, others))
        for places, share in shares:
            table = tuple(request.margins[place] for place in places)
            query = LinearQuery(by=request.by, items=table, where=request.where, present=present)
            queries.append(WeightedQuery(f"table of {_names(table)}", query, share, summed=summed))
        return cls(request, tuple(queries), families, (measure,))

    @property
    def agrees(self) -> bool:
        """Whether there is a single table, or effects, whose sums agree."""
        return self.has_effects or super().agrees

    def _is_effect(self, query: Query) -> bool:
        return self.has_effects and bool(query.items)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The root mean square of the errors of all cells after agreement."""
        request = self.request
        places = {axis: place for place, axis in enumerate(request.margins)}
        tables: list[tuple[Table, float]] = []
        effects: list[tuple[Table, float]] = []
        for weighted, error in zip(self.queries, errors, strict=True):
            measured = effects if self._is_effect(weighted.query) else tables
            table = tuple(places[axis] for axis in weighted.query.items)
            measured.append((table, error**2))
        sizes = sizes_of(request)
        square = expected_square(sizes, request.ways, tables, effects)
        return sqrt(square / count_cells(sizes, request.ways))

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        """Which tables are measured, how the published ones follow, and their expected error."""
        wanted, columns = len(published_tables(self.request)), len(self.request.margins)
        if wanted == 1:
            return ()
        facts = {"columns": columns, "measured": len(self.queries), "wanted": wanted}
        key = "equal"
        if self.has_effects:
            key = "effects"
        elif len(self.queries) == 1:
            key = "joint"
        elif any(len(part.query.items) > self.request.ways[-1] for part in self.queries):
            key = "unions"
        elif len(self.queries) < wanted:
            key = "largest"
        elif len({part.weight for part in self.queries}) > 1:
            key = "unequal"
        pairs = zip(self.queries, noises, strict=True)
        errors = [sqrt(noise.discrete_variance) * float(part.step) for part, noise in pairs]
        error = rounded_text(Fraction(self.expected_error(errors)), 3)
        return note(f"designs.{key}", **facts), note("designs.error", error=error)

    def measured(self, answers: Sequence[NoisyAnswer]) -> list[Measured]:
        """The noisy counts of each measured table, and the noisy numbers of each effect."""
        measured: list[Measured] = []
        for weighted, answer in zip(self.queries, answers, strict=True):
            axes = weighted.query.items
            numbers = answer.values.astype(object).reshape(-1, *map(len, axes))
            kind = MeasuredEffect if self._is_effect(weighted.query) else MeasuredTable
            measured.append(kind(axes, numbers, answer.noise))
        return measured

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The noisy counts, in the order of groups, then tables."""
        return summed_counts(published_tables(self.request), self.measured(answers), confidence)

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        """The counts of each group, with the same totals in all tables."""
        if not len(estimates):  # No group was selected.
            return estimates
        if len(answers) == 1:
            return self.estimate(answers, confidence)
        return agreed_counts(published_tables(self.request), self.measured(answers), confidence)


def measured_effects(request: Request, relation: Relation) -> tuple[MeasuredTables, ...]:
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
    effects = MeasuredTables(request, tuple(queries), ("l2",), has_effects=True)
    return (effects,) if queries else ()
