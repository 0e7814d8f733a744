"""The loss of local responses: of a single one, and of many in random order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import Interval, exp, log, log_up, sqrt_up
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorstOutput:
    """The output that distinguishes two inputs best, and its probabilities.

    `output` is a column of the table, and `likely` and `unlikely` are rows, all counted from zero.
    Input `likely` gives that output with `max_probability`, input `unlikely` with
    `min_probability`.
    """

    output: int
    likely: int
    unlikely: int
    max_probability: Fraction
    min_probability: Fraction

    @property
    def ratio(self) -> Fraction | None:
        """The ratio of the two probabilities; None if it is infinite."""
        return self.max_probability / self.min_probability if self.min_probability else None

    @property
    def epsilon(self) -> Fraction | None:
        """The logarithm of the ratio, rounded up; None if it is infinite."""
        return None if self.ratio is None else epsilon_of_ratio(self.ratio)


def epsilon_of_ratio(ratio: Fraction) -> Fraction:
    """The logarithm of a ratio of at least one, rounded up to a short decimal."""
    return Fraction(0) if ratio == 1 else short_up(log_up(ratio))


def worst_ratio(rows: Sequence[Sequence[Fraction]]) -> WorstOutput:
    """Over all outputs and all pairs of inputs, the greatest ratio of probabilities.

    Row i has the probabilities of the outputs for input i. A mechanism with these probabilities is
    epsilon-private if and only if epsilon is at least the logarithm of that ratio (Kasiviswanathan,
    Lee, Nissim, Raskhodnikova and Smith 2011). An output with probability zero for all inputs
    reveals nothing.
    """
    worst = WorstOutput(0, 0, 0, Fraction(1), Fraction(1))
    for output, column in enumerate(zip(*rows, strict=True)):
        high, low = max(column), min(column)
        # Zero over zero never occurs; a positive number over zero is the worst ratio.
        if (
            high
            and worst.min_probability
            and (not low or high / low > worst.max_probability / worst.min_probability)
        ):
            worst = WorstOutput(output, column.index(high), column.index(low), high, low)
    return worst


LARGEST_EPSILON = 50
"""Above it, no realistic number of records is large enough for the bound."""


@dataclass(frozen=True, slots=True)
class ShuffledGuarantee:
    """The central guarantee of shuffled responses, if the bound applies to their number.

    `epsilon` is None where the bound is not proven: it takes `needed_records` records. That is
    None if no realistic number of records is large enough.
    """

    records: int
    delta: Fraction
    epsilon: Fraction | None
    needed_records: int | None


def amplify_by_shuffling(epsilon: Fraction, records: int, delta: Fraction) -> ShuffledGuarantee:
    """The guarantee of epsilon-private responses that are published in random order.

    If epsilon <= log(n / (16 log(2/delta))), neighbors that differ in one record cannot be
    distinguished at delta by more than

        log(1 + (e^epsilon - 1)/(e^epsilon + 1) (8 sqrt(e^epsilon log(4/delta)/n) + 8 e^epsilon/n))

    (Feldman, McMillan and Talwar 2021, theorem 3.1); the result is never above epsilon. All
    records must be randomized in the same way, and nothing but the order may distinguish them. The
    result is rounded up, and so is the number of records that the condition needs.
    """
    if epsilon > LARGEST_EPSILON:
        return ShuffledGuarantee(records, delta, None, None)
    exp_epsilon = exp(Interval.of(epsilon))
    needed = 16 * log_up(2 / delta) * exp_epsilon.high
    needed_records = -(-needed.numerator // needed.denominator)
    if records < needed_records:
        return ShuffledGuarantee(records, delta, None, needed_records)
    first = 8 * sqrt_up(exp_epsilon.high * log_up(4 / delta) / records)
    # (x - 1)/(x + 1) grows with x.
    spread = (
        (exp_epsilon.high - 1) / (exp_epsilon.high + 1) * (first + 8 * exp_epsilon.high / records)
    )
    amplified = short_up(log(Interval.of(1 + spread)).high)
    return ShuffledGuarantee(records, delta, min(amplified, epsilon), needed_records)
