"""What people read in place of names, and how they read numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dpcli.report.entry_model import StatisticReport
    from dpcli.report.model import ColumnReport, SpecReport
    from dpcli.specification.model import Caption

    Captioned: TypeAlias = Caption | ColumnReport | StatisticReport

GAP = "\u00a0"
"""A space between thousands, at which no line breaks."""

QUALITY_COLUMNS = ("what", "about", "lower", "upper", "required", "verdict")
"""The columns of the table of the quality check."""

RESPONSIBLE = {
    "Publisher": "curator",
    "Contact": "contact",
    "Purpose": "intended_use",
    "Region": "region",
}
"""Who is responsible for a release: titles, and the keys of `declarations` that state it."""

_DECIMAL = re.compile(r"(-?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(%?)")


def heading_text(name: str, stated: Captioned | None) -> str:
    """The title of what has that name, or the name, with the unit in parentheses."""
    title, unit = (stated.title, stated.unit) if stated else (None, None)
    return f"{title or name}{f' ({unit})' if unit else ''}"


def caption_lines(
    spec: SpecReport | Caption, statistics: Iterable[tuple[str, Captioned]]
) -> Iterator[str]:
    """The title and the note of a spec, and what it states of each statistic, with its name."""
    yield from filter(None, (spec.title, spec.note))
    for name, stated in statistics:
        called = heading_text(name, stated)
        if called != name or stated.note:
            words = f"{name}: {called}" if stated.title else called
            yield "; ".join(filter(None, (words, stated.note)))


def number_writer(example: str | None) -> Callable[[str], str]:
    """A function that writes plain decimals as the example writes 1234.5; others are unchanged.

    Without an example, it changes nothing.
    """
    if not example:
        return lambda text: text
    thousands, point = ("" if example[1].isdigit() else example[1]).replace(" ", GAP), example[-2]

    def written(text: str) -> str:
        match = _DECIMAL.fullmatch(text)
        if match is None:
            return text
        sign, whole, decimals, percent = match.groups("")
        grouped = f"{int(whole.replace(',', '')):,}".replace(",", thousands)
        return f"{sign}{grouped}{point + decimals if decimals else ''}{percent}"

    return written
