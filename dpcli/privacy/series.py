"""The root of the matrix of running totals, and how periods of a person overlap.

The matrix A of running totals has ones on and below its diagonal. Its root R, with R R = A, is
Toeplitz: below the diagonal stand r_0 = 1 and r_k = r_(k-1) (2k-1)/(2k) (Henzinger, Upadhyay and
Upadhyay 2023). Here R is in whole multiples of 1/`UNIT`, and cut after `KEPT` periods.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

UNIT = 256
"""Coefficients are whole multiples of one over this number."""

KEPT = 180
"""How many periods a sum is part of answers, its own included."""


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
