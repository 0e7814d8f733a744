"""The published periods of a series on a page: as charts and as a short table."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from operator import itemgetter

from dpcli.problems.messages import count_text
from dpcli.report.charts import MAX_BARS, Chart, Scale
from dpcli.report.grids import Grid
from dpcli.report.numbers import CellText, HistoryReport
from dpcli.statistics.columns import SERIES_COLUMN

MAX_ROWS = 14
"""Lines of the table of a page, if that leaves `MIN_DAYS` to each group."""

MIN_DAYS = 7
"""The last periods that the table has, however many groups there are."""


def charts_of_periods(
    history: HistoryReport, heading: Callable[[str], str], percent: str, *, zero: bool
) -> Iterator[Chart]:
    """A line over the periods for each number, with the band of its intervals."""
    dates = {day: datetime.date.fromisoformat(day).toordinal() for day in history.days}
    first, last = min(dates), max(dates)
    if first == last:
        return
    at = {day: (dates[day] - dates[first]) / (dates[last] - dates[first]) for day in dates}
    for line in history.lines:
        published = sorted(line.cells(history.days), key=itemgetter(0))
        revised = [*line.revised_cells]
        scale = Scale.of([cell for _, cell in [*published, *revised]], zero=zero, dates=False)
        runs = [tuple(scale.mark(cell, at[day]) for day, cell in run) for run in _runs(published)]
        # A mark alone has an interval of its own.
        runs += [(replace(scale.mark(cell, at[day]), flagged=True),) for day, cell in revised]
        named = ", ".join(f"{heading(key)} {label}" for key, label in line.keys.items())
        yield Chart(
            title=f"{named}, over {count_text(len(history.days), 'day')}",
            described=f"From {first} to {last}, as published: the band is the {percent} interval."
            + " Grey points are later estimates, with their intervals." * bool(revised)
            + " The table below has the last days, and the JSON report all that are drawn.",
            caption=named,
            scale=scale,
            names=((0.0, "start", first), (1.0, "end", last)),
            runs=tuple(runs),
            dotted=len(history.days) <= MAX_BARS,
        )


def _runs(pairs: Sequence[tuple[str, CellText]]) -> Iterator[Sequence[tuple[str, CellText]]]:
    """The days in order, split where a gap is longer than both next to it."""
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
    return Grid(f"{what}: the last days, as published", ("day", *names), shown, "", rows, scales)
