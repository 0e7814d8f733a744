"""The guarantee of randomized responses that are published in random order."""

from __future__ import annotations

from fractions import Fraction

from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import Interval, exp, log_up, sqrt_up
from dpcli.problems.light_dataclasses import dataclass

LARGEST_SHUFFLED = 50
"""Above this epsilon, the shuffling bound needs more records than are realistic."""


@dataclass(frozen=True, slots=True)
class ShuffledGuarantee:
    """Central guarantee of shuffled responses, if the bound applies to their number.

    `epsilon` is None if there are fewer than the `needed_records` for which the bound is proven.
    `needed_records` is None if no realistic number of records is large enough.
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
    if epsilon > LARGEST_SHUFFLED:
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
    amplified = short_up(log_up(1 + spread))
    return ShuffledGuarantee(records, delta, min(amplified, epsilon), needed_records)
