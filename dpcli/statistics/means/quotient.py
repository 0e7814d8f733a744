"""Quotients of noisy answers, and queries and designs from which means follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from math import ceil, comb, floor, hypot, isfinite, prod
from operator import mul
from typing import Self, TypeVar

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import (
    Array,
    Floats,
    add_exact,
    clip_exact,
    divide_exact,
    multiply_exact,
    np,
)
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, divided_sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import MAX_PRODUCT, LinearQuery, Query
from dpcli.queries.sums import Factor, PlainSum, RowSums, Shape, WeightedSum
from dpcli.statistics.design import (
    TYPICAL_MEAN,
    Design,
    Ends,
    Inputs,
    LostByBin,
    NoisyAnswer,
    Queries,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import FiducialInterval, Printed
from dpcli.statistics.means.quotient_interval import QuotientInterval
from dpcli.statistics.weights import min_denominator, weight_step

Number = TypeVar("Number", int, float)

Coefficients = tuple[int, ...]
"""Whole coefficients of answers, or of the powers of a value from zero on."""


@dataclass(frozen=True, kw_only=True)
class BernsteinQuery(Query):
    """By group, sums of products of Bernstein polynomials of values in their bounds.

    In steps, the polynomials of degree d of a value x in [L, U] are comb(d, j) (x - L)^j
    (U - x)^(d - j) for j from 0 to d. They are never negative, and sum to (U - L)^d, whatever x is.
    So what a row adds to all sums together is public, though not to which of them. Moments up to
    the degree follow from the sums: sums of degree one give the mean (Kulesza, Suresh and Wang
    2024), of degree two the variance.

    With several columns, each sum is of a product with one polynomial of every column, the last
    column fastest. By the distributive law, all products of a row sum to the product of the sums,
    which is that of the (U - L)^d. With a `weight`, all are multiplied by that value of the row.

    >>> age = NumericColumn("age", bounds=(0, 110))
    >>> BernsteinQuery(numeric_columns=(age,), degree=1).polynomials
    (((110, -1), (0, 1)),)

    Raises ValueError without a column or a width between bounds, or if a weight may be negative.
    """

    numeric_columns: tuple[NumericColumn, ...]
    degree: int
    weight: NumericColumn | None = None

    def __post_init__(self) -> None:
        if type(self.degree) is not int or self.degree < 1:
            raise ValueError("the degree is at least one")
        if not self.numeric_columns:
            raise ValueError("there is no column")
        if any(column.lower >= column.upper for column in self.numeric_columns):
            raise ValueError("the bounds of the value have no width")
        if self.weight is not None and self.weight.lower < 0:
            raise ValueError("a weight may be negative")

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        columns: tuple[NumericColumn, ...],
        degree: int,
        weight: NumericColumn | None = None,
    ) -> BernsteinQuery | None:
        """The query of inputs; None if bounds have no width, or sums are too large."""
        if any(column.lower == column.upper for column in columns):
            return None
        query = cls(
            by=inputs.by, where=inputs.where, numeric_columns=columns, degree=degree,
            weight=weight,
        )  # fmt: skip
        return query if query.largest < MAX_PRODUCT else None

    @property
    def operands(self) -> tuple[Column, ...]:
        return self.numeric_columns if self.weight is None else (*self.numeric_columns, self.weight)

    @property
    def widths(self) -> tuple[int, ...]:
        """The distances between the bounds of each column, in its steps."""
        return tuple(column.upper - column.lower for column in self.numeric_columns)

    @cached_property
    def largest(self) -> int:
        """The most that one row adds to all sums of its group together, in steps."""
        powers = prod(self.widths * self.degree)
        return powers * (1 if self.weight is None else self.weight.upper)

    @cached_property
    def polynomials(self) -> tuple[tuple[Coefficients, ...], ...]:
        """Coefficients of polynomials of the distance from a lower bound, by column."""
        return tuple(
            tuple(_bernstein(width, self.degree, power) for power in range(self.degree + 1))
            for width in self.widths
        )

    @cached_property
    def cells(self) -> int | None:
        """How many numbers the answer has; None if the groups are private."""
        return None if self.groups is None else self.groups * self.cells_per_group

    @property
    def cells_per_group(self) -> int:
        return prod([self.degree + 1] * len(self.numeric_columns))

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds from zero to `largest` to a sum, because one sum may get everything."""
        return RowContribution(0, self.largest)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of the sums: what a row adds to all sums together is public."""
        unit = self.bounded_unit(relation.unit)
        numbers, groups = self.cells_per_group, self.groups
        return divided_sensitivity(numbers, relation.neighbors, unit, groups).scaled(self.largest)

    @cached_property
    def shape(self) -> Shape:
        weights = () if self.weight is None else (Factor(self.weight),)
        distances = [Factor(column, column.lower) for column in self.numeric_columns]
        powers = [
            LinearQuery(
                by=self.by,
                where=self.where,
                present=self.required_columns,
                factors=tuple(
                    factor
                    for factor, exponent in zip(distances, exponents, strict=True)
                    for _ in range(exponent)
                )
                + weights,
            ).weighted_sum
            for exponents in product(range(self.degree + 1), repeat=len(self.numeric_columns))
        ]
        products = (
            tuple(map(prod, product(*polynomials))) for polynomials in product(*self.polynomials)
        )
        return RowSums(tuple(_weighted_sum(powers, coefficients) for coefficients in products))


def _weighted_sum(powers: Sequence[WeightedSum], polynomial: Coefficients) -> WeightedSum:
    combined: dict[PlainSum, int] = {}
    for coefficient, power in zip(polynomial, powers, strict=True):
        for weight, plain in power:
            combined[plain] = combined.get(plain, 0) + coefficient * weight
    return tuple((weight, plain) for plain, weight in combined.items() if weight)


def _bernstein(width: int, degree: int, power: int) -> Coefficients:
    """The coefficients of comb(degree, power) y^power (width - y)^(degree - power)."""
    rest = degree - power
    factors = (comb(rest, at) * (-1) ** at * width ** (rest - at) for at in range(rest + 1))
    return (*(0,) * power, *(comb(degree, power) * factor for factor in factors))


SUM_WEIGHT = Fraction(3, 5)
"""The part of epsilon for a centered sum that is divided by a number of rows.

