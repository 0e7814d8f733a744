"""Numbers as a table in which each line draws its own value and interval.

Labels and numbers are text of the page, so they wrap on a phone, and a reader who sees
no picture misses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from xml.etree.ElementTree import Element

from dpcli.report.html.element import element, label
from dpcli.report.html.scale import Scale, tick_text
from dpcli.report.table import Cell

WIDTH = 1000
HEIGHT = 20
LONGEST = 40
"""Characters of a number, or of two, that always have room on a line."""


@dataclass(frozen=True, slots=True)
class Style:
    """How lines are drawn: as bars from zero or as points, on one scale or on one each.

    The shared scale reaches `over` these numbers too.
    """

    bars: bool
    shared: bool = True
    over: tuple[Fraction, ...] = ()


def numbers_of(cell: Cell) -> list[Fraction]:
    """The numbers that a cell publishes."""
    return [Fraction(text) for text in (cell.value, cell.lower, cell.upper) if text]


def row_table(
    cells: Sequence[Cell], headings: Sequence[str], percent: str, style: Style | None
) -> Element:
    """One line per cell: what it is, a drawing unless there is no style, and its numbers."""
    shared = None
    if style is not None and style.shared:
        numbers = [*style.over, *(number for cell in cells for number in numbers_of(cell))]
        shared = Scale.over(numbers, zero=style.bars)
    intervals = any(cell.lower != cell.upper for cell in cells)
    flags = any(cell.flag for cell in cells)
    head = [
        *(element("th", label(name), scope="col") for name in headings),
        _axis(shared) if style is not None else None,
        element("th", "value", scope="col", class_="number value"),
        element("th", f"{percent} % interval", scope="col", class_="number range")
        if intervals
        else None,
        element("th", "flag", scope="col", class_="flag") if flags else None,
    ]
    lines = [_line(cell, shared, style, intervals=intervals, flags=flags) for cell in cells]
    return element(
        "table", element("thead", element("tr", head)), element("tbody", lines), class_="chart"
    )


def labels_of(cell: Cell) -> list[str]:
    """The names of a line: its keys, and its item where it has one."""
    return [*cell.keys.values(), *([cell.item] if cell.item else [])]


def _axis(scale: Scale | None) -> Element:
    """The ends of the scale, over the drawings."""
    if scale is None:
        return element("th", "each on a scale of its own", class_="bar", scope="col")
    low, high = tick_text(scale.low), tick_text(scale.high)
    ends = element("span", element("span", low), element("span", high), class_="ends")
    return element("th", ends, class_="bar", scope="col")


def _line(
    cell: Cell, scale: Scale | None, style: Style | None, *, intervals: bool, flags: bool
) -> Element:
    """One cell; grey if it has a flag."""
    numbers = numbers_of(cell)
    drawing = None
    if style is not None:
        own = scale or Scale.over(numbers, zero=True)
        drawing = element("td", _drawing(cell, own, style) if cell.value else None, class_="bar")
    between = f"{cell.lower} to {cell.upper}" if cell.lower else ""
    marked = {"class_": "flagged"} if cell.flag else {}
    return element(
        "tr",
        [element("td", label(text)) for text in labels_of(cell)] or element("td", "all"),
        drawing,
        element("td", cell.value, class_=f"number value{_whole(cell.value)}"),
        element("td", between, class_=f"number range{_whole(between)}") if intervals else None,
        element("td", cell.flag.value, class_="flag") if flags else None,
        **marked,
    )


def _whole(text: str) -> str:
    """The class of a text that is kept on one line; one that is very long is not."""
    return " whole" if len(text) <= LONGEST else ""


def _drawing(cell: Cell, scale: Scale, style: Style) -> Element:
    """A bar or a point, with the interval around it."""

    def x(text: str) -> float:
        return round(scale.place(Fraction(text)) * WIDTH, 1)

    value = x(cell.value)
    middle = HEIGHT / 2
    parts = []
    if scale.low <= 0 <= scale.high:
        zero = round(scale.place(Fraction(0)) * WIDTH, 1)
        if style.bars:
            start, length = min(zero, value), abs(value - zero)
            parts.append(
                element("rect", x=start, y=3, width=round(length, 1), height=14, class_="fill")
            )
        parts.append(element("line", x1=zero, x2=zero, y1=0, y2=HEIGHT, class_="zero"))
    if cell.lower != cell.upper:
        low, high = x(cell.lower), x(cell.upper)
        parts.append(element("line", x1=low, x2=high, y1=middle, y2=middle, class_="interval"))
        parts += [
            element("line", x1=end, x2=end, y1=6, y2=14, class_="interval") for end in (low, high)
        ]
    if not style.bars:
        parts.append(element("line", x1=value, x2=value, y1=4, y2=16, class_="point"))
    return element(
        "svg",
        parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        class_="row",
        aria_hidden="true",
    )
