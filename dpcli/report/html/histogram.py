"""A histogram: a bar for each bin, its interval, and an axis of round numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from xml.etree.ElementTree import Element

from dpcli.columns import NumericColumn
from dpcli.queries import Key
from dpcli.report.html.element import element
from dpcli.report.html.rows import numbers_of
from dpcli.report.html.scale import Scale, tick_text
from dpcli.report.table import Cell

WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 14, 44
"""Margins, wide enough for labels in the size that phones show them in."""

MOST_INTERVALS = 150
"""Bins whose intervals can be told apart."""

MOST_NAMES = 5
"""Bins or edges that are named below the bars."""

LONGEST_NAME = 11
"""Characters of a name that has room below its bar."""


def histogram(cells: Sequence[Cell], key: Key, scale: Scale) -> Element:
    """One bar per cell, in the order of the bins of a numeric column."""
    column = key.column
    if not isinstance(column, NumericColumn):
        raise TypeError("a histogram has the bins of a number")
    low, high = map(column.text, column.limits)
    described = f"histogram with {len(cells)} bins from {low} to {high}"
    return element(
        "svg",
        element("title", described),
        _grid(scale),
        [part for place, cell in enumerate(cells) for part in _bar(cell, place, len(cells), scale)],
        _baseline(scale),
        _names(column, key),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        class_="histogram",
    )


def common_scale(cells: Sequence[Cell]) -> Scale:
    """A range for all these numbers and zero."""
    return Scale.over((number for cell in cells for number in numbers_of(cell)), zero=True)


def _y(number: Fraction, scale: Scale) -> float:
    """How far down a number lies."""
    return round(HEIGHT - BOTTOM - scale.place(number) * (HEIGHT - TOP - BOTTOM), 1)


def _x(place: float, count: int) -> float:
    """How far to the right an edge lies."""
    return round(LEFT + place / count * (WIDTH - LEFT - RIGHT), 1)


def _grid(scale: Scale) -> Iterator[Element]:
    """A line and a number for each tick."""
    for tick in scale.ticks:
        y = _y(tick, scale)
        yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
        yield element("text", tick_text(tick), x=LEFT - 8, y=y, dy="0.35em", text_anchor="end")


def _bar(cell: Cell, place: int, count: int, scale: Scale) -> Iterator[Element]:
    """The bar of one bin and its interval, grey if flagged; nothing where it is suppressed."""
    if not cell.value:
        return
    left, right = _x(place, count), _x(place + 1, count)
    gap = min(2.0, (right - left) / 8)
    grey = " flagged" if cell.flag else ""
    ends = sorted((_y(Fraction(cell.value), scale), _y(Fraction(0), scale)))
    yield element(
        "rect",
        x=round(left + gap / 2, 2),
        y=ends[0],
        width=round(right - left - gap, 2),
        height=round(ends[1] - ends[0], 2),
        class_=f"fill{grey}",
    )
    if cell.lower != cell.upper and count <= MOST_INTERVALS:
        middle = round((left + right) / 2, 2)
        low, high = (_y(Fraction(text), scale) for text in (cell.lower, cell.upper))
        yield element("line", x1=middle, x2=middle, y1=low, y2=high, class_=f"interval{grey}")


def _baseline(scale: Scale) -> Element:
    """Where zero is."""
    y = _y(Fraction(0), scale)
    return element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="zero")


def _names(column: NumericColumn, key: Key) -> Iterator[Element]:
    """What some bars stand for: their bins, or where these begin and end.

    Short names of closed ranges stand below the middle of their bars; otherwise edges are
    named where they lie, the last one at the upper bound.
    """
    count = len(key)
    labels = key.labels if column.whole else ()
    if labels and max(map(len, labels)) <= LONGEST_NAME:
        names, shift = labels, 0.5
    else:
        names, shift = tuple(column.text(edge) for edge in (*key.starts, column.upper)), 0.0
    last = len(names) - 1
    longest = max(map(len, names))
    most = MOST_NAMES if longest <= 6 else 3 if longest <= LONGEST_NAME else 2
    stride = max(1, -(-last // (most - 1)) if most > 2 else last)
    for place in dict.fromkeys([*range(0, last - stride // 2, stride), last]):
        x, anchor = place + shift, "middle"
        if place in (0, last) and not (shift and count <= MOST_NAMES):
            # The names at both ends stay within the drawing.
            x, anchor = (0, "start") if not place else (count, "end")
        yield element("text", names[place], x=_x(x, count), y=HEIGHT - 14, text_anchor=anchor)