The noise of the sum affects the mean in full. The noise of the count is multiplied by the distance
of the mean from the center, in half-widths: it affects the mean at most as much, usually less.
"""


@dataclass(frozen=True)
class Quotient:
    """A quotient of two combinations of noisy answers, which has an interval.

    `above` and `below` are the coefficients of the answers in the dividend and the divisor. The
    divisor is at least `min_below`. The published number is the unit of `printed` times a `step`
    times the sum of the quotient and the public number `shift`. Without weights, the least divisor
    of a mean is what one row adds to the divisor.
    """

    above: Coefficients
    below: Coefficients
    printed: Printed
    step: Fraction = Fraction(1)
    shift: int = 0
    min_below: int = 1

    def expected_error(self, number: Fraction, errors: Sequence[float]) -> float:
        """The error near a published `number`, times the number of rows.

        `errors` are those of the answers, in steps. Rows with weights have the least weight.
        """
        unit = self.printed.unit * self.step
        changes = self._changes(number / unit - self.shift)
        parts = [float(change) * error for change, error in zip(changes, errors, strict=True)]
        return float(unit / self.min_below) * hypot(*parts)

    def error_of_rows(self, rows: Fraction, widths: Sequence[int]) -> Fraction | None:
        """A bound on the error of a mean of `rows` rows, for noise within these widths.

        Let q be the exact quotient, which lies between the limits. That of noisy sums differs from
        it by the noise of the dividend less q times that of the divisor, over the noisy divisor.
        That is largest for a q at a limit. None if the divisor may not be positive.
        """
        unit, noise = self.printed.unit * self.step, Fraction(0)
        min_divisor = rows * self.min_below - sum(map(mul, map(abs, self.below), widths))
        for limit in self.printed.limits:
            assert limit is not None, "a mean lies between bounds"
            changes = self._changes(limit / unit - self.shift)
            noise = max(noise, sum(map(mul, changes, widths)))
        return unit * noise / min_divisor if min_divisor > 0 else None

    def _changes(self, quotient: Fraction) -> list[Fraction]:
        """How much each answer changes the quotient near this one, times the divisor."""
        pairs = zip(self.above, self.below, strict=True)
        return [abs(above - quotient * below) for above, below in pairs]

    @property
    def of_pair(self) -> Quotient:
        """The same quotient of two answers, from their difference and their sum.

        Their sum plus their difference is twice the first, and their sum less it twice the second.
        """
        above, below = ((one - two, one + two) for one, two in (self.above, self.below))
        return replace(self, above=above, below=below, min_below=2 * self.min_below)

    def estimates(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The exact quotient of each cell, with an interval for the noise of all answers."""
        printed, unit = self.printed, self.printed.unit * self.step
        moved = self.shift * unit
        low, high = (None if limit is None else limit - moved for limit in printed.limits)
        intervals = self._interval(answers, confidence, unit, low, high)
        centered = replace(printed, unit=unit, limits=(low, high))
        estimates = intervals.estimates(centered).shifted(moved)
        below = clip_exact(_combined(self.below, answers), self.min_below, None)
        above = add_exact(_combined(self.above, answers), multiply_exact(below, self.shift))
        factor = unit / estimates.step
        divisor = multiply_exact(below, factor.denominator)
        exact = divide_exact(above, divisor, factor.numerator)
        ends = (None if limit is None else int(limit / estimates.step) for limit in printed.limits)
        value = clip_exact(exact, *ends)
        return replace(estimates, value=value, raw=exact)

    def _interval(
        self,
        answers: Sequence[NoisyAnswer],
        confidence: Fraction,
        unit: Fraction,
        low: Fraction | None,
        high: Fraction | None,
    ) -> FiducialInterval:
        if low is None or high is None:
            return FiducialInterval(answers, self._outcome, confidence)
        limits = float(low / unit), float(high / unit)
        return QuotientInterval(
            answers, self._outcome, confidence, self.above, self.below,
            min_below=self.min_below, limits=limits,
        )  # fmt: skip

    def unclamped(
        self, answers: Sequence[NoisyAnswer], lost: LostByBin, limits: Ends, confidence: Fraction
    ) -> Ends:
        """An interval of the single quotient as if no value had been clamped.

        The least divisor must be what one row adds to the divisor. Clamping moved the dividend by
        at most the exact counts of clamped values times their distances. So each end is that of a
        quotient with all of them in its dividend, whose noise is known as well. An end is a limit
        if noise hides where it is. So an interval is stated whatever the noise was: of intervals
        that only some noise makes possible, more would not hold.
        """
        digits, (low, high) = 10**self.printed.decimals, (end * self.printed.unit for end in limits)
        below = self._with_lost(answers, lost.counts, [-by for by in lost.below], confidence)
        above = self._with_lost(answers, lost.counts, lost.above, confidence)
        lower, upper = (self._number(float(ends[0, 0])) for ends in (below.lower, above.upper))
        return (
            low if lower is None else max(Fraction(floor(lower * digits), digits), low),
            high if upper is None else min(Fraction(ceil(upper * digits), digits), high),
        )

    def _number(self, quotient: float) -> Fraction | None:
        """The published number of a quotient; None if it is not finite."""
        if not isfinite(quotient):
            return None
        return (Fraction(quotient) + self.shift) * self.printed.unit * self.step

    def _with_lost(
        self,
        answers: Sequence[NoisyAnswer],
        counts: NoisyAnswer,
        distances: Sequence[Fraction],
        confidence: Fraction,
    ) -> FiducialInterval:
        """The quotient with counts of values times their distances in its dividend."""
        bins = [at for at, distance in enumerate(distances) if distance]
        by_bin = counts.divided(len(distances))
        weights = np.array([float(distances[at] * self.min_below / self.step) for at in bins])

        def outcome(values: Floats) -> Floats:
            sums, counted = values[: len(answers)], values[len(answers) :]
            divisor = np.maximum(np.array(self.below, float) @ sums, self.min_below)
            return self._outcome(sums) + weights @ counted / divisor

        return FiducialInterval([*answers, *(by_bin[at] for at in bins)], outcome, confidence)

    def _outcome(self, answers: Floats) -> Floats:
        """Quotients of plausible answers; not a number if the divisor is below the least."""
        above, below = (np.array(row, float) @ answers for row in (self.above, self.below))
        quotient = above / np.maximum(below, self.min_below)
        usable: Floats = np.where(below >= self.min_below, quotient, np.nan)[None]
        return usable


