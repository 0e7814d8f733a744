"""How closely each two of several numeric columns follow a line."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from dpcli.statistics.base import Answer, Estimate, Request
from dpcli.statistics.covariance import Covariance
from dpcli.statistics.moments import Moments
from dpcli.statistics.plausible import Plausible

if TYPE_CHECKING:
    from dpcli.statistics.plausible import Numbers

PLACES = 4
"""Decimals of a correlation."""


class Correlation(Covariance):
    """The correlation of each pair of several numeric columns (Pearson 1895).

    The covariance over the square root of the product of the variances, from the same noisy
    moments as `covariance`, at the same cost; over rows in which all of the `columns` are
    present, overall or in each group of `by`. Items are called `a:b`. It lies between -1
    and 1, and is zero where noise makes a variance zero or less; the interval then says
    that nothing is known.

    Privacy: as for `covariance`, of which it is a function.
    """

    name = "correlation"
    keeps_raw = False

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """Noisy covariances over the roots of noisy variances."""
        moments = Moments(request.columns)
        pairs = list(combinations(range(len(request.columns)), 2))

        def matrix(sums: Numbers) -> Numbers:
            import numpy as np

            covariances = moments.read(sums)[2]
            found = []
            for i, j in pairs:
                size = covariances[i, i] * covariances[j, j]
                known = (covariances[i, i] > 0) & (covariances[j, j] > 0)
                root = np.sqrt(np.where(known, size, 1.0))
                found.append(np.where(known, covariances[i, j] / root, np.nan))
            return np.stack(found)

        found = Plausible(answers, matrix, confidence, count=0)
        found.values[~(abs(found.values) < float("inf"))] = 0.0
        every = len(pairs)
        within = (Fraction(-1), Fraction(1))
        return found.estimates([Fraction(1)] * every, [PLACES] * every, [within] * every)

    def items(self, request: Request) -> tuple[str, ...]:
        """The two columns of each pair."""
        names = [column.name for column in request.columns]
        return tuple(f"{one}:{other}" for one, other in combinations(names, 2))

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become correlations."""
        return ("noisy covariances over the roots of noisy variances, from -1 to 1",)
