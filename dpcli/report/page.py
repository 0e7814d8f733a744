"""The numbers of a statistic on a page: tables and charts, with flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from dpcli.data.kinds import NUMERIC_COLUMNS, Axis
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.captions import heading_text
from dpcli.report.charts import Chart, Scale, chart_over_bins, interval_ends
from dpcli.report.document import CellText, NumberTable, Report, flags_of, number_of
from dpcli.report.entry_facts import option_words
from dpcli.specification.model import Caption

MAX_LINES = 1_000
"""Lines of a statistic that a page shows; the CSV table and the JSON report have all."""

MAX_CHARTS = 12
"""Above this number of charts a statistic has none."""


@dataclass(frozen=True, slots=True)
class NumbersTable:
    """A table of the first published `cells`, and how many `more` there are.

    It states whether cells have `ranges` or `flags`, and whether they are `drawn`: on one common
    `scale`, or each on its own if that is None.
    """

    title: str
    cells: Sequence[CellText]
    more: int
    ranges: bool
    flags: bool
    drawn: bool
    scale: Scale | None

    def scale_of(self, cell: CellText) -> Scale:
        """The scale on which a cell is drawn."""
        return self.scale or Scale.covering(interval_ends([cell]), zero=True)


class StatisticView:
    """What a page shows of a statistic: its tables, and charts over its bins."""

    def __init__(self, report: Report, index: int) -> None:
        stated = report.release
        self.statistic, self._numbers = stated.statistics[index], report.numbers[index]
        self.percent, self._flags, self._sample = report.percent, stated.flags, stated.sample
        self._layout, self.count = self.statistic.layout, len(self._numbers[0].frame)
        self.bars = self._layout.measure != "values"
        self._columns = {column.name: column for column in stated.spec.columns}
        self._unit = self.statistic.unit or ""

    @property
    def heading(self) -> str:
        """The title of the statistic; without one, its name and what it counts."""
        return self.statistic.title or f"{self.statistic.name}: {self.title}"

    @property
    def caption(self) -> Iterator[str]:
        """Sentences that say what a statistic with a title or a unit is."""
        if self.statistic.title:
            yield f"In the table it is called {self.statistic.name}; {self.title}."
        if self._unit:
            yield f"The unit is {self._unit}."

    @property
    def title(self) -> str:
        """What the statistic counts or takes values over: `counts visits`, `over visits`."""
        verb = "counts" if self._layout.measure == "counts" else "over"
        return f"{verb} {self.statistic.counts}"

    @property
    def requested(self) -> str:
        """The request of the statistic in a sentence."""
        stated = self.statistic
        others = [name for name in stated.columns if name != stated.column]
        words = [stated.statistic]
        words += [f"of {stated.column}"] if stated.column else []
        words += [f"{'on' if stated.column else 'of'} {', '.join(others)}"] if others else []
        words += option_words(stated)
        words += [f"by {', '.join(stated.by)}"] if stated.by else []
        words += [f"where {' and '.join(stated.where)}"] if stated.where else []
        return f"Requested: {' '.join(words)}."

    @property
    def exact(self) -> bool:
        """Whether its numbers are published without noise."""
        return all(query.mechanism.kind == "exact" for query in self.statistic.queries)

    @property
    def headings(self) -> list[str]:
        """The headings of the labels of a line."""
        names = self._layout.columns
        names = [*self.statistic.by, "chosen"] if self._layout.chosen else names
        return list(map(self._heading_of, names))

    @property
    def keys(self) -> list[str]:
        """The headings of the labels of a group."""
        return list(map(self._heading_of, self.statistic.by))

    @property
    def value_heading(self) -> str:
        """The heading of the published numbers."""
        return heading_text("value", Caption(unit=self._unit))

    def _heading_of(self, name: str) -> str:
        return heading_text(name, self._columns.get(name))

    @cached_property
    def charts(self) -> list[Chart]:
        """Charts over the bins of a column, one for each group if there are few groups."""
        key = self._axis
        if key is None or not self._drawn or not len(key) <= self.count <= MAX_CHARTS * len(key):
            return []
        cells = self._numbers[0].cells()
        scale = Scale.covering(interval_ends(cells), zero=self.bars, dates=self._numbers[0].dates)
        groups = (cells[start : start + len(key)] for start in range(0, len(cells), len(key)))
        captions = {"heading": self._heading_of(key.column.name), "unit": self._unit}
        return [chart_over_bins(group, key, scale, self.percent, **captions) for group in groups]

    @property
    def _drawn(self) -> bool:
        return not self._layout.chosen and self._any("value")

    def _any(self, part: str) -> bool:
        """Whether that column of the numbers has text."""
        return any((numbers.frame[part] != "").any() for numbers in self._numbers)

    @property
    def _any_cut(self) -> bool:
        """Whether a shown interval ends at what is possible, where it may have been cut.

        Reports of earlier versions do not state what is possible.
        """
        limits = [
            [None if end is None else Fraction(end) for end in ends]
            for ends in self._layout.possible or ()
        ]
        cells = self._numbers[0].cells(MAX_LINES) if limits else ()
        return any(
            number_of(text) == end
            for index, cell in enumerate(cells)
            for text, end in zip((cell.lower, cell.upper), limits[index % len(limits)], strict=True)
            if text and cell.lower != cell.upper
        )

    @property
    def _any_outside(self) -> bool:
        """Whether a shown value lies outside of its interval."""
        ends = (
            (cell.lower, cell.value, cell.upper)
            for cell in self._numbers[0].cells(MAX_LINES)
            if cell.lower and cell.value
        )
        return any(
            not low <= value <= high for low, value, high in (map(number_of, end) for end in ends)
        )

    @property
    def _axis(self) -> Axis | None:
        axis = self._layout.axis
        if axis is None:
            return None
        column = NUMERIC_COLUMNS[axis.type](axis.column, Fraction(axis.step))
        starts = tuple(map(column.steps_of, axis.starts))
        return Axis(replace(column, bounds=(starts[0], column.steps_of(axis.end))), starts)

    @cached_property
    def tables(self) -> list[NumbersTable]:
        """The numbers, then those before post-processing; drawn as bars if no chart shows them."""
        return list(map(self._table, self._numbers))

    def _table(self, numbers: NumberTable) -> NumbersTable:
        own, cells, frame = numbers is self._numbers[0], numbers.cells(MAX_LINES), numbers.frame
        drawn, scale = self._drawn and not (own and self.charts), None
        if drawn and self._layout.scale != "each":
            bounds = self.statistic.bounds if self._layout.scale == "bounds" else None
            ends = [*map(number_of, bounds or ()), *interval_ends(cells)]
            scale = Scale.covering(ends, zero=self.bars, dates=numbers.dates)
        return NumbersTable(
            "" if own else numbers.name,
            cells,
            len(frame) - len(cells),
            bool((frame["lower"] != frame["upper"]).any()),
            bool((frame["flag"] != "").any()),
            drawn,
            scale,
        )

    @property
    def notes(self) -> Iterator[str]:
        """Sentences about intervals and flags."""
        if not self.count:
            yield "No group was shown."
        elif not self._any("lower"):
            minimized = self.statistic.mechanism.kind == "objective"
            what = (
                "The minimizer of a perturbed objective"
                if minimized
                else "A choice among candidates"
            )
            yield f"{what} has no interval."
        elif not any(table.ranges for table in self.tables):
            yield "The numbers are exact."
        else:
            about = self.statistic.interval_about
            number = f"the noise-free number{f' of {about}' if about else ''}"
            yield f"The interval contains {number} in {self.percent} of cases."
            if self._any_cut:
                outside = " A value outside of its interval is shown as noise made it."
                yield "Intervals end where the spec makes no further numbers possible." + (
                    outside if self._any_outside else ""
                )
        if self._sample and self.statistic.population:
            yield (
                f"{self.statistic.name}.population is the estimate for the whole population "
                f"of {self._sample.population:,}; its interval contains what is true of the "
                f"population in {self.percent} of cases, over samples and noise."
            )
        for flag in flags_of(self._numbers):
            yield f"Flag {self._flags.meaning(flag)}."
