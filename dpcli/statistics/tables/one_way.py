"""A table for each of several columns, with K-norm noise for all tables together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import sqrt

from dpcli.numeric.arrays import np
from dpcli.privacy.norms import TABLES_NORMS
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.one_way import OneWayQuery
from dpcli.queries.query import Query
from dpcli.statistics.counts.vectors import MAX_RELATIVE_DEVIATION
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.tables.agreement import Measured, MeasuredTable
from dpcli.statistics.tables.known import TableDesign

MAX_CELLS = 64
"""The most cells of a group.

Noise for more takes long, and for large tables it is hardly smaller.
"""

MAX_CELLS_OF_GROUPS = 1 << 14
"""The most cells of all groups; a vector of a group takes milliseconds."""

REASON = (
    "all tables have K-norm noise together: one row counts once in each, and the noise of all "
    "tables has the same sum. So totals agree, and counts have less noise than with a part of "
    "epsilon for each table"
)


@dataclass(frozen=True, kw_only=True)
class OneWayTables(TableDesign):
    """The tables of single columns with K-norm noise, whose totals agree."""

    answered_by: str = "k_norm"

    @classmethod
    def of(cls, inputs: Inputs, separate: Design, relation: Relation) -> tuple[OneWayTables, ...]:
        """The design instead of `separate` tables; empty unless it has less noise."""
        if inputs.ways != (1,) or inputs.sample:
            return ()
        # The public number of rows has no weight and no noise.
        changes = (
            part.query.sensitivity(relation).l1 / (part.weight or 1) for part in separate.queries
        )
        best = separate.expected_error([sqrt(2) * float(change) for change in changes])
        best, found = best * MAX_RELATIVE_DEVIATION, None
        for query in _possible(inputs, relation):
            error = sqrt(_squares(query)[1]) * query.sensitivity(relation).l1
            if error < best:
                best, found = error, query
        if found is None:
            return ()
        names = ", ".join(axis.column.name for axis in found.items)
        whole = (WeightedQuery(f"tables of {names}", found),)
        return (
            cls(
                inputs, whole, ("l1", "vector"), reason=REASON, gains_by_epsilon=True,
                axes=inputs.margins, wanted=tuple((axis,) for axis in inputs.margins),
            ),
        )  # fmt: skip

    def expected_error(self, errors: Sequence[float]) -> float:
        """The root mean square over all cells; that of the answer is of the widest table."""
        widest, mean = _squares(self.queries[0].query)
        return errors[0] * sqrt(mean / widest)

    def measured(self, answers: Sequence[NoisyAnswer]) -> list[Measured]:
        ends, noise = np.cumsum([*map(len, self.axes)])[:-1], answers[0].noise
        cells = answers[0].values.astype(object).reshape(-1, self.block[0])
        pairs = zip(self.axes, np.split(cells, ends, axis=1), strict=True)
        return [MeasuredTable((axis,), counts, noise) for axis, counts in pairs]


def _squares(query: Query) -> tuple[float, float]:
    """The variance of the widest cell for scale one, and the mean of all cells."""
    from dpcli.noise.tables import TablesBody, body_named

    _, name = query.vectors or (0, "")
    body = body_named(name)
    assert isinstance(body, TablesBody)
    sizes = [*map(len, query.items)]
    mean = sum(size * body.variance_in(size) for size in sizes) / sum(sizes)
    return body.variance_in(body.widest), mean


def _possible(inputs: Inputs, relation: Relation) -> Iterator[OneWayQuery]:
    """The query with each norm that is proven and gains by it.

    Under change-one, a row may leave the rows of an entry with a filter and enter those of another
    one. Then noise for a removal and an addition is needed in any case.
    """
    exchanged = relation.neighbors is Neighbors.CHANGE_ONE
    for norm in TABLES_NORMS:
        is_moved = norm != "tables"
        if is_moved and (not exchanged or inputs.where):
            continue
        # A bound may not be proven for these tables, or for this norm.
        with suppress(ValueError):
            query = OneWayQuery(by=inputs.by, items=inputs.margins, where=inputs.where, norm=norm)
            if query.cells_per_group <= MAX_CELLS and (query.cells or 0) <= MAX_CELLS_OF_GROUPS:
                query.sensitivity(relation)
                yield query