def _combined(coefficients: Sequence[int], answers: Sequence[NoisyAnswer]) -> Array:
    pairs = zip(coefficients, answers, strict=True)
    terms = [multiply_exact(answer.values, factor) for factor, answer in pairs if factor]
    return reduce(add_exact, terms)


@dataclass(frozen=True, kw_only=True)
class QuotientDesign(Design):
    """A design that publishes a quotient of the numbers of each group.

    Its error depends on the answers. Numbers after those that the quotient needs are for other
    purposes.

    Attributes:
        typical: A typical published number, for which the plan compares designs.
        is_mean: Whether the number is a mean: a sum of values that lie between the limits, divided
            by the number of their rows, or by the sum of their weights.
    """

    quotient: Quotient
    typical: Fraction | None = None
    is_mean: bool = False

    def in_pairs(self, relation: Relation) -> tuple[Self, ...]:
        """The design that answers both cells as a pair; empty unless it has less noise."""
        from dpcli.statistics.counts.pairs import REASON, pairs_instead

        (cells,) = self.queries
        pairs = pairs_instead(self.inputs, cells, relation)
        if pairs is None or len(self.quotient.above) > 2:
            return ()
        paired = replace(self, queries=(pairs,), families=("l1",), reason=REASON)
        return (replace(paired, gains_by_epsilon=True, quotient=self.quotient.of_pair),)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of the typical number, times the number of rows."""
        if self.typical is None:
            return super().expected_error(errors)
        pairs = zip(self.queries, errors, strict=True)
        steps = [error / float(part.step) for part, error in pairs]
        return self.quotient.expected_error(self.typical, self._by_number(steps))

    def error(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction | None = None
    ) -> Fraction | None:
        """The error of a mean of `rows` rows; None if it is another quotient.

        The noises of all numbers of a group have equal parts of the allowed risk.
        """
        if rows is None or not self.is_mean:
            return None
        confidence = 1 - (1 - confidence) / len(self.quotient.above)
        widths = (noise.half_width(confidence) for noise in noises)
        return self.quotient.error_of_rows(rows, self._by_number(widths))

    def _by_number(self, by_answer: Iterable[Number]) -> list[Number]:
        """What each number of the quotient has, from what each answer has."""
        pairs = zip(self.queries, by_answer, strict=True)
        by_number = [own for part, own in pairs for _ in range(part.query.cells_per_group)]
        return by_number[: len(self.quotient.above)]

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        quotient = self.quotient
        return quotient.estimates(self.divided(answers)[: len(quotient.above)], confidence)

    def unclamped(
        self, answers: Sequence[NoisyAnswer], lost: LostByBin, limits: Ends, confidence: Fraction
    ) -> Ends | None:
        if not self.is_mean or self.inputs.weight is not None:
            return None
        sums = self.divided(answers)[: len(self.quotient.above)]
        return self.quotient.unclamped(sums, lost, limits, confidence)


CENTERED = (
    "the sum of the distances from the middle of the bounds and the number of rows are answered. A "
    "value lies at most half the width of the bounds from their middle, so this sum needs less "
    "noise than one of the values themselves"
)

DISTANCES = (
    "two sums are answered, of the distances of the values from either bound. Together they "
    "are the width between the bounds for each value, whatever it is, so both cost no more "
    "than one; they give the mean and how many values there are"
)

WEIGHTED_DISTANCES = (
    "two sums are answered, of the distances of the values from either bound, each times the "
    "weight of its row. Together they are the width between the bounds times the weight, "
    "whatever the value is, so both cost no more than one; they give the mean and the sum of "
    "weights"
)

SQUARED_DISTANCES = (
    "three sums are answered, of the squared distances of the values from either bound and of "
    "twice their product. Together they are the squared width for each value, whatever it is, "
    "so all cost no more than one; they give the mean and the variance"
)
"""Reasons for a centered sum, and for distances: plain, weighted, and squared."""


def mean_design(
    inputs: Inputs, queries: Queries, column: NumericColumn, quotient: Quotient, reason: str
) -> QuotientDesign:
    """A design of the mean of a column, by any quotient.

    The typical mean lies halfway between the middle and the upper bound.
    """
    middle, half = column.upper + column.lower, column.upper - column.lower
    typical = (middle + Fraction(TYPICAL_MEAN) * half) * column.step / 2
    return QuotientDesign(
        inputs,
        queries,
        reason=reason,
        quotient=quotient,
        typical=quotient.printed.unit * typical,
        is_mean=True,
    )


def centered_mean(
    inputs: Inputs,
    queries: Queries,
    column: NumericColumn,
    printed: Printed,
    pure: tuple[Design, ...],
) -> tuple[Design, ...]:
    """A sum of distances from the middle of the bounds, and the number of rows.

    The first two queries are these. The design is for Gaussian noise, if there are others for
    `pure` noise and the number of rows is not public.
    """
    distance, smallest = Factor.centered(column), min_denominator(inputs)
    quotient = Quotient(
        (1, 0), (0, 1), printed, distance.step, shift=distance.offset, min_below=smallest
    )
    are_both = sum(bool(part.weight) for part in queries) == 2
    design = mean_design(inputs, queries, column, quotient, CENTERED if are_both else "")
    if len(queries) > 2:
        # With the squares, a mean of a sample shows that of the population.
        from dpcli.statistics.samples.population import mean_by_centered_sums

        design = replace(design, population_of=mean_by_centered_sums)
    is_public = not queries[1].weight
    return (design,) if is_public or not pure else (replace(design, families=("l2",)), *pure)


def distances_from_bounds(
    inputs: Inputs, column: NumericColumn, printed: Printed, degree: int = 1
) -> tuple[QuotientDesign, ...]:
    """Sums of a column's distances from bounds and of their products, for pure noise.

    Empty if bounds are equal, or sums are too large.
    """
    query = BernsteinQuery.of(inputs, (column,), degree, inputs.weight)
    if query is None:
        return ()
    step = column.step**degree * weight_step(inputs)
    queries = (WeightedQuery("distances from both bounds", query, step=step),)
    reason = DISTANCES if query.weight is None else WEIGHTED_DISTANCES
    (width,) = query.widths
    # The polynomials sum to a power of the width for each row.
    quotient = Quotient(
        above=tuple(width * index for index in range(degree + 1)),
        below=(degree,) * (degree + 1),
        printed=printed,
        step=column.step,
        shift=column.lower,
        min_below=min_denominator(inputs) * degree * width**degree,
    )
    design = mean_design(inputs, queries, column, quotient, reason)
    design = replace(design, families=("l1",))
    if degree > 1:
        from dpcli.statistics.samples.population import mean_by_squared_distances

        design = replace(design, reason=SQUARED_DISTANCES, population_of=mean_by_squared_distances)
    return (design,)
