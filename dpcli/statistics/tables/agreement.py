"""Agreement of noisy tables about the same rows, by generalized least squares.

A table is the sum of its effects: the mean, the main effect of each axis, the interaction of each
two axes, and so on. The scaled effect of the axes A in a table is a table of whole numbers: the
totals over the other axes, and along each axis of A, the size of the axis times each number minus
the sum of all. A table of the axes T is the sum of the scaled effects of all A in T, divided by the
number of its cells. If the cells of a table have independent noise of one variance, its effects
are uncorrelated. So the best linear unbiased estimate of an effect is the mean over the measured
tables that contain it, weighted by the inverse of its variance in each (Gauss and Markov).

An effect may also be measured by itself. The scaled effect of the exact numbers of an effect is the
count of these numbers times the numbers themselves. So the scaled effect of the noisy numbers is an
estimate, which only removes noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, prod

from dpcli.data.kinds import Axis
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_half_width, summed_margin
from dpcli.numeric.arrays import Array, integer_array, np
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.tables.effects import scaled_effect
from dpcli.statistics.tables.percent import COLUMN, ROW, TOTAL, PartNoise

Axes = tuple[Axis, ...]

WEIGHT_UNITS = 1 << 20
"""Weights are whole multiples of 1/`WEIGHT_UNITS`, so that sums are exact."""

NEAR_ZERO = 2.0**-100
"""The variance that stands for zero, because its inverse is needed."""

DECIMALS = 2
"""The printed decimals of numbers that are means."""


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A table of noisy counts in each group; `counts` has the shape (groups, *sizes)."""

    axes: Axes
    counts: Array
    noise: Noise

    @cached_property
    def variance(self) -> float:
        """The variance of a cell."""
        return self.noise.discrete_variance or NEAR_ZERO

    def precision(self, axes: Axes) -> float:
        """The inverse variance of a total in a cell of `axes`, over all other axes.

        Zero if the table lacks one of the axes.
        """
        if not self.covers(axes):
            return 0.0
        return 1 / (self.variance * cells(self.axes, axes))

    def totals(self, axes: Axes) -> Array:
        """For each cell of these axes, the total over all other axes of the table."""
        summed = tuple(index for index, axis in enumerate(self.axes, 1) if axis not in axes)
        totals: Array = self.counts.sum(axis=summed)
        return totals

    def effect_times_squared_scale(self, axes: Axes) -> Array:
        """The effect of some of the axes, times the square of the number of their cells."""
        return cells(axes) * scaled_effect(self.totals(axes))

    def fourth_cumulant(self, axes: Axes, part: float) -> float:
        """The fourth cumulant of `part` times the noise of a total in a cell of `axes`.

        Zero if the table lacks one of the axes.
        """
        if not self.covers(axes):
            return 0.0
        return cells(self.axes, axes) * self.noise.fourth_cumulant(part)

    def covers(self, axes: Axes) -> bool:
        """Whether the table has all of these axes."""
        return set(self.axes).issuperset(axes)


class KnownTable(MeasuredTable):
    """A public table, which has no noise."""


@dataclass(frozen=True, eq=False)
class MeasuredEffect:
    """The noisy scaled effect of some axes by group; `numbers` has the table's shape."""

    axes: Axes
    numbers: Array
    noise: Noise

    def precision(self, axes: Axes) -> float:
        """The inverse variance of a noisy number, brought to the scale of counts.

        Zero for the axes of another effect.
        """
        if axes != self.axes:
            return 0.0
        return cells(axes) ** 2 / (self.noise.discrete_variance or NEAR_ZERO)

    def effect_times_squared_scale(self, axes: Axes) -> Array:
        """The effect of the axes, times the square of the number of their cells."""
        assert axes == self.axes
        return scaled_effect(self.numbers)

    def fourth_cumulant(self, axes: Axes, part: float) -> float:
        """Zero: the noise of effects is Gaussian."""
        return 0.0


Measured = MeasuredTable | MeasuredEffect


def summed_counts(
    wanted: Sequence[Axes], measured: Sequence[Measured], confidence: Fraction
) -> Estimates:
    """Each wanted table, summed from the measured table that gives the least noise."""
    tables = [part for part in measured if isinstance(part, MeasuredTable)]
    values, margins = [], []
    for axes in wanted:
        source = best_source(axes, tables)
        values.append(source.totals(axes))
        summed = cells(source.axes, axes)
        margins.append(summed_margin(source.noise, summed, confidence))
    return _around(wanted, values, margins, Fraction(1), 0)


def best_source(axes: Axes, tables: Sequence[MeasuredTable]) -> MeasuredTable:
    """The measured table from which these axes are summed with the least noise."""
    sources = (table for table in tables if table.covers(axes))
    return min(sources, key=lambda table: table.variance * cells(table.axes, axes))


def agreed_part_noises(
    wanted: Sequence[Axes], measured: Sequence[Measured], percent: str
) -> list[PartNoise]:
    """The noise of agreed numbers next to the totals of their tables, in counts."""
    agreement, found = Agreement(wanted, measured), []
    for axes in wanted:
        total = {TOTAL: (), ROW: axes[:-1], COLUMN: axes[-1:]}[percent]
        variances = agreement.variance(axes), agreement.variance(total)
        found.append(PartNoise(cells(axes, total), *variances, agreement.fourth_cumulant(axes)))
    return found


