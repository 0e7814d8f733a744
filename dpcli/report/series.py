"""The published periods of a series in a report: as JSON, as charts and as a short table."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from dpcli.numeric.exact import decimal_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import count_text
from dpcli.report.charts import MAX_BARS, Chart, Scale, interval_ends
from dpcli.report.grids import Grid
from dpcli.report.json import Date, JsonNumber, JsonObject, JsonRow, Positive
from dpcli.report.numbers import CellText, cell_names, key_names
from dpcli.statistics.columns import SERIES_COLUMN

if TYPE_CHECKING:
    from dpcli.planning.results import EstimatedStatistic
    from dpcli.statistics.series.history import Ends

MAX_ROWS = 14
"""Lines of the table of a page: the last periods, fewer of them if there are groups."""

MIN_DAYS = 7
"""The last periods that the table has, however many groups there are."""

PARTS = ("value", "lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedReport(JsonObject):
    """A number of an earlier period, estimated with later answers."""

    day: Date
    value: JsonNumber
    lower: JsonNumber
    upper: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReport(JsonObject):
    """A number of each period, as it was published: one for each of the days."""

    keys: dict[str, str]
    """The group and what is shown, by column."""
    value: JsonRow
    lower: JsonRow
    upper: JsonRow
    revised: list[RevisedReport] | None = None
    """Estimates of these numbers from later answers, where they differ; absent if none does."""

    def cells(self, days: Sequence[str]) -> Iterator[tuple[str, CellText]]:
        """The numbers, each with its day."""
        for day, *texts in zip(days, self.value, self.lower, self.upper, strict=True):
            yield day, self._cell(*texts)

    @property
    def revised_cells(self) -> Iterator[tuple[str, CellText]]:
        """The later estimates, each with its day."""
        for one in self.revised or ():
            yield one.day, self._cell(one.value, one.lower, one.upper)

    def _cell(self, value: str, lower: str, upper: str) -> CellText:
        return CellText("", self.keys, "", value, lower, upper, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReport(JsonObject):
    """What the periods of a series published, in the order of their release.

    All of the last 64 periods are here, half of the 64 before them, a quarter of the 128 before
    these, and so on. Published numbers never change.
    """

    periods: Positive
    """How many periods the series has."""
    days: list[Date]
    lines: list[LineReport]
    """Of the first groups, at most 12 numbers."""

    @classmethod
    def of(cls, published: EstimatedStatistic, confidence: Fraction) -> HistoryReport | None:
        """The history of a series, with this period; None for other statistics."""
        design, entry = published.planned.design, published.planned.entry
        history = design.history(published.estimates, published.answers, confidence)
        if not history:
            return None
        names, keys = cell_names(published), key_names(entry)
        (decimals, *_), found = published.estimates.decimals, list[LineReport]()

        def texts(ends: Ends) -> tuple[JsonNumber, ...]:
            unit = Fraction(1, 10**decimals)
            return tuple(JsonNumber(decimal_text(number * unit, decimals)) for number in ends)

        days = [_day(period.day) for period in history]
        for at, line in enumerate(design.lines_of_history(published.estimates)):
            columns = zip(*(texts(period.numbers[at]) for period in history), strict=True)
            revised = [
                RevisedReport(day=day, **dict(zip(PARTS, texts(period.revised[at]), strict=True)))
                for day, period in zip(days, history, strict=True)
                if at in period.revised
            ]
            parts = dict(zip(PARTS, map(JsonRow, columns), strict=True))
            labels = dict(zip(keys, names.row(line), strict=False))
            found.append(LineReport(keys=labels, **parts, revised=revised or None))
        return cls(periods=history[-1].number + 1, days=days, lines=found)


def _day(number: int) -> str:
    return datetime.date.fromordinal(number).isoformat()


def charts_of_periods(
    history: HistoryReport, heading: Callable[[str], str], percent: str, *, zero: bool
) -> Iterator[Chart]:
    """A line over the published periods for each number, with the band of its intervals."""
    first, last = (datetime.date.fromisoformat(end(history.days)) for end in (min, max))
    length = (last - first).days
    if not length:
        return

    def position(day: str) -> float:
        return (datetime.date.fromisoformat(day) - first).days / length

    for line in history.lines:
        pairs, revised = [*line.cells(history.days)], [*line.revised_cells]
        scale = Scale.covering(interval_ends(cell for _, cell in [*pairs, *revised]), zero=zero)
        runs = [
            tuple(scale.mark(cell, position(day)) for day, cell in run)
            for run in _runs(sorted(pairs, key=lambda pair: pair[0]))
        ]
        # A mark alone has an interval of its own.
        runs += [(replace(scale.mark(cell, position(day)), flagged=True),) for day, cell in revised]
        named = ", ".join(f"{heading(key)} {label}" for key, label in line.keys.items())
        yield Chart(
            title=f"{named}, over {count_text(len(history.days), 'day')}",
            described=f"From {first} to {last}, as published: the band is the {percent} interval."
            + " Grey points are later estimates, with their intervals." * bool(revised)
            + " The table below has the last days, and the JSON report all that are drawn.",
            caption=named,
            scale=scale,
            names=((0.0, "start", str(first)), (1.0, "end", str(last))),
            runs=tuple(runs),
            dotted=len(history.days) <= MAX_BARS,
        )


def _runs(pairs: Sequence[tuple[str, CellText]]) -> Iterator[Sequence[tuple[str, CellText]]]:
    """The days in order, split where a gap is longer than both next to it: days are missing."""
    days = [datetime.date.fromisoformat(day).toordinal() for day, _ in pairs]
    gaps = [second - first for first, second in pairwise(days)]
    starts = [0]
    for at, gap in enumerate(gaps):
        beside = [*gaps[max(at - 1, 0) : at], *gaps[at + 1 : at + 2]] or [gap]
        starts.append(starts[-1] + (gap > max(beside)))
    for _, run in groupby(zip(starts, pairs, strict=True), key=lambda pair: pair[0]):
        yield [pair for _, pair in run]


def grid_of_periods(history: HistoryReport, what: str) -> Grid:
    """The last published periods, the newest first, with later estimates below them."""
    shown = tuple(dict.fromkeys(line.keys[SERIES_COLUMN] for line in history.lines))
    groups = [
        history.lines[at : at + len(shown)] for at in range(0, len(history.lines), len(shown))
    ]
    names = [key for key in history.lines[0].keys if key != SERIES_COLUMN]
    count = max(MAX_ROWS // len(groups), MIN_DAYS)
    rows = []
    for day in history.days[: -count - 1 : -1]:
        for group in groups:
            labels = [group[0].keys[name] for name in names]
            published = [dict(line.cells(history.days))[day] for line in group]
            rows.append(((day, *labels), tuple(published)))
            revised = [dict(line.revised_cells).get(day) for line in group]
            if any(revised):
                blank = replace(published[0], value="", lower="", upper="")
                cells = tuple(cell or blank for cell in revised)
                rows.append(((f"{day}, revised", *labels), cells))
    scales = (None,) * len(shown)
    return Grid(
        f"{what}: the last days, as published", ("day", *names), shown, "", rows, (), scales
    )
