"""What people read in place of names: titles, notes and units of a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dpcli.fields.json import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcli.report.release import ColumnReport
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


def together(pairs: Iterable[tuple[str, Value]]) -> list[tuple[str, Value]]:
    """Each different value once, after all names that it has."""
    named: dict[str, tuple[Value, dict[str, None]]] = {}
    for name, value in pairs:
        named.setdefault(str(value), (value, {}))[1][name] = None
    return [(", ".join(names), value) for value, names in named.values()]
