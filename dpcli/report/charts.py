"""The geometry of charts: bars and points in tables, and lines.

Every number of a chart is also text in the table next to it. Positions are shares of the drawing,
from 0 at the left or lower end to 1. `charts.html.j2` turns them into static SVG.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby, pairwise
from math import ceil, floor, log10

from dpcli.numeric.days import day_of
from dpcli.numeric.exact import exact_or_up
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.numbers import CellText, number_of
from dpcli.report.statistic import AxisReport
from dpcli.statistics.postprocessing import Flag

STEPS = (1, 2, 5, 10)
"""A step between ticks is one of these numbers times a power of ten."""

SUFFIXES = "kMGTPE"

WIDEST = 8
"""The most characters of a number on an axis; a longer one gets a power of ten."""

STEP_PARTS = 4
"""The ends of a scale are multiples of its step divided by this number."""

MAX_BARS = 20
"""More bins, and dates, are drawn as a line."""

MAX_NAMES = 5

MAX_NAME_LENGTH = 11
"""Characters of a name of which three fit below the axis."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of an axis, and the step between its ticks.

    With `dates`, numbers are days since 1970-01-01. With `bars`, numbers are bars from zero.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    dates: bool = False
    bars: bool = False

    @classmethod
    def covering(
        cls, numbers: Iterable[Fraction], *, zero: bool, ticks: int = 4, dates: bool = False
    ) -> Scale:
        """A range of all numbers, and zero if requested; dates are whole days."""
        values = [*numbers, *([Fraction(0)] if zero else [])] or [Fraction(0)]
        low, high = min(values), max(values)
        if low == high and dates:
            low, high = low - 1, high + 1
        elif low == high:
            low, high = low - abs(low) / 2 - 1, high + abs(high) / 2 + 1
            low = max(low, Fraction(0)) if zero and min(values) >= 0 else low
        min_step = (high - low) / ticks
        power = Fraction(10) ** floor(log10(min_step))
        step = next((times * power for times in STEPS if times * power >= min_step), 10 * power)
        fine = step / STEP_PARTS
        if dates:
            step, fine = max(step, Fraction(1)), Fraction(max(1, step // STEP_PARTS))
        # The short end of a range on both sides of zero is rounded to a step of its own size.
        fines = [
            min(fine, Fraction(10) ** floor(log10(abs(end))))
            if low < 0 < high and not dates
            else fine
            for end in (low, high)
        ]
        low, high = floor(low / fines[0]) * fines[0], ceil(high / fines[1]) * fines[1]
        return cls(low, high, step, dates, zero)

    @classmethod
    def of(
        cls, cells: Sequence[CellText], *, zero: bool, dates: bool, more: Iterable[Fraction] = ()
    ) -> Scale:
        """A range of `more` numbers and of cells, but for those without information."""
        informed = [cell for cell in cells if cell.flag != Flag.NO_INFORMATION]
        texts = (
            text for cell in informed or cells for text in (cell.value, cell.lower, cell.upper)
        )
        numbers = map(number_of, filter(None, texts))
        return cls.covering([*more, *numbers], zero=zero, dates=dates)

    def position(self, number: Fraction) -> float:
        """The position of a number, as a share of the range."""
        return float((number - self.low) / (self.high - self.low))

    @property
    def base(self) -> float:
        """The position where bars begin: that of zero, or the nearest end of the range."""
        return min(max(self.position(Fraction(0)), 0.0), 1.0)

    def mark(self, cell: CellText, at: float = 0) -> Mark:
        """The mark of a published cell that is not suppressed."""
        texts = (cell.value, cell.lower, cell.upper)
        # A number without information may lie beyond the scale.
        positions = (self.position(number_of(text or cell.value)) for text in texts)
        value, lower, upper = (min(max(position, 0.0), 1.0) for position in positions)
        return Mark(at, value, lower, upper, cell.exact, bool(cell.flag))

    @property
    def shows_zero(self) -> bool:
        """Whether zero lies in the range and means something, unlike day zero of dates."""
        return not self.dates and self.low <= 0 <= self.high

    @property
    def ticks(self) -> tuple[Fraction, ...]:
        """The multiples of the step in the range, in ascending order."""
        first, last = ceil(self.low / self.step), floor(self.high / self.step)
        return tuple(index * self.step for index in range(first, last + 1))


def tick_text(number: Fraction, dates: bool = False, example: str = "") -> str:
    """A short number (1k for a thousand, 1M for a million), or the date of a day.

    The decimal separator is that of the `example`; without an example, it is a point.
    """
    if dates:
        return day_of(int(number)).isoformat()
    size = abs(number)
    text = exact_or_up(number)
    if size >= 10**4:
        thousands = min(len(str(int(size))) - 1, 3 * len(SUFFIXES) + 2) // 3
        text = exact_or_up(number / 10 ** (3 * thousands)) + SUFFIXES[thousands - 1]
        if len(text) > WIDEST:
            power = len(str(int(size))) - 1
            text = f"{exact_or_up(number / 10**power)}\u00b710^{power}"
    return text.replace("-", "\u2212").replace(".", example[-2:-1] or ".")


@dataclass(frozen=True, slots=True)
class Mark:
    """Positions of a number and interval on a scale; `at` is that on the other axis."""

    at: float
    value: float
    lower: float
    upper: float
    exact: bool
    flagged: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over the bins of a column; suppressed numbers split it into runs.

    The numbers are drawn as a line over a band of intervals, with dots if `dotted`. A name below
    the axis has a position, a text anchor and a text.
    """

    title: str
    described: str
    caption: str
    scale: Scale
    names: tuple[tuple[float, str, str], ...]
    runs: tuple[tuple[Mark, ...], ...]
    dotted: bool


def chart_over_bins(
    cells: Sequence[CellText], axis: AxisReport, scale: Scale, percent: str, caption: str = ""
) -> Chart:
    """A line over the bins of a column; `percent` is the confidence."""
    texts = [*axis.starts, axis.end]
    edges, step = [*map(number_of, texts)], Fraction(axis.step)
    size, ends = max(edges[-1] - edges[0], step), [*edges[:-1], edges[-1] + step]
    names = [
        (float((edge - edges[0]) / size), text) for edge, text in zip(edges, texts, strict=True)
    ]
    middles = [
        float((start + end - 2 * ends[0]) / (2 * (ends[-1] - ends[0])))
        for start, end in pairwise(ends)
    ]
    *widths, last = (end - start for start, end in pairwise(ends))
    if len({*widths}) > 1:
        caption += "; bins differ in width"
    elif widths and last < widths[0]:
        caption += "; the last bin is narrower"
    what = f"{len(cells)} bins of {axis.column}"
    return _line(what, cells, middles, names, scale, percent, caption)


def chart_over_labels(
    cells: Sequence[CellText], labels: Sequence[str], scale: Scale, percent: str, caption: str
) -> Chart:
    """A line over the labels of a key that follow each other, such as months."""
    middles = [(at + 0.5) / len(labels) for at in range(len(labels))]
    names = [*zip(middles, labels, strict=True)]
    return _line(f"{len(labels)} labels", cells, middles, names, scale, percent, caption)


def _line(
    over: str,
    cells: Sequence[CellText],
    middles: Sequence[float],
    texts: Sequence[tuple[float, str]],
    scale: Scale,
    percent: str,
    caption: str,
) -> Chart:
    """A line with numbers at `middles`, and `texts` below the axis at their shares."""
    has_intervals = any(not cell.exact for cell in cells)
    marked = groupby(zip(cells, middles, strict=True), key=lambda pair: bool(pair[0].value))
    return Chart(
        title=f"line over {over}",
        described=f"From {texts[0][1]} to {texts[-1][1]}. The table below holds every number"
        + (f"; the band is the {percent} interval." if has_intervals else "."),
        caption=caption,
        scale=scale,
        names=tuple(_names(texts)),
        runs=tuple(
            tuple(scale.mark(cell, at) for cell, at in run) for shown, run in marked if shown
        ),
        dotted=len(cells) <= MAX_BARS,
    )


def _names(texts: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str, str]]:
    """The names below the axis: the texts that fit, with the first and the last."""
    last, longest = len(texts) - 1, max(len(text) for _, text in texts)
    max_names = MAX_NAMES if longest <= 6 else 3 if longest <= MAX_NAME_LENGTH else 2
    stride = max(1, -(-last // (max_names - 1)) if max_names > 2 else last)
    for index in dict.fromkeys([*range(0, last - stride // 2, stride), last]):
        share, text = texts[index]
        # The names at both ends must not leave the drawing.
        if 0 < index < last:
            yield share, "middle", text
        else:
            yield (1.0, "end", text) if index else (0.0, "start", text)
