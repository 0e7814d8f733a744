"""Wide tables, for spreadsheets: one for each set of keys, a line per group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcli.plan.model import Plan
from dpcli.queries import Key
from dpcli.report.table import RAW, Cell, Table, cells, chooses_labels, distinct, places

if TYPE_CHECKING:
    from dpcli.release import Release, Released

ENDS = ("lower", "upper")
"""What is added to the name of a statistic for the ends of its intervals in a wide table."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """What two statistics must share to stand in one wide table, line by line."""

    by: tuple[Key, ...]
    item_name: str
    items: tuple[str, ...]
    keys: str | None

    @property
    def heading(self) -> list[str]:
        """The columns that say which line is which."""
        return [key.column.name for key in self.by] + [self.item_name] * bool(self.item_name)


def wide_tables(release: Release) -> dict[str, Table]:
    """One table per distinct set of keys, by short name.

    Three columns per statistic: the value and the ends of its interval.

    Items are a key of their table: the bins of a histogram under the name of its column.
    """
    groups = _wide_groups(release.plan)
    by_name = {released.planned.entry.request.name: released for released in release.entries}
    return {
        name: _wide_table(lines, [by_name[member] for member in members])
        for name, (lines, members) in groups.items()
    }


def wide_names(plan: Plan) -> tuple[str, ...]:
    """The short names of the wide tables of a plan, known before any row is read."""
    return tuple(_wide_groups(plan))


def _wide_groups(plan: Plan) -> dict[str, tuple[_Lines, list[str]]]:
    """The lines and the statistics of each wide table, by short name."""
    groups: dict[_Lines, list[str]] = {}
    for planned in plan.entries:
        entry = planned.entry
        request, statistic = entry.request, entry.statistic
        # The same keys have other lines where other groups were selected.
        lines = _Lines(
            request.by, statistic.item_name(request), statistic.items(request), entry.keys
        )
        groups.setdefault(lines, []).append(request.name)
    named: dict[str, tuple[_Lines, list[str]]] = {}
    for lines, members in groups.items():
        words = "-".join(lines.heading) or "total"
        name = base = "".join(letter if letter.isalnum() else "-" for letter in words)[:80]
        number = 1
        while name in named:
            number += 1
            name = f"{base}-{number}"
        named[name] = (lines, members)
    return named


def _wide_table(lines: _Lines, members: Sequence[Released]) -> Table:
    """One wide table; a chosen label stands for its rank."""
    names: list[str] = []
    columns: list[list[str]] = []
    texts: set[int] = set()
    for released in members:
        found: dict[str, list[Cell]] = {}
        for cell in cells(released):
            found.setdefault(cell.statistic, []).append(cell)
        for name in _names(released):
            shown = found.get(name, [])
            labels = [cell.item for cell in shown]
            if chooses_labels(released):
                texts.add(len(lines.heading) + len(columns))
            else:
                labels = [cell.value for cell in shown]
            names += [name, *(f"{name}_{end}" for end in ENDS)]
            columns += [labels, [cell.lower for cell in shown], [cell.upper for cell in shown]]
    named = bool(lines.item_name)
    keys = ([*group, *([item] if named else [])] for group, item in places(members[0]))
    width = len(lines.heading)
    return Table(
        distinct([*lines.heading, *names]),
        [[*place, *values] for place, *values in zip(keys, *columns, strict=True)],
        frozenset(range(width, width + len(columns))) - texts,
    )


def _names(released: Released) -> tuple[str, ...]:
    name = released.planned.entry.request.name
    return (name,) if released.raw is None else (name, name + RAW)