def agreed_counts(
    wanted: Sequence[Axes], measured: Sequence[Measured], confidence: Fraction
) -> Estimates:
    """The wanted tables by generalized least squares, so that their totals agree."""
    agreement, units = Agreement(wanted, measured), 10**DECIMALS
    values = [agreement.rounded(axes, units) for axes in wanted]
    margins = [agreement.margin(axes, confidence) for axes in wanted]
    return _around(wanted, values, margins, Fraction(1, units), DECIMALS)


def _around(
    wanted: Sequence[Axes],
    tables: Sequence[Array],
    margins: Sequence[Margin],
    step: Fraction,
    decimals: int,
) -> Estimates:
    """Estimates of tables, group by group, each with a margin."""
    values = np.hstack([table.reshape(-1, prod(table.shape[1:])) for table in tables])
    own = zip(wanted, margins, strict=True)
    each = [margin for axes, margin in own for _ in range(cells(axes))]
    return Estimates.around(integer_array(values.ravel()), each, step, (decimals,))


class Agreement:
    """The weighted mean of each effect over the measured tables that contain it.

    Attributes:
        precisions: The inverse variance of a total in a cell of its axes.
    """

    def __init__(self, wanted: Sequence[Axes], measured: Sequence[Measured]) -> None:
        self._measured = measured
        self._weights: dict[Axes, list[int]] = {}
        self.precisions: dict[Axes, float] = {}
        for axes in dict.fromkeys(inner for table in wanted for inner in effects_of(table)):
            own = [table.precision(axes) for table in measured]
            self.precisions[axes] = sum(own)
            units = _units([part / self.precisions[axes] for part in own])
            self._weights[axes] = units

    @cached_property
    def effects(self) -> dict[Axes, Array]:
        """Each effect, times the squared number of its cells and times `WEIGHT_UNITS`."""
        found = {}
        for axes, units in self._weights.items():
            pairs = zip(units, self._measured, strict=True)
            weighted = [
                unit * table.effect_times_squared_scale(axes) for unit, table in pairs if unit
            ]
            found[axes] = np.sum(weighted, axis=0)
        return found

    def table(self, axes: Axes) -> Array:
        """The agreed counts, times the squared number of cells and times `WEIGHT_UNITS`."""
        total: Array = np.zeros((1, *map(len, axes)), dtype=object)
        for inner in effects_of(axes):
            shape = [len(axis) if axis in inner else 1 for axis in axes]
            total = total + cells(axes, inner) * self.effects[inner].reshape(-1, *shape)
        return total

    def rounded(self, axes: Axes, units: int | Fraction) -> Array:
        """The agreed counts, rounded to 1/`units`, so that all totals still agree.

        What is rounded are the numbers of all labels but the last of each axis, and totals. The
        others are what is left of the totals.
        """
        scale = cells(axes) ** 2 * WEIGHT_UNITS * units.denominator
        rounded: Array = (2 * units.numerator * self.table(axes) + scale) // (2 * scale)
        for index, axis in enumerate(axes, 1):
            totals = self.rounded(tuple(key for key in axes if key != axis), units)
            inner, last = np.split(rounded, [len(axis) - 1], axis=index)
            last[...] = np.expand_dims(totals, index) - inner.sum(axis=index, keepdims=True)
        return rounded

    def variance(self, axes: Axes) -> float:
        """The variance of the noise in a cell of a table."""
        parts = _parts(axes)
        return sum(
            part / cells(axes, inner) / self.precisions[inner] for inner, part in parts.items()
        )

    def fourth_cumulant(self, axes: Axes) -> float:
        """About the fourth cumulant of the noise in a cell of a table."""
        weighted = [(part, self._weights[inner]) for inner, part in _parts(axes).items()]
        fourth = 0.0
        for index, table in enumerate(self._measured):
            # Most of the excess kurtosis is that of the measured cells that lie in this one.
            units = sum(part * weights[index] for part, weights in weighted)
            fourth += table.fourth_cumulant(axes, units / WEIGHT_UNITS)
        return fourth

    def margin(self, axes: Axes, confidence: Fraction) -> Margin:
        """The margin of a cell of a table, in printed decimals."""
        variance = self.variance(axes)
        if variance < NEAR_ZERO * 2**30:
            return Margin(0, 0.0)
        width = blended_half_width(self.fourth_cumulant(axes), variance, confidence)
        return Margin(ceil(width * 10**DECIMALS), variance * 10 ** (2 * DECIMALS))


def _parts(axes: Axes) -> dict[Axes, float]:
    """How much the total of each effect's axes counts in one of its own cells."""
    return {
        inner: prod(1 - 1 / len(axis) for axis in inner) / cells(axes, inner)
        for inner in effects_of(axes)
    }


def _units(shares: Sequence[float]) -> list[int]:
    """Shares that sum to one as whole numbers that sum to `WEIGHT_UNITS`.

    So weighted means of unbiased numbers stay unbiased.
    """
    units = [round(share * WEIGHT_UNITS) for share in shares]
    units[units.index(max(units))] += WEIGHT_UNITS - sum(units)
    return units


def cells(axes: Axes, without: Axes = ()) -> int:
    """The number of cells of a table with these axes, except those in `without`."""
    return prod(len(axis) for axis in axes if axis not in without)


def effects_of(axes: Axes) -> Iterator[Axes]:
    """The axes of each effect of a table: any subset of those with several labels."""
    several = [axis for axis in axes if len(axis) > 1]
    for count in range(len(several) + 1):
        yield from combinations(several, count)
