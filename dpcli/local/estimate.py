"""From collected responses to frequencies and means of groups, and their errors.

Responses are counted in one pass over their file. All of this is post-processing of what was
collected: it reveals nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod, sqrt

import polars as pl

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.engine.decode import Decoder
from dpcli.engine.header import require_columns
from dpcli.engine.pieces import read_texts
from dpcli.engine.source import open_dataset
from dpcli.errors import DataError
from dpcli.mechanisms.local.local_mechanism import ResponseCounts
from dpcli.noise.distribution import normal_quantile
from dpcli.numeric.arrays import np
from dpcli.specification.model import Response, Spec


class CollectedCounts:
    """The counts of one response, for each group of its public columns in their order.

    `unread` counts records whose response or group is none that the spec knows.
    """

    def __init__(self, response: Response) -> None:
        groups = prod(len(column.labels) for column in response.by)
        self.response, self.unread = response, 0
        self.records = np.zeros(groups, np.int64)
        self.counts = np.zeros((groups, max(1, len(response.outputs))), np.int64)
        self.totals = [Fraction(0)] * groups

    def add(self, cells: pl.DataFrame) -> None:
        """More records: places of labels, and numbers; null where they are neither."""
        response, form = self.response, self.response.randomizer.form
        known = cells.drop_nulls([*response.names, *(column.name for column in response.by)])
        self.unread += len(cells) - len(known)
        groups = np.zeros(len(known), np.int64)
        for column in response.by:
            groups = groups * len(column.labels) + known[column.name].to_numpy()
        size, outputs = self.counts.shape
        self.records += np.bincount(groups, minlength=size)
        for place, name in enumerate(response.names):
            values = known[name].to_numpy()
            if form == "number":
                sums = np.bincount(groups, values, minlength=size)
                self.totals = [
                    total + Fraction(float(more))
                    for total, more in zip(self.totals, sums, strict=True)
                ]
            elif form == "bits":
                self.counts[:, place] += np.bincount(groups[values == 1], minlength=size)
            else:
                found = np.bincount(groups * outputs + values, minlength=size * outputs)
                self.counts += found.reshape(size, outputs)


def count_responses(spec: Spec, name: str) -> list[CollectedCounts]:
    """The counts of every response in a file of collected ones, read once.

    Raises DataError if the file cannot be read, lacks a column, or holds no responses.
    """
    found = [CollectedCounts(response) for response in spec.responses]
    columns = _columns(spec)
    decoder = Decoder(columns)
    names = {text: column.name for column, text in decoder.columns.items()}
    limits = {one.column.name: one.randomizer.limits for one in spec.responses}
    numbers = []
    for text, column in names.items():
        if (ends := limits.get(column)) is not None:
            value = pl.col(text).str.strip_chars(" \t").cast(pl.Float64, strict=False)
            numbers.append(pl.when(value.is_between(*ends)).then(value).alias(column))
    with open_dataset((name,)) as dataset:
        require_columns(dataset, columns)
        with dataset.redacted_errors():
            for frame in read_texts(dataset, columns):
                places = decoder.decode(frame).cast(pl.Int64).rename(names)
                cells = places.with_columns(frame.select(numbers))
                for one in found:
                    one.add(cells)
    raw = [one.response.column.name for one in found if one.unread and not one.records.any()]
    if raw:
        raise DataError.about("not-responses", file=name, columns=raw)
    return found


def _columns(spec: Spec) -> list[CategoryColumn]:
    """The collected columns, as columns of labels; of numbers it is only the name."""
    labels: dict[str, Sequence[str]] = {}
    for response in spec.responses:
        outputs = ("0", "1") if response.randomizer.form == "bits" else response.outputs
        labels |= dict.fromkeys(response.names, outputs)
        labels |= {column.name: column.labels for column in response.by}
    return [
        CategoryColumn(name, "category", tuple((label, label) for label in given))
        for name, given in labels.items()
    ]


@dataclass(frozen=True, slots=True)
class GroupEstimate:
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


def estimate_groups(
    collected: Sequence[CollectedCounts], confidence: Fraction
) -> Iterator[GroupEstimate]:
    """Every estimate, response by response, group by group, of what can be estimated."""
    reach = normal_quantile(float(1 - confidence))
    for one in collected:
        response = one.response
        if not response.randomizer.estimable:
            continue
        groups = product(*([(by.name, label) for label in by.labels] for by in response.by))
        found = zip(groups, one.records.tolist(), one.counts.tolist(), one.totals, strict=True)
        for group, records, counts, total in found:
            tally = ResponseCounts(records, tuple(counts), total)
            yield from _group(response, group, tally, reach)


def _group(
    response: Response, group: tuple[tuple[str, str], ...], tally: ResponseCounts, reach: float
) -> Iterator[GroupEstimate]:
    column, randomizer = response.column, response.randomizer
    items = column.labels if isinstance(column, CategoryColumn) else ("",)
    if not tally.records:
        for item in items:
            yield GroupEstimate(column.name, group, item, 0)
        return
    raw = randomizer.estimates(tally)
    likely = [min(max(float(value), 0.0), 1.0) for value in raw]
    variances = randomizer.variances(likely)
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
        yield GroupEstimate(column.name, group, item, tally.records, value, error, lower, upper)


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
