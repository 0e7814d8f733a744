"""Cells that could stand in a column, made from its declaration and a seed.

A declaration says what is possible, not what is frequent, so the shapes are made up: hills that
lean to the left, first labels more often than last ones. A few cells are blank and a few
lie outside the bounds, so that `missing` and clamping have something to do.

`Stream` gives repeatable numbers, the same on every machine. They are never noise, which has one
source, the operating system (`dpcli.sampling.entropy`): only simulations may import this module.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isqrt

import numpy as np
import numpy.typing as npt

from dpcli.columns import EPOCH, CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.queries import Condition
from dpcli.sampling.splitmix import ODD, Words, scrambled

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

Texts = list[str]

Span = tuple[int, int]
"""Whole numbers from the first up to below the second."""

Cells = Callable[[Places], Texts]
"""The texts of a column, by the places at which its cells are generated."""

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
        return scrambled(places.astype(np.uint64) * ODD + self._start)

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


def cells_of(column: Column, conditions: Sequence[Condition], stream: Stream, rows: int) -> Cells:
    """How the cells of a column are generated; `conditions` are all of the spec."""
    own = [one for one in conditions if one.column.name == column.name]
    match column:
        case NumericColumn():
            return _blanked(_numbers(column, own, stream), BLANK, stream)
        case CategoryColumn():
            return _blanked(_labels(column, own, stream), BLANK, stream)
        case OpenColumn():
            count = min(rows, 4 * isqrt(rows))
            return _blanked(lambda at: _named(_zipf(count, stream, at)), BLANK, stream)
        case IdColumn():
            return ids(stream, lambda places: stream.below(rows // 3 + 1, places))


def ids(stream: Stream, whose: Callable[[Places], Places]) -> Cells:
    """Ids of people or things; a few are blank."""
    return _blanked(lambda places: _named(whose(places)), NAMELESS, stream)


def _named(numbers: Places) -> Texts:
    return [f"dummy-{number + 1}" for number in numbers.tolist()]


def _blanked(cells: Cells, percent: int, stream: Stream) -> Cells:
    blank = stream.named("blank")

    def texts(places: Places) -> Texts:
        pairs = zip(cells(places), blank.happens(percent, places).tolist(), strict=True)
        return ["" if empty else text for text, empty in pairs]

    return texts


def _zipf(count: int, stream: Stream, places: Places) -> Places:
    """Numbers below `count`, the first the most frequent, with a long tail (Zipf 1949)."""
    reach = np.cumsum(HEAVIEST // np.arange(1, count + 1) + 1)
    return np.searchsorted(reach, stream.below(int(reach[-1]), places), side="right")


def _labels(column: CategoryColumn, conditions: Sequence[Condition], stream: Stream) -> Cells:
    """The declared texts, with labels on both sides of every condition."""
    texts = [text for text, _ in column.values]
    places_of = {label: place for place, (_, label) in reversed(list(enumerate(column.values)))}
    firsts = np.array([places_of[label] for label in column.labels])
    spans = _spans(conditions, 0, len(firsts))

    def cells(places: Places) -> Texts:
        chosen = _zipf(len(texts), stream, places)
        return [texts[at] for at in _spread(chosen, spans, stream, places, firsts).tolist()]

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
    """Some of the numbers replaced: a piece, each as likely, then a number in it.

    `meant` says what stands for each number of a piece.
    """
    if not spans:
        return found
    chosen = stream.named("span").below(len(spans), places)
    within = stream.named("within").words(places)
    other = np.zeros_like(found)
    for place, (start, end) in enumerate(spans):
        other = np.where(chosen == place, start + scaled(within, end - start), other)
    other = other if meant is None else meant[other]
    return np.where(stream.named("spread").happens(ON_ALL_SIDES, places), other, found)


def _numbers(column: NumericColumn, conditions: Sequence[Condition], stream: Stream) -> Cells:
    """A hill between the bounds that leans to the left; each distinct number is written once."""
    low, high = column.bounds or UNBOUNDED
    size = high - low + 1
    spans = _spans(conditions, low, high + 1)

    def hill(places: Places) -> Places:
        """Half of the lesser of two even numbers, and half of a third."""
        one, two, three = (stream.named(name).words(places) for name in ("a", "b", "c"))
        half = np.uint64(1)
        return low + scaled((np.minimum(one, two) >> half) + (three >> half), size)

    def beyond(steps: Places, places: Places) -> Places:
        """Some numbers moved outside the bounds, by up to the distance between these."""
        if column.bounds is None:
            return steps
        outside = stream.named("beyond")
        far = 1 + outside.named("far").below(min(size, FARTHEST), places)
        moved = np.where(outside.named("up").happens(50, places), high + far, low - far)
        if column.kind == "date":
            first, last = datetime.date.min, datetime.date.max
            moved = np.clip(moved, (first - EPOCH).days, (last - EPOCH).days)
        return np.where(outside.happens(BEYOND, places), moved, steps)

    def texts(places: Places) -> Texts:
        steps = beyond(_spread(hill(places), spans, stream, places), places)
        distinct, which = np.unique(steps, return_inverse=True)
        written = [column.text(step) for step in distinct.tolist()]
        return [written[place] for place in which.tolist()]

    return texts
