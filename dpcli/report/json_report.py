"""A report as data: its facts, its published numbers, and both as JSON.

All other outputs are made from it alone, so a stored report is enough to make them again.
Published numbers are texts, with their flags. Dates are written as in ISO 8601, `2024-03-05`. Where
they are drawn or compared, they are numbers of days since 1970-01-01.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, Self, cast

from dpcli.numeric.arrays import Array, np
from dpcli.numeric.exact import exact_or_up
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.columns import ADDED_COLUMNS, COLUMNS, TableColumn, columns_with
from dpcli.report.json_values import CELLS_PLACE, json_text, parsed_json
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, Estimates
from dpcli.statistics.postprocessing import FLAGS, Flag, flags
from dpcli.statistics.precision import OptionalColumn, Precision

if TYPE_CHECKING:
    import polars as pl

    from dpcli.planning.results import EstimatedStatistic
    from dpcli.report.entry_model import PublishedStatisticReport
    from dpcli.report.model import CollectionReport, ReleaseReport
    from dpcli.statistics.precision import ColumnNumbers

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

    `optional` are the texts of the optional columns.
    """

    statistic: str
    keys: dict[str, str]
    item: str
    value: str
    lower: str
    upper: str
    flag: Flag
    optional: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all columns of the number, in their order."""
        return (self.value, self.lower, self.upper, self.flag.value, *self.optional)

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
        """The columns of the number; those that the spec adds come last."""
        names = self.frame.columns
        return (*COLUMNS, *(column for column in ADDED_COLUMNS if column.name in names))

    def cells(self, max_cells: int | None = None) -> tuple[CellText, ...]:
        """The numbers one by one; with `max_cells`, only the first of them."""
        shown = self.frame if max_cells is None else self.frame.head(max_cells)
        first = len(self.keys)
        return tuple(
            CellText(
                self.name,
                dict(zip(self.keys, row[:first], strict=True)),
                item, value, lower, upper, Flag(flag), tuple(optional),
            )
            for row in shown.iter_rows()
            for item, value, lower, upper, flag, *optional in (row[first:],)
        )  # fmt: skip


def published_numbers(
    published: EstimatedStatistic, columns: Sequence[OptionalColumn], confidence: Fraction
) -> tuple[NumberTable, ...]:
    """The published numbers of a statistic, with the optional `columns`.

    If numbers before post-processing, or of the population, are published too, they follow under
    their own names.
    """
    entry, cells = published.planned.entry, _cell_names(published)
    keys = tuple(key.column.name for key in entry.inputs.by)
    named = {published.planned.name: published.estimates}
    if published.raw is not None:
        named[published.planned.name + RAW] = published.raw
    if published.population is not None:
        named[published.planned.name + POPULATION] = published.population
    return tuple(
        NumberTable(
            name,
            keys,
            _texts(cells, estimates).with_columns(
                _optional_texts(column.printed(precision)).alias(column.name) for column in columns
            ),
            entry.statistic.chooses_labels and estimates is published.estimates,
            estimates.date_range is not None,
        )
        for name, estimates in named.items()
        for precision in (Precision(estimates, confidence),)
    )


def _cell_names(published: EstimatedStatistic) -> pl.DataFrame:
    """The group and the item of every number; items change fastest."""
    import polars as pl

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
    columns = {f"key{at}": key for at, key in enumerate(zip(labels, indices, strict=True))}
    columns["item"] = items, item
    return pl.DataFrame(
        [pl.Series(name, texts, pl.String).gather(at) for name, (texts, at) in columns.items()]
    )


def _texts(cells: pl.DataFrame, estimates: Estimates) -> pl.DataFrame:
    import polars as pl

    names = pl.Series("flag", [str(flag) for flag in FLAGS], pl.String)
    has_ends = pl.Series(estimates.status == HAS_INTERVAL)
    masks = {
        # A rank stands also where no label is left for it.
        "value": pl.Series((estimates.status != SUPPRESSED) | (estimates.items is not None)),
        "lower": has_ends,
        "upper": has_ends,
    }
    texts = {
        name: number_texts(estimates, getattr(estimates, name)).zip_with(mask, pl.Series([""]))
        for name, mask in masks.items()
    }
    if estimates.items is not None:
        texts["item"] = pl.Series(estimates.items, dtype=pl.String)
    return cells.with_columns(**texts, flag=names.gather(flags(estimates)))


def _optional_texts(numbers: ColumnNumbers) -> pl.Series:
    """The texts of an optional column, blank where its number is not known."""
    import polars as pl

    from dpcli.engine.files.pieces import decimal_texts

    texts = _taking_turns([*map(decimal_texts, numbers.units, numbers.decimals)])
    return texts.zip_with(pl.Series(numbers.known), pl.Series([""]))


def number_texts(estimates: Estimates, numbers: Array) -> pl.Series:
    """Numbers of estimates, in steps, as a String series of decimals or dates."""
    import polars as pl

    from dpcli.engine.files.pieces import decimal_texts

    rounded = estimates.rounded(numbers)
    if estimates.date_range is None:
        return _taking_turns([*map(decimal_texts, rounded, estimates.decimals)])
    days = [pl.Series(part, dtype=pl.Int32).cast(pl.Date) for part in rounded]
    return _taking_turns([part.dt.strftime(ISO_DATE) for part in days])


def _taking_turns(texts: Sequence[pl.Series]) -> pl.Series:
    """The texts of items, which take turns."""
    import polars as pl

    joined = pl.concat(texts)
    return joined.gather(np.arange(len(joined)).reshape(len(texts), -1).T.ravel())


def number_of(text: str) -> Fraction:
    """The number that a published text states; for a date, days since 1970-01-01."""
    if text.count("-", 1) < 2:
        return Fraction(text)
    from dpcli.numeric.days import days_of

    return Fraction(days_of(text))


def flags_of(published: Iterable[NumberTable]) -> list[Flag]:
    """The flags that occur in these numbers, in a fixed order."""
    flags = {flag for numbers in published for flag in numbers.frame["flag"].unique()}
    return [flag for flag in Flag if flag and flag in flags]


SLICE = 1 << 14
"""Numbers that are written or read at a time, to bound the memory."""

BETWEEN = ",\n        "

FIRST, LAST = b'"cells": [\n        {"', b"\n      ]"
"""The text around the numbers of a statistic; no JSON string contains it."""

FORM = r"(?<named>\{.*)" + "".join(column.form for column in (*COLUMNS, *ADDED_COLUMNS)) + r"\},?$"
"""The form of a line with a number; no JSON string can end like that."""

MARKS = {RAW: "raw", POPULATION: "population"}
"""The JSON key that marks raw or population numbers, by the ending of their name."""

_PLACE = json.dumps(CELLS_PLACE)


@dataclass(frozen=True, slots=True)
class Report:
    """What is stated about a release or collection, and the numbers it publishes.

    `content` is the JSON of all that is `stated`, with the published `numbers` of each statistic.
    """

    content: bytes
    stated: ReleaseReport | CollectionReport
    numbers: tuple[tuple[NumberTable, ...], ...] = ()

    @property
    def release(self) -> ReleaseReport:
        """What the report of a release states; not for the report of a collection."""
        return cast("ReleaseReport", self.stated)

    @property
    def percent(self) -> str:
        """The confidence of intervals, in percent."""
        return f"{exact_or_up(Fraction(self.stated.confidence) * 100)}%"

    @classmethod
    def compose(
        cls,
        stated: ReleaseReport | CollectionReport,
        numbers: Sequence[tuple[NumberTable, ...]] = (),
    ) -> Self:
        """The report of these facts; `numbers` are published, in the order of statistics."""
        text, content = json_text(stated), io.BytesIO()
        *before, last = text.split(_PLACE)
        for part, named in zip(before, numbers, strict=True):
            content.write(part.encode())
            _write(named, content)
        content.write(last.encode())
        return cls(content.getvalue(), stated, tuple(numbers))

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """A report, read from its JSON.

        Raises KeyError if an earlier version wrote it and a needed fact is absent, LedgerError if
        it has a column that this version does not know.
        """
        from dpcli.report.model import CollectionReport, load_report

        text, blocks = _split_numbers(content)
        parsed = parsed_json(text)
        indices = [_replace_block(statistic) for statistic in parsed.get("statistics", ())]
        stated = load_report(parsed)
        if isinstance(stated, CollectionReport):
            return cls(content, stated)
        added = stated.optional_columns
        columns = columns_with(column.name for column in added) if added else COLUMNS
        numbers = (
            tuple(_numbers(statistic, blocks[index], columns))
            for statistic, index in zip(stated.statistics, indices, strict=True)
        )
        return cls(content, stated, tuple(numbers))


def without_numbers(content: bytes) -> bytes:
    """A report's JSON without its published numbers, which may be millions."""
    return _split_numbers(content)[0]


