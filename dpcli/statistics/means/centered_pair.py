"""A centered sum and a number of rows, protected together under change-one."""

from __future__ import annotations

from dataclasses import replace

from dpcli.queries.paired import paired
from dpcli.statistics.means.quotient import QuotientDesign

REASON = (
    "the sum of the distances from the middle of the bounds is answered together with the number "
    "of rows, which counts half the width of the bounds for each row. A changed row changes the "
    "sum alone, by at most the width; a row that counts before the change or after it, but not "
    "both, changes either number by at most half of it. So both cost no more than the sum alone"
)


def centered_pair(distances: QuotientDesign) -> QuotientDesign:
    """A centered sum and the number of rows, for pure noise under change-one.

    In half steps, they are the difference and the sum of the sums of distances from both bounds.

    Privacy: a changed row moves at most the width w of the bounds from one of the two sums to the
    other, and a row that counts before the change or after it, but not both, changes one of them by
    w, or both by w together. So each of them changes by at most w, and their difference and their
    sum by at most 2 w together in L1; with up to t rows of a person, by t times as much.
    `BernsteinQuery` and `PairedQuery` have the proof. By groups and with weights, the distances
    themselves are answered.
    """
    inputs = distances.inputs
    if inputs.by or inputs.weight:
        return distances
    (sums,) = distances.queries
    role = "centered sum and number of rows"
    pair = replace(sums, role=role, query=paired(sums.query), step=sums.step / 2)
    return replace(distances, queries=(pair,), reason=REASON, quotient=distances.quotient.of_pair)
