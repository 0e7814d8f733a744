"""How candidates cut the values of a column into classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from dpcli.columns import NumericColumn
from dpcli.queries import Key
from dpcli.scores import Points

KEPT = 4
"""Cuts that are kept: statistics with the same candidates share one."""


@lru_cache(maxsize=KEPT)
def at_and_between(column: NumericColumn, points: Points) -> tuple[Key, Points]:
    """Classes for the values at each point, below, between and above them.

    With the classes comes the place of each point's own class.
    """
    if points == range(column.lower, column.upper + 1):
        return Key(column, points), range(len(points))
    if not isinstance(points, range) or points.step == 1 or points[0] != column.lower:
        starts = {column.lower} | {end for point in points for end in (point, point + 1)}
        return _cut(column, sorted(starts - {column.upper + 1}), points)
    # Regular candidates, of which there may be a million: a class at each, one after each.
    ends = tuple(chain.from_iterable((point, point + 1) for point in points))
    last = len(ends) - 1 if points[-1] == column.upper else len(ends)
    return Key(column, ends[:last]), range(0, 2 * len(points), 2)


@lru_cache(maxsize=KEPT)
def from_each(column: NumericColumn, points: Points) -> tuple[Key, Points]:
    """Classes for the values from each point up to the next.

    With the classes comes the place of the class that begins at each point.
    """
    if isinstance(points, range) and points[0] == column.lower:
        return Key(column, tuple(points)), range(len(points))
    return _cut(column, sorted({column.lower, *points}), points)


def _cut(column: NumericColumn, starts: Sequence[int], points: Points) -> tuple[Key, Points]:
    """The axis whose classes begin at `starts`, and the class that begins at each point."""
    places = {start: place for place, start in enumerate(starts)}
    return Key(column, tuple(starts)), tuple(places[point] for point in points)
