"""What shuffling adds: many private responses, once nobody knows whose each is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcli.privacy.decimals import short_up
from dpcli.privacy.interval import Interval, exp, log_up, sqrt_up
from dpcli.privacy.interval import log as certified_log

LARGEST = 50
"""An epsilon that no number of records on earth would make up for."""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The central guarantee of so many shuffled responses, if the bound applies.

    `epsilon` is None where the bound is not proven: it would take `enough` records, which is
    None if no number of records is.
    """

    records: int
    delta: Fraction
    epsilon: Fraction | None
    enough: int | None


def shuffled(epsilon: Fraction, records: int, delta: Fraction) -> Shuffled:
    """The guarantee of publishing responses in random order, for epsilon-private ones.

    If epsilon <= log(n / (16 log(2/delta))), neighbours that differ in one record cannot be
    told apart at delta by more than

        log(1 + (e^epsilon - 1)/(e^epsilon + 1) (8 sqrt(e^epsilon log(4/delta)/n) + 8 e^epsilon/n))

    (Feldman, McMillan and Talwar 2021, theorem 3.1), which is never taken to exceed epsilon.
    All records must be randomized in the same way, and the order must be the only thing
    that tells them apart. Rounded up; the condition is decided to the strict side.
    """
    if epsilon > LARGEST:
        return Shuffled(records, delta, None, None)
    grown = exp(Interval.of(epsilon))
    needed = 16 * log_up(2 / delta) * grown.high
    enough = -(-needed.numerator // needed.denominator)
    if records < enough:
        return Shuffled(records, delta, None, enough)
    first = 8 * sqrt_up(grown.high * log_up(4 / delta) / records)
    # (x - 1)/(x + 1) grows with x.
    spread = (grown.high - 1) / (grown.high + 1) * (first + 8 * grown.high / records)
    found = short_up(certified_log(Interval.of(1 + spread)).high)
    return Shuffled(records, delta, min(found, epsilon), enough)
