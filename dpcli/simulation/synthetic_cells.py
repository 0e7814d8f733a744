"""Cells that could stand in a column, made from its declaration and a seed.

A declaration says what is possible, not what is frequent, so the shapes are made up: hills that
lean to the left, first labels more often than last ones. A few cells are blank and a few
lie outside the bounds, so that `missing` and clamping have something to do.

`Stream` gives repeatable numbers, the same on every machine. They are never noise, which has one
source, the operating system (`dpcli.noise.entropy`): only simulations may import this module.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from itertools import pairwise
from math import isqrt

import numpy as np
import numpy.typing as npt

from dpcli.columns import (
    EPOCH,
    CategoryColumn,
    Column,
    IdColumn,
    NumericColumn,
    PrivatePartitionColumn,
)
from dpcli.numeric.splitmix import GOLDEN_GAMMA, Words, scramble
from dpcli.queries import Condition

BLANK = 3
"""Percent of cells that are blank."""

NAMELESS = 1
"""Percent of ids that are blank."""

BEYOND = 2
"""Percent of numbers that lie outside the bounds."""

FARTHEST = 1 << 60
"""Numbers outside the bounds stay nearer than this, so that they fit a machine word."""

ON_ALL_SIDES = 25
"""Percent of cells that are spread evenly over both sides of every condition."""

HEAVIEST = 1 << 20
"""Weight of the first label; the second has half of it, the third a third, and so on."""

UNBOUNDED = (0, 100)
"""Bounds of a column that has none, because no statistic uses it."""

Places = npt.NDArray[np.int64]

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


class Stream:
    """A word for each place, which depends on the seed, the names and the place alone."""

    def __init__(self, seed: int, *names: str) -> None:
        self._seed, self._names = seed, names
        # Each name has its length, so that no two lists of names give the same text.
        text = "".join(f"{len(name)}:{name}," for name in ("dpcli dummy 1", str(seed), *names))
        start = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        self._start = np.uint64(int.from_bytes(start[:8], "big"))

    def named(self, name: str) -> Stream:
        """An independent stream for another use."""
        return Stream(self._seed, *self._names, name)

    def words(self, places: Places) -> Words:
        """The words at these places; as fractions, in units of 2^-64."""
        return scramble(places.astype(np.uint64) * GOLDEN_GAMMA + self._start)

    def below(self, limit: int, places: Places) -> Places:
        """Evenly distributed whole numbers from 0 to below a limit of at most 2^63."""
        return scaled(self.words(places), limit)

    def happens(self, percent: int, places: Places) -> npt.NDArray[np.bool_]:
        """True for this percentage of the places."""
        return self.below(100, places) < percent


def scaled(fractions: Words, limit: int) -> Places:
    """Fractions of a limit of at most 2^63, rounded down: the upper half of the product."""
    high, low = fractions >> _HALF, fractions & _LOW
    upper, lower = np.uint64(limit >> 32), np.uint64(limit & int(_LOW))
    one, other = high * lower, low * upper
    carried = (one & _LOW) + (other & _LOW) + (low * lower >> _HALF)
    whole = high * upper + (one >> _HALF) + (other >> _HALF) + (carried >> _HALF)
    found: Places = whole.astype(np.int64)
    return found


def texts_of(
    column: Column, conditions: Sequence[Condition], stream: Stream, places: Places, rows: int
) -> list[str]:
    """The cells of a column at these places; `conditions` are all of the spec, for its `rows`."""
    own = [one for one in conditions if one.column.name == column.name]
    match column:
        case NumericColumn():
            found = _numbers(column, own, stream, places)
        case CategoryColumn():
            found = _labels(column, own, stream, places)
        case PrivatePartitionColumn():
            found = _named(_zipf(min(rows, 4 * isqrt(rows)), stream, places))
        case IdColumn():
            return ids(stream, places, stream.below(rows // 3 + 1, places))
    return _blanked(found, BLANK, stream, places)


def ids(stream: Stream, places: Places, whose: Places) -> list[str]:
    """Ids of people or things; a few are blank."""
    return _blanked(_named(whose), NAMELESS, stream, places)


def _named(numbers: Places) -> list[str]:
    return [f"dummy-{number + 1}" for number in numbers.tolist()]


def _blanked(texts: list[str], percent: int, stream: Stream, places: Places) -> list[str]:
    blank = stream.named("blank").happens(percent, places).tolist()
    return ["" if empty else text for text, empty in zip(texts, blank, strict=True)]


def _zipf(count: int, stream: Stream, places: Places) -> Places:
    """Numbers below `count`, the first the most frequent, with a long tail (Zipf 1949)."""
    reach = np.cumsum(HEAVIEST // np.arange(1, count + 1) + 1)
    return np.searchsorted(reach, stream.below(int(reach[-1]), places), side="right")


def _labels(
    column: CategoryColumn, conditions: Sequence[Condition], stream: Stream, places: Places
) -> list[str]:
    """The declared texts, with labels on both sides of every condition."""
    texts = [text for text, _ in column.values]
    first = {label: place for place, (_, label) in reversed(list(enumerate(column.values)))}
    chosen = _zipf(len(texts), stream, places)
    happens, other = _on_all_sides(conditions, 0, len(column.labels), stream, places)
    meant = np.array([first[label] for label in column.labels])
    return [texts[place] for place in np.where(happens, meant[other], chosen).tolist()]


def _on_all_sides(
    conditions: Sequence[Condition], low: int, end: int, stream: Stream, places: Places
) -> tuple[npt.NDArray[np.bool_], Places]:
    """Where a number is replaced, and by which: a piece, each as likely, then a number in it.

    Conditions cut what is possible, from `low` to below `end`, into the pieces.
    """
    cuts = {cut for one in conditions for a, b in one.ranges for cut in (a, b + 1)}
    spans = list(pairwise([low, *sorted(cut for cut in cuts if low < cut < end), end]))
    chosen = stream.named("span").below(len(spans), places)
    within = stream.named("within").words(places)
    found = np.full_like(places, low)
    for place, (start, stop) in enumerate(spans):
        found = np.where(chosen == place, start + scaled(within, stop - start), found)
    percent = ON_ALL_SIDES if conditions else 0
    return stream.named("spread").happens(percent, places), found


def _numbers(
    column: NumericColumn, conditions: Sequence[Condition], stream: Stream, places: Places
) -> list[str]:
    """A hill between the bounds that leans to the left; each distinct number is written once."""
    low, high = column.bounds or UNBOUNDED
    size, half = high - low + 1, np.uint64(1)
    # Half of the lesser of two even numbers, and half of a third.
    one, two, three = (stream.named(name).words(places) for name in ("a", "b", "c"))
    hill = low + scaled((np.minimum(one, two) >> half) + (three >> half), size)
    happens, other = _on_all_sides(conditions, low, high + 1, stream, places)
    steps = np.where(happens, other, hill)
    if column.bounds is not None:
        # Outside the bounds, by up to the distance between these.
        outside = stream.named("beyond")
        far = 1 + outside.named("far").below(min(size, FARTHEST), places)
        moved = np.where(outside.named("up").happens(50, places), high + far, low - far)
        if column.kind == "date":
            first, last = datetime.date.min, datetime.date.max
            moved = np.clip(moved, (first - EPOCH).days, (last - EPOCH).days)
        steps = np.where(outside.happens(BEYOND, places), moved, steps)
    distinct, which = np.unique(steps, return_inverse=True)
    written = [column.text(step) for step in distinct.tolist()]
    return [written[place] for place in which.tolist()]
