"""From collected responses to frequencies and means of groups, and their errors.

Responses are counted in one pass over their file. All of this is post-processing of what was
collected: it reveals nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.engine.decode import Decoder
from dpcli.engine.header import require_columns
from dpcli.engine.redaction import redacted_errors
from dpcli.engine.source import open_dataset
from dpcli.engine.table import texts_of
from dpcli.privacy.noise import normal_quantile
from dpcli.randomizers.base import ResponseCounts
from dpcli.spec.model import Response, Spec

Numbers = NDArray[np.int64]


@dataclass
class Collected:
    """The counts of one response, for each group of its public columns in their order.

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
    def tallies(self) -> list[ResponseCounts]:
        """What was collected in each group."""
        return [
            ResponseCounts(int(records), tuple(map(int, counts)), total)
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
    """The counts of every response in a file of collected ones, read once.

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
    cells = dict(zip(columns, Decoder(columns.values()).decoded(frame).get_columns(), strict=True))
    for place, name in enumerate(columns):
        if name in numbers:
            value = pl.col(f"t{place}").str.strip_chars(" \t").cast(pl.Float64, strict=False)
            known = pl.when(value.is_between(*numbers[name])).then(value)
            cells[name] = frame.select(known).to_series()
    return cells


def _groups(response: Response, cells: Mapping[str, pl.Series], count: int) -> Numbers:
    """The place of the group of each record, or -1 if it lies in none."""
    places = np.zeros(count, np.int64)
    lost = np.zeros(count, np.bool_)
    for column in response.by:
        codes = cells[column.name]
        lost |= codes.is_null().to_numpy()
        places = places * len(column.labels) + codes.fill_null(0).cast(pl.Int64).to_numpy()
    return np.where(lost, -1, places)


@dataclass(frozen=True, slots=True)
class Estimated:
    """One number about one group; without records there is none.

    `item` is the label whose frequency it is, empty for a mean. `lower` and `upper` hold
    the frequency or mean among the records themselves, before they were randomized, with
    the confidence that was asked for; by the normal approximation, for groups of some
    dozens of records or more.
    """

    column: str
    group: tuple[tuple[str, str], ...]
    item: str
    records: int
    value: Fraction | None = None
    error: float = 0.0
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(0)


def estimates(collected: Sequence[Collected], confidence: Fraction) -> Iterator[Estimated]:
    """Every estimate, response by response, group by group, of what can be estimated."""
    reach = normal_quantile(float(1 - confidence))
    for one in collected:
        response = one.response
        if not response.channel.estimable:
            continue
        groups = product(*(column.labels for column in response.by))
        for labels, tally in zip(groups, one.tallies, strict=True):
            names = (column.name for column in response.by)
            group = tuple(zip(names, labels, strict=True))
            yield from _group(response, group, tally, reach)


def _group(
    response: Response, group: tuple[tuple[str, str], ...], tally: ResponseCounts, reach: float
) -> Iterator[Estimated]:
    """The estimates about one group."""
    column, channel = response.column, response.channel
    items = column.labels if isinstance(column, CategoryColumn) else ("",)
    if not tally.records:
        for item in items:
            yield Estimated(column.name, group, item, 0)
        return
    raw = channel.estimates(tally)
    likely = [min(max(float(value), 0.0), 1.0) for value in raw]
    variances = channel.variances(likely)
    values, limits = raw, None
    if "simplex" in response.steps:
        values, limits = on_simplex(raw), (Fraction(0), Fraction(1))
    elif "clamp" in response.steps:
        assert isinstance(column, NumericColumn)
        limits = (column.lower * column.step, column.upper * column.step)
        values = tuple(min(max(value, limits[0]), limits[1]) for value in raw)
    for item, first, value, variance in zip(items, raw, values, variances, strict=True):
        error = sqrt(max(variance, 0.0) / tally.records)
        width = Fraction(reach * error)
        lower, upper = first - width, first + width
        if limits is not None:
            # The true value lies within the limits, and so does the published one.
            lower = max(min(lower, value), limits[0])
            upper = min(max(upper, value), limits[1])
        yield Estimated(column.name, group, item, tally.records, value, error, lower, upper)


def on_simplex(values: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The frequencies nearest to these that are not negative and sum to one.

    All are moved by the same amount, and those that would be negative are zero (the
    Euclidean projection: Wang, Lopuhaa-Zwakenberg, Li, Skoric and Li 2020, Norm-Sub).
    """
    total, moved = Fraction(0), Fraction(0)
    for count, value in enumerate(sorted(values, reverse=True), 1):
        total += value
        shift = (total - 1) / count
        if value <= shift:
            break
        moved = shift
    return tuple(max(value - moved, Fraction(0)) for value in values)
