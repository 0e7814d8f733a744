"""Published numbers as texts, and their columns in every table, report and page.

Dates are written as in ISO 8601, `2024-03-05`. Where they are drawn or compared, they are numbers
of days since 1970-01-01.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from dpcli.data.polars_text import decimal_texts, pl
from dpcli.fields.json import Date, JsonNumber, JsonObject, JsonRow, Positive
from dpcli.numeric.arrays import Array, np
from dpcli.numeric.exact import decimal_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.columns import (
    CELL_COLUMNS,
    COLUMNS,
    NUMBER_COLUMNS,
    OPTIONAL_COLUMNS,
    UNIT,
    PublishedNumbers,
    StatedColumn,
    StatedFacts,
    TableColumn,
)
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, Estimates
from dpcli.statistics.postprocessing import FLAGS, flags

if TYPE_CHECKING:
    from dpcli.planning.plan import CentralPlan
    from dpcli.planning.results import EstimatedStatistic
    from dpcli.specification.model import CentralSpec, Entry
    from dpcli.statistics.columns import ColumnNumbers
    from dpcli.statistics.series.history import Ends


JSON_COLUMNS = (*NUMBER_COLUMNS, *CELL_COLUMNS)
"""The columns that JSON has with each number."""


ISO_DATE = "%Y-%m-%d"

DATE_UNIT = "date"
"""The unit in the layout of a statistic whose published numbers are dates."""

RAW = ".raw"
"""Appended to the name of a statistic for its numbers before post-processing."""

POPULATION = ".population"
"""Appended to the name of a statistic for its numbers of the population."""


@dataclass(frozen=True, slots=True)
class CellText:
    """One published number as text, with its group, item, interval and flag.

    `optional` are the texts of the columns after the flag that pages show in each line, by name.
    """

    statistic: str
    keys: dict[str, str]
    item: str
    value: str
    lower: str
    upper: str
    flag: str
    optional: dict[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the group, and the item if it has a name."""
        return (*self.keys.values(), *([self.item] if self.item else []))

    @property
    def exact(self) -> bool:
        """Whether the number has no interval: the ends are blank, or equal."""
        return self.lower == self.upper


