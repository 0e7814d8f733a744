"""How candidates cut the values of a column into classes."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.columns import NumericColumn
from dpcli.queries import Key
from dpcli.utilities.base import Points


def at_and_between(column: NumericColumn, points: Points) -> tuple[Key, Points]:
    """Classes for the values at each point, below, between and above them.

    With the classes comes the place of each point's own class.
    """
    grid = range(column.lower, column.upper + 1)
    if points == grid:
        return Key(column, grid), range(len(grid))
    starts = {column.lower} | {end for point in points for end in (point, point + 1)}
    return _cut(column, sorted(starts - {column.upper + 1}), points)


def from_each(column: NumericColumn, points: Points) -> tuple[Key, Points]:
    """Classes for the values from each point up to the next.

    With the classes comes the place of the class that begins at each point.
    """
    return _cut(column, sorted({column.lower, *points}), points)


def _cut(column: NumericColumn, starts: Sequence[int], points: Points) -> tuple[Key, Points]:
    """The axis whose classes begin at `starts`, and the class that begins at each point."""
    places = {start: place for place, start in enumerate(starts)}
    return Key(column, tuple(starts)), tuple(places[point] for point in points)