def _split_numbers(content: bytes) -> tuple[bytes, list[bytes]]:
    """The JSON of a report with indices for numbers, and the blocks of numbers."""
    parts, blocks, position = [b""], [b""], 0
    while 0 <= (start := content.find(FIRST, position)) < (end := content.find(LAST, start)):
        parts += [content[position:start], b'"cells": %d' % len(blocks)]
        blocks.append(content[start + len(FIRST) - 2 : end])
        position = end + len(LAST)
    return b"".join([*parts, content[position:]]), blocks


def _replace_block(statistic: dict[str, Any]) -> int:
    """The index of a statistic's block of numbers; `CELLS` takes its place.

    Raises KeyError if the statistic has no index of a block of numbers.
    """
    from dpcli.report.entry_model import CELLS

    index, statistic["cells"] = statistic["cells"] or "0", CELLS
    if not isinstance(index, str):
        raise KeyError("cells")
    return int(index)


def _write(named: Sequence[NumberTable], content: io.BytesIO) -> None:
    if not any(numbers.frame.height for numbers in named):
        content.write(b"[]")
        return
    content.write(b"[\n        ")
    for numbers in named:
        line = _line(numbers)
        for part in numbers.frame.iter_slices(SLICE):
            part.select(line).write_csv(
                content, include_header=False, quote_style="never", line_terminator=BETWEEN
            )
    # No comma after the last one.
    content.seek(-len(BETWEEN), io.SEEK_CUR)
    content.truncate()
    content.write(b"\n      ]")


