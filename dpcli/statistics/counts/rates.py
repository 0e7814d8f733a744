"""Rates: noisy counts over public populations, and directly standardized rates.

A rate is per a number of people of a public population N, of each group or of all. If the rates
n_a / N_a of strata a are weighted by a public standard w_a, with a sum of one, the sum is that of
the rows of w_a / N_a: one answer, in which each row counts by a public number.

Privacy: populations and standards are public, so a rate is a function of noisy counts, and a
standardized one of a noisy weighted count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, log10
from typing import TYPE_CHECKING, ClassVar

from dpcli.data.column import Column
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, integer_array, multiply_exact, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.vectors import NumbersTogether
from dpcli.statistics.design import (
    Design,
    DesignOf,
    Inputs,
    NoisyAnswer,
    PublishedAnswer,
    WeightedQuery,
)
from dpcli.statistics.estimates import NONNEGATIVE, Estimates, Limits
from dpcli.statistics.intervals import EXTRA_DECIMALS
from dpcli.statistics.public_numbers import PublicNumbers
from dpcli.statistics.statistic import NumbersMeasure, Statistic
from dpcli.statistics.weights import weight_factors, weight_step

if TYPE_CHECKING:
    from dpcli.data.labels import LabeledColumn
    from dpcli.data.number_columns import NumberColumn

WEIGHT_DIGITS = 9
"""The digits to which weights are rounded, of which the greatest is one."""

DIGITS = 2
"""Printed digits of a rate beyond that of one row."""

MAX_DECIMALS = 12


@dataclass(frozen=True)
class PublicRate:
    """A rate `per` a number of people of a public population.

    A standardized one has a `standard`: weights by the labels of `strata`. `columns` are those of
    the keys of the population, each with labels.
    """

    per: int
    population: PublicNumbers
    strata: LabeledColumn | None = None
    standard: PublicNumbers | None = None
    columns: tuple[LabeledColumn, ...] = ()

    def __str__(self) -> str:
        by = f", standardized by {self.strata.name} with {self.standard}" if self.strata else ""
        return f"per {self.per:,} of a population of {self.population}{by}"

    @cached_property
    def of_rows(self) -> dict[tuple[str, ...], Fraction]:
        """What a row adds to the rate, by the labels of the keys of the population."""
        people = dict(self.population.numbers)
        if self.standard is None or self.strata is None:
            return {labels: self.per / number for labels, number in people.items()}
        shares, at = dict(self.standard.numbers), self.population.keys.index(self.strata.name)
        total = sum(shares.values())
        return {
            labels: self.per * shares[labels[at],] / total / number
            for labels, number in people.items()
        }

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the population that are keys of groups."""
        strata = self.strata and self.strata.name
        return tuple(key for key in self.population.keys if key != strata)

    @cached_property
    def largest(self) -> dict[tuple[str, ...], Fraction]:
        """The most that a row adds to the rate of its group, by the labels of `keys`."""
        found: dict[tuple[str, ...], Fraction] = {}
        for labels, number in self.of_rows.items():
            group = self._group(labels)
            found[group] = max(found.get(group, number), number)
        return found

    def _group(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        pairs = zip(self.population.keys, labels, strict=True)
        return tuple(label for key, label in pairs if key in self.keys)

    @cached_property
    def weights(self) -> NumberColumn | None:
        """The weight of each row, up to one; None unless the rate is standardized.

        Privacy: in each group, the greatest weight is one, so moving a row between groups changes
        no more than it can. Weights are rounded to public whole numbers of steps of
        10^-`WEIGHT_DIGITS`, so the sensitivity is exact.
        """
        if self.strata is None:
            return None
        from dpcli.data.derived.positions import NumberOfLabels
        from dpcli.data.number_columns import NumberColumn

        step, largest = Fraction(1, 10**WEIGHT_DIGITS), self.largest
        cells = product(*(column.labels for column in self.columns))
        positions = product(*(range(len(column.labels)) for column in self.columns))
        steps = tuple(
            round(self.of_rows[cell] / largest[self._group(cell)] / step) for cell in cells
        )
        # If no label is ever missing, no weight is, and each row is counted.
        constants = tuple(one.missing for one in self.columns if one.missing is not None)
        missing = dict(zip(positions, steps, strict=True)).get(constants)
        name, derivation = f"weight of {self.strata.name}", NumberOfLabels(self.columns, steps)
        bounds = min(steps), max(steps)
        return NumberColumn(name, step, bounds, missing, derivation=derivation)

    def factors(self, inputs: Inputs) -> tuple[Fraction, ...]:
        """What a row of the greatest weight adds to the rate of each group."""
        names = [key.column.name for key in inputs.by]
        indexes = [names.index(key) for key in self.keys]
        groups = product(*(key.labels for key in inputs.by))
        return tuple(self.largest[tuple(group[index] for index in indexes)] for group in groups)


@dataclass(frozen=True, kw_only=True)
class Rates(DesignOf):
    """The numbers of the design `of`, each times a public factor of its group."""

    factors: tuple[Fraction, ...]
    decimals: int

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction | None:
        """That of the smallest population."""
        error = self.of.error(noises, confidence)
        return None if error is None else error * max(self.factors)

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        counts = self.of.estimate(answers, Fraction(1, 2))
        return integer_array(np.floor(counts.value * float(counts.step)))

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        return scaled(self.of.estimate(answers, confidence), self.factors, self.decimals)


def decimals_of(number: Fraction) -> int:
    """The decimals of numbers to which a row adds this `number` or more."""
    return min(max(DIGITS - ceil(log10(number)) + 1, 0), MAX_DECIMALS)


def scaled(
    numbers: Estimates, factors: Sequence[Fraction], decimals: int, shift: Fraction = Fraction(0)
) -> Estimates:
    """Numbers times the factors of their groups, plus `shift`, with intervals.

    Numbers are rounded down; ends are rounded outwards to the last of the `decimals`.
    """
    last, finer = Fraction(1, 10**decimals), 10**EXTRA_DECIMALS
    step = last / finer

    def in_units(steps: Array, unit: Fraction, more: Fraction) -> Array:
        """The scaled numbers plus `more`, rounded down to whole units."""
        below = (more / unit).denominator
        parts = [(factor * numbers.step / unit * below).as_integer_ratio() for factor in factors]
        above, divisors = np.tile(np.array(parts, object).T, len(steps) // len(parts))
        more_above = divisors * int(more / unit * below)
        return integer_array((steps.astype(object) * above + more_above) // (divisors * below))

    lower = in_units(numbers.lower, last, shift)
    upper = in_units(multiply_exact(numbers.upper, -1), last, -shift)
    variance = numbers.variances[0]
    variances = tuple(
        None if variance is None else variance * float(factor) ** 2 for factor in factors
    )
    return replace(
        numbers, step=step, decimals=(decimals,), value=in_units(numbers.value, step, shift),
        lower=multiply_exact(lower, finer), upper=multiply_exact(upper, -finer),
        variances=variances, uncut=None,
    )  # fmt: skip


class PublicRates(Statistic):
    """Noisy counts per a number of people of a public population, by group.

    Attributes:
        counts: The statistic that publishes the counts.
    """

    measure: ClassVar[NumbersMeasure] = "values"
    counts: ClassVar[Statistic]

    def unused(self, inputs: Inputs) -> Iterator[FieldFault]:
        """Faults of bounds on totals of people, which a weighted count does not have."""
        if inputs.option("rate").standard is not None:
            yield from (FieldFault("rate-form.bound", key) for key in ("bound", "unit_bounds"))

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs of the counts, or of one weighted count."""
        rate: PublicRate = inputs.option("rate")
        bare, factors = replace(inputs, sample=None), rate.factors(inputs)
        found = self.counts.designs(bare, relation)
        if (weights := rate.weights) is not None:
            query = LinearQuery(
                factors=(Factor(weights), *weight_factors(inputs)),
                by=inputs.by,
                where=inputs.where,
                present=(inputs.column,) if inputs.column else (),
            )
            step = weights.step * weight_step(inputs)
            total = WeightedQuery("weighted count", query, step=step)
            plain = PublishedAnswer(bare, (total,))
            found = (*NumbersTogether.of(bare, total, relation), plain)
        decimals = decimals_of(min(factors))
        return tuple(
            Rates.about(of, factors=factors, decimals=decimals, counts_rows=rate.standard is None)
            for of in found
        )

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return (NONNEGATIVE,)

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        return (f"per {inputs.option('rate').per:,}",)

    def adds_rows(self, inputs: Inputs) -> bool:
        """True: rates are counts, divided by public numbers."""
        return True

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        rate: PublicRate = inputs.option("rate")
        text = "noisy counts divided by public populations"
        if rate.strata is not None:
            text = (
                "one noisy sum over the rows of public weights: the share of their "
                f"{rate.strata.name} in the standard, divided by its population"
            )
        return (*super().sentences(inputs), text)
