"""Many queries, few aggregations: which questions can share a pass over groups.

Queries whose axes span a small joint table are answered from one aggregation
over that table, and rolled up afterwards. All aggregations share one scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from dpcli.columns import Column
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.queries import DistinctQuery, Key, LinearQuery, Query

JOINT_CELLS = 1 << 14
"""Up to this many groups an aggregation costs about as much as with one."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What two queries must have in common to be answered together.

    `groups` are the axes whose cells count as a person's groups, where the limits on
    these can leave out rows. `distinct` is a column whose values are counted once.
    """

    open: tuple[Key, ...] = ()
    groups: tuple[Key, ...] | None = None
    totals: bool = False
    distinct: DistinctQuery | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Queries that are answered together, and the axes of their joint table.

    `members` are positions in the list of queries. Each axis has one place more
    than it has labels, the last one for rows that lie nowhere on it. Open axes stand
    beside the joint table.
    """

    kind: Kind
    axes: tuple[Key, ...]
    members: tuple[int, ...]

    @property
    def grouping(self) -> frozenset[Key]:
        """The closed axes along which a person's groups are told apart."""
        return frozenset(self.axes if self.kind.groups is None else self.kind.groups)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns along whose values rows are grouped."""
        return tuple(dict.fromkeys(axis.column for axis in (*self.axes, *self.kind.open)))


def clusters_of(queries: Sequence[Query], unit: Unit) -> list[Cluster]:
    """Put each query into the first cluster of its kind whose joint table stays small."""
    clusters: list[Cluster] = []
    for position, query in enumerate(queries):
        kind = _kind(query, unit)
        closed = tuple(key for key in query.table if not key.open)
        for index, cluster in enumerate(clusters):
            axes = tuple(dict.fromkeys(cluster.axes + closed))
            if kind == cluster.kind and (
                set(axes) == set(cluster.axes) or _cells(axes) <= JOINT_CELLS
            ):
                clusters[index] = Cluster(kind, axes, (*cluster.members, position))
                break
        else:
            clusters.append(Cluster(kind, closed, (position,)))
    return clusters


def _kind(query: Query, unit: Unit) -> Kind:
    """What a query shares with others."""
    totals = isinstance(query, LinearQuery) and query.totals is not None
    limited = isinstance(unit, PersonUnit) and unit.limits_groups
    binding = totals or (limited and bool(query.axes))
    return Kind(
        tuple(key for key in query.by if key.open),
        tuple(sorted(query.axes, key=repr)) if binding else None,
        totals,
        query if isinstance(query, DistinctQuery) else None,
    )


def _cells(axes: tuple[Key, ...]) -> int:
    """How many cells a joint table has."""
    return prod(len(axis) + 1 for axis in axes)
