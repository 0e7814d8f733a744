"""Counting what was collected: tallies of every response, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpcli.columns import CategoryColumn
from dpcli.engine.decode import encoded
from dpcli.engine.header import require_columns
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.source import open_dataset
from dpcli.engine.table import texts_of
from dpcli.randomizers.base import Tally
from dpcli.spec.model import Response, Spec

Numbers = NDArray[np.int64]


@dataclass
class Collected:
    """The tallies of one response, for each group of its public columns in their order.

    `unread` counts records whose response or group is none that the spec knows.
    """

    response: Response
    records: Numbers = field(init=False)
    counts: Numbers = field(init=False)
    totals: list[Fraction] = field(init=False)
    unread: int = 0

    def __post_init__(self) -> None:
        groups = prod(len(column.labels) for column in self.response.by)
        outputs = max(1, len(self.response.outputs))
        self.records = np.zeros(groups, np.int64)
        self.counts = np.zeros((groups, outputs), np.int64)
        self.totals = [Fraction(0)] * groups

    @property
    def tallies(self) -> list[Tally]:
        """What was collected in each group."""
        return [
            Tally(int(records), tuple(map(int, counts)), total)
            for records, counts, total in zip(self.records, self.counts, self.totals, strict=True)
        ]

    def add(self, groups: Numbers, columns: Sequence[pl.Series]) -> None:
        """More records: the place of the group of each, or -1, and its response."""
        good = groups >= 0
        for column in columns:
            good = good & column.is_not_null().to_numpy()
        self.unread += int(len(good) - good.sum())
        groups, size = groups[good], len(self.records)
        self.records += np.bincount(groups, minlength=size)
        if self.response.channel.form == "number":
            values = columns[0].to_numpy()[good]
            sums = np.bincount(groups, values, minlength=size)
            self.totals = [
                total + Fraction(float(more)) for total, more in zip(self.totals, sums, strict=True)
            ]
            return
        outputs = self.counts.shape[1]
        for place, column in enumerate(columns):
            codes = column.fill_null(0).cast(pl.Int64).to_numpy()[good]
            if self.response.channel.form == "bits":
                self.counts[:, place] += np.bincount(groups[codes == 1], minlength=size)
            else:
                cells = np.bincount(groups * outputs + codes, minlength=size * outputs)
                self.counts += cells.reshape(size, outputs)


def collect(spec: Spec, name: str) -> list[Collected]:
    """The tallies of every response in a file of collected ones, read once.

    Raises DataError if the file cannot be read or lacks a column.
    """
    found = [Collected(response) for response in spec.responses]
    columns = _columns(spec)
    with open_dataset((name,)) as dataset:
        require_columns(dataset, list(columns.values()))
        with redacted_errors(dataset), texts_of(dataset, list(columns.values())) as texts:
            for frame in texts:
                cells = _cells(spec, frame, columns)
                for one in found:
                    groups = _groups(one.response, cells, len(frame))
                    one.add(groups, [cells[name] for name in one.response.names])
    return found


def _columns(spec: Spec) -> dict[str, CategoryColumn]:
    """Collected columns by name, as columns of labels; of numbers it is only the name."""
    columns: dict[str, CategoryColumn] = {}
    for response in spec.responses:
        labels = ("0", "1") if response.channel.form == "bits" else response.outputs
        for name in response.names:
            columns[name] = _labelled(name, labels)
        columns |= {column.name: _labelled(column.name, column.labels) for column in response.by}
    return columns


def _labelled(name: str, labels: Sequence[str]) -> CategoryColumn:
    """A column of published labels."""
    return CategoryColumn(name, "category", tuple((label, label) for label in labels))


def _cells(
    spec: Spec, frame: pl.DataFrame, columns: Mapping[str, CategoryColumn]
) -> dict[str, pl.Series]:
    """The cells of a frame: places of labels, and numbers; null where they are neither."""
    numbers = {
        one.column.name: one.channel.limits
        for one in spec.responses
        if one.channel.limits is not None
    }
    chosen = []
    for place, (name, column) in enumerate(columns.items()):
        text = f"t{place}"
        if name in numbers:
            value = pl.col(text).str.strip_chars(" \t").cast(pl.Float64, strict=False)
            chosen.append(pl.when(value.is_between(*numbers[name])).then(value).alias(text))
        else:
            chosen.append(encoded(column, text).alias(text))
    decided = frame.select(chosen)
    return dict(zip(columns, decided.get_columns(), strict=True))


def _groups(response: Response, cells: Mapping[str, pl.Series], count: int) -> Numbers:
    """The place of the group of each record, or -1 if it lies in none."""
    places = np.zeros(count, np.int64)
    lost = np.zeros(count, np.bool_)
    for column in response.by:
        codes = cells[column.name]
        lost |= codes.is_null().to_numpy()
        places = places * len(column.labels) + codes.fill_null(0).cast(pl.Int64).to_numpy()
    return np.where(lost, -1, places)
