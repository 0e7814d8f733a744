"""Differences and ratios of the means, shares or ratios of several groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.data.column import Column
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import Design, DesignOf, Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.intervals import FiducialInterval, Printed, wider
from dpcli.statistics.means.compared import (
    RATIO_DECIMALS,
    ComparedNumbers,
    is_number,
    items_of,
    limits_of_pairs,
    of_groups,
    pairs_of,
    rows_of_items,
    with_pairs,
)
from dpcli.statistics.means.mean import Mean
from dpcli.statistics.means.quotient import QuotientDesign
from dpcli.statistics.means.ratio import PROPORTION, Ratio
from dpcli.statistics.samples.population import SampledNumber
from dpcli.statistics.statistic import public_groups

PAIR_DRAWS = 4000
"""Draws of each noise of two groups."""


class ComparedQuotients(ComparedNumbers):
    """The numbers of a statistic whose designs are quotients."""

    def __init__(
        self, statistic: Mean | Ratio, fault: str, *takes: str, adds_rows: bool = True
    ) -> None:
        self._statistic = statistic
        self.fault, self.takes, self.adds_rows = fault, takes, adds_rows

    def has_numbers(self, column: Column | None) -> bool:
        if "values" in self.takes:
            return column is not None and bool(column.labels)
        is_truth = column is not None and column.is_truth
        return is_truth or is_number(column) or "column" not in self.takes

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        between = inputs.option("between").column.name
        if "values" in self.takes and inputs.column and inputs.column.name == between:
            yield FieldFault("duplicate-key-column.compared", "column", column=between)
            return
        yield from self._statistic.faults(of_groups(inputs), relation)
        yield from public_groups(inputs)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs of the compared statistic by groups, and what follows."""
        return tuple(_compared(inputs, self._statistic.designs(of_groups(inputs), relation)))

    def limits(self, inputs: Inputs) -> Limits:
        return self._statistic.printed(inputs).limits

    def unit(self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]) -> str:
        (unit,) = self._statistic.units(inputs, counted, unit_of)
        return unit

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        least = "the divisor is at least one unit of the last decimal"
        return *self._statistic.sentences(inputs), least


MEANS = ComparedQuotients(Mean(), "comparison-form.mean", "column", "sizes", adds_rows=False)
SHARES = ComparedQuotients(
    PROPORTION, "comparison-form.proportion", "column", "values", "per", "sizes"
)
RATIOS = ComparedQuotients(Ratio(), "", "numerator", "denominator", "per")
"""The statistics whose numbers of several groups are compared."""


def _compared(inputs: Inputs, designs: Iterable[Design]) -> Iterable[Design]:
    for design in designs:
        if not isinstance(design, QuotientDesign):
            raise TypeError("only quotients are compared")
        yield QuotientsOfGroups.about(design, inputs=inputs, counts_rows=design.counts_rows)


@dataclass(frozen=True, kw_only=True)
class QuotientsOfGroups(DesignOf):
    """The quotients of compared groups, their differences and their ratios.

    The quotients are those of the design `of`, whose last key has the compared labels. A row is in
    one of these groups, so they have independent noise at no further cost. Differences and ratios
    have the intervals of plausible answers about both groups.
    """

    has_typical = True

    of: QuotientDesign

    @property
    def labels(self) -> int:
        """How many groups are compared."""
        return len(self.of.inputs.by[-1])

    def typical_estimates(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction
    ) -> Estimates:
        of, answers = self.of.typical_groups(noises, rows, self.labels)
        return replace(self, of=of).estimate(answers, confidence)

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        rows, limits = self.of.noisy_rows(answers), self.of.quotient.printed.limits
        return rows_of_items(self.inputs, rows, limits)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        quotient = self.of.quotient
        printed = replace(quotient.printed, unit=quotient.printed.unit * quotient.step)
        numbers = SampledNumber(quotient.outcome, printed, quotient.shift * printed.unit)
        found = self.of.estimate(answers, confidence)
        return self._compared(answers, numbers, found, confidence, errors=0)

    @property
    def has_population(self) -> bool:
        return self.of.has_population

    def population(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        found, sampled = self.of.population(answers, confidence), self.of.sampled
        if sampled is None:
            return found
        number = sampled(self.of)
        return self._compared(answers, number, found, confidence, errors=number.errors)

    def _compared(
        self,
        answers: Sequence[NoisyAnswer],
        number: SampledNumber,
        found: Estimates,
        confidence: Fraction,
        errors: int,
    ) -> Estimates:
        """The numbers that were `found` for all groups, and pairs of them.

        `number` is that of a group from plausible answers, and as many `errors` of samples.
        """
        printed, published = number.printed, self.of.quotient.printed
        limits, of_ratios = limits_of_pairs(published.limits)
        items = [Printed(printed.unit, printed.decimals, limits)]
        if of_ratios is not None:
            items.append(Printed(Fraction(1), RATIO_DECIMALS, of_ratios))
        count = None if errors else len(self.of.quotient.above)
        parts = self.of.divided(answers)[:count]
        groups = [
            [NoisyAnswer(one.values[label :: self.labels], one.noise) for one in parts]
            for label in range(self.labels)
        ]
        shift = float(number.shift / printed.unit)

        def outcomes(values: Floats) -> Floats:
            """The difference and the ratio of plausible answers about two groups.

            A ratio to a number that is not positive is not a number.
            """
            known, of_samples = np.split(values, [2 * len(parts)])
            halves = zip(np.split(known, 2), np.split(of_samples, 2), strict=True)
            first, other = (number.plausible(np.concatenate(half)) for half in halves)
            # Comparisons with what is not a number are false.
            divisor = np.where(first + shift > 0, first + shift, np.nan)
            return np.array([other - first, (other + shift) / divisor][: len(items)])

        wide = wider(confidence)
        numbers, compared = items_of(found, self.labels), []
        for base, other in pairs_of(self.inputs):
            pair = [*groups[base], *groups[other]]
            intervals = FiducialInterval(pair, outcomes, wide, draws=PAIR_DRAWS, sampled=2 * errors)
            change, *ratio = items_of(intervals.estimates(*items), len(items))
            known = self.of.difference(found, (base, other), answers, confidence)
            if known is not None and not errors:
                change = known.refined(change.step)
            compared.append([change, *ratio])
        return with_pairs(self.inputs, numbers, compared, Fraction(1, 10**printed.decimals))
