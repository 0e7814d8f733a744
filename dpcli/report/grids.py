"""The tables of a page, whose columns are statistics or labels of a key.

A number stands in one table. Keys that all numbers of a table share name its lines; the labels of
one key are columns if they are few and each line has a number for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod

from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.captions import heading_text
from dpcli.report.charts import Scale
from dpcli.report.numbers import CellText, number_of
from dpcli.specification.model import Caption

MAX_ACROSS = 7
"""The most labels that are columns."""

MAX_ACROSS_LETTERS = 80
"""The most characters of these labels, so that a sheet of paper holds them."""

MAX_COLUMNS = 4
"""The most statistics that are columns of one table."""

LONG = 24
"""A table of more lines is printed in two columns, side by side."""

Labels = tuple[str, ...]
Lines = Mapping[Labels, CellText]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of `what`, with the headings of labels and of numbers.

    Those of labels are `names`, those of numbers `columns`. `across` is the heading of the key
    whose labels are columns; empty if statistics are. Numbers of a column with a scale are drawn on
    it.
    """

    what: str
    names: Labels
    columns: Labels
    across: str
    lines: Sequence[tuple[Labels, tuple[CellText, ...]]]
    scales: Sequence[Scale | None]

    @property
    def title(self) -> str:
        """What the table shows by what: `visits by month and region`."""
        names = [*filter(None, self.names), *filter(None, [self.across])]
        shown = self.what or ", ".join(self.columns)
        return f"{shown} by {' and '.join(names)}" if names else shown

    @property
    def scale(self) -> Scale | None:
        """The scale of all its numbers, if they are drawn on the same one."""
        return self.scales[0] if len(set(self.scales)) == 1 else None

    @property
    def alone(self) -> bool:
        """Whether there is one column of numbers, with its interval and flag next to it."""
        return len(self.columns) == 1 and not self.across

    @property
    def long(self) -> bool:
        """Whether two columns of lines stand side by side on paper."""
        return self.alone and len(self.lines) > LONG

    @property
    def optional(self) -> Labels:
        """The names of what the spec adds to each number."""
        return tuple(self.lines[0][1][0].optional)

    def has(self, part: str) -> bool:
        """Whether any number has this part, such as `lower` or `flag`."""
        return any(getattr(cell, part) for _, cells in self.lines for cell in cells)


@dataclass(frozen=True, slots=True)
class Column:
    """The numbers of a statistic, with headings, and how they are drawn."""

    heading: str
    unit: str
    names: Labels
    cells: Sequence[CellText]
    drawn: bool
    bars: bool
    bounds: Sequence[str]
    totals: str
    dates: bool

    @property
    def full_heading(self) -> str:
        """The heading with the unit, if there is one for all numbers."""
        return heading_text(self.heading, Caption(unit=self.unit))

    def scale(self, lines: Lines) -> Scale | None:
        """The scale of some numbers; None if they are not drawn."""
        if not self.drawn or len(lines) < 2:
            return None
        more = map(number_of, self.bounds)
        return Scale.of([*lines.values()], zero=self.bars, dates=self.dates, more=more)


def single_numbers(columns: Sequence[Column]) -> Column:
    """Numbers without keys in one column, with a line for each statistic and item."""
    first, is_one = columns[0], len(columns) == 1
    numbers = [(column, cell) for column in columns for cell in column.cells]
    optional = dict.fromkeys((name for _, cell in numbers for name in cell.optional), "")
    has_items = any(cell.item for _, cell in numbers)
    cells = [
        replace(
            cell,
            keys={"statistic": column.heading if is_one else column.full_heading},
            item=cell.item or "all" * has_items,
            optional=optional | cell.optional,
        )
        for column, cell in numbers
    ]
    names = ("statistic", "item")[: 1 + has_items]
    heading, unit = (first.heading, first.unit) if is_one else ("numbers", "")
    return replace(first, heading=heading, unit=unit, names=names, cells=cells, drawn=False)


def grids(columns: Sequence[Column]) -> Iterator[Grid]:
    """The tables of statistics with the same keys; equal labels share a table."""
    same_lines: list[tuple[Column, Labels, Lines]] = []
    for column in columns:
        for names, lines in _parts(column):
            if across := _across(names, lines):
                yield _crossed(column, names, lines, across)
                continue
            first = same_lines[0] if same_lines else (column, names, lines)
            fits = (names, [*lines]) == (first[1], [*first[2]]) and len(same_lines) < MAX_COLUMNS
            if not fits or {*column.cells[0].optional} != {*first[0].cells[0].optional}:
                yield _side_by_side(same_lines)
                same_lines = []
            same_lines.append((column, names, lines))
    if same_lines:
        yield _side_by_side(same_lines)


def _parts(column: Column) -> Iterator[tuple[Labels, Lines]]:
    """The numbers by the keys over which they are totals, or all of a full grid."""
    cells: dict[Labels, CellText] = {}
    for cell in column.cells:
        labels = cell.labels or (column.heading,)
        while labels in cells:
            # Of a top k, several ranks may have no label.
            labels = (*labels[:-1], f"{labels[-1]}\u00a0")
        cells[labels] = cell
    if not cells:
        return
    width = max(map(len, cells))
    names = (*column.names, *[""] * width)[:width]
    if not column.totals or len(cells) == prod(map(len, _labels(cells))):
        yield names, cells
        return

    def kept(labels: Labels) -> tuple[int, ...]:
        return tuple(at for at, label in enumerate(labels) if label != column.totals)

    for shown, part in groupby(cells, key=kept):
        at = shown or (0,)
        lines = {tuple(labels[place] for place in at): cells[labels] for labels in part}
        yield tuple(names[place] for place in at), lines


def _labels(lines: Lines) -> list[Labels]:
    """The different labels at each place, in the order of lines."""
    return [tuple(dict.fromkeys(labels)) for labels in zip(*lines, strict=True)]


def _across(names: Labels, lines: Lines) -> tuple[int, Labels] | None:
    """The place of the last key whose labels can be columns, with its labels."""
    labels = _labels(lines)
    if len(names) < 2 or prod(map(len, labels)) != len(lines):
        return None
    for at, shown in reversed([*enumerate(labels)]):
        fits = 1 < len(shown) <= min(MAX_ACROSS, len(lines) - 1)
        if fits and sum(map(len, shown)) <= MAX_ACROSS_LETTERS:
            return at, shown
    return None


def _crossed(column: Column, names: Labels, lines: Lines, across: tuple[int, Labels]) -> Grid:
    at, shown = across

    def others(labels: Labels) -> Labels:
        return labels[:at] + labels[at + 1 :]

    rows = dict.fromkeys(map(others, lines))
    return Grid(
        column.full_heading, others(names), shown, names[at],
        [(row, tuple(lines[*row[:at], label, *row[at:]] for label in shown)) for row in rows],
        [column.scale(lines)] * len(shown),
    )  # fmt: skip


def _side_by_side(columns: Sequence[tuple[Column, Labels, Lines]]) -> Grid:
    (first, names, lines), *others = columns
    cells = zip(*(each.values() for _, _, each in columns), strict=True)
    value = heading_text("value", Caption(unit=first.unit))
    headings = [column.full_heading for column, _, _ in columns] if others else [value]
    return Grid(
        "" if others else first.full_heading, names, tuple(headings), "",
        list(zip(lines, cells, strict=True)),
        [column.scale(own) for column, _, own in columns],
    )  # fmt: skip
