"""Which drawing suits which statistic, and its numbers in a table beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from dpcli.columns import NumericColumn
from dpcli.report.flags import flags_of, meaning_of
from dpcli.report.html.element import element, label
from dpcli.report.html.histogram import common_scale, histogram
from dpcli.report.html.rows import Style, labels_of, row_table
from dpcli.report.numbers import exact_or_up
from dpcli.report.table import Cell, cells, chooses_labels

if TYPE_CHECKING:
    from dpcli.release import Released

AMOUNTS = ("count", "sum", "histogram", "count_distinct", "marginals")
"""Statistics whose numbers are amounts, drawn from zero."""

OF_SEVERAL_UNITS = ("covariance", "linear_regression")
"""Statistics whose items have units of their own, and no common scale."""

MOST_LINES = 1_000
"""Lines of a statistic that a page shows; the table and the other reports have all."""

MOST_HISTOGRAMS = 12
"""Histograms of one statistic that are drawn side by side."""

MOST_BINS = 5_000
"""Bins that still make a shape on a screen."""


def drawn(released: Released, confidence: Fraction) -> Iterator[Element]:
    """The charts of an entry, then its numbers, then how many of them are left out."""
    shown = list(cells(released))
    name = released.planned.entry.request.name
    percent = exact_or_up(confidence * 100)
    if not shown:
        yield element("p", "No group was shown.", class_="soft")
        return
    yield from _histograms(released, [cell for cell in shown if cell.statistic == name])
    for statistic in dict.fromkeys(cell.statistic for cell in shown):
        lines = [cell for cell in shown if cell.statistic == statistic]
        if statistic != name:
            yield element("h4", "Before post-processing: ", label(statistic))
        yield row_table(lines[:MOST_LINES], _headings(released), percent, _style(released, lines))
        if len(lines) > MOST_LINES:
            words = (
                f"{len(lines) - MOST_LINES:,} more lines are in the table and in the JSON report."
            )
            yield element("p", words, class_="soft")
    style = _style(released, shown)
    if style is not None:
        yield element("p", _legend(style, shown, percent), class_="soft")
    for flag in flags_of(shown):
        yield element("p", f"Grey, {meaning_of(flag, confidence)}.", class_="soft")


def _headings(released: Released) -> list[str]:
    """What the labels of a line are."""
    request, statistic = released.planned.entry.request, released.planned.entry.statistic
    keys = [key.column.name for key in request.by]
    chosen = chooses_labels(released)
    named = chosen or any(statistic.items(request))
    item = "chosen" if chosen else statistic.item_name(request) or "item"
    return [*keys, *([item] if named else [])] or [""]


def _style(released: Released, shown: Sequence[Cell]) -> Style | None:
    """How the lines are drawn; None where the number is only a rank, or none is there."""
    entry = released.planned.entry
    if chooses_labels(released):
        return None
    if not any(cell.value for cell in shown):
        return None
    several = entry.statistic.name in OF_SEVERAL_UNITS
    column = entry.request.column
    among: tuple[Fraction, ...] = ()
    if entry.statistic.chooses and isinstance(column, NumericColumn):
        among = tuple(bound * column.step for bound in column.limits)
    return Style(bars=entry.statistic.name in AMOUNTS, shared=not several, over=among)


def _legend(style: Style, shown: Sequence[Cell], percent: str) -> str:
    """What the drawing means."""
    mark = "The bar is the published number" if style.bars else "The mark is the published number"
    if not any(cell.lower for cell in shown):
        return f"{mark}; a choice among candidates has no interval."
    if all(cell.lower == cell.upper for cell in shown):
        return f"{mark}, which is exact."
    return f"{mark}, the line holds the noise-free one in {percent} % of cases."


def _histograms(released: Released, shown: Sequence[Cell]) -> Iterator[Element]:
    """Bars over the bins of a number, one drawing for each group if these are few."""
    request = released.planned.entry.request
    key = request.bins
    if key is None or not isinstance(key.column, NumericColumn) or len(key) > MOST_BINS:
        return
    groups = [shown[start : start + len(key)] for start in range(0, len(shown), len(key))]
    if len(groups) > MOST_HISTOGRAMS:
        return
    scale = common_scale(shown)
    figures = [
        element(
            "figure",
            histogram(group, key, scale),
            element("figcaption", label(", ".join([key.column.name, *labels_of(group[0])[:-1]]))),
        )
        for group in groups
    ]
    yield figures[0] if len(figures) == 1 else element("div", figures, class_="several")
