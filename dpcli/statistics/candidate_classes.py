"""Classes of values by which rows are counted: at, between or from candidates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from dpcli.data.kinds import Axis
from dpcli.data.numeric import NumericColumn
from dpcli.queries.scores import Points

CACHED = 4
"""The number of axes that are cached: statistics with the same candidates share one."""


@lru_cache(maxsize=CACHED)
def classes_at_and_between(column: NumericColumn, points: Points) -> tuple[Axis, Points]:
    """The axis of classes at, between, below and above the points.

    Also returns the index of the class of each point.
    """
    if points == range(column.lower, column.upper + 1):
        return Axis(column, points), range(len(points))
    if not isinstance(points, range) or points.step == 1 or points[0] != column.lower:
        starts = {column.lower} | {end for point in points for end in (point, point + 1)}
        return _cut(column, sorted(starts - {column.upper + 1}), points)
    # Regular candidates, possibly a million: a class at each, one after each.
    ends = tuple(chain.from_iterable((point, point + 1) for point in points))
    last = len(ends) - 1 if points[-1] == column.upper else len(ends)
    return Axis(column, ends[:last]), range(0, 2 * len(points), 2)


@lru_cache(maxsize=CACHED)
def classes_from_each(column: NumericColumn, points: Points) -> tuple[Axis, Points]:
    """The axis of classes from each point up to the next.

    Also returns the index of the class that begins at each point.
    """
    if isinstance(points, range) and points[0] == column.lower:
        return Axis(column, tuple(points)), range(len(points))
    return _cut(column, sorted({column.lower, *points}), points)


def _cut(column: NumericColumn, starts: Sequence[int], points: Points) -> tuple[Axis, Points]:
    """The axis of classes that begin at `starts`, and the index of the class of each point."""
    indices = {start: index for index, start in enumerate(starts)}
    return Axis(column, tuple(starts)), tuple(indices[point] for point in points)
