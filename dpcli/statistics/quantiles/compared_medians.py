"""Medians of compared groups from noisy counts, their differences and ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.data.column import Column
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import ADDITIVE, Noise
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import Design, DesignOf, Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates, Limits
from dpcli.statistics.intervals import FiducialInterval, Printed
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
from dpcli.statistics.quantiles.quantile import TreeOfCounts, may_count
from dpcli.statistics.quantiles.rank_errors import confidence_of_ends
from dpcli.statistics.statistic import public_groups

MAX_CANDIDATES = 100_001
"""The most values of a column whose medians are compared."""

HALF = Fraction(1, 2)


class Medians(ComparedNumbers):
    """Medians of a column of numbers, which are read from noisy counts."""

    fault = "comparison-form.median"
    adds_rows = False

    def has_numbers(self, column: Column | None) -> bool:
        return is_number(column)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        yield from public_groups(inputs)
        values = inputs.numeric.upper - inputs.numeric.lower + 1
        if values > MAX_CANDIDATES:
            yield FieldFault("too-many-candidates", "column", count=values, most=MAX_CANDIDATES)
        if not inputs.has_private_groups and not may_count(of_groups(inputs), relation):
            yield FieldFault("comparison-form.groups", "of")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        column = inputs.numeric
        values = range(column.lower, column.upper + 1)
        grouped = replace(of_groups(inputs), candidates=values)
        trees = (
            TreeOfCounts.of(grouped, (HALF,), ADDITIVE, "rho"),
            TreeOfCounts.of(grouped, (HALF,), ("l1",), "epsilon"),
        )
        return tuple(ComparedMedians.about(one, inputs=inputs) for one in trees)

    def limits(self, inputs: Inputs) -> Limits:
        column = inputs.numeric
        return column.lower * column.step, column.upper * column.step

    def unit(self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]) -> str:
        return unit_of(inputs.numeric)

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        return "medians are read from noisy counts", "the divisor is at least one step"


@dataclass(frozen=True, kw_only=True)
class ComparedMedians(DesignOf):
    """The medians of compared groups, the differences of pairs and their ratios.

    The medians are those of the design `of`, whose last key has the compared labels. An interval
    with a given risk has an end that the median is beyond with this probability at most. So the
    lower end of a difference is the lower end of one median minus the upper end of the other, each
    with half of the risk. It holds whatever the values, also next to wide gaps, where the noise in
    both groups can hide a difference.
    """

    has_typical = True

    counts_rows: bool = True

    of: TreeOfCounts

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        return rows_of_items(
            self.inputs, self.of.noisy_rows(answers), Medians().limits(self.inputs)
        )

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        return self.of.sentences(noises, confidence)

    def typical_estimates(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction
    ) -> Estimates:
        """What is published about groups of equal size whose values lie evenly."""
        between = self.of.inputs.by[-1:]
        of = replace(self.of, inputs=replace(self.of.inputs, by=between))
        answers, (labels,) = [], map(len, between)
        for leaves, noise in zip(of.tree.node_leaves, noises, strict=True):
            ends = np.append(np.arange(0, of.tree.leaves, leaves), of.tree.leaves)
            below = np.rint(ends * float(rows / labels / of.tree.leaves))
            answers.append(NoisyAnswer(np.tile(np.diff(below).astype(np.int64), labels), noise))
        one = replace(self, inputs=replace(self.inputs, by=()), of=of)
        return one.estimate(answers, confidence)

    @property
    def has_population(self) -> bool:
        return self.of.has_population

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        inner = confidence_of_ends(float(risk_of_ends(confidence)))
        return self._compared(
            self.of.estimate(answers, confidence), self.of.estimate(answers, inner)
        )

    def population(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        inner = 1 - 2 * risk_of_ends(confidence)
        of = self.of.population
        return self._compared(of(answers, confidence), of(answers, inner))

    def _compared(self, medians: Estimates, wider: Estimates) -> Estimates:
        """The medians and all pairs, whose ends follow from the `wider` intervals."""
        column, pairs = self.inputs.numeric, pairs_of(self.inputs)
        limits, of_ratios = limits_of_pairs(
            (column.lower * column.step, column.upper * column.step)
        )
        items = [Printed(column.step, decimal_places(column.step), limits)]
        if of_ratios is not None:
            items.append(Printed(Fraction(1), RATIO_DECIMALS, of_ratios))
        labels = len(self.of.inputs.by[-1])
        groups = items_of(wider, labels)
        compared = [
            items_of(PairOfMedians(groups[base], groups[other]).estimates(*items), len(items))
            for base, other in pairs
        ]
        return with_pairs(self.inputs, items_of(medians, labels), compared, column.step)


def risk_of_ends(confidence: Fraction) -> Fraction:
    """The risk of an end of each median: both have half of that of a side."""
    return (1 - confidence) / 4


class PairOfMedians(FiducialInterval):
    """The difference and the ratio of two medians, from the ends of both in steps.

    A divisor that is not positive allows any ratio.
    """

    def __init__(self, base: Estimates, other: Estimates) -> None:
        self.lower = _of_pair(other.lower, base.upper, -np.inf)
        self.upper = _of_pair(other.upper, base.lower, np.inf)
        self.values = self.lower


def _of_pair(other: Array, base: Array, unknown: float) -> Floats:
    """The difference and the ratio of two ends, `unknown` without a positive divisor."""
    ends, divisors = other.astype(np.float64), base.astype(np.float64)
    ratios = np.full_like(ends, unknown)
    np.divide(ends, divisors, out=ratios, where=divisors > 0)
    return np.array([ends - divisors, ratios])
