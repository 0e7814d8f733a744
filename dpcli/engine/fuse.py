"""Many queries, few aggregations: which questions can share a pass over groups.

Queries whose axes span a small joint table are answered from one aggregation
over that table, and rolled up afterwards. All aggregations share one scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from dpcli.queries import Key, LinearQuery

JOINT_CELLS = 1 << 14
"""Up to this many groups an aggregation costs about as much as with one."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Queries that are answered together, and the axes of their joint table.

    `members` are positions in the list of queries. Each axis has one place more
    than it has labels, the last one for rows that lie nowhere on it.
    """

    axes: tuple[Key, ...]
    members: tuple[int, ...]

    def cell(self, query: LinearQuery, joint: int) -> int | None:
        """The cell of `query` that a joint cell belongs to, or None for no cell."""
        places = {}
        for axis in reversed(self.axes):
            joint, places[axis] = divmod(joint, len(axis) + 1)
        cell = 0
        for key in query.by:
            if places[key] == len(key):
                return None
            cell = cell * len(key) + places[key]
        return cell


def fuse(queries: Sequence[LinearQuery]) -> list[Cluster]:
    """Put each query into the first cluster where the joint table stays small."""
    clusters: list[Cluster] = []
    for position, query in enumerate(queries):
        for index, cluster in enumerate(clusters):
            axes = tuple(dict.fromkeys(cluster.axes + query.by))
            if set(axes) == set(cluster.axes) or _cells(axes) <= JOINT_CELLS:
                clusters[index] = Cluster(axes, (*cluster.members, position))
                break
        else:
            clusters.append(Cluster(query.by, (position,)))
    return clusters


def _cells(axes: tuple[Key, ...]) -> int:
    """How many cells a joint table has."""
    return prod(len(axis) + 1 for axis in axes)
