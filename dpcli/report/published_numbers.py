"""The published numbers of a statistic as text, with their flags.

Dates are written as in ISO 8601, `2024-03-05`. Where they are drawn or compared, they are numbers
of days since 1970-01-01.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from dpcli.light_dataclasses import dataclass
from dpcli.numeric.arrays import Array, np
from dpcli.numeric.days import days_of
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, Estimates
from dpcli.statistics.postprocessing import FLAGS, Flag, flags

if TYPE_CHECKING:
    import polars as pl

    from dpcli.planning.results import PublishedStatistic

ISO_DATE = "%Y-%m-%d"
"""The format of published dates."""

DATE_UNIT = "date"
"""The unit in the layout of a statistic whose published numbers are dates."""

RAW = ".raw"
"""The ending of the name of the numbers before post-processing."""

POPULATION = ".population"
"""The ending of the name of the numbers of the population."""


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One published number as text, with its group, item, interval and flag."""

    statistic: str
    keys: dict[str, str]
    item: str
    value: str
    lower: str
    upper: str
    flag: Flag

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the group, and the item if it has a name."""
        return (*self.keys.values(), *([self.item] if self.item else []))

    @property
    def exact(self) -> bool:
        """Whether it has no interval."""
        return self.lower == self.upper


@dataclass(frozen=True, slots=True)
class PublishedNumbers:
    """Published numbers of one statistic under one name.

    All columns of `frame` are String: key0, key1 and so on for the labels of `keys`, then item,
    value, lower, upper and flag. Blank cells are empty strings. If labels were `chosen`, they are
    the items, and the values are their ranks. With `dates`, values and ends are dates.
    """

    name: str
    keys: tuple[str, ...]
    frame: pl.DataFrame
    chosen: bool = False
    dates: bool = False

    def cells(self, most: int | None = None) -> tuple[PublishedCell, ...]:
        """The numbers one by one; with `most`, only the first of them."""
        shown = self.frame if most is None else self.frame.head(most)
        return tuple(
            PublishedCell(self.name, dict(zip(self.keys, group, strict=True)), *numbers, Flag(flag))
            for *group, item, value, lower, upper, flag in shown.iter_rows()
            for numbers in ((item, value, lower, upper),)
        )


def published_numbers(published: PublishedStatistic) -> tuple[PublishedNumbers, ...]:
    """The published numbers of a statistic, in the order of the spec.

    If numbers before post-processing, or of the population, are published too, they follow under
    their own names.
    """
    entry, places = published.planned.entry, _places(published)
    keys = tuple(key.column.name for key in entry.request.by)
    named = {published.planned.name: published.estimates}
    if published.raw is not None:
        named[published.planned.name + RAW] = published.raw
    if published.population is not None:
        named[published.planned.name + POPULATION] = published.population
    return tuple(
        PublishedNumbers(
            name,
            keys,
            _texts(places, estimates),
            entry.statistic.chooses_labels,
            estimates.date_range is not None,
        )
        for name, estimates in named.items()
    )


def _places(published: PublishedStatistic) -> pl.DataFrame:
    """The group and the item of every number; items change fastest."""
    import polars as pl

    entry, groups = published.planned.entry, published.groups
    labels: list[Sequence[str]] = []
    if groups is None:
        labels = [key.labels for key in entry.request.by]
    items = entry.statistic.items(entry.request)
    sizes = [*map(len, labels), *([] if groups is None else [len(groups)]), len(items)]
    *places, item = np.unravel_index(np.arange(prod(sizes)), sizes)
    if groups is not None:
        count = len(entry.request.by)
        labels, places = [[group[at] for group in groups] for at in range(count)], places * count
    columns = {f"key{at}": key for at, key in enumerate(zip(labels, places, strict=True))}
    columns["item"] = items, item
    return pl.DataFrame(
        [pl.Series(name, texts, pl.String).gather(at) for name, (texts, at) in columns.items()]
    )


def _texts(places: pl.DataFrame, estimates: Estimates) -> pl.DataFrame:
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
    return places.with_columns(**texts, flag=names.gather(flags(estimates)))


def number_texts(estimates: Estimates, numbers: Array) -> pl.Series:
    """Numbers of the estimates, counted in steps, as a String series of decimals or dates."""
    import polars as pl

    from dpcli.engine.pieces import decimal_texts

    rounded = estimates.rounded(numbers)
    if estimates.date_range is None:
        texts = pl.concat(map(decimal_texts, rounded, estimates.places))
    else:
        days = pl.concat(pl.Series(part, dtype=pl.Int32) for part in rounded)
        texts = days.cast(pl.Date).dt.strftime(ISO_DATE)
    return texts.gather(np.arange(len(texts)).reshape(len(rounded), -1).T.ravel())


def number_of(text: str) -> Fraction:
    """A published number; of a date, its days since 1970-01-01."""
    if text.count("-", 1) < 2:
        return Fraction(text)
    return Fraction(days_of(text))


def flags_of(published: Iterable[PublishedNumbers]) -> list[Flag]:
    """The flags that occur in these numbers, in a fixed order."""
    flags = {flag for numbers in published for flag in numbers.frame["flag"].unique()}
    return [flag for flag in Flag if flag and flag in flags]
