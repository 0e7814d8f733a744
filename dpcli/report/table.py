"""The noisy table: every published number on a line of its own."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, log10
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpcli.columns import FORMULA
from dpcli.plan.numbers import Fact, exact_or_up, number
from dpcli.privacy.decimals import decimal_text
from dpcli.spec.responses import RESERVED
from dpcli.statistics.base import Estimate
from dpcli.statistics.flags import UNRELIABLE, Flag, flag_of

if TYPE_CHECKING:
    from dpcli.local.estimate import Estimated
    from dpcli.release import Release, Released

FIXED = ("statistic", "item", "value", "lower", "upper", "flag")
"""The columns of a long table that are not keys."""


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


RAW = ".raw"
"""What is added to the name of a statistic for its raw noisy numbers."""


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


_MADE: WeakKeyDictionary[Released, tuple[Cell, ...]] = WeakKeyDictionary()
"""The cells of entries that are being published: every table and report takes the same ones."""


def cells(released: Released) -> tuple[Cell, ...]:
    """The published numbers of an entry, in the order of the spec; raw ones after them."""
    if released not in _MADE:
        name = released.planned.entry.request.name
        found = list(_cells(released, name, released.estimates))
        if released.raw is not None:
            found += _cells(released, f"{name}{RAW}", released.raw)
        _MADE[released] = tuple(found)
    return _MADE[released]


def _cells(released: Released, name: str, estimates: Sequence[Estimate]) -> Iterator[Cell]:
    """Numbers under one name."""
    keys = [key.column.name for key in released.planned.entry.request.by]
    for (group, item), estimate in zip(places(released), estimates, strict=True):
        chosen = item if estimate.item is None else estimate.item
        named = dict(zip(keys, group, strict=True))
        yield Cell(name, named, chosen, *_texts(estimate), flag_of(estimate))


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


def chooses_labels(released: Released) -> bool:
    """Whether what an entry publishes are labels that were chosen, and their ranks."""
    return any(estimate.item is not None for estimate in released.estimates)


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
    """One line per published number: statistic, keys, item, value, lower, upper, flag.

    Next to a key that is called `flag`, the last column is `flag_2`.
    """
    keys = key_columns(release)
    lines = [
        [
            cell.statistic,
            *(cell.keys.get(key, "") for key in keys),
            *(cell.item, cell.value, cell.lower, cell.upper, cell.flag.value),
        ]
        for released in release.entries
        for cell in cells(released)
    ]
    header = distinct([FIXED[0], *keys, *FIXED[1:]])
    last = len(header) - 1
    return Table(header, lines, frozenset(range(last - 3, last)))


def distinct(names: Sequence[str]) -> list[str]:
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

    What is declared does not begin so, unless it is a number; keys that are found in the
    data get an apostrophe before them.
    """
    return f"'{cell}" if cell.startswith(FORMULA) and not _NUMBER.fullmatch(cell) else cell


def parquet_bytes(table: Table) -> bytes:
    """A table as Parquet: texts as texts, numbers as 64-bit floats, blank cells as null.

    A number that has more digits than a float holds is rounded; the CSV has them all.
    """
    import polars as pl

    columns: list[pl.Series] = []
    for place, name in enumerate(table.header):
        texts: Sequence[str] = [line[place] for line in table.lines]
        if place in table.numbers:
            floats = [float(text) if text else None for text in texts]
            columns.append(pl.Series(name, floats, dtype=pl.Float64))
        else:
            columns.append(pl.Series(name, [text or None for text in texts], dtype=pl.String))
    written = io.BytesIO()
    pl.DataFrame(columns).write_parquet(written, compression="zstd", statistics=False)
    return written.getvalue()


def meaning_of(flag: Flag, confidence: Fraction) -> str:
    """What a flag means, in a sentence that begins with it."""
    if flag is Flag.UNRELIABLE:
        return (
            f"{flag.value}: half the width of the {exact_or_up(confidence * 100)}% interval is "
            f"more than {exact_or_up(UNRELIABLE)} of the value"
        )
    if flag is Flag.NO_INFORMATION:
        return (
            f"{flag.value}: the interval covers all that is possible, so the number says nothing "
            "about the data"
        )
    return (
        f"{flag.value}: left out because of its noisy value or of its interval, as the "
        "post-processing says, never because of the exact value"
    )


def flags_of(cells: Sequence[Cell]) -> list[Flag]:
    """The flags that some of these numbers have."""
    found = {cell.flag for cell in cells}
    return [flag for flag in Flag if flag and flag in found]


def flag_facts(confidence: Fraction) -> dict[str, Fact]:
    """What every flag means, and the share of the value from which numbers are unreliable."""
    return {
        "unreliable_above": number(UNRELIABLE),
        **{flag.value: meaning_of(flag, confidence) for flag in Flag if flag},
    }


BEYOND = 3
"""Digits that are printed beyond the first one of the standard error."""


def estimates_table(rows: Sequence[Estimated]) -> bytes:
    """One line per estimate, as CSV in UTF-8."""
    return csv_text(estimate_lines(rows))


def estimate_lines(rows: Sequence[Estimated]) -> list[list[str]]:
    """The header, and one line per estimate."""
    keys = list(dict.fromkeys(name for row in rows for name, _ in row.group))
    return [[*RESERVED[:2], *keys, *RESERVED[2:]], *(_line(row, keys) for row in rows)]


def _line(row: Estimated, keys: Sequence[str]) -> list[str]:
    """One estimate as texts; blank where there are no records."""
    group = dict(row.group)
    named = [row.column, "frequency" if row.item else "mean"]
    named += [group.get(key, "") for key in keys]
    if row.value is None:
        return [*named, row.item, "0", "", "", "", ""]
    places = max(0, BEYOND - ceil(log10(row.error))) if row.error > 0 else 6
    numbers = (row.value, Fraction(row.error), row.lower, row.upper)
    return [*named, row.item, str(row.records), *(decimal_text(one, places) for one in numbers)]
