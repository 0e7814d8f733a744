"""Estimates frequencies and means of groups from collected responses.

Responses are counted in one pass over their file.

Privacy: all of this is post-processing of the collected responses, so it reveals nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, log10, prod, sqrt

import polars as pl

from dpcli.data.column import column_names
from dpcli.data.formats import STANDARD_DIALECT
from dpcli.data.grid_columns import require_numeric
from dpcli.data.labels import CategoryColumn, LabeledColumn
from dpcli.engine.cells import Decoder
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.mechanisms.local.local_mechanism import ResponseCounts
from dpcli.noise.distribution import normal_quantile
from dpcli.numeric.arrays import np
from dpcli.numeric.exact import decimal_text
from dpcli.problems.errors import DataError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.inputs import ESTIMATE_COLUMNS
from dpcli.specification.model import LocalSpec, Response

EXTRA_DIGITS = 3
"""Digits that are printed after the first digit of the standard error."""


class CollectedCounts:
    """Counts of one response, for each group of its public columns in their order.

    `records` has the shape (groups,), `counts` (groups, outputs), both Int64; `totals` are the sums
    of numbers. `unread` counts records with a response or group that the spec does not declare.
    """

    def __init__(self, response: Response) -> None:
        groups = prod(len(column.labels) for column in response.by)
        self.response, self.unread = response, 0
        self.records = np.zeros(groups, np.int64)
        self.counts = np.zeros((groups, max(1, len(response.outputs))), np.int64)
        self.totals = [Fraction(0)] * groups

    def add(self, cells: pl.DataFrame) -> None:
        """Add records, in which labels are indexes; a cell that cannot be read is null."""
        response, form = self.response, self.response.randomizer.form
        readable = cells.drop_nulls([*response.names, *(column.name for column in response.by)])
        self.unread += len(cells) - len(readable)
        groups = np.zeros(len(readable), np.int64)
        for column in response.by:
            groups = groups * len(column.labels) + readable[column.name].to_numpy()
        size, outputs = self.counts.shape
        self.records += np.bincount(groups, minlength=size)
        for index, name in enumerate(response.names):
            values = readable[name].to_numpy()
            if form == "number":
                sums = np.bincount(groups, values, minlength=size)
                self.totals = [
                    total + Fraction(float(more))
                    for total, more in zip(self.totals, sums, strict=True)
                ]
            elif form == "bits":
                self.counts[:, index] += np.bincount(groups[values == 1], minlength=size)
            else:
                joint = np.bincount(groups * outputs + values, minlength=size * outputs)
                self.counts += joint.reshape(size, outputs)


def count_responses(spec: LocalSpec, name: str) -> list[CollectedCounts]:
    """The counts of every response in a file of collected responses, from one pass.

    Raises DataError if the file cannot be read, lacks a column, or holds no responses.
    """
    collected = [CollectedCounts(response) for response in spec.responses]
    columns = _columns(spec)
    decoder = Decoder(columns)
    names = {f"t{index}": column.name for index, column in enumerate(columns)}
    limits = {response.column.name: response.randomizer.limits for response in spec.responses}
    numbers = []
    for text, column in names.items():
        if (ends := limits.get(column)) is not None:
            value = pl.col(text).str.strip_chars(" \t").cast(pl.Float64, strict=False)
            numbers.append(pl.when(value.is_between(*ends)).then(value).alias(column))
    dialect = replace(STANDARD_DIALECT, keys=column_names(columns))
    with open_dataset((name,), dialect) as dataset:
        require_columns(dataset, columns)
        with dataset.redacted_errors():
            for frame in read_texts(dataset, columns):
                responses = decoder.decode(frame).cast(pl.Int64).rename(names)
                cells = responses.with_columns(frame.select(numbers))
                for response_counts in collected:
                    response_counts.add(cells)
    unreadable = [
        counts.response.column.name
        for counts in collected
        if counts.unread and not counts.records.any()
    ]
    if unreadable:
        raise DataError.about("not-responses", file=name, columns=unreadable)
    return collected


def _columns(spec: LocalSpec) -> list[LabeledColumn]:
    """Collected columns as columns of labels; a column of numbers has none here."""
    labels: dict[str, Sequence[str]] = {}
    for response in spec.responses:
        outputs = ("0", "1") if response.randomizer.form == "bits" else response.outputs
        labels |= dict.fromkeys(response.names, outputs)
        labels |= {column.name: column.labels for column in response.by}
    return [
        CategoryColumn(name, tuple((label, label) for label in column_labels))
        for name, column_labels in labels.items()
    ]


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """A frequency or mean estimated in one group; `value` is None without records.

    `item` is the label of the frequency, or empty for a mean. `lower` and `upper` contain the
    frequency or mean of the records before randomization, with the requested confidence. They use
    the normal approximation, which needs some dozens of records per group.
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
    """The estimates of all responses that can be estimated, group by group."""
    quantile = normal_quantile(float(1 - confidence))
    for counted in collected:
        response = counted.response
        if not response.randomizer.estimable:
            continue
        groups = product(*([(by.name, label) for label in by.labels] for by in response.by))
        records, counts = counted.records.tolist(), counted.counts.tolist()
        by_group = zip(groups, records, counts, counted.totals, strict=True)
        for group, group_records, group_counts, total in by_group:
            response_counts = ResponseCounts(group_records, tuple(group_counts), total)
            yield from _estimate(response, group, response_counts, quantile)


