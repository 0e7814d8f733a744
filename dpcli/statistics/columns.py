"""The columns of published tables, in their order: one class for each.

A class says how its column is called, what readers must know of it, and what is in it for each
published number. It is computed from published numbers, the noise and the spec alone, so it reveals
nothing more and costs nothing. Long and wide tables, Parquet, reports and pages follow from the
columns. To add one that a spec may ask for, write a class, and add it to a registry below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar, Literal

from dpcli.data.grid_columns import require_numeric
from dpcli.data.kinds import Axis
from dpcli.noise.distribution import normal_quantile
from dpcli.numeric.arrays import Array, Bools, Floats, integer_array, multiply_exact, np
from dpcli.numeric.exact import decimal_places
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.postprocessing import Flag
from dpcli.statistics.quality.completeness import Complete

SERIES_COLUMN = "series"
"""The key column of the numbers of a series: of a period, to date, of a window."""

EXTRA_DECIMALS = 3
"""Decimals of a standard error beyond those of the number."""

SHARE_DECIMALS = 4
"""Decimals of a coefficient of variation."""

FACTOR_DECIMALS = 6
"""Decimals of the factor from half an interval to a standard error."""

ROUNDING = 1e-12
"""The relative error of a deviation in floats.

This close above a decimal, it is that decimal.
"""

EXACT_FLOATS = 2.0**53
"""Whole numbers from here on are Python integers when they come from floats."""


NUMBER_OR_DATE = {"base": "string", "format": r"-?[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}"}
"""The type of the texts in a column that has both numbers and dates."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNumbers:
    """A number for each published one, where it is `known`.

    It is in units of its last decimal. `units` has an array for each of `decimals`: items take
    turns, as in `Estimates.rounded`.
    """

    units: list[Array]
    decimals: tuple[int, ...]
    known: Bools

    @classmethod
    def unknown(cls, count: int) -> ColumnNumbers:
        """No number for any of `count` published ones."""
        return cls([np.zeros(count, np.int64)], (0,), np.zeros(count, np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class PublishedNumbers:
    """The published numbers of an entry under one name.

    `bins` is the axis of numbers along which they lie, if there is one; `repeated` consecutive
    numbers lie in the same bin.
    """

    estimates: Estimates
    confidence: Fraction
    bins: Axis | None = None
    repeated: int = 1


@dataclass(frozen=True, slots=True)
class StatedFacts:
    """What a report states about a release, and about all numbers of an entry.

    Each fact has the name of its column, and a text for all numbers or one for each item.
    """

    complete: Sequence[str]
    unit: Sequence[str]
    period: Sequence[str]
    release_id: Sequence[str]
    confidence: Sequence[str]


class TableColumn(ABC):
    """A column of published numbers.

    Metadata say what it has with `in_long` or `in_wide`, in which words of a report are filled in,
    and the JSON Schema with `in_json`.

    Attributes:
        in_unit: Whether it has numbers in the unit of their statistic, which may be dates.
        is_number: Whether it has numbers; else texts.
        is_sparse: Whether JSON does not have it where it is blank.
        of_lines: Whether a wide table has it once for each line; else for each statistic.
    """

    name: ClassVar[str]
    meaning: ClassVar[str] = ""
    in_long: ClassVar[str] = "{meaning}."
    in_wide: ClassVar[str] = "{meaning}."
    in_json: ClassVar[str] = ""
    in_unit: ClassVar[bool] = False
    is_number: ClassVar[bool] = True
    is_sparse: ClassVar[bool] = False
    of_lines: ClassVar[bool] = False

    @property
    def ending(self) -> str:
        """What follows the name of a statistic in the header of a wide table."""
        return f"_{self.name}"

    def datatype(self, *, dated: bool = False) -> object:
        """Its type in metadata; columns in the unit of statistics may be `dated`."""
        return "decimal" if self.is_number else "string"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        return {"type": "number", "description": self.in_json}


class CellColumn(TableColumn):
    """A number of its own for each published number, which a spec asks for."""

    is_sparse = True

    @abstractmethod
    def printed(self, numbers: PublishedNumbers) -> ColumnNumbers:
        """The numbers of the column."""


class StatedColumn(TableColumn):
    """What a report states about all numbers of an entry; JSON has it there."""

    is_number = False

    def texts(self, stated: StatedFacts) -> Sequence[str]:
        """The text for all numbers, or one for each item: the fact of its name."""
        texts: Sequence[str] = getattr(stated, self.name)
        return texts


class Value(TableColumn):
    """The published number."""

    name = "value"
    in_long = "The number, in the unit of its statistic. {what}."
    in_wide = ""
    in_json = "Null where it is suppressed."
    in_unit = True

    @property
    def ending(self) -> str:
        return ""

    def datatype(self, *, dated: bool = False) -> object:
        return NUMBER_OR_DATE if dated else "decimal"

    @property
    def schema(self) -> dict[str, Any]:
        types = [{"type": "number"}, {"type": "string", "format": "date"}, {"type": "null"}]
        return {"anyOf": types, **({"description": self.in_json} if self.in_json else {})}


class Lower(Value):
    """The lower end of the interval."""

    name = "lower"
    in_long = "The lower end of the {percent} interval{abouts}; empty without one."
    in_wide = "The lower end of its {percent} interval{about}."
    in_json = ""

    @property
    def ending(self) -> str:
        return f"_{self.name}"


class Upper(Lower):
    """The upper end of the interval."""

    name = "upper"
    in_long = "The upper end of the {percent} interval{abouts}; empty without one."
    in_wide = "The upper end of its {percent} interval{about}."


class FlagColumn(TableColumn):
    """What a reader must know of the noise in a number."""

    name = "flag"
    in_long = "What to know of the noise in the number: empty, or a mark. {marks}."
    in_wide = "What to know of its noise: empty, or its flag. {marks}."
    in_json = "What a reader must know of the noise in the number; null if nothing."
    is_number = False
    flags: ClassVar[Sequence[str]] = [flag.value for flag in Flag if flag]

    def datatype(self, *, dated: bool = False) -> object:
        return {"base": "string", "format": "|".join(self.flags)}

    @property
    def schema(self) -> dict[str, Any]:
        marks = {"type": "string", "enum": self.flags}
        return {"anyOf": [marks, {"type": "null"}], "description": self.in_json}


class FormerFlag(FlagColumn):
    """The flags of earlier versions, one of which was about what a number counts."""

    flags = ("suppressed", "no-information", "limited", "unreliable")


class CompleteColumn(StatedColumn):
    """Whether the numbers of an entry count all that they are named after."""

    name = "complete"
    in_long = (
        "Whether the numbers of the statistic count all that they are named after: `no` if a "
        "charged count shows that more than 1% is left out, `unknown` if nothing that was counted "
        "excludes it. Groups may differ.{whole}"
    )
    in_wide = in_long

    def datatype(self, *, dated: bool = False) -> object:
        return {"base": "string", "format": "|".join(Complete)}


class UnitColumn(StatedColumn):
    """The unit of a number."""

    name = "unit"
    in_long = "The unit of the number; empty where the spec states none."


class StandardError(CellColumn):
    """The standard deviation of the noise in a number, or an estimate of it.

    Where noise is added to the number, or the number is a linear function of noisy answers, it is
    that of the noise, before the steps of `post`. Otherwise it is the greater distance from the
    number to an end of the interval, over the quantile of a normal distribution: 1.96 for 95%. An
    interval that was cut has a shorter side, which is not used. A number without an interval has no
    standard error. A rank has none, because it is not a measurement. An interval that is a single
    number or all that is possible does not show the size of the noise, so it gives no estimate. Nor
    does that of a number at a limit of what is possible, of the spec or of `post`: noise may have
    led beyond it, and what is left of the interval is too short.
    """

    name = "se"
    meaning = (
        "se: the standard error. Of a count, a sum or a difference of two, it is the standard "
        "deviation of the noise, before post-processing. Of any other number, and of "
        "NAME.population, it is an estimate: the distance to the farther end of the interval, over "
        "that for a normal distribution with standard deviation 1. Blank for a rank, without an "
        "interval, and for an estimate if the interval is all that is possible or a single number, "
        "or the number is at a limit of what is possible"
    )
    in_json = "The standard error; absent if it is not known or not asked for."

    def printed(self, numbers: PublishedNumbers) -> ColumnNumbers:
        return _standard_errors(numbers.estimates, numbers.confidence)


def _standard_errors(estimates: Estimates, confidence: Fraction) -> ColumnNumbers:
    has_interval, hides_noise = estimates.status == HAS_INTERVAL, estimates.covers_all
    hides_noise |= estimates.at_limits
    if estimates.are_ranks:
        has_interval = np.zeros(len(estimates), np.bool_)
    variances = np.array([np.nan if part is None else part for part in estimates.variances])
    deviations = np.resize(np.sqrt(variances), len(estimates))
    normal = normal_quantile(float(1 - confidence))
    factor = ceil(10 ** (EXTRA_DECIMALS + FACTOR_DECIMALS) / normal)
    columns = map(estimates.rounded, (estimates.value, estimates.lower, estimates.upper))
    units, count = [], len(estimates.decimals)
    decimals = tuple(number + EXTRA_DECIMALS for number in estimates.decimals)
    known = np.empty(len(estimates), np.bool_)
    for at, (value, low, high) in enumerate(zip(*columns, strict=True)):
        own = slice(at, None, count)
        of_noise = ~np.isnan(deviations[own])
        exact = _rounded_up(np.nan_to_num(deviations[own]) * 10.0 ** decimals[at])
        farther = np.maximum(high - value, value - low)
        estimate = -(-multiply_exact(farther, factor) // 10**FACTOR_DECIMALS)
        units.append(np.where(of_noise, exact, estimate))
        shows_noise = (low != high) & ~hides_noise[own]
        known[own] = has_interval[own] & (of_noise | shows_noise)
    return ColumnNumbers(units, decimals, known)


def _rounded_up(numbers: Floats) -> Array:
    whole = np.maximum(np.ceil(numbers * (1 - ROUNDING) - ROUNDING), 0)
    if not whole.size or whole.max() < EXACT_FLOATS:
        return whole.astype(np.int64)
    return integer_array([int(number) for number in whole])


class CoefficientOfVariation(CellColumn):
    """The standard error as a share of the published number, both as printed.

    Zero has none. A date has none, because its zero is arbitrary.
    """

    name = "cv"
    meaning = (
        "cv: the coefficient of variation, the standard error over the absolute value of the "
        "number. Blank for zero and for dates, and where no standard error is known"
    )
    in_json = "The coefficient of variation; absent as `se` is, and for zero and dates."

    def printed(self, numbers: PublishedNumbers) -> ColumnNumbers:
        estimates = numbers.estimates
        errors = _standard_errors(estimates, numbers.confidence)
        known, count, units = errors.known.copy(), len(estimates.decimals), []
        if estimates.date_range is not None:
            known[:] = False
        values = estimates.rounded(estimates.value)
        for at, (error, value) in enumerate(zip(errors.units, values, strict=True)):
            size = np.where(value == 0, 1, abs(value))
            above = multiply_exact(error, 10 ** (SHARE_DECIMALS - EXTRA_DECIMALS))
            units.append(-(-above // size))
            known[at::count] &= value != 0
        return ColumnNumbers(units, (SHARE_DECIMALS,) * count, known)


class BinEnd(CellColumn):
    """An end of the bin that a number is about, where bins are of numbers.

    Without bins of a histogram, they are those of the last key.
    """

    of_lines = True
    end: ClassVar[Literal[0, 1]]

    def printed(self, numbers: PublishedNumbers) -> ColumnNumbers:
        bins, count = numbers.bins, len(numbers.estimates)
        if bins is None or bins.column.is_date:
            return ColumnNumbers.unknown(count)
        column = require_numeric(bins.column)
        shown = bins.chosen or range(len(bins))
        ends = integer_array([column.bin_ends(bins.starts, at)[self.end] for at in shown])
        decimals = decimal_places(column.step)
        ends = ends * int(column.step * 10**decimals)
        positions = np.arange(count) // numbers.repeated % len(shown)
        return ColumnNumbers([ends[positions]], (decimals,), np.ones(count, np.bool_))


class BinLow(BinEnd):
    """The lower end of a bin."""

    name = "low"
    end = 0
    meaning = "low: the least value of the bin; blank where there are no bins of numbers"
    in_json = "The least value of the bin; absent where there are no bins of numbers."


class BinHigh(BinEnd):
    """The upper end of a bin."""

    name = "high"
    end = 1
    meaning = (
        "high: the greatest value of the bin, or for numbers with decimals the least of the next; "
        "blank where there are no bins of numbers"
    )
    in_json = "The end of the bin; absent where there are no bins of numbers."


class Period(StatedColumn):
    """What the data are about."""

    name = "period"
    of_lines = True
    meaning = "period: the period that the data are about; blank where none is stated"


class ReleaseId(StatedColumn):
    """The release that published the number."""

    name = "release_id"
    of_lines = True
    meaning = "release_id: the release that published the number"


class Confidence(StatedColumn):
    """The confidence of intervals."""

    name = "confidence"
    of_lines = True
    is_number = True
    meaning = "confidence: the probability with which an interval contains the noise-free number"


VALUE, UNIT = Value(), UnitColumn()

FORMER_COLUMNS: tuple[TableColumn, ...] = (VALUE, Lower(), Upper(), FormerFlag())
"""The columns of tables up to version 2 of reports."""

CELL_COLUMNS: tuple[CellColumn, ...] = (
    *(StandardError(), CoefficientOfVariation()),
    *(BinLow(), BinHigh()),
)
"""The columns of numbers of their own, which a spec may ask for."""

FACT_COLUMNS: tuple[StatedColumn, ...] = (Period(), ReleaseId(), Confidence())
"""The columns of what a report states, which a spec may ask for."""

OPTIONAL_COLUMNS: tuple[TableColumn, ...] = (*CELL_COLUMNS, *FACT_COLUMNS)
"""The columns that a spec may ask for, in the order of the table."""

NUMBER_COLUMNS: tuple[TableColumn, ...] = (*FORMER_COLUMNS[:3], FlagColumn())
"""The columns of every number, before those of what is stated."""

STATED_COLUMNS: tuple[StatedColumn, ...] = (CompleteColumn(), UNIT)
"""The columns of what is stated about all numbers of an entry, in every table."""

COLUMNS: tuple[TableColumn, ...] = (*NUMBER_COLUMNS, *STATED_COLUMNS)
"""The columns of every table."""
