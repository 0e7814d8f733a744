"""How each two of several numeric columns vary together: covariance, correlation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from dpcli.fields import NumericColumns
from dpcli.privacy.decimals import decimal_places
from dpcli.privacy.relation import Relation
from dpcli.statistics.base import Answer, Estimate, Limits, Question, Request, Statistic
from dpcli.statistics.moments import Moments
from dpcli.statistics.plausible import Plausible
from dpcli.values import Shape

if TYPE_CHECKING:
    from dpcli.statistics.plausible import Numbers


class CovarianceFields(Shape):
    """The columns that are related to each other."""

    columns: NumericColumns


class Covariance(Statistic):
    """The covariance of each pair of several numeric columns, and the variance of each.

    Over n (not n - 1) rows in which all of the `columns` are present, overall or in each
    group of `by`; items are called `a:b`. All first and second moments are answered once,
    jointly, and serve every pair. Variances are never negative, and no covariance is larger
    than the bounds allow. A matrix of noisy covariances need not be positive definite. The
    interval of each covers the values that the exact answers may give it.

    Privacy: with h the distance from the middle of a column's bounds to a bound, adding or
    removing a row changes the count by 1, the sum of column i by at most h_i, the sum of
    its squares by h_i^2/2 and that of products by h_i h_j, all rounded up to whole steps.
    These answers share epsilon, and if the noise is Gaussian, they are protected as one
    answer whose squared changes add up. Changing a row changes each twice as much.
    """

    name = "covariance"
    fields = CovarianceFields

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """All moments up to the second."""
        return Moments(request.columns).questions(request, relation)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """Mean products less products of means."""
        moments, pairs = Moments(request.columns), self.pairs(request)

        def matrix(sums: Numbers) -> Numbers:
            import numpy as np

            covariances = moments.read(sums)[2]
            return np.stack([covariances[pair] for pair in pairs])

        units = [moments.unit(*pair) for pair in pairs]
        decimals = [decimal_places(column.step) for column in request.columns]
        found = Plausible(answers, matrix, confidence, count=0)
        return found.estimates(
            units,
            [decimals[i] + decimals[j] + 2 for i, j in pairs],
            [_possible(i, j, unit) for (i, j), unit in zip(pairs, units, strict=True)],
        )

    def items(self, request: Request) -> tuple[str, ...]:
        """The two columns of each pair."""
        names = [column.name for column in request.columns]
        return tuple(f"{names[i]}:{names[j]}" for i, j in self.pairs(request))

    def pairs(self, request: Request) -> list[tuple[int, int]]:
        """The places of the columns of each item: every two, and each with itself."""
        return list(Moments(request.columns).pairs)

    def item_name(self, request: Request) -> str:
        """Each item is a pair of columns."""
        return "pair"

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become covariances."""
        return ("noisy mean products less products of noisy means, no larger than possible",)


def _possible(i: int, j: int, unit: Fraction) -> Limits:
    """The least and the greatest covariance of values within bounds."""
    return Fraction(0) if i == j else -unit, unit


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
        moments, pairs = Moments(request.columns), self.pairs(request)

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

    def pairs(self, request: Request) -> list[tuple[int, int]]:
        """The places of every two columns."""
        return list(combinations(range(len(request.columns)), 2))

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become correlations."""
        return ("noisy covariances over the roots of noisy variances, from -1 to 1",)
