"""What the quality check counts: rows, or people, by their first fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from dpcli.noise.distribution import Noise
from dpcli.noise.sums import Terms, weighted_margin
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import NONNEGATIVE, Estimates, Limits
from dpcli.statistics.quality.faults import FaultOrder
from dpcli.statistics.statistic import Statistic

ROWS_WEIGHT = Fraction(1, 2)
"""The share of the loss for the number of rows of people, if required."""

FAULTS = "faults"
"""The option with the faults that the check counts."""

ROWS = "rows"
"""The option of a check that also counts the rows that limits on people keep."""


class QualityDesign(Design):
    """The numbers of units by their first fault, perhaps with the number of rows."""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        widths = [Fraction(answer.noise.half_width(confidence)) for answer in answers]
        numbers = [
            (Fraction(value), width)
            for answer, width in zip(answers, widths, strict=True)
            for value in answer.values.tolist()
        ]
        return Estimates.single(numbers, (0,) * len(numbers))


class QualityCounts(Statistic):
    """Numbers of rows, or of people, by their first fault.

    A row is counted once: at its first fault in a public order, or as a row without a fault. Faults
    are cells that cannot be read as declared, values outside bounds, and cells that must not be
    blank, of the columns that statistics use. If people are the unit, a person is counted once, at
    the first fault over all rows; that limits leave out some of the rows is a fault, too.
    If a minimum of rows is required of people, half of the loss is for the number of rows that
    limits keep.

    Privacy: a row, or a person, adds one to one count. So adding or removing it changes the counts
    by 1 in L1 and L2, and exchanging it by 2 in L1, however many columns there are. Exchanging a
    row keeps the number of rows, which is then public. The number of rows of people changes by at
    most the limit on the rows of a person.
    """

    name = "quality"
    steps = ()
    has_raw = False

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """Designs for epsilon and for rho: the counts, perhaps the number of rows.

        A public number of rows is a query with weight zero. The weights that divide rho are the
        squares of those that divide epsilon: then the epsilons sum to that of a single answer.
        """
        faults = fault_order(inputs)
        parts = [WeightedQuery("first faults", faults.query(relation.unit))]
        if relation.size_is_public:
            rows = WeightedQuery("rows", LinearQuery(), Fraction(0))
            parts = (
                [*parts, rows] if len(faults.labels) > 1 else [replace(rows, weight=Fraction(1))]
            )
        elif counts_rows(inputs):
            parts = [
                replace(parts[0], weight=1 - ROWS_WEIGHT),
                WeightedQuery("rows", LinearQuery(), ROWS_WEIGHT),
            ]
        queries = tuple(parts)
        squares = tuple(replace(part, weight=part.weight**2) for part in queries)
        return (
            QualityDesign(inputs, queries, measures=("epsilon",)),
            QualityDesign(inputs, squares, families=("l1",), measures=("rho",)),
        )

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return (NONNEGATIVE,)

    def items(self, inputs: Inputs) -> tuple[str, ...]:
        return fault_order(inputs).labels


QUALITY_COUNTS = QualityCounts()


def fault_order(inputs: Inputs) -> FaultOrder:
    """The faults that the check with these inputs counts."""
    order: FaultOrder = inputs.option(FAULTS)
    return order


def counts_rows(inputs: Inputs) -> bool:
    """Whether the check also counts the rows that limits on people keep."""
    return ROWS in dict(inputs.options)


def quality_inputs(order: FaultOrder, *, with_rows: bool) -> Inputs:
    """The inputs of a check that counts these faults."""
    return Inputs(QUALITY_COUNTS.name, options=((FAULTS, order), *[(ROWS, True)] * with_rows))


@dataclass(frozen=True, slots=True)
class FaultCounts:
    """The noisy answers of the check, with the faults that are counted.

    `rows` is the number of rows that limits on people keep, or the public number of rows; None if
    it is not counted. A public number has no noise.
    """

    order: FaultOrder
    counts: NoisyAnswer
    rows: NoisyAnswer | None = None

    @classmethod
    def of(cls, inputs: Inputs, answers: Sequence[NoisyAnswer]) -> FaultCounts:
        """The answers to the queries of the check, in their order."""
        order = fault_order(inputs)
        if len(order.labels) == 1 and len(answers) == 1:
            # All rows are without a fault.
            return cls(order, answers[0], answers[0])
        return cls(order, *answers)

    @property
    def noises(self) -> FaultNoises:
        """The noise of the answers."""
        rows = None if self.rows is None else self.rows.noise
        return FaultNoises(len(self.order.labels), self.counts.noise, rows)

    def value(self, weights: Weights) -> int:
        """A weighted sum of the noisy counts and the number of rows."""
        numbers = [*self.counts.values.tolist(), *(self.rows.values.tolist() if self.rows else ())]
        return sum(weight * int(numbers[at]) for at, weight in weights.items())


WIDE, ROUND, FEW = 200, 100, 32
"""Weights from the first number on are rounded to few multiples of the second."""

Weights = Mapping[int, int]
"""Whole weights of counts by position; that of rows is past the last count."""


@dataclass(frozen=True, slots=True)
class FaultNoises:
    """The noise of the `length` counts of the check, and of the number of rows."""

    length: int
    counts: Noise
    rows: Noise | None = None

    @property
    def knows_total(self) -> bool:
        """Whether the number of all units is known without noise."""
        return self.rows is not None and not self.rows.scale

    def total(self, factor: int = 1) -> dict[int, int]:
        """The weights of the number of units: the public one, or all counts."""
        return (
            {self.length: factor} if self.knows_total else dict.fromkeys(range(self.length), factor)
        )

    def margin(self, weights: Weights, outside: float) -> int:
        """A small k that the noise of a sum exceeds with probability <= `outside`.

        It is the least one for small weights. Larger weights take seconds, so they are rounded, and
        the margins of the rounded weights and of the rest are added: one of both noises exceeds its
        margin with at most the sum of their probabilities.
        """
        largest = max(map(abs, weights.values()), default=0)
        if largest < WIDE:
            return self._exact_margin(weights, outside)
        step = ROUND * ceil(largest / (ROUND * FEW))
        rounded = {at: round(Fraction(weight, step)) * step for at, weight in weights.items()}
        rest = {at: weight - rounded[at] for at, weight in weights.items()}
        return self._exact_margin(rounded, 0.98 * outside) + self.margin(rest, 0.02 * outside)

    def _exact_margin(self, weights: Weights, outside: float) -> int:
        number: dict[int, int] = {}
        for at, weight in weights.items():
            if weight and at < self.length:
                number[abs(weight)] = number.get(abs(weight), 0) + 1
        terms: Terms = tuple((self.counts, weight, count) for weight, count in number.items())
        of_rows = abs(weights.get(self.length, 0))
        if of_rows and self.rows is not None and self.rows.scale:
            terms = (*terms, (self.rows, of_rows, 1))
        return weighted_margin(terms, 1 - 2 * Fraction(outside)).width if terms else 0


def summed(*parts: Weights) -> dict[int, int]:
    """The sum of several weights."""
    total: dict[int, int] = {}
    for part in parts:
        for at, weight in part.items():
            total[at] = total.get(at, 0) + weight
    return total


def fewer_terms(weights: dict[int, int], noises: FaultNoises) -> dict[int, int]:
    """Weights with the same sum, which use a public total if that has less noise.

    The sum of all counts is then known: it is subtracted as often as it makes most weights zero.
    """
    if not noises.knows_total:
        return weights
    of_counts = [weights.get(at, 0) for at in range(noises.length)]
    common = max(set(of_counts), key=lambda weight: (of_counts.count(weight), -abs(weight)))
    shifted = {at: weight - common for at, weight in enumerate(of_counts)}
    shifted[noises.length] = weights.get(noises.length, 0) + common
    return shifted
