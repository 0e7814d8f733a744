"""How each two of several numeric columns vary together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
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
        moments = Moments(request.columns)
        pairs = moments.pairs

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
        return tuple(f"{names[i]}:{names[j]}" for i, j in Moments(request.columns).pairs)

    def item_name(self, request: Request) -> str:
        """Each item is a pair of columns."""
        return "pair"

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become covariances."""
        return ("noisy mean products less products of noisy means, no larger than possible",)


def _possible(i: int, j: int, unit: Fraction) -> Limits:
    """The least and the greatest covariance of values within bounds."""
    return Fraction(0) if i == j else -unit, unit