@dataclass(frozen=True, slots=True)
class NumberTable:
    """Published numbers of one statistic under one name.

    All columns of `frame` are String: key0, key1 and so on for the labels of `keys`, then item, and
    the `columns` of the number. Blank cells are empty strings. If labels were `chosen`, they are
    the items, and the values are their ranks. With `dates`, values and ends are dates.
    """

    name: str
    keys: tuple[str, ...]
    frame: pl.DataFrame
    chosen: bool = False
    dates: bool = False

    @property
    def ending(self) -> str:
        """`RAW` or `POPULATION`; empty for the numbers of the statistic itself."""
        _, dot, kind = self.name.partition(".")
        return dot + kind

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the number, in the order of the table."""
        names = self.frame.columns
        return tuple(column for column in (*COLUMNS, *OPTIONAL_COLUMNS) if column.name in names)

    def with_facts(self, columns: Iterable[StatedColumn], stated: StatedFacts) -> NumberTable:
        """The table with columns of what a report states about all of its numbers."""
        frame, positions = self.frame, np.arange(self.frame.height)
        for column in columns:
            texts = pl.Series(column.name, column.texts(stated), pl.String)
            frame = frame.with_columns(texts.gather(positions % len(texts)))
        before = frame.columns[: len(self.keys) + 1]
        made = replace(self, frame=frame)
        return replace(made, frame=frame.select(*before, *(column.name for column in made.columns)))

    @property
    def shown(self) -> tuple[TableColumn, ...]:
        """The columns after the flag that pages show in each line.

        What is the same for all numbers stands above them.
        """
        has_units = UNIT in self.columns and self.frame[UNIT.name].n_unique() > 1
        differing = (UNIT,) if has_units else ()
        return tuple(column for column in self.columns if column in (*CELL_COLUMNS, *differing))

    def cells(self, max_cells: int | None = None) -> tuple[CellText, ...]:
        """The numbers one by one; with `max_cells`, only the first of them."""
        first = len(self.keys)
        added = [column.name for column in self.shown]
        shown = self.frame if max_cells is None else self.frame.head(max_cells)
        return tuple(
            CellText(
                self.name,
                dict(zip(self.keys, row[:first], strict=True)),
                item, value, lower, upper, flag, dict(zip(added, optional, strict=True)),
            )
            for row in shown.select(*self.frame.columns[: first + 5], *added).iter_rows()
            for item, value, lower, upper, flag, *optional in (row[first:],)
        )  # fmt: skip


def published_numbers(published: EstimatedStatistic, spec: CentralSpec) -> tuple[NumberTable, ...]:
    """The published numbers of a statistic, with the optional columns of the spec.

    If numbers before post-processing, or of the population, are published too, they follow under
    their own names.
    """
    entry, cells = published.planned.entry, cell_names(published)
    if spec.bins_in_words:
        cells = _bins_in_words(cells, entry)
    keys = key_names(entry)
    found = {"": published.estimates, RAW: published.raw, POPULATION: published.population}
    return tuple(
        NumberTable(
            published.planned.name + ending,
            keys,
            _texts(cells, estimates).with_columns(
                _optional_texts(column.printed(numbers)).alias(column.name)
                for column in CELL_COLUMNS
                if column in spec.output_columns
            ),
            entry.statistic.chooses_labels and not ending,
            estimates.date_range is not None,
        )
        for ending, estimates in found.items()
        if estimates is not None
        for numbers in (PublishedNumbers(estimates, spec.confidence, *published.bins),)
    )


def key_names(entry: Entry) -> tuple[str, ...]:
    """The names of the columns that name the numbers of an entry."""
    own = (name for name, _ in entry.statistic.key_columns(entry.inputs))
    return (*(key.column.name for key in entry.inputs.by), *own)


def is_crossed(entry: Entry) -> bool:
    """Whether they are a table of two keys, with totals or of marginals."""
    inputs = entry.inputs
    if inputs.margins:
        return not inputs.by and len(inputs.margins) == inputs.ways[-1] == 2
    return len(inputs.by) == 2 and bool(inputs.by[-1].total)


def cell_names(published: EstimatedStatistic) -> pl.DataFrame:
    """The group and the item of every number; items change fastest."""
    entry, groups = published.planned.entry, published.groups
    labels: list[Sequence[str]] = []
    if groups is None:
        labels = [key.labels for key in entry.inputs.by]
    items = entry.statistic.items(entry.inputs)
    sizes = [*map(len, labels), *([] if groups is None else [len(groups)]), len(items)]
    *indices, item = np.unravel_index(np.arange(prod(sizes)), sizes)
    if groups is not None:
        count = len(entry.inputs.by)
        labels, indices = [[group[at] for group in groups] for at in range(count)], indices * count
    named, own = [*zip(labels, indices, strict=True)], entry.statistic.key_columns(entry.inputs)
    named += [(texts, item) for _, texts in own]
    columns = {f"key{at}": key for at, key in enumerate(named)}
    columns["item"] = ("",) * len(items) if own else items, item
    return pl.DataFrame(
        [pl.Series(name, texts, pl.String).gather(at) for name, (texts, at) in columns.items()]
    )


def _bins_in_words(cells: pl.DataFrame, entry: Entry) -> pl.DataFrame:
    """Bins of numbers as `10 to 14`, because spreadsheets take `10-14` for a date."""
    axes = [axis for axis in entry.inputs.binned_axes if not axis.column.is_date]
    binned = {axis.column.name for axis in axes}
    names = [f"key{at}" for at, name in enumerate(key_names(entry)) if name in binned]
    names += ["item"] * (entry.inputs.bins in axes)
    return cells.with_columns(pl.col(names).str.replace(r"^([\d.]+)-([\d.]+)$", "$1 to $2"))


def _texts(cells: pl.DataFrame, estimates: Estimates) -> pl.DataFrame:
    names = pl.Series("flag", [str(flag) for flag in FLAGS], pl.String)
    # A rank stands also where no label is left for it.
    is_shown = (estimates.status != SUPPRESSED) | estimates.are_ranks
    has_ends = estimates.status == HAS_INTERVAL
    texts = {
        name: number_texts(estimates, getattr(estimates, name)).zip_with(
            pl.Series(mask), pl.Series([""])
        )
        for name, mask in zip(_PARTS, (is_shown, has_ends, has_ends), strict=True)
    }
    if estimates.items is not None:
        texts["item"] = pl.Series(estimates.items, dtype=pl.String)
    return cells.with_columns(**texts, flag=names.gather(flags(estimates)))


def _optional_texts(numbers: ColumnNumbers) -> pl.Series:
    """The texts of an optional column, blank where its number is not known."""
    texts = _taking_turns([*map(decimal_texts, numbers.units, numbers.decimals)])
    return texts.zip_with(pl.Series(numbers.known), pl.Series([""]))


def number_texts(estimates: Estimates, numbers: Array) -> pl.Series:
    """Numbers of estimates, in steps, as a String series of decimals or dates."""
    rounded = estimates.rounded(numbers)
    if estimates.date_range is None:
        return _taking_turns([*map(decimal_texts, rounded, estimates.decimals)])
    days = [pl.Series(part, dtype=pl.Int32).cast(pl.Date) for part in rounded]
    return _taking_turns([part.dt.strftime(ISO_DATE) for part in days])


def _taking_turns(texts: Sequence[pl.Series]) -> pl.Series:
    """The texts of items, which take turns."""
    joined = pl.concat(texts)
    return joined.gather(np.arange(len(joined)).reshape(len(texts), -1).T.ravel())


def number_of(text: str) -> Fraction:
    """The number that a published text states; for a date, days since 1970-01-01."""
    if text.count("-", 1) < 2:
        return Fraction(text)
    from dpcli.numeric.days import days_of

    return Fraction(days_of(text))


def flags_of(published: Iterable[NumberTable]) -> set[str]:
    """The flags that occur in these numbers."""
    return {flag for numbers in published for flag in numbers.frame["flag"].unique() if flag}


_PARTS = ("value", "lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedReport(JsonObject):
    """A number of an earlier period, estimated with later answers."""

    day: Date
    value: JsonNumber
    lower: JsonNumber
    upper: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReport(JsonObject):
    """A number of each period, as it was published: one for each of the days."""

    keys: dict[str, str]
    """The group and what is shown, by column."""
    value: JsonRow
    lower: JsonRow
    upper: JsonRow
    revised: list[RevisedReport] | None = None
    """Estimates of these numbers from later answers; absent without any."""

    def cells(self, days: Sequence[str]) -> Iterator[tuple[str, CellText]]:
        """The numbers, each with its day."""
        for day, value, lower, upper in zip(days, self.value, self.lower, self.upper, strict=True):
            yield day, CellText("", self.keys, "", value, lower, upper, "")

    @property
    def revised_cells(self) -> Iterator[tuple[str, CellText]]:
        """The later estimates, each with its day."""
        for one in self.revised or ():
            yield one.day, CellText("", self.keys, "", one.value, one.lower, one.upper, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReport(JsonObject):
    """What the periods of a series published, in the order of their release.

    All of the last 32 periods are here, half of the 32 before them, a quarter of the 64 before
    these, and so on. Published numbers never change.
    """

    periods: Positive
    """How many periods the series has."""
    days: list[Date]
    lines: list[LineReport]
    """Of the first groups, at most 12 numbers."""

    @classmethod
    def of(cls, published: EstimatedStatistic, confidence: Fraction) -> HistoryReport | None:
        """The history of a series, with this period; None for other statistics."""
        design, entry = published.planned.design, published.planned.entry
        history = design.history(published.estimates, published.answers, confidence)
        if not history:
            return None
        names, keys = cell_names(published), key_names(entry)
        (decimals, *_), found = published.estimates.decimals, list[LineReport]()

        def texts(ends: Ends) -> tuple[JsonNumber, ...]:
            unit = Fraction(1, 10**decimals)
            return tuple(JsonNumber(decimal_text(number * unit, decimals)) for number in ends)

        days = [datetime.date.fromordinal(period.day).isoformat() for period in history]
        for at, line in enumerate(design.lines_of_history(published.estimates)):
            columns = zip(*(texts(period.numbers[at]) for period in history), strict=True)
            revised = [
                RevisedReport(day=day, **dict(zip(_PARTS, texts(period.revised[at]), strict=True)))
                for day, period in zip(days, history, strict=True)
                if at in period.revised
            ]
            parts = dict(zip(_PARTS, map(JsonRow, columns), strict=True))
            labels = dict(zip(keys, names.row(line), strict=False))
            found.append(LineReport(keys=labels, **parts, revised=revised or None))
        return cls(periods=history[-1].number + 1, days=days, lines=found)


def wide_layout(plan: CentralPlan) -> dict[str, tuple[str, list[str]]]:
    """For each statistic of a plan, the name and the key columns of its wide table.

    The layout is known before any row is read. Two statistics share a table if they have the same
    keys and items and, with private keys, if the same statistic selects their groups.
    """
    tables: dict[object, tuple[list[str], list[str]]] = {}
    for entry in (planned.entry for planned in plan.statistics):
        inputs, used = entry.inputs, entry.statistic
        heading = [*key_names(entry)]
        heading += [used.item_heading(inputs)] * (len(heading) == len(inputs.by))
        lines = (inputs.by, *heading, used.items(inputs), entry.selected_by)
        tables.setdefault(lines, (list(filter(None, heading)), []))[1].append(inputs.name)
    words = ["-".join(heading) or "total" for heading, _ in tables.values()]
    plain = ["".join(letter if letter.isalnum() else "-" for letter in word)[:80] for word in words]
    named = zip(distinct(plain, "-"), tables.values(), strict=True)
    return {member: (table, heading) for table, (heading, members) in named for member in members}


def distinct(words: Iterable[str], mark: str = "_") -> list[str]:
    """The words made distinct: `mark` and a number are appended to a repeated word."""
    names: list[str] = []
    for word in words:
        name, number = word, 1
        while name in names:
            number += 1
            name = f"{word}{mark}{number}"
        names.append(name)
    return names
