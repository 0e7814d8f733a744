"""Sums of groups, with the noisy numbers of rows that decide which are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import weighted_margin
from dpcli.numeric.arrays import add_exact, multiply_exact
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.counts.vectors import in_vectors, vectors_instead
from dpcli.statistics.design import Inputs, LinearDesign, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.means.distances import BernsteinQuery

REASON = (
    "the sums of the distances of the values from either bound are answered. Together they are the "
    "width between the bounds for each value, so both cost no more than one; they give the total "
    "and the number of rows, which decides whether it is shown"
)


@dataclass(frozen=True, kw_only=True)
class SumWithRows(LinearDesign):
    """The total of values x in [L, U] and their number, from distances from bounds.

    (U - L) x = U (x - L) + L (U - x), so the total has the noise of a `sum` if L or U is zero. Else
    its noise is at most the root of two times as large.
    """

    counts_rows: bool = True

    @classmethod
    def of(cls, inputs: Inputs, relation: Relation) -> tuple[SumWithRows, ...]:
        """The designs; empty if bounds are equal, or sums are too large."""
        query = BernsteinQuery.of(inputs, (inputs.numeric,), 1)
        if query is None:
            return ()
        part = WeightedQuery("distances from both bounds", query, step=inputs.numeric.step)
        separate = cls(inputs, (part,), reason=REASON)
        # With noise that both sums share, the margin of one of them is known.
        found = None if all(inputs.numeric.limits) else vectors_instead(part, relation)
        if found is None:
            return (separate,)
        return replace(separate, queries=(found[0],), **in_vectors(found[1])), separate

    @property
    def block(self) -> tuple[int, ...]:
        query = self.queries[0].query
        return ((query.vectors or (query.cells_per_group, ""))[0],)

    @property
    def unit(self) -> Fraction:
        """The value of a step of the combined distances."""
        column = self.inputs.numeric
        return column.step / (column.upper - column.lower)

    def _margin(self, noise: Noise, confidence: Fraction) -> Margin:
        *others, weight = sorted(abs(end) for end in self.inputs.numeric.limits)
        if any(others):
            terms = tuple((noise, one, 1) for one in (*others, weight))
            return weighted_margin(terms, confidence)
        one = noise.margin(confidence)
        return Margin(one.width * weight, one.variance and one.variance * weight**2)

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        return self._margin(noises[0], confidence).width * self.unit

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        column = self.inputs.numeric
        from_upper, from_lower = self.divided(answers)
        values = add_exact(
            multiply_exact(from_lower.values, column.upper),
            multiply_exact(from_upper.values, column.lower),
        )
        margin = self._margin(answers[0].noise, confidence)
        return Estimates.around(values, margin, self.unit, (decimal_places(column.step),))
