"""The registry of queries, and how far one unit can change an answer.

A registered query computes its own sensitivity, from the audited tables of `dpcli.privacy`, or for
a `RidgeQuery` and an `ObjectiveQuery` by the proof in its docstring. Law tests compare every
sensitivity with enumerated neighbors.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any, Final, cast

from dpcli.data import derived, kinds
from dpcli.data.column import Column
from dpcli.data.filters import FILTERS
from dpcli.data.kinds import is_option
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.registry import Classes
from dpcli.queries.query import Query

QUERIES: Final[Classes[Query]] = Classes(
    "dpcli",
    "queries.query:LinearQuery",
    "statistics.counts.distinct:DistinctQuery",
    "statistics.quality.faults:FirstFaultQuery",
    "statistics.regression.queries:RidgeQuery",
    "queries.scores:ScoreQuery",
    "statistics.quantiles.recursion:QuantilesQuery",
    "statistics.quantiles.ranges:RangesQuery",
    "statistics.counts.multiple_answers:IndicatorQuery",
    "statistics.means.distances:BernsteinQuery",
    "statistics.means.quadratic_pair:QuadraticPairQuery",
    "statistics.tables.effects:EffectQuery",
    "statistics.counts.centered_counts:CenteredCountQuery",
    "queries.paired:PairedQuery",
    "queries.points:PointsQuery",
    "queries.scaled:ScaledSumsQuery",
    "queries.vectors:VectorQuery",
    "queries.one_way:OneWayQuery",
    "queries.nested:NestedQuery",
    "statistics.regression.queries:LeastSquaresQuery",
    "statistics.regression.queries:LogisticQuery",
    "queries.query:RowsPerUserQuery",
    "queries.series:RootQuery",
    "queries.series:BlocksQuery",
)
"""The registry: every type of query that a mechanism may answer."""

PARTS: Final[Classes[object]] = Classes(
    "dpcli",
    "queries.scores:Frequency",
    "queries.scores:Rank",
    "queries.scores:Accuracy",
    "queries.scores:Revenue",
    "queries.sums:Factor",
    "queries.sums:GroupLimits",
    "queries.sums:UserBins",
    "data.kinds:Axis",
    "data.date_forms:DateForm",
    "data.date_forms:NumberForm",
)
"""Types of objects in a query, besides filters, columns and their parts."""

PLAIN: Final[frozenset[type]] = frozenset({int, str, bool, Fraction, range, type(None)})
"""Types of plain values in a query. A column of labels checks its own texts."""


def require_plain(query: Query) -> None:
    """Raise TypeError unless a query consists of registered types and plain values.

    Privacy: an unregistered query, column or score could state a sensitivity that is too small, or
    read the exact counts.
    """
    if type(query) not in QUERIES:
        raise TypeError("a query cannot be subclassed")
    columns = kinds.COLUMNS.classes, kinds.UNDECLARED
    registered = (
        *(QUERIES, PARTS, *columns, FILTERS),
        *(derived.DERIVED, derived.UNDECLARED, derived.PERSON_VALUES),
    )
    waiting: list[object] = [query]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is tuple:
            waiting += cast("tuple[object, ...]", value)
        elif kind in PLAIN:
            continue
        elif any(kind in known for known in columns) and cast("Column", value).checks_texts:
            column = cast("Column", value)
            waiting += [column.derivation, column.options]
        elif any(kind in one for one in registered) or is_option(kind):
            waiting += (getattr(value, field.name) for field in fields(cast("Any", value)))
        else:
            raise TypeError("a query is made of plain values")


def query_sensitivity(query: Query, relation: Relation) -> Sensitivity:
    """The sensitivity of a query; raises ValueError if no bound is proven."""
    require_plain(query)
    return query.sensitivity(relation)
