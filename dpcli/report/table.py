"""The published tables: a line per number, or a line per group for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from math import ceil, log10
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpcli.columns import FORMULA, Key
from dpcli.messages import note
from dpcli.plan.model import Plan
from dpcli.plan.numbers import exact_or_up
from dpcli.privacy.decimals import decimal_text
from dpcli.spec.responses import RESERVED
from dpcli.statistics.base import Estimate
from dpcli.statistics.post import UNRELIABLE, Flag, flag_of

if TYPE_CHECKING:
    from dpcli.local.estimate import Estimated
    from dpcli.release import Release, Released

FIXED = ("statistic", "item", "value", "lower", "upper", "flag")
"""The columns of a long table that are not keys."""

RAW = ".raw"
"""What is added to the name of a statistic for its raw noisy numbers."""

ENDS = ("", "_lower", "_upper")
"""What is added to the name of a statistic for its columns in a wide table."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Cell:
    """One published number as text: its place, its interval, and what readers must know."""

    statistic: str
    keys: dict[str, str]
    item: str
    value: str
    lower: str
    upper: str
    flag: Flag

    @property
    def labels(self) -> tuple[str, ...]:
        """The group and the item, where they have names."""
        return (*self.keys.values(), *([self.item] if self.item else []))

    @property
    def exact(self) -> bool:
        """Whether there is no interval around it."""
        return self.lower == self.upper

    def line(self, keys: Iterable[str]) -> list[str]:
        """The number as a line of a long table with these keys."""
        group = [self.keys.get(key, "") for key in keys]
        return [self.statistic, *group, self.item, self.value, self.lower, self.upper, self.flag]


_MADE: WeakKeyDictionary[Released, dict[str, tuple[Cell, ...]]] = WeakKeyDictionary()
"""The cells of entries that are being published: every table and report takes the same ones."""


def cells_by_name(released: Released) -> dict[str, tuple[Cell, ...]]:
    """The published numbers of an entry, in the order of the spec, by the name of its columns.

    Numbers before post-processing have a name of their own, if they are published as well.
    """
    if released not in _MADE:
        name, group_and_item = released.planned.name, list(places(released))
        numbers = {name: released.estimates}
        if released.raw is not None:
            numbers[name + RAW] = released.raw
        _MADE[released] = {
            name: tuple(
                _cell(name, *place, estimate)
                for place, estimate in zip(group_and_item, estimates, strict=True)
            )
            for name, estimates in numbers.items()
        }
    return _MADE[released]


def cells(released: Released) -> tuple[Cell, ...]:
    """The published numbers of an entry; raw ones after the others."""
    return tuple(chain.from_iterable(cells_by_name(released).values()))


def _cell(name: str, keys: dict[str, str], item: str, estimate: Estimate) -> Cell:
    value, lower, upper = (
        "" if number is None else decimal_text(number, estimate.places)
        for number in (estimate.value, estimate.lower, estimate.upper)
    )
    chosen = item if estimate.item is None else estimate.item
    return Cell(name, keys, chosen, value, lower, upper, flag_of(estimate))


def places(released: Released) -> Iterator[tuple[dict[str, str], str]]:
    """The group and the item of every number of an entry, the items fastest."""
    entry = released.planned.entry
    groups: Iterable[tuple[str, ...]] | None = released.groups
    if groups is None:
        groups = product(*(key.labels for key in entry.request.by))
    items, by = entry.statistic.items(entry.request), [key.column.name for key in entry.request.by]
    for group in groups:
        for item in items:
            yield dict(zip(by, group, strict=True)), item


def chooses_labels(released: Released) -> bool:
    """Whether what an entry publishes are labels that were chosen, and their ranks."""
    return any(estimate.item is not None for estimate in released.estimates)


def flags_of(found: Iterable[Cell]) -> list[Flag]:
    """The flags that some of these numbers have."""
    flags = {cell.flag for cell in found}
    return [flag for flag in Flag if flag and flag in flags]


def meaning_of(flag: Flag, confidence: Fraction) -> str:
    """What a flag means, in a sentence that begins with it."""
    percent = exact_or_up(confidence * 100)
    return note(f"flag.{flag}", percent=percent, share=exact_or_up(UNRELIABLE))


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

    @property
    def parquet(self) -> bytes:
        """The table as Parquet: texts as texts, numbers as 64-bit floats, blank cells as null.

        A number that has more digits than a float holds is rounded; the CSV has them all.
        """
        import polars as pl

        columns = []
        for place, name in enumerate(self.header):
            texts = pl.Series(name, [line[place] or None for line in self.lines], dtype=pl.String)
            columns.append(texts.cast(pl.Float64) if place in self.numbers else texts)
        written = io.BytesIO()
        pl.DataFrame(columns).write_parquet(written, compression="zstd", statistics=False)
        return written.getvalue()


