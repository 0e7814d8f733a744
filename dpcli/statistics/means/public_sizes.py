"""Means and shares of groups whose sizes are public, as declared.

If the number n of rows of a group is declared, only one sum needs noise: that of the distances z of
the values from the middle m of their bounds. With z from -h to h, the mean is m + sum(z) / n.

Privacy: a row adds at most h, in absolute value, to the sum of its group and nothing to others. So
adding or removing a row changes all sums together by at most h in L1. Changing a row changes the
sum of its group by at most 2 h; moving it to another group changes two sums by at most h each. That
is 2 h in L1 as well. Sizes come from the spec alone, and noisy sums are divided by them, so this
holds whether or not they are true: wrong sizes give wrong means, and reveal nothing. They are
never compared with the data, because whether they agree depends on records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil

from dpcli.data.derived.positions import NumberOfLabels
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn
from dpcli.data.number_columns import NumberColumn
from dpcli.noise.distribution import NO_NOISE, Margin, Noise
from dpcli.noise.sums import blended_margin
from dpcli.numeric.arrays import Floats, add_exact, clip_exact, integer_array, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.rates import decimals_of, scaled
from dpcli.statistics.design import TYPICAL_MEAN, Inputs, NoisyAnswer, Queries, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.quotient import Quotient, QuotientDesign
from dpcli.statistics.public_numbers import PublicNumbers
from dpcli.statistics.samples.population import (
    SampledNumber,
    mean_by_centered_sums,
    mean_with_squares,
    sample_of,
    share_of_population,
)
from dpcli.statistics.weights import weight_factors, weight_step


def zero_or_one(column: LabeledColumn) -> NumericColumn:
    """A number that is one where a boolean is true."""
    derivation, name = NumberOfLabels((column,), (0, 1)), f"{column.name} as 0 or 1"
    return NumberColumn(name, Fraction(1), (0, 1), column.missing, derivation=derivation)


@dataclass(frozen=True, kw_only=True)
class MeansOfSizes(QuotientDesign):
    """Centered sums, each divided by the public size of its group."""

    has_typical = False

    sizes: tuple[Fraction, ...]

    @classmethod
    def of(
        cls, inputs: Inputs, public: PublicNumbers, column: NumericColumn, printed: Printed,
        relation: Relation,
    ) -> MeansOfSizes:  # fmt: skip
        """The design for the means of a column in which no row lacks a value."""
        distance, sizes = Factor.centered(column), dict(public.numbers)
        names = [key.column.name for key in inputs.by]
        places = [names.index(name) for name in public.keys]
        groups = product(*(key.labels for key in inputs.by))
        factors = (distance, *weight_factors(inputs))
        total = LinearQuery(factors=factors, by=inputs.by, where=inputs.where)
        if printed.date_range is None and distance.limits[1]:
            # Sizes show which digits noise hides.
            most = distance.limits[1] * distance.step * printed.unit / max(sizes.values())
            printed = replace(printed, decimals=max(printed.decimals, decimals_of(most)))
        role = "weighted centered sum" if inputs.weight else "centered sum"
        parts: Queries = (WeightedQuery(role, total, step=distance.step * weight_step(inputs)),)
        sampled: Callable[[QuotientDesign], SampledNumber] | None = None
        if inputs.sample and not inputs.weight:
            sampled = _sampled_share
            if column is inputs.column:
                parts = mean_with_squares(parts, inputs, column, relation)
                sampled = partial(mean_by_centered_sums, column, printed)
        return cls(
            inputs,
            parts,
            quotient=Quotient((1, 0), (0, 1), printed, distance.step, shift=distance.offset),
            typical_row=(Fraction(TYPICAL_MEAN) * distance.limits[1], Fraction(1)),
            sizes=tuple(sizes[tuple(group[at] for at in places)] for group in groups),
            counts_rows=False,
            sampled=sampled,
        )

    @property
    def factors(self) -> tuple[Fraction, ...]:
        """What one unit of the sum of each group adds to its mean."""
        return tuple(self.quotient.printed.unit / size for size in self.sizes)

    def divided(self, answers: Sequence[NoisyAnswer]) -> list[NoisyAnswer]:
        """The sums, the sizes without noise in steps of the weights, and the squares."""
        sums, *squares = answers
        steps = [round(size / weight_step(self.inputs)) for size in self.sizes]
        sizes = np.tile(integer_array(steps), len(sums.values) // len(steps))
        return [sums, NoisyAnswer(sizes, NO_NOISE), *squares]

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        """That of the smallest group."""
        return noises[0].half_width(confidence) * self.queries[0].step * max(self.factors)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        printed, part = self.quotient.printed, self.queries[0]
        sums = Estimates.around(answers[0].values, answers[0].noise.margins(confidence), part.step)
        middle = self.quotient.shift * self.quotient.step * printed.unit
        found = scaled(sums, self.factors, printed.decimals, middle).within([printed.limits])
        ends = (None if end is None else int(end / found.step) for end in printed.limits)
        value = clip_exact(found.value, *ends)
        return replace(found, value=value, raw=found.value, date_range=printed.date_range)

    def typical_groups(
        self, noises: Sequence[Noise], rows: Fraction, labels: int
    ) -> tuple[QuotientDesign, list[NoisyAnswer]]:
        """The group with the smallest parts, whose sizes take the place of `rows`."""
        groups = np.array(self.sizes, object).reshape(-1, labels)
        sizes = max(groups, key=lambda parts: sum(1 / size**2 for size in parts))
        unit, value = weight_step(self.inputs), self.typical_row[0]
        sums = integer_array([round(value * size / unit) for size in sizes])
        answers = [NoisyAnswer(sums, noise) for noise in noises]
        return replace(self, sizes=tuple(sizes)), answers

    def difference(
        self,
        quotients: Estimates,
        at: tuple[int, int],
        answers: Sequence[NoisyAnswer],
        confidence: Fraction,
    ) -> Estimates:
        """The second less the first, with a quantile of the difference of both noises."""
        labels, step, noise = len(self.inputs.by[-1]), quotients.step, answers[0].noise
        raw = quotients.value if quotients.raw is None else quotients.raw
        base, other = raw.reshape(-1, labels)[:, at].T
        outside, unit = float(1 - confidence) / 2, self.queries[0].step
        factors = np.array(self.factors, object).reshape(-1, labels)[:, at]
        # Both numbers were rounded down.
        margins = [
            Margin(ceil(blended_margin(noise, one * unit, noise, two * unit, outside) / step) + 1)
            for one, two in factors
        ]
        found = Estimates.around(add_exact(other, -base), margins, step, quotients.decimals)
        digit = int(Fraction(1, 10 ** quotients.decimals[0]) / step)
        return replace(
            found,
            lower=found.lower // digit * digit,
            upper=-(-found.upper // digit) * digit,
            variances=(None,),
        )


def _sampled_share(design: QuotientDesign) -> SampledNumber:
    """The share of a population, from a plausible sum over a sample, and its size."""
    sample = sample_of(design.inputs)

    def outcome(values: Floats) -> Floats:
        sums, sizes, normal = values
        # Sums count halves.
        found: Floats = share_of_population(sample, (sums / sizes + 1) / 2, sizes, normal)[None]
        return found

    return SampledNumber(outcome, design.quotient.printed)
