"""Cells that could stand in a column, invented from its declaration alone.

A declaration says what is possible, not what is frequent, so the shapes are made up: hills that
lean to the left, first labels more often than last ones. A few cells are blank and a few
lie beyond the bounds, so that `missing` and clamping have something to do.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isqrt

import numpy as np

from dpcli.columns import EPOCH, CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.queries import Condition
from dpcli.simulation.stream import Places, Stream, scaled

BLANK = 3
"""Percent of cells that are blank."""

NAMELESS = 1
"""Percent of ids that are."""

BEYOND = 2
"""Percent of numbers that lie outside the bounds."""

FARTHEST = 1 << 60
"""Numbers beyond the bounds stay nearer than this, lest they leave a machine word."""

ON_ALL_SIDES = 25
"""Percent of cells that are spread evenly over both sides of every condition."""

HEAVIEST = 1 << 20
"""Weight of the first label; the second has half of it, the third a third, and so on."""

UNBOUNDED = (0, 100)
"""Bounds of a column that has none, because nothing is asked of it."""

Texts = list[str]

Span = tuple[int, int]
"""Whole numbers from the first up to below the second."""

Cells = Callable[[Places], Texts]
"""The texts of a column, by the places at which its cells are drawn."""


def cells_of(column: Column, asked: Sequence[Condition], stream: Stream, rows: int) -> Cells:
    """How the cells of a column are made; `asked` are all conditions of the spec."""
    conditions = [one for one in asked if one.column.name == column.name]
    match column:
        case NumericColumn():
            numbers = _Numbers(column, conditions, stream)
            return _blanked(numbers.texts, BLANK, stream)
        case CategoryColumn():
            return _blanked(_labels(column, conditions, stream), BLANK, stream)
        case OpenColumn():
            invented = [f"dummy-{number + 1}" for number in range(min(rows, 4 * isqrt(rows)))]
            return _blanked(_drawn(invented, stream), BLANK, stream)
        case IdColumn():
            return ids(stream, lambda places: stream.below(rows // 3 + 1, places))


def ids(stream: Stream, whose: Callable[[Places], Places]) -> Cells:
    """Ids of people or things; a few are blank."""
    return _blanked(
        lambda places: [f"dummy-{number + 1}" for number in whose(places).tolist()],
        NAMELESS,
        stream,
    )


def _blanked(cells: Cells, percent: int, stream: Stream) -> Cells:
    """The same with some blanks."""
    blank = stream.named("blank")

    def texts(places: Places) -> Texts:
        pairs = zip(cells(places), blank.happens(percent, places).tolist(), strict=True)
        return ["" if empty else text for text, empty in pairs]

    return texts


def _weighed(count: int, stream: Stream, places: Places) -> Places:
    """Numbers below `count`, the first the most frequent, with a long tail (Zipf 1949)."""
    reach = np.cumsum(HEAVIEST // np.arange(1, count + 1) + 1)
    found: Places = np.searchsorted(reach, stream.below(int(reach[-1]), places), side="right")
    return found


def _drawn(texts: Sequence[str], stream: Stream) -> Cells:
    """Some of the texts, the first the most frequent."""

    def cells(places: Places) -> Texts:
        return [texts[place] for place in _weighed(len(texts), stream, places).tolist()]

    return cells


def _labels(column: CategoryColumn, conditions: Sequence[Condition], stream: Stream) -> Cells:
    """The declared texts, with labels on both sides of every condition."""
    texts, labels = [text for text, _ in column.values], column.labels
    first: dict[str, int] = {}
    for place, (_, label) in enumerate(column.values):
        first.setdefault(label, place)
    firsts = [first[label] for label in labels]
    spans = _spans(conditions, 0, len(labels))

    def cells(places: Places) -> Texts:
        chosen = _weighed(len(texts), stream, places)
        chosen = _spread(chosen, spans, stream, places, np.array(firsts))
        return [texts[place] for place in chosen.tolist()]

    return cells


def _spans(conditions: Sequence[Condition], low: int, end: int) -> list[Span]:
    """The pieces into which conditions cut what is possible; none without conditions."""
    cuts = {cut for one in conditions for a, b in one.ranges for cut in (a, b + 1)}
    inner = sorted(cut for cut in cuts if low < cut < end)
    return list(pairwise([low, *inner, end])) if conditions else []


def _spread(
    found: Places,
    spans: Sequence[Span],
    stream: Stream,
    places: Places,
    meant: Places | None = None,
) -> Places:
    """Some of the numbers drawn anew: a piece, each as likely, then a number in it.

    `meant` says what stands for each number of a piece.
    """
    if not spans:
        return found
    chosen = stream.named("span").below(len(spans), places)
    starts, sizes = np.array([(low, end - low) for low, end in spans]).T
    within = stream.named("within").words(places)
    anew = np.zeros_like(found)
    for place, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        anew = np.where(chosen == place, start + scaled(within, size), anew)
    anew = anew if meant is None else meant[anew]
    moved: Places = np.where(stream.named("spread").happens(ON_ALL_SIDES, places), anew, found)
    return moved


class _Numbers:
    """A numeric column: a hill between the bounds that leans to the left."""

    def __init__(
        self, column: NumericColumn, conditions: Sequence[Condition], stream: Stream
    ) -> None:
        self._column, self._stream = column, stream
        self._low, high = column.bounds or UNBOUNDED
        self._size = high - self._low + 1
        self._spans = _spans(conditions, self._low, high + 1)

    def texts(self, places: Places) -> Texts:
        """The numbers as they are written; each distinct one is written once."""
        steps = _spread(self._hill(places), self._spans, self._stream, places)
        distinct, which = np.unique(self._beyond(steps, places), return_inverse=True)
        written = [self._column.text(step) for step in distinct.tolist()]
        return [written[place] for place in which.tolist()]

    def _hill(self, places: Places) -> Places:
        """Half of the lesser of two even draws, and half of a third."""
        one, two, three = (self._stream.named(name).words(places) for name in ("a", "b", "c"))
        half = np.uint64(1)
        return self._low + scaled((np.minimum(one, two) >> half) + (three >> half), self._size)

    def _beyond(self, steps: Places, places: Places) -> Places:
        """Some numbers moved past the bounds, by up to the distance between these."""
        if self._column.bounds is None:
            return steps
        stream = self._stream.named("beyond")
        far = 1 + stream.named("far").below(min(self._size, FARTHEST), places)
        up = stream.named("up").happens(50, places)
        high = self._low + self._size - 1
        moved = np.where(up, high + far, self._low - far)
        if self._column.kind == "date":
            first, last = datetime.date.min, datetime.date.max
            moved = np.clip(moved, (first - EPOCH).days, (last - EPOCH).days)
        found: Places = np.where(stream.happens(BEYOND, places), moved, steps)
        return found
