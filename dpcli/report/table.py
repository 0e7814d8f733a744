"""The noisy table: one long CSV, or one wide CSV for each set of keys."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from dpcli.plan import Plan
from dpcli.privacy.decimals import decimal_text
from dpcli.queries import Key
from dpcli.statistics.base import Estimate

if TYPE_CHECKING:
    from dpcli.release import Release, Released

FIXED = ("statistic", "item", "value", "lower", "upper")
"""The columns of a long table that are not keys."""


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet evaluate a cell."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Cell:
    """One published number as text: where it lies and how sure it is."""

    statistic: str
    keys: dict[str, str]
    item: str
    value: str
    lower: str
    upper: str


def cells(released: Released) -> Iterator[Cell]:
    """The published numbers of an entry, in the order of the spec."""
    entry = released.planned.entry
    axes = entry.statistic.axes(entry.request)
    by = len(entry.request.by)
    for labels, estimate in zip(places(released), released.estimates, strict=True):
        yield Cell(
            entry.request.name,
            {axis.column.name: label for axis, label in zip(axes[:by], labels, strict=False)},
            labels[by] if len(labels) > by else "",
            *_texts(estimate),
        )


def places(released: Released) -> Iterator[tuple[str, ...]]:
    """The labels of every cell of an entry, the last axis fastest."""
    entry = released.planned.entry
    axes = entry.statistic.axes(entry.request)
    if released.groups is None:
        yield from product(*(axis.labels for axis in axes))
        return
    items = [axis.labels for axis in axes[len(entry.request.by) :]]
    for group in released.groups:
        for item in product(*items):
            yield (*group, *item)


def _texts(estimate: Estimate) -> tuple[str, str, str]:
    """Value, lower and upper as plain decimals; blank where there is no interval."""
    places = estimate.places
    return (
        decimal_text(estimate.value, places),
        "" if estimate.lower is None else decimal_text(estimate.lower, places),
        "" if estimate.upper is None else decimal_text(estimate.upper, places),
    )


def key_columns(release: Release) -> tuple[str, ...]:
    """The names of all keys, in the order in which the spec first uses them."""
    return tuple(
        dict.fromkeys(
            key.column.name
            for released in release.entries
            for key in released.planned.entry.request.by
        )
    )


def long_table(release: Release) -> bytes:
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
    return _csv([[FIXED[0], *keys, *FIXED[1:]], *lines])


def wide_tables(release: Release) -> dict[str, bytes]:
    """One table per distinct set of keys, one column per statistic, by short name.

    The axis of a histogram is a key of its table, named after its column.
    """
    groups = _wide_groups(release.plan)
    by_name = {released.planned.entry.request.name: released for released in release.entries}
    return {
        name: _csv(_wide_lines(axes, [by_name[member] for member in members]))
        for name, (axes, members) in groups.items()
    }


def wide_names(plan: Plan) -> tuple[str, ...]:
    """The short names of the wide tables of a plan, known before any row is read."""
    return tuple(_wide_groups(plan))


def _wide_groups(plan: Plan) -> dict[str, tuple[tuple[Key, ...], list[str]]]:
    """The axes and the statistics of each wide table, by short name."""
    groups: dict[tuple[tuple[Key, ...], str | None], list[str]] = {}
    for planned in plan.entries:
        entry = planned.entry
        # The same axes have other lines where other groups were selected.
        table = entry.statistic.axes(entry.request), entry.keys
        groups.setdefault(table, []).append(entry.request.name)
    named: dict[str, tuple[tuple[Key, ...], list[str]]] = {}
    for (axes, _), members in groups.items():
        words = "-".join(axis.column.name for axis in axes) or "total"
        name = base = "".join(letter if letter.isalnum() else "-" for letter in words)[:80]
        number = 1
        while name in named:
            number += 1
            name = f"{base}-{number}"
        named[name] = (axes, members)
    return named


def _wide_lines(axes: Sequence[Key], members: Sequence[Released]) -> list[list[str]]:
    """The header and the lines of one wide table."""
    names = [released.planned.entry.request.name for released in members]
    columns = [[cell.value for cell in cells(released)] for released in members]
    labels = places(members[0])
    return [
        [*(axis.column.name for axis in axes), *names],
        *([*place, *values] for place, *values in zip(labels, *columns, strict=True)),
    ]


def _csv(lines: Iterable[Iterable[str]]) -> bytes:
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
