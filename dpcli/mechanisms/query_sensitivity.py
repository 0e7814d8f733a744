"""The sensitivity of a query: how far one privacy unit can change its answer.

The audited table of `dpcli.privacy.sensitivity` gives it for every kind of query but two:
a `RidgeQuery` and an `ObjectiveQuery` state their own.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any, Final, cast

from dpcli.cell_formats import DateForm, DateFormat, NumberFormat
from dpcli.columns import Axis, CategoryColumn, IdColumn, NumericColumn, PrivatePartitionColumn
from dpcli.derivations import DERIVATIONS
from dpcli.filters import FILTERS
from dpcli.privacy.effect_sensitivity import effect_sensitivity
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.sensitivity import (
    Sensitivity,
    centered_sensitivity,
    divided_sensitivity,
    indicator_sensitivity,
    readability_sensitivity,
    sensitivity,
    signed_sensitivity,
)
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.queries.bernstein import BernsteinQuery
from dpcli.queries.effects import EffectQuery
from dpcli.queries.indicators import IndicatorQuery, PassesAmongFirst
from dpcli.queries.objectives import (
    LeastSquaresQuery,
    LogisticQuery,
    ObjectiveQuery,
    loss_as_sensitivity,
)
from dpcli.queries.person_counts import CenteredCountQuery
from dpcli.queries.quantile_recursion import QuantilesQuery
from dpcli.queries.query import DistinctQuery, Factor, LinearQuery, Query, ReadabilityQuery
from dpcli.queries.regression import RidgeQuery
from dpcli.queries.rows_per_user import RowsPerUserQuery
from dpcli.queries.scores import Accuracy, Frequency, Rank, Revenue, ScoreQuery, SelectionQuery

QUERIES: Final[frozenset[type]] = frozenset(
    {
        LinearQuery,
        DistinctQuery,
        ReadabilityQuery,
        RidgeQuery,
        ScoreQuery,
        QuantilesQuery,
        IndicatorQuery,
        BernsteinQuery,
        EffectQuery,
        CenteredCountQuery,
        LeastSquaresQuery,
        LogisticQuery,
        RowsPerUserQuery,
    }
)
"""Every kind of query."""

PARTS: Final[frozenset[type]] = frozenset(
    {Frequency, Rank, Accuracy, Revenue, Factor, Axis, *FILTERS, *DERIVATIONS, PassesAmongFirst}
    | {NumericColumn, PrivatePartitionColumn, IdColumn, NumberFormat, DateFormat, DateForm}
)
"""Every kind of object that a query is made of."""

PLAIN: Final[frozenset[type]] = frozenset({int, str, bool, Fraction, range, type(None)})
"""Plain values. A category column checks its own texts."""


def require_plain(query: Query) -> None:
    """Raise TypeError unless a query consists of plain data of the kinds above.

    Privacy: another kind of query, column or score could state a sensitivity that is too small, or
    read the counts.
    """
    if type(query) not in QUERIES:
        raise TypeError("a query cannot be subclassed")
    waiting: list[object] = [query]
    while waiting:
        value = waiting.pop()
        if type(value) is tuple:
            waiting += value
        elif type(value) in QUERIES | PARTS:
            waiting += (getattr(value, field.name) for field in fields(cast("Any", value)))
        elif type(value) is CategoryColumn:
            waiting.append(value.derivation)
        elif type(value) not in PLAIN:
            raise TypeError("a query is made of plain values")


def query_sensitivity(query: Query, relation: Relation) -> Sensitivity:
    """How far one unit can change the answer to a query; ValueError if no bound is proven."""
    require_plain(query)
    if isinstance(query, RidgeQuery):
        return _ridge_sensitivity(query, relation)
    if isinstance(query, ObjectiveQuery):
        return loss_as_sensitivity(query, relation)
    if isinstance(query, CenteredCountQuery):
        return _of_centered_counts(query, relation)
    unit, neighbors = _unit_of(query, relation.unit), relation.neighbors
    if isinstance(query, ReadabilityQuery):
        count = len(query.checked)
        return readability_sensitivity(count, neighbors, unit, with_rows=query.with_rows)
    if isinstance(query, EffectQuery):
        return effect_sensitivity(query.sizes, neighbors, unit, query.groups)
    if isinstance(query, IndicatorQuery):
        return _of_indicators(query, neighbors, unit)
    if isinstance(query, BernsteinQuery):
        divided = divided_sensitivity(query.cells_per_group, neighbors, unit, query.groups)
        return divided.scaled(query.largest)
    single = sensitivity(query.row_contribution, neighbors, unit, query.cells)
    return single.repeated(query.rounds) if isinstance(query, SelectionQuery) else single


def _unit_of(query: Query, unit: Unit) -> Unit:
    """The unit with the limits that hold for this query."""
    per_user = isinstance(query, RowsPerUserQuery)
    if not isinstance(unit, PersonUnit):
        if per_user:
            raise ValueError("rows are counted per user where a user is the unit")
        return unit
    if per_user:
        return unit.in_one_cell
    if isinstance(query, ReadabilityQuery):
        return unit
    if isinstance(query, LinearQuery) and query.user_clamp is not None:
        return unit.for_totals
    return unit if query.axes else unit.for_ungrouped


def _ridge_sensitivity(query: RidgeQuery, relation: Relation) -> Sensitivity:
    if not relation.size_is_public or query.may_skip or query.axes:
        raise ValueError("coefficients have a bound if rows are replaced, and none is skipped")
    return query.sensitivity


def _of_centered_counts(query: CenteredCountQuery, relation: Relation) -> Sensitivity:
    unit = _unit_of(query.counts, relation.unit)
    if relation.neighbors is not Neighbors.ADD_REMOVE or not isinstance(unit, PersonUnit):
        raise ValueError("counts less people have a bound if people are added or removed")
    return centered_sensitivity(query.times, query.less, unit, query.number_of_cells)


def _of_indicators(query: IndicatorQuery, neighbors: Neighbors, unit: Unit) -> Sensitivity:
    tests = len(query.tests)
    if query.signed:
        return signed_sensitivity(tests, neighbors, unit, query.groups)
    return indicator_sensitivity(tests, query.most, neighbors, unit, query.groups)
