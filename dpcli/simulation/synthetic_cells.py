"""Synthetic cells of a column, generated from its declaration and a seed.

A declaration says what is possible, not what is frequent. So the distributions are invented:
numbers have one mode, left of the middle; first labels are more frequent than last ones. A few
cells are blank, and a few lie outside the bounds, so that `missing` and clamping have an effect.

`Stream` gives repeatable pseudorandom numbers, the same on every machine. They are never used as
noise, which comes from the operating system alone (`dpcli.noise.entropy`). Only simulations may
import this module.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from itertools import pairwise
from math import isqrt

import numpy as np
import numpy.typing as npt

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.derivations import HOURS
from dpcli.data.filters import InRanges
from dpcli.data.formats import DateFormat, NumberFormat
from dpcli.data.labels import IdColumn, LabeledColumn, PrivatePartitionColumn
from dpcli.data.numeric import NumericColumn
from dpcli.numeric.days import EPOCH
from dpcli.numeric.splitmix import GOLDEN_GAMMA, Words, scramble

BLANK_PERCENT = 3
"""Percent of cells that are blank."""

BLANK_ID_PERCENT = 1
"""Percent of id_cells that are blank."""

OUTSIDE_PERCENT = 2
"""Percent of numbers that lie outside the bounds."""

MAX_OUTSIDE = 1 << 60
"""The greatest distance from the bounds, so that numbers fit a machine word."""

CONDITION_PERCENT = 25
"""Percent of cells that are spread evenly over the ranges that conditions define."""

FIRST_WEIGHT = 1 << 20
"""Weight of the first label. The second has half of it, the third a third, and so on."""

OTHER_TEXT = "something else"
"""A cell of a column that has a label for all other texts."""

DEFAULT_BOUNDS = (0, 100)
"""Bounds for columns without bounds, which no statistic uses."""

Positions = npt.NDArray[np.int64]

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


class Stream:
    """A pseudorandom word for each position: a function of seed, names and position."""

    def __init__(self, seed: int, *names: str) -> None:
        self._seed, self._names = seed, names
        # Each name has its length in front, so that different lists of names give different texts.
        text = "".join(f"{len(name)}:{name}," for name in ("dpcli dummy 1", str(seed), *names))
        start = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        self._start = np.uint64(int.from_bytes(start[:8], "big"))

    def named(self, name: str) -> Stream:
        """An independent stream for another use."""
        return Stream(self._seed, *self._names, name)

    def words(self, positions: Positions) -> Words:
        """The words at these positions, uint64; as fractions, in units of 2^-64."""
        return scramble(positions.astype(np.uint64) * GOLDEN_GAMMA + self._start)

    def below(self, limit: int, positions: Positions) -> Positions:
        """Uniform whole numbers from 0 to below a limit of at most 2^63."""
        return fraction_of(self.words(positions), limit)

    def happens(self, percent: int, positions: Positions) -> npt.NDArray[np.bool_]:
        """True for this percentage of the positions."""
        return self.below(100, positions) < percent


def fraction_of(fractions: Words, limit: int) -> Positions:
    """Fractions of a limit of at most 2^63, rounded down: the upper half of the product."""
    high, low = fractions >> _HALF, fractions & _LOW
    upper, lower = np.uint64(limit >> 32), np.uint64(limit & int(_LOW))
    first, second = high * lower, low * upper
    carried = (first & _LOW) + (second & _LOW) + (low * lower >> _HALF)
    whole = high * upper + (first >> _HALF) + (second >> _HALF) + (carried >> _HALF)
    result: Positions = whole.astype(np.int64)
    return result


def column_cells(
    column: Column, conditions: Sequence[InRanges], stream: Stream, positions: Positions, rows: int
) -> list[str]:
    """The cells of a column at these positions, for a spec with these conditions and rows."""
    own = [condition for condition in conditions if condition.column.name == column.name]
    match column:
        case NumericColumn():
            cells = _numbers(column, own, stream, positions)
        case LabeledColumn():
            cells = _labels(column, own, stream, positions)
        case PrivatePartitionColumn():
            cells = _named(_zipf(min(rows, 4 * isqrt(rows)), stream, positions))
        case IdColumn():
            return id_cells(stream, positions, stream.below(rows // 3 + 1, positions))
    return _with_blanks(cells, BLANK_PERCENT, stream, positions)


def id_cells(stream: Stream, positions: Positions, numbers: Positions) -> list[str]:
    """An id for each number; a few ids are blank."""
    return _with_blanks(_named(numbers), BLANK_ID_PERCENT, stream, positions)


def _named(numbers: Positions) -> list[str]:
    return [f"dummy-{number + 1}" for number in numbers.tolist()]


def _with_blanks(texts: list[str], percent: int, stream: Stream, positions: Positions) -> list[str]:
    blank = stream.named("blank").happens(percent, positions).tolist()
    return ["" if is_blank else text for text, is_blank in zip(texts, blank, strict=True)]


def _zipf(count: int, stream: Stream, positions: Positions) -> Positions:
    """Numbers below `count`; the first is the most frequent, with a long tail (Zipf 1949)."""
    cumulative = np.cumsum(FIRST_WEIGHT // np.arange(1, count + 1) + 1)
    return np.searchsorted(cumulative, stream.below(int(cumulative[-1]), positions), side="right")


def _labels(
    column: LabeledColumn, conditions: Sequence[InRanges], stream: Stream, positions: Positions
) -> list[str]:
    """The declared texts; some are replaced so that every condition is met and missed."""
    other_texts = () if column.other is None else ((OTHER_TEXT, column.other),)
    pairs = (*column.values, *other_texts)
    texts = [text for text, _ in pairs]
    first = {label: index for index, (_, label) in reversed(list(enumerate(pairs)))}
    chosen = _zipf(len(texts), stream, positions)
    is_replaced, label = _spread(conditions, 0, len(column.labels), stream, positions)
    text_of = np.array([first[label] for label in column.labels])
    indices = np.where(is_replaced, text_of[label], chosen)
    return [texts[index] for index in indices.tolist()]


def _spread(
    conditions: Sequence[InRanges], low: int, end: int, stream: Stream, positions: Positions
) -> tuple[npt.NDArray[np.bool_], Positions]:
    """Which numbers are replaced, and the numbers that replace them.

    The ends of conditions divide the numbers from `low` to below `end` into spans. A replacement
    is uniform in a span, which is chosen uniformly.
    """
    cuts = {cut for condition in conditions for a, b in condition.ranges for cut in (a, b + 1)}
    spans = list(pairwise([low, *sorted(cut for cut in cuts if low < cut < end), end]))
    chosen = stream.named("span").below(len(spans), positions)
    within = stream.named("within").words(positions)
    numbers = np.full_like(positions, low)
    for index, (start, stop) in enumerate(spans):
        numbers = np.where(chosen == index, start + fraction_of(within, stop - start), numbers)
    percent = CONDITION_PERCENT if conditions else 0
    return stream.named("spread").happens(percent, positions), numbers


def _numbers(
    column: NumericColumn, conditions: Sequence[InRanges], stream: Stream, positions: Positions
) -> list[str]:
    """Numbers within the bounds with a mode left of the middle, and a few outside."""
    low, high = column.bounds or DEFAULT_BOUNDS
    size, half = high - low + 1, np.uint64(1)
    # Half of the smaller of two uniform numbers, plus half of a third.
    first, second, third = (stream.named(name).words(positions) for name in ("a", "b", "c"))
    typical = low + fraction_of((np.minimum(first, second) >> half) + (third >> half), size)
    is_replaced, replacements = _spread(conditions, low, high + 1, stream, positions)
    steps = np.where(is_replaced, replacements, typical)
    if column.bounds is not None:
        # The distance from the bounds is at most that between them.
        outside = stream.named("beyond")
        distance = 1 + outside.named("far").below(min(size, MAX_OUTSIDE), positions)
        is_above = outside.named("up").happens(50, positions)
        moved = np.where(is_above, high + distance, low - distance)
        if isinstance(column, DateColumn):
            earliest, latest = datetime.date.min, datetime.date.max
            moved = np.clip(moved, (earliest - EPOCH).days, (latest - EPOCH).days)
        steps = np.where(outside.happens(OUTSIDE_PERCENT, positions), moved, steps)
    # Each distinct number is formatted once.
    distinct, indices = np.unique(steps, return_inverse=True)
    texts = [column.text(step) for step in distinct.tolist()]
    if isinstance(column.format, NumberFormat):
        texts = [column.format.written(text) for text in texts]
    if isinstance(column.format, DateFormat):
        hours = stream.named("hour").below(HOURS, positions).tolist()
        pairs = zip(indices.tolist(), hours, strict=True)
        return [column.format.written(texts[index], hour) for index, hour in pairs]
    return [texts[index] for index in indices.tolist()]
