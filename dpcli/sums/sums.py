"""Sums of published numbers of one statistic, with intervals that hold.

The report says what is known of the noise of several numbers. If each has noise of its own, the
interval is that of the sum of these noises. If they are linear functions of noisy answers, so is
their sum, and its variance follows from the covariance that the report states. It is normal if all
noise is; of Laplace noise, no sum of this variance has much longer tails. Without a covariance, the
deviation of a normal sum is at most the sum of theirs (Minkowski's inequality), and the sum of the
half-widths has the confidence of each. Of other numbers, only their intervals are used: the sum of
all lower ends and the sum of all upper ends contain the sum if every interval holds, whatever the
noise of one says about that of another (the union bound).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING

from dpcli.data.polars_text import pl
from dpcli.noise import NOISES
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.noise.sums import summed_margin
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.numeric.exact import decimal_text
from dpcli.problems.errors import UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import closest_match, did_you_mean
from dpcli.report.collection import CollectionReport
from dpcli.report.numbers import POPULATION, RAW, NumberTable, distinct
from dpcli.report.report import Report
from dpcli.report.table import STATISTIC, long_table
from dpcli.statistics.columns import SERIES_COLUMN
from dpcli.statistics.design import NoiseOfNumbers
from dpcli.statistics.estimates import NONNEGATIVE, Estimates, Limits
from dpcli.statistics.postprocessing import Flag

if TYPE_CHECKING:
    from dpcli.fields.json import JsonRow
    from dpcli.report.privacy import MechanismReport
    from dpcli.report.statistic import PublishedStatisticReport

MIN_CONFIDENCE = Fraction(1, 2)
"""A bound that holds in at most this share of cases is refused."""

MAX_DIGITS = 400
"""The most digits of a number in a report before or after its point."""

ROUNDING = 1e-6
"""The greatest error of a stated covariance by rounding, relative to it."""

Conditions = Mapping[str, Sequence[str]]
"""The texts that are accepted in a column, by its name."""


class Basis(StrEnum):
    """What the interval of a sum follows from."""

    NOISE = "noise"
    COVARIANCE = "covariance"
    SHARED_NOISE = "shared-noise"
    UNION_BOUND = "union-bound"


@dataclass(frozen=True, slots=True)
class PublishedSum:
    """A sum of published numbers, as printed, and what its interval is made of.

    It is complete as the numbers of its `stated` statistic are.
    """

    statistic: str
    count: int
    value: str
    lower: str
    upper: str
    confidence: Fraction
    basis: Basis
    stated: PublishedStatisticReport


@dataclass(frozen=True, slots=True)
class Addends:
    """The numbers of `table` that are to be added, and what is stated of them.

    Attributes:
        positions: Where the chosen numbers stand in the table.
        rows: The chosen numbers: the texts of value, lower end and upper end.
        items: How many different items the chosen numbers have.
        has_suppressed: Whether a number of the table is suppressed, chosen or not.
    """

    stated: PublishedStatisticReport
    table: NumberTable
    positions: Ints
    rows: Sequence[tuple[str, str, str]]
    items: int
    has_suppressed: bool

    @property
    def decimals(self) -> int:
        """The greatest number of decimals among the values and their ends."""
        return max(len(text.partition(".")[2]) for row in self.rows for text in row)

    @property
    def numbers(self) -> list[tuple[Fraction, Fraction, Fraction]]:
        """Value, lower end and upper end of each; ValueError if one is not a number."""
        return [(_exact(value), _exact(low), _exact(high)) for value, low, high in self.rows]

    @property
    def are_counts(self) -> bool:
        """Whether they are the raw counts of percent."""
        return bool(self.stated.percent) and self.table.ending == RAW

    @property
    def noise_of_numbers(self) -> NoiseOfNumbers:
        """What is known of their noise.

        Numbers of a population share the error of the sample.
        """
        known = self.stated.noise_of_numbers
        if known not in set(NoiseOfNumbers) or not self.noises or self.table.ending == POPULATION:
            return NoiseOfNumbers.UNKNOWN
        return NoiseOfNumbers(known)

    @property
    def noises(self) -> list[Noise]:
        """The noise of each answer, in steps of its grid; none if one is not known here."""
        found = [_noise(query.mechanism) for query in self.stated.queries]
        known = [noise for noise in found if noise is not None]
        return known if len(known) == len(found) else []

    @property
    def variance(self) -> float | None:
        """The variance of the noise in their sum; None if no covariance is stated."""
        stated = self.stated.noise_covariance
        if stated is None or self.table.ending != (RAW if _is_biased(self.stated) else ""):
            return None
        covariance = _covariance(stated)
        size = len(covariance)
        blocks, rest = divmod(len(self.table.frame), size)
        if rest:
            raise ValueError("numbers without a covariance")
        chosen = np.zeros((blocks, size))
        chosen[np.divmod(self.positions, size)] = 1.0
        return max(float(((chosen @ covariance) * chosen).sum()), 0.0)

    @property
    def limits(self) -> Limits:
        """What the spec makes possible for their sum."""
        possible = self.stated.layout.possible
        if self.are_counts:
            return NONNEGATIVE
        if possible is None or len(possible) > 1:
            return None, None
        low, high = (None if end is None else len(self.rows) * _exact(end) for end in possible[0])
        return low, high


def sum_of(report: Report, conditions: Conditions) -> PublishedSum:
    """The sum of the numbers in a report that fit all `conditions`.

    Columns are `statistic`, the keys and `item`. Of numbers that post-processing may have biased,
    the raw ones are added, if they are published and none is suppressed. Raises UsageError if the
    numbers are not of one statistic, or no interval of their sum is known; NotStatedError if the
    report lacks what a sum needs; ValueError or ArithmeticError if a value is not the number or
    covariance it should be.
    """
    if isinstance(report.stated, CollectionReport):
        raise UsageError.about("sum-refused.local")
    addends, confidence = _addends(report, conditions), _exact(report.release.confidence)
    if not 0 < confidence < 1:
        raise ValueError("no confidence of an interval")
    _check(addends)
    known, count = addends.noise_of_numbers, len(addends.rows)
    grids = [_exact(query.mechanism.grid) for query in addends.stated.queries]
    if known is NoiseOfNumbers.OWN:
        width = summed_margin(addends.noises[0], count, confidence).width * grids[0]
        return _around(addends, width, confidence, Basis.NOISE)
    if known is NoiseOfNumbers.UNKNOWN or count == 1:
        return _bounded(addends, confidence)
    # Noise is whole numbers of the grid: a half-width may be half a step below a continuous one.
    if (variance := addends.variance) is not None:
        far = [noise.deviations_of_sum(float(1 - confidence)) for noise in addends.noises]
        # Numbers with decimals are rounded, and sums of parts of noises, which have a finer grid.
        rounding = Fraction(count, 10**addends.decimals) if addends.decimals else 0
        step = max(grids) / (2 if addends.decimals else 1)
        width = Fraction(max(far) * sqrt(variance)) + (step + rounding) / 2
        return _around(addends, width, confidence, Basis.COVARIANCE)
    is_normal = not any(noise.fourth_cumulant(1) for noise in addends.noises)
    if is_normal and None in addends.limits:
        # At most one end was cut, so the farther one has at least the half-width.
        farther = (max(high - value, value - low) for value, low, high in addends.numbers)
        width = sum((distance + max(grids) / 2 for distance in farther), Fraction(0))
        return _around(addends, width, confidence, Basis.SHARED_NOISE)
    return _bounded(addends, confidence)


def _addends(report: Report, conditions: Conditions) -> Addends:
    """The numbers that fit all conditions.

    Raises UsageError if there are none, if no number has one of the accepted values, or if they are
    of several statistics.
    """
    tables = [
        (stated, table)
        for stated, named in zip(report.release.statistics, report.numbers, strict=True)
        for table in named
    ]
    frame = long_table([table for _, table in tables]).frame if tables else pl.DataFrame()
    if frame.is_empty():
        raise UsageError.about("sum-refused.none")
    keys = {key for _, table in tables for key in table.keys}
    columns = frame.columns[: len(keys) + 2]
    *_, index = distinct([*frame.columns, "index"])
    for column in conditions:
        if column not in columns:
            raise UsageError.about("bad-condition.column", column=column, columns=columns)
    chosen = frame.with_columns(pl.int_range(pl.len()).over(columns[0]).alias(index))
    for column in filter(conditions.__contains__, columns):
        _require_values(chosen[column], conditions[column])
        chosen = chosen.filter(pl.col(column).is_in(list(conditions[column])))
    names = chosen[columns[0]].unique(maintain_order=True).to_list()
    if len(names) > 1:
        raise UsageError.about("sum-refused.statistics", names=names, name=names[0])
    named = {table.name: (stated, table) for stated, table in tables}
    stated, table = named[names[0]]
    has_suppressed = Flag.SUPPRESSED.value in table.frame["flag"]
    if names[0] + RAW in named and _is_biased(stated) and not has_suppressed:
        # Errors of the numbers that are not processed do not add up.
        return _addends(report, {**conditions, columns[0]: [names[0] + RAW]})
    _require_disjoint(stated, chosen.select(columns))
    ends = frame.columns[len(columns) : len(columns) + 3]
    return Addends(
        stated=stated,
        table=table,
        positions=chosen[index].to_numpy(),
        rows=chosen.select(ends).rows(),
        items=chosen[columns[-1]].n_unique(),
        has_suppressed=has_suppressed,
    )


def _require_disjoint(stated: PublishedStatisticReport, chosen: pl.DataFrame) -> None:
    """Raises UsageError if a row may count in two chosen numbers.

    They are a total and its part, parts by different keys, or several sums of a series.

    Two numbers are about different rows if they differ in the item, or in a key over which neither
    is a total. The columns of `chosen` are the statistic, the keys and the item.
    """
    if SERIES_COLUMN in chosen.columns and stated.series and chosen[SERIES_COLUMN].n_unique() > 1:
        kinds = chosen[SERIES_COLUMN].unique(maintain_order=True).to_list()
        raise UsageError.about("sum-refused.series", name=chosen[0, 0], one=kinds[0])
    total = stated.layout.totals
    if total is None:
        return
    own = stated.layout.keys
    summed = stated.by if own is None else [key for key in own if key not in stated.by]
    fixed = [column for column in chosen.columns if column not in summed]
    kept = {
        tuple(key for key, label in zip(summed, labels, strict=True) if label != total)
        for labels in chosen.select(summed).unique().rows()
    }
    forms = {
        keys: chosen.filter(*((pl.col(key) == total) == (key not in keys) for key in summed))
        for keys in kept
    }
    for one, other in combinations(kept, 2):
        common = [*fixed, *(key for key in one if key in other)]
        if len(forms[one].join(forms[other], on=common, how="semi")):
            coarsest = min(kept, key=lambda keys: (len(keys), keys))
            added = [f"--where {key}={total}" for key in summed if key not in coarsest]
            raise UsageError.about("sum-refused.totals", name=chosen[0, 0], conditions=added)


def rest_of(report: Report, conditions: Conditions, less: str) -> PublishedSum:
    """A sum of counts of all rows, less the counts of the labels that `less` shows.

    All intervals of the labels of a group hold together, whichever noise chose. So the interval
    holds if these do, and that of the sum. Raises UsageError for other numbers.
    """
    total, parts = sum_of(report, conditions), _addends(report, {**conditions, STATISTIC: [less]})
    of_all, stated = _addends(report, conditions).stated, parts.stated
    special = of_all.column or of_all.weight or of_all.rate or of_all.unit_bounds
    is_count = of_all.statistic == "count" and not special
    if not (is_count and stated.layout.chosen and parts.table.ending == RAW):
        raise UsageError.about("sum-refused.less", name=total.statistic, less=less)
    if (of_all.where, of_all.counts) != (stated.where, stated.counts):
        raise UsageError.about("sum-refused.rows", name=total.statistic, less=less)
    frame = parts.table.frame[parts.positions]
    groups = frame[:, : len(parts.table.keys)].n_unique() if parts.table.keys else 1
    # A rank without a label has no count.
    shown = [[*map(_exact, row)] for row in parts.rows if all(row)]
    value, low, high = (sum((row[at] for row in shown), Fraction(0)) for at in range(3))
    numbers = [_exact(total.value) - value, _exact(total.lower) - high, _exact(total.upper) - low]
    held = total.confidence - groups * (1 - _exact(report.release.confidence))
    if held <= MIN_CONFIDENCE:
        raise UsageError.about("sum-refused.many", count=len(parts.rows), name=less)
    texts = [decimal_text(max(one, Fraction(0)), 0) for one in numbers[1:]]
    return replace(
        total, statistic=f"{total.statistic} less {less}", count=total.count + len(shown),
        value=decimal_text(numbers[0], 0), lower=texts[0], upper=texts[1],
        confidence=held, basis=Basis.UNION_BOUND,
    )  # fmt: skip


def _is_biased(stated: PublishedStatisticReport) -> bool:
    """Whether errors of numbers after post-processing may add up to one side."""
    return bool(stated.post) and not stated.post_unbiased


def _require_values(column: pl.Series, texts: Sequence[str]) -> None:
    """Raises UsageError for an accepted value that no number has."""
    known = column.unique(maintain_order=True).to_list()
    for text in texts:
        if text not in known:
            near = did_you_mean(filter(None, [closest_match(text, known)]))
            arguments = {"column": column.name, "value": text, "near": near}
            raise UsageError.about("bad-condition.value", **arguments)


def _check(addends: Addends) -> None:
    """Raises UsageError for numbers whose sum means little or is biased."""
    stated, table = addends.stated, addends.table
    selects = stated.keys is not None and stated.keys.selected_by == stated.name
    refused = {
        "sum-refused.ranks": table.chosen,
        "sum-refused.units": stated.layout.scale == "each" and addends.items > 1,
        "sum-refused.selected": stated.layout.chosen or selects,
        "sum-refused.values": stated.layout.measure == "values" and not addends.are_counts,
        "sum-refused.post": (not table.ending and _is_biased(stated)) or addends.has_suppressed,
        "sum-refused": not all(low and high for _, low, high in addends.rows),
    }
    for code, is_refused in refused.items():
        if is_refused:
            raise UsageError.about(code, name=table.name)


def _around(addends: Addends, width: Fraction, confidence: Fraction, basis: Basis) -> PublishedSum:
    """The sum with an interval of this half-width, cut to what is possible."""
    total, decimals = sum((value for value, _, _ in addends.numbers), Fraction(0)), addends.decimals
    added = Estimates.single([(total, width)], [decimals])
    (estimate,) = added.within([addends.limits])
    assert estimate.lower is not None
    assert estimate.upper is not None
    return _sum(addends, (total, estimate.lower, estimate.upper), confidence, basis)


def _bounded(addends: Addends, confidence: Fraction) -> PublishedSum:
    """The sum with the union bound: all intervals hold at once, or it says nothing."""
    count = len(addends.rows)
    held = 1 - count * (1 - confidence)
    if held <= MIN_CONFIDENCE and count > 1:
        raise UsageError.about("sum-refused.many", count=count, name=addends.table.name)
    value, low, high = (sum(part, Fraction(0)) for part in zip(*addends.numbers, strict=True))
    return _sum(addends, (value, low, high), held, Basis.UNION_BOUND)


def _sum(
    addends: Addends,
    numbers: tuple[Fraction, Fraction, Fraction],
    confidence: Fraction,
    basis: Basis,
) -> PublishedSum:
    """The sum as printed: ends are rounded outward."""
    value, low, high = numbers
    decimals = addends.decimals
    unit = Fraction(1, 10**decimals)
    ends = floor(low / unit) * unit, ceil(high / unit) * unit
    printed, lower, upper = (decimal_text(number, decimals) for number in (value, *ends))
    return PublishedSum(
        statistic=addends.table.name,
        count=len(addends.rows),
        value=printed,
        lower=lower,
        upper=upper,
        confidence=confidence,
        basis=basis,
        stated=addends.stated,
    )


def _exact(text: str) -> Fraction:
    """A number of the report; ValueError for other text, or for very many digits."""
    number = Decimal(text)
    if abs(number.adjusted()) > MAX_DIGITS:
        raise ValueError("too many digits")
    return Fraction(number)


def _covariance(rows: Sequence[JsonRow]) -> Floats:
    """The covariance that a lower triangle states; ValueError if it is not one."""
    size = len(rows)
    covariance = np.zeros((size, size))
    for at, row in enumerate(rows):
        if len(row) != at + 1:
            raise ValueError("no lower triangle")
        covariance[at, : at + 1] = covariance[: at + 1, at] = [float(number) for number in row]
    if not size or not np.isfinite(covariance).all():
        raise ValueError("no covariance")
    if np.linalg.eigvalsh(covariance)[0] < -ROUNDING * covariance.max():
        raise ValueError("some sum has a negative variance")
    return covariance


def _noise(stated: MechanismReport) -> Noise | None:
    """The noise that is stated, in steps; None if it is not known here.

    Raises ValueError for a scale below zero.
    """
    scale = _exact(stated.scale) / _exact(stated.grid)
    if scale < 0:
        raise ValueError("a scale is not negative")
    if not scale:
        return NO_NOISE
    noises = (distribution(scale) for distribution in NOISES)
    return next((noise for noise in noises if noise.name == stated.kind), None)
