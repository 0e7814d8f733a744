"""The variance and the standard deviation of a numeric column."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.fields import NumericColumnName
from dpcli.privacy.decimals import decimal_places
from dpcli.privacy.relation import Relation
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, numeric
from dpcli.statistics.moments import Moments
from dpcli.statistics.plausible import Plausible
from dpcli.values import Shape

if TYPE_CHECKING:
    from dpcli.statistics.plausible import Numbers


class VarianceFields(Shape):
    """The column whose spread is measured."""

    column: NumericColumnName


class Variance(Statistic):
    """The variance of a numeric column, overall or in each group of `by`.

    The mean squared distance from the mean, over n (not n - 1) rows. It is computed from
    three noisy answers about the same rows: their number, the sum of their distances from
    the middle of the bounds, and the sum of the squares of these distances, each less half
    the greatest square. It is never negative, nor above the square of half the width of the
    bounds; `raw: true` shows what the noise made of it before. The interval covers the
    variances of the exact answers that may be behind the noisy ones.

    Privacy: with h the distance from the middle to a bound, adding or removing a row
    changes the count by 1, the sum by at most h, and the sum of squares by at most h^2/2,
    all rounded up to whole steps; the three share epsilon, and if the noise is Gaussian,
    they are protected as one answer. Changing a row changes the sum by at most 2 h and the
    squares by h^2; the number of rows is then public, if no row can be skipped, and has no
    privacy cost.
    """

    name = "variance"
    fields = VarianceFields

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """Count, sum and squares of the same rows."""
        return Moments((numeric(request),)).questions(request, relation)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The mean square less the square of the mean."""
        column = numeric(request)
        moments = Moments((column,))
        unit = moments.unit(0, 0)
        half = (column.upper - column.lower) * column.step / 2
        found = Plausible(answers, lambda sums: moments.read(sums)[2][0], confidence, count=0)
        places = 2 * decimal_places(column.step) + 2
        return found.estimates([unit], [places], [(Fraction(0), half * half)])

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become one."""
        return ("noisy mean square less the square of the noisy mean, from 0 to what is possible",)


class StandardDeviation(Variance):
    """The standard deviation of a numeric column, overall or in each group of `by`.

    The square root of the `variance`, over n rows, from the same three noisy answers and at
    the same cost; zero where noise makes the variance negative (`raw: true` then shows
    minus the root of its absolute value). The interval is that of the variance, as square
    roots.

    Privacy: as for `variance`, of which it is a function.
    """

    name = "std"

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The root of the noisy variance."""
        column = numeric(request)
        moments = Moments((column,))
        half = (column.upper - column.lower) * column.step / 2

        def root(sums: Numbers) -> Numbers:
            import numpy as np

            variance = moments.read(sums)[2][0]
            rooted: Numbers = np.sign(variance) * np.sqrt(np.abs(variance))
            return rooted

        found = Plausible(answers, root, confidence, count=0)
        places = decimal_places(column.step) + 2
        return found.estimates([moments.unit(0)], [places], [(Fraction(0), half)])

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become one."""
        return ("the root of the noisy variance, from 0 to half the width of the bounds",)
