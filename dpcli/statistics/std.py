"""The standard deviation of a numeric column, in all or in each group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.privacy.decimals import decimal_places
from dpcli.statistics.base import Answer, Estimate, Request, numeric
from dpcli.statistics.moments import Moments
from dpcli.statistics.plausible import Plausible
from dpcli.statistics.variance import Variance

if TYPE_CHECKING:
    from dpcli.statistics.plausible import Numbers


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
