"""A centered sum and a number of rows, protected together under change-one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import hypot

from dpcli.data.grid_columns import NumericColumn
from dpcli.noise.distribution import Noise
from dpcli.queries.paired import paired
from dpcli.statistics.design import TYPICAL_MEAN, Design, Inputs
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.quotient import DistancesFromBounds, MeanDesign

REASON = (
    "the sum of the distances from the middle of the bounds is answered together with the number "
    "of rows, which counts half the width of the bounds for each row. A changed row changes the "
    "sum alone, by at most the width; a row that counts before the change or after it, but not "
    "both, changes either number by at most half of it. So both cost no more than the sum alone"
)


class CenteredPair(MeanDesign):
    """A centered sum and the number of rows, for pure noise under change-one.

    In half steps, they are the difference and the sum of the sums of distances from both bounds.

    Privacy: a changed row moves at most the width w of the bounds from one of the two sums to the
    other, and a row that counts before the change or after it, but not both, changes one of them by
    w, or both by w together. So each of them changes by at most w, and their difference and their
    sum by at most 2 w together in L1; with up to t rows of a person, by t times as much.
    `BernsteinQuery` and `PairedQuery` have the proof.
    """

    @classmethod
    def of(cls, inputs: Inputs, column: NumericColumn, printed: Printed) -> tuple[Design, ...]:
        """The design; empty by groups, with weights, or where distances are not answered."""
        if inputs.by or inputs.weight:
            return ()
        role = "centered sum and number of rows"
        designs = []
        for apart in DistancesFromBounds.of(inputs, column, printed):
            (distances,) = apart.queries
            query, quotient = paired(distances.query), apart.quotient.of_pair
            pair = replace(distances, role=role, query=query, step=distances.step / 2)
            designs.append(cls(inputs, (pair,), ("l1",), reason=REASON, quotient=quotient))
        return tuple(designs)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of the mean times the number of rows.

        Both numbers have the same noise.
        """
        return errors[0] * hypot(1, TYPICAL_MEAN)

    def error_of_rows(
        self, noises: Sequence[Noise], rows: Fraction, confidence: Fraction
    ) -> Fraction | None:
        """A bound on the error of a mean of n rows: 2 h s / (n h - s).

        The noise of either number is at most s, and h is half the width of the bounds. None if n h
        may be less than s.
        """
        (pair,) = self.queries
        noise = noises[0].half_width((1 + confidence) / 2)
        half = pair.query.row_contribution.high
        min_total = rows * half - noise
        return half * pair.step * 2 * noise / min_total if min_total > 0 else None