def _line(numbers: NumberTable) -> pl.Expr:
    import polars as pl

    labels = [pl.col(f"key{index}").alias(key) for index, key in enumerate(numbers.keys)]
    keys = pl.struct(labels).struct.json_encode() if labels else pl.lit("{}")
    item = pl.struct(pl.when(pl.col("item") != "").then("item")).struct.json_encode()
    marks = [key for ending, key in MARKS.items() if numbers.name.endswith(ending)]
    first = f'{{"{marks[0]}":true,"keys":' if marks else '{"keys":'
    parts: list[str | pl.Expr] = [first, keys, ","]
    parts += [item.str.strip_prefix("{").str.strip_suffix("}")]
    for column in numbers.columns:
        parts += column.json(dates=numbers.dates)
    parts += ["}"]
    return pl.concat_str(pl.lit(part) if isinstance(part, str) else part for part in parts)


def _numbers(
    statistic: PublishedStatisticReport, block: bytes, columns: Sequence[TableColumn]
) -> Iterator[NumberTable]:
    """The numbers of a statistic from their block, in the order of `MARKS`."""
    import polars as pl

    keys, layout = tuple(statistic.by), statistic.layout
    lines = pl.read_lines(block, name="line")
    parts = [_read(part, keys, columns) for part in lines.iter_slices(SLICE)]
    frame = pl.concat([_read(lines.clear(), keys, columns), *parts])
    for ending, key in {"": "", **MARKS}.items():
        if not key or getattr(statistic, key):
            selected = frame.filter(pl.col("ending") == ending).drop("ending")
            name, dates = statistic.name + ending, layout.unit == DATE_UNIT
            yield NumberTable(name, keys, selected, layout.chosen and not ending, dates)


def _read(lines: pl.DataFrame, keys: Sequence[str], columns: Sequence[TableColumn]) -> pl.DataFrame:
    """The published numbers in lines of a JSON report; digits stay strings.

    Raises ValueError for keys or items that are not text.
    """
    import polars as pl

    fields = [f"key{at}" for at in range(len(keys))]
    labels = pl.Struct(dict.fromkeys(keys, pl.String))
    marks = dict.fromkeys(MARKS.values(), pl.Boolean)
    named = pl.Struct({**marks, "keys": labels, "item": pl.String})
    parts = lines.select(pl.col("line").str.extract_groups(FORM)).unnest("line")
    names = [column.name for column in columns]
    found = pl.col(names)
    texts = pl.when(found != "null").then(found.str.strip_chars('"')).otherwise(pl.lit(""))
    try:
        read = parts.select((pl.col("named") + "}").str.json_decode(named), texts)
    except pl.exceptions.ComputeError:
        raise ValueError("keys or items that are not text") from None
    group = pl.col("named").struct.field("keys").struct.rename_fields(fields).struct.unnest()
    return read.select(
        *([group] if fields else []),
        pl.col("named").struct.field("item").fill_null(""),
        *names,
        pl.coalesce(
            *(
                pl.when(pl.col("named").struct.field(key)).then(pl.lit(ending))
                for ending, key in MARKS.items()
            ),
            pl.lit(""),
        ).alias("ending"),
    )
