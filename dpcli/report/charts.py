"""The geometry of charts: a bar or point per line, histograms, lines with a band.

Every number that a chart shows is also text in the table next to it. Places are shares of the
drawing, from 0 at the left or lower end to 1: `charts.html.j2` makes static SVG of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from math import ceil, floor, log10

from dpcli.columns import Key, NumericColumn
from dpcli.numeric.number_text import exact_or_up
from dpcli.report.published_numbers import PublishedCell

STEPS = (1, 2, 5, 10)
"""Multiples of a power of ten that people count in."""

SUFFIXES = "kMGTPE"
"""Thousand, million and so on."""

WIDEST = 8
"""Characters of a number on an axis, unless it is enormous."""

FINE = 4
"""Into how many parts a step is cut to find the ends of a range."""

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
    def covering(cls, numbers: Iterable[Fraction], *, zero: bool, ticks: int = 4) -> Scale:
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

    def position(self, number: Fraction) -> float:
        """Where a number is, as a share of the range."""
        return float((number - self.low) / (self.high - self.low))

    @property
    def base(self) -> float:
        """Where bars begin: at zero, or at the end that is nearest to it."""
        return min(max(self.position(Fraction(0)), 0.0), 1.0)

    def mark(self, cell: PublishedCell, at: float = 0) -> Mark:
        """A number that is not suppressed, and the ends of its interval."""
        texts = (cell.value, cell.lower, cell.upper)
        value, lower, upper = (self.position(Fraction(text or cell.value)) for text in texts)
        return Mark(at, value, lower, upper, cell.exact, bool(cell.flag))

    @property
    def ticks(self) -> tuple[Fraction, ...]:
        """The round numbers, from low to high."""
        first, last = ceil(self.low / self.step), floor(self.high / self.step)
        return tuple(place * self.step for place in range(first, last + 1))


def interval_ends(cells: Iterable[PublishedCell]) -> list[Fraction]:
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


@dataclass(frozen=True, slots=True)
class Mark:
    """A number and the ends of its interval on a scale, `at` a place on the other axis."""

    at: float
    value: float
    lower: float
    upper: float
    exact: bool
    flagged: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """The numbers of the bins of a column, in runs that suppressed ones interrupt.

    They are drawn as `bars`, or as a line over the band of their intervals, perhaps `dotted`.
    Names below the axis have a place and the side of them that is there.
    """

    title: str
    described: str
    caption: str
    scale: Scale
    names: tuple[tuple[float, str, str], ...]
    bars: int
    runs: tuple[tuple[Mark, ...], ...]
    dotted: bool


def chart_over_bins(cells: Sequence[PublishedCell], key: Key, scale: Scale, percent: str) -> Chart:
    """The numbers of the bins of a column: bars, or a line for dates and for many bins."""
    column = key.column
    assert isinstance(column, NumericColumn)
    as_line = column.kind == "date" or len(key) > MOST_BARS
    low, high = map(column.text, column.limits)
    interval = "the band" if as_line else "the line on each bar"
    known = any(not cell.exact for cell in cells)
    return Chart(
        title=f"{'line' if as_line else 'histogram'} over {len(cells)} bins of {column.name}",
        described=f"From {low} to {high}. The table below holds every number"
        + (f"; {interval} is the {percent} interval." if known else "."),
        caption=", ".join([column.name, *cells[0].labels[:-1]])
        + (_widths_note(key, column) if as_line else ""),
        scale=scale,
        names=tuple(_names(column, key, as_line=as_line)),
        bars=0 if as_line else len(cells),
        runs=tuple(_runs(cells, _middles(key, column, as_line=as_line), scale)),
        dotted=len(cells) <= MOST_BARS,
    )


def _middles(key: Key, column: NumericColumn, *, as_line: bool) -> list[float]:
    """Where numbers stand: in the middle of their bins, or of as many equal parts for bars."""
    if not as_line:
        return [(place + 0.5) / len(key) for place in range(len(key))]
    edges = [*key.starts, column.upper + 1]
    whole = 2 * (edges[-1] - edges[0])
    return [(start + end - 2 * edges[0]) / whole for start, end in pairwise(edges)]


def _runs(
    cells: Sequence[PublishedCell], middles: Sequence[float], scale: Scale
) -> Iterator[tuple[Mark, ...]]:
    marked = zip(cells, middles, strict=True)
    for shown, run in groupby(marked, key=lambda pair: bool(pair[0].value)):
        if shown:
            yield tuple(scale.mark(cell, at) for cell, at in run)


def _widths_note(key: Key, column: NumericColumn) -> str:
    """What a reader of a line must know of bins that are not equally wide; else empty."""
    *widths, last = (end - start for start, end in pairwise([*key.starts, column.upper + 1]))
    if len({*widths}) > 1:
        return "; bins differ in width"
    return "; the last bin is narrower" if widths and last < widths[0] else ""


def _names(column: NumericColumn, key: Key, *, as_line: bool) -> Iterator[tuple[float, str, str]]:
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
        yield x, anchor, names[place]
