"""The registry of queries, and how far one unit can change an answer.

A registered query computes its own sensitivity, from the audited tables of `dpcli.privacy`, or for
a `RidgeQuery` and an `ObjectiveQuery` by the proof in its docstring. Law tests compare every
sensitivity with enumerated neighbors.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any, Final, cast

from dpcli.data import kinds
from dpcli.data.date_forms import DateForm, NumberForm
from dpcli.data.derived import DERIVATIONS
from dpcli.data.filters import FILTERS
from dpcli.data.kinds import LABELED_COLUMNS, Axis, option_kinds
from dpcli.data.labels import LabeledColumn
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Relation
from dpcli.queries.paired import PairedQuery
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.queries.scores import Accuracy, Frequency, Rank, Revenue, ScoreQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.counts.combinations import CombinationQuery
from dpcli.statistics.counts.counts import DistinctQuery
from dpcli.statistics.counts.multiple_answers import IndicatorQuery
from dpcli.statistics.means.quadratic_pair import QuadraticPairQuery
from dpcli.statistics.means.quotient import BernsteinQuery
from dpcli.statistics.quality_counts import ReadabilityQuery
from dpcli.statistics.quantiles.recursion import QuantilesQuery
from dpcli.statistics.regression.queries import LeastSquaresQuery, LogisticQuery, RidgeQuery
from dpcli.statistics.tables.effects import EffectQuery

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
        QuadraticPairQuery,
        EffectQuery,
        CenteredCountQuery,
        CombinationQuery,
        PairedQuery,
        LeastSquaresQuery,
        LogisticQuery,
        RowsPerUserQuery,
    }
)
"""The registry: every type of query that a mechanism may answer."""

PARTS: Final[frozenset[type]] = frozenset(
    {Frequency, Rank, Accuracy, Revenue, Factor, Axis, *FILTERS, *DERIVATIONS, DateForm, NumberForm}
)
"""Types of objects that a query may contain, besides columns and their options."""

PLAIN: Final[frozenset[type]] = frozenset({int, str, bool, Fraction, range, type(None)})
"""Types of plain values in a query. A column of labels checks its own texts."""


def require_plain(query: Query) -> None:
    """Raise TypeError unless a query consists of registered types and plain values.

    Privacy: an unregistered query, column or score could state a sensitivity that is too small, or
    read the exact counts.
    """
    if type(query) not in QUERIES:
        raise TypeError("a query cannot be subclassed")
    known = QUERIES | PARTS | kinds.COLUMNS - LABELED_COLUMNS | option_kinds()
    waiting: list[object] = [query]
    while waiting:
        value = waiting.pop()
        if type(value) is tuple:
            waiting += value
        elif type(value) in known:
            waiting += (getattr(value, field.name) for field in fields(cast("Any", value)))
        elif type(value) in LABELED_COLUMNS:
            column = cast("LabeledColumn", value)
            waiting += [column.derivation, column.options]
        elif type(value) not in PLAIN:
            raise TypeError("a query is made of plain values")


def query_sensitivity(query: Query, relation: Relation) -> Sensitivity:
    """The sensitivity of a query; raises ValueError if no bound is proven."""
    require_plain(query)
    return query.sensitivity(relation)
