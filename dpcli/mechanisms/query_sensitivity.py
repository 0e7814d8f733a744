"""How far one privacy unit can change the answer to a query, by audited tables."""

from __future__ import annotations

from dpcli.privacy.neighboring import Relation
from dpcli.privacy.sensitivity import Sensitivity, readability_sensitivity, sensitivity
from dpcli.privacy.unit import PersonUnit
from dpcli.queries import LinearQuery, Query, ReadabilityQuery, RidgeQuery
from dpcli.scores import ScoreQuery


def query_sensitivity(query: Query, relation: Relation) -> Sensitivity:
    """How far one unit can change the answer to a query."""
    if isinstance(query, RidgeQuery):
        return query.sensitivity
    unit, neighbors = relation.unit, relation.neighbors
    if isinstance(query, ReadabilityQuery):
        count = len(query.checked)
        return readability_sensitivity(count, neighbors, unit, with_rows=query.with_rows)
    if isinstance(unit, PersonUnit):
        if isinstance(query, LinearQuery) and query.totals is not None:
            unit = unit.for_totals
        elif not query.axes:
            unit = unit.for_ungrouped
    once = sensitivity(query.contribution, neighbors, unit, query.cells)
    return once.repeated(query.k) if isinstance(query, ScoreQuery) else once