def _estimate(
    response: Response, group: tuple[tuple[str, str], ...], counts: ResponseCounts, quantile: float
) -> Iterator[GroupEstimate]:
    column, randomizer = response.column, response.randomizer
    items = column.labels or ("",)
    if not counts.records:
        for item in items:
            yield GroupEstimate(column.name, group, item, 0)
        return
    raw = randomizer.estimates(counts)
    probabilities = [min(max(float(value), 0.0), 1.0) for value in raw]
    variances = randomizer.variances(probabilities)
    values, limits = raw, None
    if "simplex" in response.steps:
        values, limits = on_simplex(raw), (Fraction(0), Fraction(1))
    elif "clamp" in response.steps:
        column = require_numeric(column)
        limits = (column.lower * column.step, column.upper * column.step)
        values = tuple(min(max(value, limits[0]), limits[1]) for value in raw)
    for item, estimate, value, variance in zip(items, raw, values, variances, strict=True):
        error = sqrt(max(variance, 0.0) / counts.records)
        width = Fraction(quantile * error)
        lower, upper = estimate - width, estimate + width
        if limits is not None:
            # The exact value lies within the limits, and so does the published one.
            lower = max(min(lower, value), limits[0])
            upper = min(max(upper, value), limits[1])
        yield GroupEstimate(column.name, group, item, counts.records, value, error, lower, upper)


def on_simplex(values: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The nearest frequencies that are not negative and sum to one.

    All values are shifted by the same amount, and negative results become zero (the Euclidean
    projection: Wang, Lopuhaa-Zwakenberg, Li, Skoric and Li 2020, Norm-Sub).
    """
    total, moved = Fraction(0), Fraction(0)
    for count, value in enumerate(sorted(values, reverse=True), 1):
        total += value
        shift = (total - 1) / count
        if value <= shift:
            break
        moved = shift
    return tuple(max(value - moved, Fraction(0)) for value in values)


def estimate_lines(rows: Sequence[GroupEstimate]) -> list[list[str]]:
    """The header of a table of estimates, and one line per estimate."""
    keys = list(dict.fromkeys(name for row in rows for name, _ in row.group))
    return [
        [*ESTIMATE_COLUMNS[:2], *keys, *ESTIMATE_COLUMNS[2:]],
        *(_line(row, keys) for row in rows),
    ]


def _line(row: GroupEstimate, keys: Sequence[str]) -> list[str]:
    group = dict(row.group)
    named = [row.column, "frequency" if row.item else "mean"]
    named += [*(group.get(key, "") for key in keys), row.item]
    if row.value is None:
        return [*named, "0", "", "", "", ""]
    decimals = max(0, EXTRA_DIGITS - ceil(log10(row.error))) if row.error > 0 else 6
    numbers = (row.value, Fraction(row.error), row.lower, row.upper)
    return [*named, str(row.records), *(decimal_text(number, decimals) for number in numbers)]


def estimate_table(rows: Sequence[GroupEstimate]) -> pl.DataFrame:
    """Estimates as a table, with numbers as Float64."""
    header, *lines = estimate_lines(rows)
    frame = pl.DataFrame(lines, dict.fromkeys(header, pl.String), orient="row")
    known = frame.select(pl.when(pl.all() != "").then(pl.all()))
    return known.with_columns(pl.col(ESTIMATE_COLUMNS[3:]).cast(pl.Float64))
