"""Optional columns of published tables: how precise each number is.

A column has a name, a sentence for readers, and a number for each published number, or none. It is
computed from the variance of the noise, which is public, and from printed digits, so it reveals
nothing more and costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import ClassVar

from dpcli.noise.distribution import normal_quantile
from dpcli.numeric.arrays import Array, Bools, Floats, integer_array, multiply_exact, np
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates

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


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNumbers:
    """A number for each published one, where it is `known`.

    It is in units of its last decimal. `units` has an array for each of `decimals`: items take
    turns, as in `Estimates.rounded`.
    """

    units: list[Array]
    decimals: tuple[int, ...]
    known: Bools


@dataclass(frozen=True, eq=False)
class Precision:
    """What all optional columns show of the same published numbers."""

    estimates: Estimates
    confidence: Fraction

    @cached_property
    def errors(self) -> ColumnNumbers:
        """The standard errors."""
        return _standard_errors(self.estimates, self.confidence)


class OptionalColumn(ABC):
    """A column that a spec may add to the table.

    `meaning` is a sentence for readers, `in_json` one for the JSON Schema.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    in_json: ClassVar[str]

    @abstractmethod
    def printed(self, precision: Precision) -> ColumnNumbers:
        """The numbers of the column, all rounded up."""


class StandardError(OptionalColumn):
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

    def printed(self, precision: Precision) -> ColumnNumbers:
        return precision.errors


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


class CoefficientOfVariation(OptionalColumn):
    """The standard error as a share of the published number, both as printed.

    Zero has none. A date has none, because its zero is arbitrary.
    """

    name = "cv"
    meaning = (
        "cv: the coefficient of variation, the standard error over the absolute value of the "
        "number. Blank for zero and for dates, and where no standard error is known"
    )
    in_json = "The coefficient of variation; absent as `se` is, and for zero and dates."

    def printed(self, precision: Precision) -> ColumnNumbers:
        estimates, errors = precision.estimates, precision.errors
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


OPTIONAL_COLUMNS: tuple[OptionalColumn, ...] = (StandardError(), CoefficientOfVariation())
"""The columns that a spec may ask for, in the order of the table."""
