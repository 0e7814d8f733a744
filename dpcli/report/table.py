"""The noisy table: one long CSV, or one wide CSV for each set of keys."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpcli.plan.model import Plan
from dpcli.privacy.decimals import decimal_text
from dpcli.queries import Key
from dpcli.statistics.base import Estimate

if TYPE_CHECKING:
    from dpcli.release import Release, Released

FIXED = ("statistic", "item", "value", "lower", "upper")
"""The columns of a long table that are not keys."""


FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters that make a spreadsheet evaluate a cell, or hide that it would."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


RAW = ".raw"
"""What is added to the name of a statistic for its raw noisy numbers."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One published number as text: where it lies and how sure it is."""

    statistic: str
    keys: dict[str, str]
    item: str
    value: str
    lower: str
    upper: str


_TOLD: WeakKeyDictionary[Released, tuple[Cell, ...]] = WeakKeyDictionary()
"""The cells of entries that are being told: every table and report takes the same ones."""


def cells(released: Released) -> tuple[Cell, ...]:
    """The published numbers of an entry, in the order of the spec; raw ones after them."""
    if released not in _TOLD:
        name = released.planned.entry.request.name
        found = list(_cells(released, name, released.estimates))
        if released.raw is not None:
            found += _cells(released, f"{name}{RAW}", released.raw)
        _TOLD[released] = tuple(found)
    return _TOLD[released]


def _cells(released: Released, name: str, estimates: Sequence[Estimate]) -> Iterator[Cell]:
    """Numbers under one name."""
    keys = [key.column.name for key in released.planned.entry.request.by]
    for (group, item), estimate in zip(places(released), estimates, strict=True):
        chosen = item if estimate.item is None else estimate.item
        yield Cell(name, dict(zip(keys, group, strict=True)), chosen, *_texts(estimate))


def places(released: Released) -> Iterator[tuple[tuple[str, ...], str]]:
    """The group and the item of every number of an entry, the items fastest."""
    entry = released.planned.entry
    items = entry.statistic.items(entry.request)
    groups: Iterable[tuple[str, ...]]
    if released.groups is None:
        groups = product(*(key.labels for key in entry.request.by))
    else:
        groups = released.groups
    for group in groups:
        for item in items:
            yield group, item


def _texts(estimate: Estimate) -> tuple[str, str, str]:
    """Value, lower and upper as plain decimals; blank where there is none."""
    value, lower, upper = (
        "" if number is None else decimal_text(number, estimate.places)
        for number in (estimate.value, estimate.lower, estimate.upper)
    )
    return value, lower, upper


def key_columns(release: Release) -> tuple[str, ...]:
    """The names of all keys, in the order in which the spec first uses them."""
    return tuple(
        dict.fromkeys(
            key.column.name
            for released in release.entries
            for key in released.planned.entry.request.by
        )
    )


@dataclass(frozen=True, slots=True)
class Table:
    """A published table: its header, its lines, and which columns hold numbers, by place."""

    header: list[str]
    lines: list[list[str]]
    numbers: frozenset[int]

    @property
    def csv(self) -> bytes:
        """The table as CSV."""
        return csv_text([self.header, *self.lines])


def long_table(release: Release) -> Table:
    """One line per published number: statistic, keys, item, value, lower, upper."""
    keys = key_columns(release)
    lines = [
        [
            cell.statistic,
            *(cell.keys.get(key, "") for key in keys),
            *(cell.item, cell.value, cell.lower, cell.upper),
        ]
        for released in release.entries
        for cell in cells(released)
    ]
    header = [FIXED[0], *keys, *FIXED[1:]]
    return Table(header, lines, frozenset(range(len(header) - 3, len(header))))


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
    """One table per distinct set of keys, one column per statistic, by short name.

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
    columns: dict[str, list[str]] = {}
    numbers: set[int] = set()
    for released in members:
        name = released.planned.entry.request.name
        before = len(columns)
        columns |= {key: [] for key in (name, *([] if released.raw is None else [name + RAW]))}
        chooses_labels = any(estimate.item is not None for estimate in released.estimates)
        for cell in cells(released):
            shown = cell.item if chooses_labels else cell.value
            columns[cell.statistic].append(shown)
        if not chooses_labels:
            numbers.update(range(len(lines.heading) + before, len(lines.heading) + len(columns)))
    named = bool(lines.item_name)
    labels = ([*group, *([item] if named else [])] for group, item in places(members[0]))
    return Table(
        _distinct([*lines.heading, *columns]),
        [[*place, *values] for place, *values in zip(labels, *columns.values(), strict=True)],
        frozenset(numbers),
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """The headings of a table; one that is there already gets a number."""
    found: list[str] = []
    for name in names:
        heading, number = name, 1
        while heading in found:
            number += 1
            heading = f"{name}_{number}"
        found.append(heading)
    return found


TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that show what is around them in another order."""


def visible(text: str) -> str:
    """A text for people, in which nothing turns the words around it."""
    return TURNING.sub("\ufffd", text)


def csv_text(lines: Iterable[Iterable[str]]) -> bytes:
    """Lines as RFC 4180 text in UTF-8, ending in LF."""
    text = io.StringIO()
    safe = ([_harmless(cell) for cell in line] for line in lines)
    csv.writer(text, lineterminator="\n").writerows(safe)
    return text.getvalue().encode()


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP ASVS 5.0, 1.2.10).

    Labels that are declared cannot begin so, and numbers may; it is the keys found in
    the data that get a quote before them.
    """
    return f"'{cell}" if cell.startswith(FORMULA) and not _NUMBER.fullmatch(cell) else cell
