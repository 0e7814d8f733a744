"""Charts as static SVG: a bar or point per line, histograms, lines with a band.

Every number that a chart shows is also text in the table next to it. Charts hold no script and
no reference; labels are escaped here, because a chart enters a page as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from dpcli.columns import NumericColumn
from dpcli.plan.numbers import exact_or_up
from dpcli.queries import Key
from dpcli.report.table import Cell

STEPS = (1, 2, 5, 10)
"""Multiples of a power of ten that people count in."""

SUFFIXES = "kMGTPE"
"""Thousand, million and so on."""

WIDEST = 8
"""Characters of a number on an axis, unless it is enormous."""

FINE = 4
"""Into how many parts a step is cut to find the ends of a range."""

ROW_WIDTH, ROW_HEIGHT = 1000, 20
"""The drawing of one line of a table, stretched to the width of its column."""

WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 14, 44
"""Margins, wide enough for labels in the size that phones show them in."""

MOST_BARS = 20
"""Bins that are drawn as bars; more of them, and dates, are drawn as a line."""

MOST_NAMES = 5
"""Bins or edges that are named below the axis."""

LONGEST_NAME = 11
"""Characters of a name that has room below its bar."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of numbers, and the step between the round ones within it."""

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def over(cls, numbers: Iterable[Fraction], *, zero: bool, ticks: int = 4) -> Scale:
        """A range that holds all these numbers, and zero if it should."""
        held = [*numbers, *([Fraction(0)] if zero else [])] or [Fraction(0)]
        low, high = min(held), max(held)
        if low == high:
            low, high = low - abs(low) / 2 - 1, high + abs(high) / 2 + 1
            low = max(low, Fraction(0)) if zero and min(held) >= 0 else low
        least = (high - low) / ticks
        power = Fraction(10) ** floor(log10(least))
        step = next((times * power for times in STEPS if times * power >= least), 10 * power)
        fine = step / FINE
        return cls(floor(low / fine) * fine, ceil(high / fine) * fine, step)

    def place(self, number: Fraction) -> float:
        """Where a number lies, from 0 at the low end to 1 at the high one."""
        return float((number - self.low) / (self.high - self.low))

    @property
    def ticks(self) -> tuple[Fraction, ...]:
        """The round numbers, from low to high."""
        first, last = ceil(self.low / self.step), floor(self.high / self.step)
        return tuple(place * self.step for place in range(first, last + 1))


def numbers_of(cells: Iterable[Cell]) -> list[Fraction]:
    """The numbers that cells publish, with the ends of their intervals."""
    texts = (text for cell in cells for text in (cell.value, cell.lower, cell.upper))
    return [Fraction(text) for text in texts if text]


def tick_text(number: Fraction) -> str:
    """A round number in few characters: a thousand is 1k, a million 1M, and so on."""
    size = abs(number)
    text = exact_or_up(number)
    if size >= 10**4:
        place = min(len(str(int(size))) - 1, 3 * len(SUFFIXES) + 2) // 3
        text = exact_or_up(number / 10 ** (3 * place)) + SUFFIXES[place - 1]
        if len(text) > WIDEST:
            power = len(str(int(size))) - 1
            text = f"{exact_or_up(number / 10**power)}\u00b710^{power}"
    return text.replace("-", "\u2212")


def row(cell: Cell, scale: Scale | None, *, bars: bool) -> str:
    """One line of a table: a bar from zero or a point, with the interval around it.

    Without a scale the line has one of its own. Empty where nothing is published.
    """
    if not cell.value:
        return ""
    scale = scale or Scale.over(numbers_of([cell]), zero=True)

    def x(number: Fraction | str) -> float:
        return round(scale.place(Fraction(number)) * ROW_WIDTH, 1)

    value, parts = x(cell.value), []
    if scale.low <= 0 <= scale.high:
        zero = x(Fraction(0))
        if bars:
            width = round(abs(value - zero), 1)
            parts.append(_tag("rect", x=min(zero, value), y=3, width=width, height=14, c="fill"))
        parts.append(_line(zero, 0, zero, ROW_HEIGHT, "zero"))
    if cell.lower != cell.upper:
        low, high = x(cell.lower), x(cell.upper)
        parts.append(_line(low, ROW_HEIGHT / 2, high, ROW_HEIGHT / 2, "interval"))
        parts += [_line(end, 6, end, 14, "interval") for end in (low, high)]
    if not bars:
        parts.append(_line(value, 4, value, 16, "point"))
    box = f"0 0 {ROW_WIDTH} {ROW_HEIGHT}"
    return _tag("svg", *parts, viewBox=box, preserveAspectRatio="none", c="row", aria_hidden="true")


def over_bins(cells: Sequence[Cell], key: Key, scale: Scale, percent: str) -> str:
    """The numbers of the bins of a column: bars, or a line for dates and for many bins."""
    column = key.column
    assert isinstance(column, NumericColumn)
    as_line = is_line(key)
    low, high = map(column.text, column.limits)
    what = f"{'line' if as_line else 'histogram'} over {len(cells)} bins of {column.name}"
    marks = _band(cells, key, column, scale) if as_line else _bars(cells, scale)
    interval = "the band" if as_line else "the line on each bar"
    known = any(cell.lower != cell.upper for cell in cells)
    described = f"From {low} to {high}. The table below holds every number" + (
        f"; {interval} is the {percent}% interval." if known else "."
    )
    return _tag(
        "svg",
        _tag("title", escape(what)),
        _tag("desc", escape(described)),
        *_grid(scale),
        *marks,
        *([_line(LEFT, zero, WIDTH - RIGHT, zero, "zero")] if (zero := _zero(scale)) else []),
        *_names(column, key, as_line=as_line),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        c="chart",
    )


