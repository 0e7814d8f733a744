"""What people read in place of names: titles, notes and units of a spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dpcli.report.release import ColumnReport, SpecReport
    from dpcli.report.statistic import StatisticReport
    from dpcli.specification.model import Caption

    Captioned: TypeAlias = Caption | ColumnReport | StatisticReport

QUALITY_COLUMNS = ("what", "about", "lower", "upper", "required", "verdict")

RESPONSIBLE = {
    "Publisher": "curator",
    "Contact": "contact",
    "Purpose": "intended_use",
    "Region": "region",
    "Why this epsilon": "justification",
    "Who sees raw rows": "access",
}
"""Titles of who is responsible for a release, and their keys in `declarations`."""

ALSO_DECLARED = {
    "License": "license",
    "Legal basis": "legal_basis",
    "Retention": "data_retention",
    "Processor": "processor",
    "Review": "review_date",
    "Withdrawal": "withdrawal",
}
"""What the first page states as well, if it is declared."""


def heading_text(name: str, stated: Captioned | None) -> str:
    """The stated title, or else the name, with the unit in parentheses if stated."""
    title, unit = (stated.title, stated.unit) if stated else (None, None)
    return f"{title or name}{f' ({unit})' if unit else ''}"


def caption_lines(
    spec: SpecReport | Caption, statistics: Iterable[tuple[str, Captioned]]
) -> Iterator[str]:
    """Title and note of a spec, then one line per statistic that has a caption."""
    yield from filter(None, (spec.title, spec.note))
    for name, stated in statistics:
        called = heading_text(name, stated)
        if called != name or stated.note:
            words = f"{name}: {called}" if stated.title else called
            yield "; ".join(filter(None, (words, stated.note)))
