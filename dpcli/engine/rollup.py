"""From occupied cells to the answer of each query, as exact Python integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpcli.engine.cluster import Cluster
from dpcli.engine.sums import combination, sums_of
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.queries import Key, LinearQuery, Query

Sealed = Confidential[Cells] | Confidential[Groups]


def rolled_up(
    result: pl.DataFrame, queries: Sequence[Query], cluster: Cluster
) -> dict[int, Sealed]:
    """The answer of each member of a cluster, by its position, sealed.

    `result` has a row per occupied joint cell: `cell`, the texts of open axes and
    the sums.
    """
    joint = [cluster.places(cell) for cell in result["cell"].to_list()]
    texts = [result[f"o{place}"].to_list() for place in range(len(cluster.kind.open))]
    opened = dict(zip(cluster.kind.open, texts, strict=True))
    found: dict[int, Sealed] = {}
    for order, position in enumerate(cluster.members):
        query = queries[position]
        sums = _added(result, queries, cluster, order)
        if query.open:
            found[position] = Confidential(_groups(query, joint, opened, sums))
        else:
            found[position] = Confidential(_cells(query, joint, sums))
    return found


def _added(
    result: pl.DataFrame, queries: Sequence[Query], cluster: Cluster, order: int
) -> list[int]:
    """What each joint cell adds to the answer of one member."""
    query = queries[cluster.members[order]]
    names = {plain: f"s{number}" for number, plain in enumerate(sums_of(queries, cluster))}
    weighted = [(1, f"s{order}" if cluster.kind.totals else "s0")]
    if isinstance(query, LinearQuery) and not cluster.kind.totals:
        weighted = [(weight, names[plain]) for weight, plain in combination(query)]
    columns = [(weight, result[name].to_list()) for weight, name in weighted]
    return [
        sum(weight * (column[row] or 0) for weight, column in columns) for row in range(len(result))
    ]


def _cells(query: Query, joint: Sequence[Mapping[Key, int]], sums: Sequence[int]) -> Cells:
    """The cells of a query whose groups are public."""
    cells = [0] * (query.cells or 0)
    for places, added in zip(joint, sums, strict=True):
        cell = _cell(query.axes, places)
        if cell is not None:
            cells[cell] += added
    return tuple(cells)


def _groups(
    query: Query,
    joint: Sequence[Mapping[Key, int]],
    opened: Mapping[Key, Sequence[str | None]],
    sums: Sequence[int],
) -> Groups:
    """The groups that the rows of a query lie in, by the labels of all axes."""
    groups: dict[Group, list[int]] = {}
    for row, (places, added) in enumerate(zip(joint, sums, strict=True)):
        item = _cell(query.items, places)
        labels = [opened[key][row] if key.open else _label(key, places[key]) for key in query.by]
        group = tuple(label for label in labels if label is not None)
        if item is not None and len(group) == len(labels):
            groups.setdefault(group, [0] * query.width)[item] += added
    return {group: tuple(cells) for group, cells in groups.items()}


def _label(key: Key, place: int) -> str | None:
    """The label of a place along an axis; None for nowhere."""
    return key.labels[place] if place < len(key) else None


def _cell(axes: Sequence[Key], places: Mapping[Key, int]) -> int | None:
    """The cell of a table with these axes; None for nowhere."""
    cell = 0
    for key in axes:
        if places[key] == len(key):
            return None
        cell = cell * len(key) + places[key]
    return cell