def long_table(release: Release) -> Table:
    """One line per published number: statistic, keys, item, value, lower, upper, flag.

    Keys stand in the order in which the spec first uses them. Next to a key that is called
    `flag`, the last column is `flag_2`.
    """
    requests = [released.planned.entry.request for released in release.entries]
    keys = dict.fromkeys(key.column.name for request in requests for key in request.by)
    lines = [cell.line(keys) for released in release.entries for cell in cells(released)]
    header = distinct([FIXED[0], *keys, *FIXED[1:]])
    last = len(header) - 1
    return Table(header, lines, frozenset(range(last - 3, last)))


@dataclass(frozen=True, slots=True)
class _Lines:
    """What two statistics must share to stand in one wide table, line by line.

    The same keys have other lines where other groups were selected.
    """

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

    Three columns per statistic: the value and the ends of its interval. Items are a key of their
    table: the bins of a histogram under the name of its column.
    """
    by_name = {released.planned.name: released for released in release.entries}
    return {
        name: _wide_table(lines, [by_name[member] for member in members])
        for name, (lines, members) in _wide_groups(release.plan).items()
    }


def wide_names(plan: Plan) -> tuple[str, ...]:
    """The short names of the wide tables of a plan, known before any row is read."""
    return tuple(_wide_groups(plan))


def _wide_groups(plan: Plan) -> dict[str, tuple[_Lines, list[str]]]:
    groups: dict[_Lines, list[str]] = {}
    for entry in (planned.entry for planned in plan.entries):
        request, used = entry.request, entry.statistic
        lines = _Lines(request.by, used.item_name(request), used.items(request), entry.keys)
        groups.setdefault(lines, []).append(request.name)
    words = ["-".join(lines.heading) or "total" for lines in groups]
    plain = ["".join(one if one.isalnum() else "-" for one in word)[:80] for word in words]
    return dict(zip(distinct(plain, "-"), groups.items(), strict=True))


def _wide_table(lines: _Lines, members: Sequence[Released]) -> Table:
    """One wide table; a chosen label stands for its rank."""
    header = lines.heading
    first = [[*group.values(), item][: len(header)] for group, item in places(members[0])]
    columns: list[Iterable[str]] = []
    texts = set(range(len(header)))
    for released in members:
        chosen = chooses_labels(released)
        for name, shown in cells_by_name(released).items():
            if chosen:
                texts.add(len(header))
            header += [name + end for end in ENDS]
            columns.append([cell.item if chosen else cell.value for cell in shown])
            columns += [[cell.lower for cell in shown], [cell.upper for cell in shown]]
    found = [[*start, *values] for start, *values in zip(first, *columns, strict=True)]
    return Table(distinct(header), found, frozenset(range(len(header))) - texts)


def distinct(words: Iterable[str], mark: str = "_") -> list[str]:
    """Names as they are; one that is there already gets a number."""
    found: list[str] = []
    for word in words:
        name, number = word, 1
        while name in found:
            number += 1
            name = f"{word}{mark}{number}"
        found.append(name)
    return found


def csv_text(lines: Iterable[Iterable[str]]) -> bytes:
    """Lines as RFC 4180 text in UTF-8, ending in LF."""
    text = io.StringIO()
    safe = ([_harmless(cell) for cell in line] for line in lines)
    csv.writer(text, lineterminator="\n").writerows(safe)
    return text.getvalue().encode()


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP ASVS 5.0, 1.2.10).

    What is declared does not begin so, unless it is a number; keys that are found in the
    data get an apostrophe before them.
    """
    return f"'{cell}" if cell.startswith(FORMULA) and not _NUMBER.fullmatch(cell) else cell


BEYOND = 3
"""Digits that are printed beyond the first one of the standard error."""


def estimate_lines(rows: Sequence[Estimated]) -> list[list[str]]:
    """The header, and one line per estimate."""
    keys = list(dict.fromkeys(name for row in rows for name, _ in row.group))
    return [[*RESERVED[:2], *keys, *RESERVED[2:]], *(_line(row, keys) for row in rows)]


def _line(row: Estimated, keys: Sequence[str]) -> list[str]:
    group = dict(row.group)
    named = [row.column, "frequency" if row.item else "mean"]
    named += [group.get(key, "") for key in keys]
    if row.value is None:
        return [*named, row.item, "0", "", "", "", ""]
    places = max(0, BEYOND - ceil(log10(row.error))) if row.error > 0 else 6
    numbers = (row.value, Fraction(row.error), row.lower, row.upper)
    return [*named, row.item, str(row.records), *(decimal_text(one, places) for one in numbers)]
