"""Medians of compared groups from noisy counts, their differences and ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import erfc, sqrt

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
from dpcli.statistics.quantiles.rank_errors import TEST_SHARE, confidence_of_ends, end_risk
from dpcli.statistics.statistic import public_groups

MediansOf = Callable[[Sequence[NoisyAnswer], Fraction], Estimates]
"""Medians of all groups, of the file or of the population, with intervals."""

MAX_CANDIDATES = 100_001
"""The most values of a column whose medians are compared."""

HALF = Fraction(1, 2)

SCORES = [Fraction(tenths, 10) for tenths in range(-35, 5, 5)]
"""Normal scores of the risks of intervals, the least risk first."""

PARTS = 5
"""How many ends are interpolated between those of two successive scores."""


BLOCK = 1 << 10
"""The groups of which all pairs of ends are in memory at once."""


def _chance(score: float) -> float:
    """P[N(0, 1) < score]."""
    return erfc(-score / sqrt(2)) / 2


CONFIDENCES = tuple(confidence_of_ends(_chance(float(score))) for score in SCORES)
"""The confidences of intervals whose ends have these risks."""


@cache
def _masses() -> Floats:
    """The probabilities of pairs of ends, each for a random risk.

    Ends are beyond the first score, between two scores, or above the last.
    """
    first, steps = float(SCORES[0]), PARTS * (len(SCORES) - 1)
    below = [0.0, *(_chance(first + at / (2 * PARTS)) for at in range(steps + 1)), 1.0]
    masses = np.diff(below)
    return np.multiply.outer(masses, masses).ravel()


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

    The medians are those of the design `of`, whose last key has the compared labels. The noise in
    two groups is independent. An interval with a given risk has an end that the median is beyond
    with this probability at most. So the lower end of a difference is a quantile of lower ends of
    one median minus upper ends of the other, where all risks are equally likely.
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
        return self._compared(answers, confidence, self.of.estimate)

    def population(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        return self._compared(answers, confidence, self.of.population)

    def _compared(
        self, answers: Sequence[NoisyAnswer], confidence: Fraction, medians: MediansOf
    ) -> Estimates:
        column, pairs = self.inputs.numeric, pairs_of(self.inputs)
        limits, of_ratios = limits_of_pairs(
            (column.lower * column.step, column.upper * column.step)
        )
        items = [Printed(column.step, decimal_places(column.step), limits)]
        if of_ratios is not None:
            items.append(Printed(Fraction(1), RATIO_DECIMALS, of_ratios))
        labels = len(self.of.inputs.by[-1])
        ends, outside = self._ends(answers, medians), float(end_risk(TEST_SHARE, confidence))
        groups = [[one[:, at::labels] for one in ends] for at in range(labels)]
        compared = [
            items_of(
                PairOfMedians(groups[base], groups[other], outside).estimates(*items), len(items)
            )
            for base, other in pairs
        ]
        numbers = items_of(medians(answers, confidence), labels)
        return with_pairs(self.inputs, numbers, compared, column.step)

    def _ends(self, answers: Sequence[NoisyAnswer], medians: MediansOf) -> tuple[Floats, Floats]:
        """Ends of the intervals of all groups for each of the `SCORES`, in steps.

        Both have the shape (risks, groups).
        """
        column = self.inputs.numeric
        lowest = [np.full(self.of.inputs.groups, float(column.lower))]
        highest = [np.full(self.of.inputs.groups, float(column.upper))]
        for confidence in CONFIDENCES:
            found = medians(answers, confidence)
            # The ends of a higher confidence lie further out.
            lowest.append(np.maximum(lowest[-1], found.lower.astype(np.float64)))
            highest.append(np.minimum(highest[-1], found.upper.astype(np.float64)))
        return np.floor(_between(lowest)), np.ceil(_between(highest))


def _between(ends: Sequence[Floats]) -> Floats:
    """The ends, with `PARTS` between each two after the first: (ends, groups)."""
    first, *others = ends
    parts = (np.arange(PARTS) + 0.5)[:, None] / PARTS
    steps = [near + (far - near) * parts for near, far in pairwise(others)]
    return np.concatenate([first[None], *steps, others[-1][None]])


class PairOfMedians(FiducialInterval):
    """The difference and the ratio of two medians with ends for random risks.

    `base` and `other` are the lower and the upper ends of each, shape (ends, groups).
    """

    def __init__(self, base: Sequence[Floats], other: Sequence[Floats], outside: float) -> None:
        (low, high), (other_low, other_high) = base, other
        blocks = [slice(at, at + BLOCK) for at in range(0, low.shape[1], BLOCK)]
        lower = [_quantiles(other_low[:, one], high[:, one], 1, outside) for one in blocks]
        upper = [_quantiles(other_high[:, one], low[:, one], -1, outside) for one in blocks]
        self.lower, self.upper = np.hstack(lower), np.hstack(upper)
        self.values = self.lower


def _quantiles(ends: Floats, of_base: Floats, side: int, outside: float) -> Floats:
    """A lower or, of the `side` -1, an upper quantile of differences and of ratios.

    They are of all pairs of ends, in each group. A divisor that is not positive allows any ratio.
    """
    others, bases = ends[:, None], of_base[None]
    pairs = others - bases, others / np.where(bases > 0, bases, np.nan)
    found = []
    for outcomes in pairs:
        known = np.where(np.isnan(outcomes), -np.inf, side * outcomes)
        known = known.reshape(-1, outcomes.shape[-1])
        order = np.argsort(known, axis=0)
        index = (np.cumsum(_masses()[order], axis=0) <= outside).sum(axis=0)
        ordered = np.take_along_axis(known, order, axis=0)
        found.append(side * ordered[index, np.arange(len(index))])
    return np.array(found)
