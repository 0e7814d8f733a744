"""From tallies of responses to frequencies and means, and their errors.

All of this is post-processing of what was collected: it reveals nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import sqrt

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.local.collect import Collected
from dpcli.privacy.noise import normal_quantile
from dpcli.randomizers.base import Tally
from dpcli.spec.model import Response


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
    """Every estimate, response by response, group by group; none of what cannot be told."""
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
    response: Response, group: tuple[tuple[str, str], ...], tally: Tally, reach: float
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
            # The truth lies within the limits, and so does what is published of it.
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
