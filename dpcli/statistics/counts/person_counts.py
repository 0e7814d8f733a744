"""Counts by groups of which one person can raise many, from centered counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, hypot, prod, sqrt

from dpcli.noise.distribution import ADDITIVE, Family, Margin, Noise, blended_margin
from dpcli.numeric.arrays import add_exact, multiply_exact
from dpcli.numeric.interval_arithmetic import sqrt_down
from dpcli.privacy.sensitivity import centered_sensitivity, sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.design import (
    Design,
    NoiseOfNumbers,
    NoisyAnswer,
    PublishedAnswer,
    Request,
    WeightedQuery,
    error_sentence,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import Statistic

PARTS = (2, 4)
"""The denominators of the multiple: r/2 or r/4 per person, for r rows per group."""

MAX_RELATIVE_DEVIATION = 0.95
"""Centered counts are used with at most this part of the noise of plain counts."""


class PersonCounts(Statistic):
    """A statistic of counts by groups, or of sums of such counts and of people.

    If a person can raise many of the counts, two other answers need less noise: each count less a
    multiple of the number of people, and the number of people. A person who raises a count by 0 or
    r changes it by -r/2 or r/2 if the multiple is r/2: half as much. People are counted once for
    all groups, and the multiple is added again (Lebeda 2025, for Gaussian noise and vectors of
    zeros and ones of which up to l of d numbers are one).

    With d groups, r rows in each and the multiple r/2, the deviation of a count with Gaussian noise
    is (sqrt(d) + 1)/2 times r, instead of sqrt(d) times r. If a person can be in at most l of the d
    groups, and the multiple is t r for t up to 1/2, it is sqrt(l (1 - 2 t) + d t^2) + t times r.
    With Laplace noise and the best shares of epsilon, it is (a^(2/3) + t^(2/3))^(3/2) times r for
    a = l (1 - 2 t) + d t, instead of l r; for all groups, (d^(2/3) + 1)^(3/2)/2 instead of d. The
    multiple with the smallest deviation is taken, or none.

    Under change-one, the number of people stays the same, and centering does not help: one person
    may leave some groups, and the other enter different ones.
    """

    def by_people(
        self, request: Request, counts: LinearQuery, role: str, relation: Relation
    ) -> tuple[Design, ...]:
        """The design of plain counts, after one of centered counts if it has less noise.

        The design of centered counts also counts people.
        """
        unit, plain = relation.unit, PublishedAnswer(request, (WeightedQuery(role, counts),))
        if (
            not isinstance(unit, PersonUnit)
            or relation.neighbors is not Neighbors.ADD_REMOVE
            or not counts.cells
            or counts.factors
            or counts.user_clamp not in {None, (0, 1)}
        ):
            return (plain,)
        by_rho, by_epsilon = (
            self._centered(request, counts, role, unit, family) for family in ADDITIVE[::-1]
        )
        return (*by_rho, *by_epsilon, plain)

    def _centered(
        self, request: Request, counts: LinearQuery, role: str, unit: PersonUnit, family: Family
    ) -> tuple[Design, ...]:
        """The design of centered counts with the least noise of a family.

        It is empty if plain counts have about as little noise.
        """
        best: tuple[Design, ...] = ()
        of_people, is_gaussian = counts.user_clamp is not None, family == "l2"
        unit = unit.for_totals if of_people else unit
        cells = prod(map(len, counts.axes))
        plain = sensitivity(counts.row_contribution, Neighbors.ADD_REMOVE, unit, cells)
        less = plain.linf
        max_deviation = MAX_RELATIVE_DEVIATION * (
            sqrt(plain.l2_squared) if is_gaussian else plain.l1
        )
        for times in PARTS:
            centered = centered_sensitivity(times, less, unit, cells)
            # The ratio of the weights with the least noise. Variances are inverse to shares of rho,
            # and to the squares of shares of epsilon.
            if is_gaussian:
                ratio = sqrt_down(Fraction(centered.l2_squared), bits=16) / less
                deviation = less * (float(ratio) + 1) / times
            else:
                ratio = Fraction(round((centered.l1 / less) ** (2 / 3) * 2**16), 2**16)
                deviation = less * (float(ratio) + 1) ** 1.5 / times
            if deviation <= max_deviation:
                max_deviation = deviation
                query = CenteredCountQuery(
                    by=counts.by, items=counts.items, where=counts.where, present=counts.present,
                    times=times, less=less, of_people=of_people,
                )  # fmt: skip
                weight = ratio / (ratio + 1)
                queries = (
                    WeightedQuery(f"{role} less people", query, weight),
                    WeightedQuery("people", query.people, 1 - weight),
                )
                reason = (
                    f"{times:,} times each count is measured less {less:,} for each person "
                    "with a row that counts, and these people once; the sum of both gives the "
                    "count. One person can change many groups, so this needs less noise than "
                    "separate counts; the groups share a part of it"
                )
                shared = SharedNoise(
                    request, queries, (family,), ("epsilon",), reason=reason, times=times, less=less
                )
                best = (shared,)
        return best


@dataclass(frozen=True, kw_only=True)
class SharedNoise(Design):
    """A design of two answers: centered counts c, and the numbers that center them.

    For each count, c = `times` count - `less` number. So the count is (c + `less` number) /
    `times`. Several counts share the same number, and so its noise.
    """

    noise_of_numbers = NoiseOfNumbers.GAUSSIAN
    times: int
    less: int = 1

    @property
    def block(self) -> tuple[int, ...]:
        counts, numbers = (part.query.cells for part in self.queries)
        return (counts // numbers, 1) if counts and numbers else super().block

    def expected_error(self, errors: Sequence[float]) -> float:
        of_counts, of_numbers = errors
        return hypot(of_counts, self.less * of_numbers) / self.times

    def known_error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        return Fraction(self._margin(noises, confidence).width, self.times)

    def _margin(self, noises: Sequence[Noise], confidence: Fraction) -> Margin:
        (counts, numbers), outside = noises, float(1 - confidence) / 2
        width = blended_margin(counts, Fraction(1), numbers, Fraction(self.less), outside)
        variance = counts.discrete_variance + self.less**2 * numbers.discrete_variance
        return Margin(ceil(width), variance)

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        return self.reason, error_sentence(self.known_error(noises, confidence), confidence)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        counts, numbers = answers
        margin = self._margin([counts.noise, numbers.noise], confidence)
        added = multiply_exact(numbers.values, self.less)
        added = added.repeat(len(counts.values) // len(numbers.values))
        return Estimates.around(add_exact(counts.values, added), margin, Fraction(1, self.times))