def _bars(cells: Sequence[Cell], scale: Scale) -> Iterator[str]:
    """A bar for each bin and its interval, grey if flagged; nothing where it is suppressed."""
    bottom = _y(max(Fraction(0), scale.low), scale)
    for place, cell in enumerate(cells):
        if not cell.value:
            continue
        left, right = _x(place / len(cells)), _x((place + 1) / len(cells))
        gap = min(2.0, (right - left) / 8)
        grey = " flagged" if cell.flag else ""
        top, end = sorted((_y(Fraction(cell.value), scale), bottom))
        yield _tag(
            "rect",
            x=round(left + gap / 2, 2),
            y=top,
            width=round(right - left - gap, 2),
            height=round(end - top, 2),
            c=f"fill{grey}",
        )
        if cell.lower != cell.upper:
            middle = round((left + right) / 2, 2)
            ends = (_y(Fraction(text), scale) for text in (cell.lower, cell.upper))
            yield _line(middle, next(ends), middle, next(ends), f"interval{grey}")


def _band(cells: Sequence[Cell], key: Key, column: NumericColumn, scale: Scale) -> Iterator[str]:
    """A line through the middles of the bins, over the band of their intervals.

    Both are interrupted where a number is suppressed. A lone number is a point.
    """
    edges = [*key.starts, column.upper + 1]
    whole = edges[-1] - edges[0]
    runs: list[list[tuple[float, Cell]]] = [[]]
    for place, cell in enumerate(cells):
        if not cell.value:
            runs.append([])
            continue
        middle = Fraction(edges[place] + edges[place + 1], 2) - edges[0]
        runs[-1].append((_x(float(middle / whole)), cell))
    for run in filter(None, runs):
        there = [(x, _y(Fraction(cell.upper or cell.value), scale)) for x, cell in run]
        back = [(x, _y(Fraction(cell.lower or cell.value), scale)) for x, cell in reversed(run)]
        if len(run) > 1:
            yield _tag("polygon", points=_points([*there, *back]), c="band")
            middle_line = [(x, _y(Fraction(cell.value), scale)) for x, cell in run]
            yield _tag("polyline", points=_points(middle_line), c="curve")
        for x, cell in run:
            grey = " flagged" if cell.flag else ""
            if len(run) == 1 and cell.lower:
                yield _line(x, there[0][1], x, back[0][1], f"interval{grey}")
            if len(cells) <= MOST_BARS or len(run) == 1 or grey:
                y = _y(Fraction(cell.value), scale)
                yield _tag("circle", cx=x, cy=y, r=3, c=f"dot{grey}")


def is_line(key: Key) -> bool:
    """Whether a chart over these bins is a line: over days, or over many bins."""
    return len(key) > MOST_BARS or (
        isinstance(key.column, NumericColumn) and key.column.kind == "date"
    )


def widths_note(key: Key) -> str:
    """What a reader of a line must know of bins that are not equally wide; else empty."""
    column = key.column
    if not isinstance(column, NumericColumn) or not is_line(key):
        return ""
    edges = [*key.starts, column.upper + 1]
    *widths, last = (end - start for start, end in pairwise(edges))
    if len({*widths}) > 1:
        return "; bins differ in width"
    return "; the last bin is narrower" if widths and last < widths[0] else ""


def _grid(scale: Scale) -> Iterator[str]:
    for tick in scale.ticks:
        y = _y(tick, scale)
        yield _line(LEFT, y, WIDTH - RIGHT, y, "grid")
        yield _text(LEFT - 8, y, tick_text(tick), "end", dy="0.35em")


def _names(column: NumericColumn, key: Key, *, as_line: bool) -> Iterator[str]:
    """What some places of the axis stand for: bins, or where these begin and end.

    Short names of closed ranges stand below the middle of their bars; otherwise edges are
    named where they lie, the last one at the upper bound.
    """
    count = len(key)
    labels = key.labels if column.whole and not as_line else ()
    if labels and max(map(len, labels)) <= LONGEST_NAME:
        names, places = labels, [(place + 0.5) / count for place in range(count)]
    else:
        edges = [*key.starts, column.upper]
        whole = max(column.upper - edges[0], 1)
        names = tuple(map(column.text, edges))
        places = [place / count for place in range(count + 1)]
        if as_line:
            places = [(edge - edges[0]) / whole for edge in edges]
    last, longest = len(names) - 1, max(map(len, names))
    most = MOST_NAMES if longest <= 6 else 3 if longest <= LONGEST_NAME else 2
    stride = max(1, -(-last // (most - 1)) if most > 2 else last)
    for place in dict.fromkeys([*range(0, last - stride // 2, stride), last]):
        x, anchor = places[place], "middle"
        if place in (0, last) and not (labels and names is labels and count <= MOST_NAMES):
            # The names at both ends stay within the drawing.
            x, anchor = (0.0, "start") if not place else (1.0, "end")
        yield _text(_x(x), HEIGHT - 14, names[place], anchor)


def _zero(scale: Scale) -> float | None:
    return _y(Fraction(0), scale) if scale.low <= 0 <= scale.high else None


def _y(number: Fraction, scale: Scale) -> float:
    return round(HEIGHT - BOTTOM - scale.place(number) * (HEIGHT - TOP - BOTTOM), 1)


def _x(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return _tag("line", x1=x1, y1=y1, x2=x2, y2=y2, c=kind)


def _text(x: float, y: float, text: str, anchor: str, **more: str) -> str:
    return _tag("text", escape(text), x=x, y=y, text_anchor=anchor, **more)


def _tag(name: str, *inside: str, **attributes: str | float) -> str:
    """An element around markup; `c` is its class, and underscores stand for hyphens."""
    words = "".join(
        f' {"class" if key == "c" else key.replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{words}>{''.join(inside)}</{name}>"
