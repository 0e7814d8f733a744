"""Differences and ratios of the means, shares or ratios of several groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.data.column import Column
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Floats, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import Design, Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.intervals import MAX_CONFIDENCE, FiducialInterval, Printed
from dpcli.statistics.means.compared import (
    RATIO_DECIMALS,
    ComparedNumbers,
    is_number,
    items_of,
    limits_of_pairs,
    of_groups,
    pairs_of,
    with_pairs,
)
from dpcli.statistics.means.mean import Mean
from dpcli.statistics.means.quotient import QuotientDesign
from dpcli.statistics.means.ratio import PROPORTION, Ratio
from dpcli.statistics.statistic import public_groups

PAIR_DRAWS = 4000
"""Draws of each noise of two groups."""

PAIR_RISK = Fraction(9, 10)
"""The part of the risk that intervals of two groups take.

The rest is for the error of the draws: without it, up to 5.3% of intervals of 95% would miss.
"""


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
        return self._statistic.derivation, "the divisor is at least one unit of the last decimal"


MEANS = ComparedQuotients(Mean(), "comparison-form.mean", "column", adds_rows=False)
SHARES = ComparedQuotients(PROPORTION, "comparison-form.proportion", "column", "values", "per")
RATIOS = ComparedQuotients(Ratio(), "", "numerator", "denominator", "per")
"""The statistics whose numbers of several groups are compared."""


def _compared(inputs: Inputs, designs: Iterable[Design]) -> Iterable[Design]:
    for design in designs:
        if not isinstance(design, QuotientDesign):
            raise TypeError("only quotients are compared")
        yield QuotientsOfGroups(
            inputs,
            design.queries,
            design.families,
            design.measures,
            design.reason,
            gains_by_epsilon=design.gains_by_epsilon,
            of=design,
        )


@dataclass(frozen=True, kw_only=True)
class QuotientsOfGroups(Design):
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

    def expected_error(self, errors: Sequence[float]) -> float:
        return self.of.expected_error(errors)

    def typical_sums(self, rows: Fraction) -> Floats:
        return self.of.typical_sums(rows / self.labels)

    def typical_answers(self, noises: Sequence[Noise], rows: Fraction) -> list[NoisyAnswer]:
        """Answers about compared groups of equal size, which are alike."""
        answers = super().typical_answers(noises, rows)
        return [replace(one, values=np.tile(one.values, self.labels)) for one in answers]

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        printed = self.of.quotient.printed
        limits, of_ratios = limits_of_pairs(printed.limits)
        items = [Printed(printed.unit * self.of.quotient.step, printed.decimals, limits)]
        if of_ratios is not None:
            items.append(Printed(Fraction(1), RATIO_DECIMALS, of_ratios))
        groups, pairs = self._apart(answers), pairs_of(self.inputs)
        wide = max(confidence, min(1 - PAIR_RISK * (1 - confidence), MAX_CONFIDENCE))
        intervals = [
            FiducialInterval(
                [*groups[base], *groups[other]], self._outcomes, wide, draws=PAIR_DRAWS
            )
            for base, other in pairs
        ]
        compared = [items_of(one.estimates(*items), len(items)) for one in intervals]
        numbers = items_of(self.of.estimate(answers, confidence), self.labels)
        return with_pairs(self.inputs, numbers, compared, Fraction(1, 10**printed.decimals))

    def _apart(self, answers: Sequence[NoisyAnswer]) -> list[list[NoisyAnswer]]:
        """For each compared group, the answers about all groups of the entry."""
        numbers = self.of.divided(answers)[: len(self.of.quotient.above)]
        return [
            [NoisyAnswer(one.values[label :: self.labels], one.noise) for one in numbers]
            for label in range(self.labels)
        ]

    def _outcomes(self, answers: Floats) -> Floats:
        """The difference and the ratio of plausible answers about two groups.

        A ratio to a number that is not positive is not a number.
        """
        quotient = self.of.quotient
        first, other = (quotient.outcome(part)[0] for part in np.split(answers, 2))
        outcomes = [other - first]
        if limits_of_pairs(quotient.printed.limits)[-1] is not None:
            # Comparisons with what is not a number are false.
            divisor = np.where(first + quotient.shift > 0, first + quotient.shift, np.nan)
            outcomes.append((other + quotient.shift) / divisor)
        return np.array(outcomes)
