"""The published numbers of an entry as texts, number by number, with their flags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from dpcli.numeric.arrays import Array, np
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, Estimates
from dpcli.statistics.postprocessing import FLAGS, Flag, flags

if TYPE_CHECKING:
    import polars as pl

    from dpcli.releasing import PublishedStatistic

RAW = ".raw"
"""What is added to the name of a statistic for its raw noisy numbers."""


@dataclass(frozen=True, slots=True)
class PublishedCell:
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


@dataclass(frozen=True, slots=True)
class PublishedNumbers:
    """Published numbers of one entry under one name, as a frame of texts.

    `keys` are the names of the keys, in columns called key0, key1 and so on. The other columns
    are item, value, lower, upper and flag; what is blank is empty. If labels were `chosen`, they
    are the items, and the values their ranks.
    """

    name: str
    keys: tuple[str, ...]
    frame: pl.DataFrame
    chosen: bool = False

    def cells(self, most: int | None = None) -> tuple[PublishedCell, ...]:
        """The numbers one by one, or the first of them."""
        shown = self.frame if most is None else self.frame.head(most)
        return tuple(
            PublishedCell(self.name, dict(zip(self.keys, group, strict=True)), *numbers, Flag(flag))
            for *group, item, value, lower, upper, flag in shown.iter_rows()
            for numbers in ((item, value, lower, upper),)
        )


def published_numbers(released: PublishedStatistic) -> tuple[PublishedNumbers, ...]:
    """The published numbers of an entry, in the order of the spec.

    Numbers before post-processing have a name of their own, if they are published as well.
    """
    entry, places = released.planned.entry, _places(released)
    keys = tuple(key.column.name for key in entry.request.by)
    named = {released.planned.name: released.estimates}
    if released.raw is not None:
        named[released.planned.name + RAW] = released.raw
    return tuple(
        PublishedNumbers(name, keys, _texts(places, estimates), entry.statistic.chooses_labels)
        for name, estimates in named.items()
    )


def _places(released: PublishedStatistic) -> pl.DataFrame:
    """The group and the item of every number of an entry, the items fastest."""
    import polars as pl

    entry, groups = released.planned.entry, released.groups
    labels: list[Sequence[str]] = []
    if groups is None:
        labels = [key.labels for key in entry.request.by]
    items = entry.statistic.items(entry.request)
    sizes = [*map(len, labels), *([] if groups is None else [len(groups)]), len(items)]
    *places, item = np.unravel_index(np.arange(prod(sizes)), sizes)
    if groups is not None:
        count = len(entry.request.by)
        labels, places = [[group[at] for group in groups] for at in range(count)], places * count
    columns = {f"key{at}": each for at, each in enumerate(zip(labels, places, strict=True))}
    columns["item"] = items, item
    return pl.DataFrame(
        [pl.Series(name, texts, pl.String).gather(at) for name, (texts, at) in columns.items()]
    )


def _texts(places: pl.DataFrame, estimates: Estimates) -> pl.DataFrame:
    import polars as pl

    names = pl.Series("flag", [str(flag) for flag in FLAGS], pl.String)
    known = pl.Series(estimates.status == HAS_INTERVAL)
    masks = {"value": pl.Series(estimates.status != SUPPRESSED), "lower": known, "upper": known}
    texts = {
        name: number_texts(estimates, getattr(estimates, name)).zip_with(mask, pl.Series([""]))
        for name, mask in masks.items()
    }
    if estimates.items is not None:
        texts["item"] = pl.Series(estimates.items, dtype=pl.String)
    return places.with_columns(**texts, flag=names.gather(flags(estimates)))


def number_texts(estimates: Estimates, numbers: Array) -> pl.Series:
    """Numbers as texts, each with its decimals."""
    import polars as pl

    from dpcli.engine.pieces import decimal_texts

    found = estimates.rounded(numbers)
    texts = pl.concat(map(decimal_texts, found, estimates.places))
    return texts.gather(np.arange(len(texts)).reshape(len(found), -1).T.ravel())


def flags_of(every: Iterable[PublishedNumbers]) -> list[Flag]:
    """The flags that some of these numbers have."""
    flags = {flag for numbers in every for flag in numbers.frame["flag"].unique()}
    return [flag for flag in Flag if flag and flag in flags]
