"""Differences and ratios of the means, shares or ratios of several groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter

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
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import Design, Inputs, NoisyAnswer
from dpcli.statistics.estimates import ANY, NONNEGATIVE, SIGNED_PART, Estimates, Limits
from dpcli.statistics.intervals import MAX_CONFIDENCE, FiducialInterval, Printed
from dpcli.statistics.means.mean import Mean
from dpcli.statistics.means.quotient import QuotientDesign
from dpcli.statistics.means.ratio import PROPORTION, Ratio
from dpcli.statistics.statistic import Statistic

RATIO_DECIMALS = 4
"""Printed decimals of the ratio of two groups."""

PAIR_DRAWS = 4000
"""Draws of each noise of two groups."""

PAIR_RISK = Fraction(9, 10)
"""The part of the risk that intervals of two groups take.

The rest is for the error of the draws: without it, up to 5.3% of intervals of 95% would miss.
"""

COMPARED: dict[str, Mean | Ratio] = {"mean": Mean(), "proportion": PROPORTION, "ratio": Ratio()}
"""The statistics whose numbers of several groups are compared."""


def of_groups(inputs: Inputs) -> Inputs:
    """The inputs of the compared statistic: the compared labels are the last key."""
    return replace(inputs, by=(*inputs.by, inputs.option("between")), sample=None)


def limits_of_comparison(inputs: Inputs) -> tuple[Limits, Limits, Limits | None]:
    """The limits of numbers, of their differences and of their ratios.

    Numbers that may be negative have no ratios.
    """
    low, high = limits = COMPARED[inputs.option("of")].printed(inputs).limits
    difference = ANY if low is None or high is None else (low - high, high - low)
    if low is None or low < 0:
        return limits, difference, None
    return limits, difference, (low / high, high / low) if low and high else NONNEGATIVE


def compared_designs(inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
    """The designs of the compared statistic by groups, and what follows."""
    statistic: Statistic = COMPARED[inputs.option("of")]
    return tuple(_compared(inputs, statistic.designs(of_groups(inputs), relation)))


def _compared(inputs: Inputs, designs: Iterable[Design]) -> Iterable[Design]:
    for design in designs:
        if not isinstance(design, QuotientDesign):
            raise TypeError("only quotients are compared")
        yield ComparedQuotients(
            inputs,
            design.queries,
            design.families,
            design.measures,
            design.reason,
            gains_by_epsilon=design.gains_by_epsilon,
            of=design,
        )


@dataclass(frozen=True, kw_only=True)
class ComparedQuotients(Design):
    """The quotients of compared groups, their differences and their ratios.

    Differences are from the first group, and ratios to it. The quotients are those of the design
    `of`, whose last key has the compared labels. A row is in one of these groups, so they have
    independent noise at no further cost. Differences and ratios have the intervals of plausible
    answers about both groups.
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
        printed, (_, limits, of_ratios) = (
            self.of.quotient.printed,
            limits_of_comparison(self.inputs),
        )
        items = [Printed(printed.unit * self.of.quotient.step, printed.decimals, limits)]
        if of_ratios is not None:
            items.append(Printed(Fraction(1), RATIO_DECIMALS, of_ratios))
        first, *others = self._apart(answers)
        wide = max(confidence, min(1 - PAIR_RISK * (1 - confidence), MAX_CONFIDENCE))
        pairs = [
            FiducialInterval([*first, *other], self._outcomes, wide, draws=PAIR_DRAWS)
            for other in others
        ]
        compared = [_by_item(intervals.estimates(*items), len(items)) for intervals in pairs]
        step = compared[0][0].step
        numbers = _by_item(self.of.estimate(answers, confidence).refined(step), self.labels)
        step, (reference, *values) = numbers[0].step, (number.value for number in numbers)
        # The divisor of a ratio is at least one unit of the last printed decimal.
        divisor = clip_exact(reference, int(Fraction(1, 10**printed.decimals) / step), None)
        published = [_with_value(number, number.value, abs(number.value)) for number in numbers]
        for (found, *_), other in zip(compared, values, strict=True):
            change = add_exact(other, -reference)
            # A difference is near zero where two numbers are alike, and then no less precise.
            both = add_exact(abs(reference), abs(other))
            part = multiply_exact(both, SIGNED_PART.numerator) // SIGNED_PART.denominator
            sizes = np.maximum(abs(change), part)
            published.append(_with_value(found.refined(step), change, sizes))
        for (_, *ratios), other in zip(compared, values, strict=True):
            for found in ratios:
                ratio = divide_exact(other, divisor, int(1 / step))
                published.append(_with_value(found.refined(step), ratio, abs(ratio)))
        return Estimates.interleaved(published)

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
        if limits_of_comparison(self.inputs)[-1] is not None:
            # Comparisons with what is not a number are false.
            divisor = np.where(first + quotient.shift > 0, first + quotient.shift, np.nan)
            outcomes.append((other + quotient.shift) / divisor)
        return np.array(outcomes)


def _with_value(estimates: Estimates, value: Array, sizes: Array) -> Estimates:
    return replace(estimates, value=value, sizes=sizes, raw=None)


def _by_item(estimates: Estimates, count: int) -> list[Estimates]:
    """The estimates of each of `count` items, which take turns."""
    return [
        replace(
            estimates.map_numbers(itemgetter(slice(index, None, count))),
            status=estimates.status[index::count],
            decimals=(estimates.decimals[index % len(estimates.decimals)],),
            limits=(estimates.limits[index % len(estimates.limits)],),
            variances=(None,),
        )
        for index in range(count)
    ]
