"""The numbers of a statistic as people see them: tables and charts, with flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from dpcli.columns import Key, NumericColumn
from dpcli.plan.numbers import exact_or_up
from dpcli.records import dataclass
from dpcli.report.charts import Chart, Scale, numbers_of, over_bins
from dpcli.report.published import Cell, flags_of, meaning_of, published_numbers

if TYPE_CHECKING:
    from dpcli.release import Released

MOST_CHARTS = 12
"""Charts of one statistic that are drawn side by side."""

MOST_BINS = 5_000
"""Bins that still make a shape on a screen."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A table of numbers; where they are `drawn`, on one scale or on one each."""

    title: str
    cells: Sequence[Cell]
    drawn: bool
    scale: Scale | None

    def scale_of(self, cell: Cell) -> Scale:
        """The scale on which a number is drawn."""
        return self.scale or Scale.over(numbers_of([cell]), zero=True)


class Shown:
    """The published numbers of an entry: as tables, and over their bins as charts."""

    def __init__(self, released: Released, confidence: Fraction) -> None:
        entry = released.planned.entry
        self._numbers = published_numbers(released)
        self._named = {one.name: one.cells() for one in self._numbers}
        self._request, self._statistic = entry.request, entry.statistic
        self._groups, self._confidence = released.groups, confidence
        self._chosen = entry.statistic.chooses_labels
        self.cells = [cell for cells in self._named.values() for cell in cells]
        self.percent = f"{exact_or_up(confidence * 100)}%"
        self._drawn = not self._chosen and any(cell.value for cell in self.cells)
        self.bars = self._statistic.measure != "values"

    @property
    def headings(self) -> Iterator[str]:
        """What the labels of a line are."""
        yield from (key.column.name for key in self._request.by)
        if self._chosen:
            yield "chosen"
        elif any(self._statistic.items(self._request)):
            yield self._statistic.item_name(self._request) or "item"

    @cached_property
    def charts(self) -> list[Chart]:
        """Charts over the bins of a number, one for each group if these are few."""
        key, cells = self._axis, self._named[self._request.name]
        if key is None or not self._drawn or len(key) > MOST_BINS:
            return []
        if not len(key) <= len(cells) <= MOST_CHARTS * len(key):
            return []
        scale = Scale.over(numbers_of(cells), zero=self.bars)
        groups = (cells[start : start + len(key)] for start in range(0, len(cells), len(key)))
        return [over_bins(group, key, scale, self.percent) for group in groups]

    @property
    def _axis(self) -> Key | None:
        """The bins that order the numbers of a group: of a histogram, or of the last key."""
        request, key = self._request, self._request.bins
        if key is None and request.by and self._groups is None:
            key = request.by[-1] if len(self._statistic.items(request)) == 1 else None
        return key if key is not None and isinstance(key.column, NumericColumn) else None

    @property
    def tables(self) -> Iterator[Lines]:
        """The numbers, then those before post-processing; each is drawn if no chart shows it."""
        column, among = self._request.column, list[Fraction]()
        if self._statistic.chooses and isinstance(column, NumericColumn):
            among = [bound * column.step for bound in column.limits]
        for name, cells in self._named.items():
            own = name == self._request.name
            drawn = self._drawn and not (own and self.charts)
            scale = None
            if drawn and not self._statistic.several_units:
                numbers = [*among, *numbers_of(cells)]
                scale = Scale.over(numbers, zero=self.bars)
            yield Lines("" if own else name, cells, drawn, scale)

    @property
    def notes(self) -> Iterator[str]:
        """What intervals and flags mean."""
        if not self.cells:
            yield "No group was shown."
        elif not any(cell.lower for cell in self.cells):
            yield "A choice among candidates has no interval."
        elif all(cell.exact for cell in self.cells):
            yield "The numbers are exact."
        else:
            yield f"The interval contains the noise-free number in {self.percent} of cases."
        for flag in flags_of(self._numbers):
            yield f"Flag {meaning_of(flag, self._confidence)}."
