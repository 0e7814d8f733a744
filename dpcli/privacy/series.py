"""The root of the matrix of running totals, and how periods of a person overlap.

The matrix A of running totals has ones on and below its diagonal. Its root R, with R R = A, is
Toeplitz: below the diagonal stand r_0 = 1 and r_k = r_(k-1) (2k-1)/(2k) (Henzinger, Upadhyay and
Upadhyay 2023). Here R is in whole multiples of 1/`UNIT`, and cut after `KEPT` periods.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import ceil

from dpcli.privacy.events import CORRECTED
from dpcli.privacy.sensitivity import Sensitivity

UNIT = 256
"""Coefficients are whole multiples of one over this number."""

KEPT = 180
"""How many periods a sum is part of answers, its own included."""

BLOCK = 20
"""Periods of a block: with equal shares, the best number for totals of a year."""

ROOT, BLOCKS = f"root {KEPT}", f"blocks {BLOCK}"
"""How periods overlap in the answers of a series, as events record it."""


@cache
def coefficients(kept: int = KEPT) -> tuple[int, ...]:
    """r_0, r_1 and so on, in multiples of 1/`UNIT`: none is negative, and none grows."""
    found, root = [], Fraction(1)
    for lag in range(kept):
        root *= Fraction(2 * lag - 1, 2 * lag) if lag else 1
        found.append(round(UNIT * root))
    return tuple(found)


@cache
def _overlap(lag: int, kept: int) -> int:
    """The inner product of the column of a period and that of `lag` periods later."""
    column = coefficients(kept)
    return sum(first * second for first, second in zip(column, column[lag:], strict=False))


@cache
def squared_norm(periods: int, kept: int = KEPT) -> int:
    """The largest squared norm of a sum of this many shifted columns, in 1/`UNIT`^2.

    Privacy: if a person changes the sums of n periods by vectors of at most norm D, answers change
    by the sum of n shifted columns, each times such a vector. The inner product of two vectors is
    at most D^2. Coefficients are not negative and do not grow, so overlaps of columns are not
    negative and do not grow with the lag. So the square of the change is at most D^2 times the sum
    of the overlaps of n successive columns. It is that, if all vectors are equal. A sum that is
    left out of later answers lowers some coefficients to zero, and so no bound grows.

    >>> from math import sqrt
    >>> [round(squared_norm(n) / squared_norm(1), 2) for n in (2, 3, 7)]
    [3.53, 7.44, 35.24]
    >>> round(sqrt(squared_norm(1)) / UNIT, 3)
    1.649
    """
    lags = range(1, min(periods, kept))
    shared = sum((periods - lag) * _overlap(lag, kept) for lag in lags)
    return periods * _overlap(0, kept) + 2 * shared


def of_periods(overlap: str, one: Sensitivity, periods: int) -> Iterator[tuple[Sensitivity, int]]:
    """The sensitivities to rows of a person in several periods of a series.

    `one` is that to the rows of one period. Each sensitivity has a number of independent answers.
    ValueError for an unknown `overlap`.

    Privacy: in a root, columns of periods overlap (`squared_norm`). In blocks, each period has an
    answer of its own, and the changes of all periods of a block add up in one further answer. So
    epsilons add up, but neither rho nor the curves of losses. A corrected period has one further
    answer about its sums alone: later answers change by no more than they did before.
    """
    design, _, number = overlap.removesuffix(CORRECTED).partition(" ")
    if design not in ("root", "blocks") or not number.isdecimal() or not int(number):
        raise ValueError("no overlap of periods")
    size, is_correction = int(number), overlap.endswith(CORRECTED)
    if design == "root" and is_correction:
        l1 = ceil(Fraction(one.l1 * UNIT, sum(coefficients(size))))
        l2_squared = ceil(Fraction(one.l2_squared * UNIT**2, squared_norm(1, size)))
        yield Sensitivity(one.l0, l1, l2_squared, one.linf), periods
        return
    if design == "root":
        column = coefficients(size)
        growth = Fraction(squared_norm(periods, size), squared_norm(1, size))
        highest = Fraction(sum(column[:periods]), column[0])
        norms = one.l1 * periods, ceil(one.l2_squared * growth), ceil(one.linf * highest)
        yield Sensitivity(one.l0 * periods, *norms), 1
        return
    full, rest = divmod(0 if is_correction else periods, size)
    for members, count in ((1, periods), (size, full), (rest, 1)):
        if members and count:
            norms = members * one.l1 // 2, members**2 * one.l2_squared // 2, members * one.linf
            yield Sensitivity(members * one.l0 // 2, *norms), count
