"""Counts by groups of which one person can raise many, from centered counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, hypot, sqrt

from dpcli.noise.distribution import Family, Margin, Noise
from dpcli.noise.sums import blended_margin, weighted_margin
from dpcli.numeric.arrays import Array, add_exact, multiply_exact
from dpcli.numeric.interval_arithmetic import sqrt_down
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.paired import paired
from dpcli.queries.query import LinearQuery, Query
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.counts.pairs import MAX_RELATIVE_DEVIATION, CellsFromPairs, less_noise
from dpcli.statistics.design import (
    Design,
    Inputs,
    LinearDesign,
    NoisyAnswer,
    PublishedAnswer,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import Statistic

PARTS = (2, 4)
"""The denominators of the multiple: r/2 or r/4 per person, for r rows per group."""

REASON = (
    "{times:,} times each count is measured less {less:,} for each person with a row that counts, "
    "and these people once; the sum of both gives the count. One person can change many groups, so "
    "this needs less noise than separate counts; the groups share a part of it"
)

PAIRS_REASON = (
    ". Counts less people are answered in pairs, by their difference and their sum, which "
    "together change no more than both do, and a count is half of what they add up to"
)


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
    a = l (1 - 2 t) + d t, instead of l r; for all groups, (d^(2/3) + 1)^(3/2)/2 instead of d. In
    pairs (`PairedQuery`), a is d/2 over the root of two for t = 1/2, and then the deviation is
    ((d^2/2)^(1/3) + 1)^(3/2)/2. What has the smallest deviation is taken, or none.

    Under change-one, the number of people stays the same, and centering does not help: one person
    may leave some groups, and the other enter different ones. Pairs of counts do.
    """

    def by_people(
        self,
        inputs: Inputs,
        counts: LinearQuery,
        role: str,
        relation: Relation,
        step: Fraction = Fraction(1),
    ) -> tuple[Design, ...]:
        """The design of plain counts, after one of centered counts if it has less noise.

        The design of centered counts also counts people.
        """
        unit, separate = relation.unit, WeightedQuery(role, counts, step=step)
        plain = PublishedAnswer(inputs, (separate,))
        if not counts.cells or counts.cells == 1:
            return (plain,)
        pairs = CellsFromPairs.of(inputs, separate, relation)
        by_person = isinstance(unit, PersonUnit) and relation.neighbors is Neighbors.ADD_REMOVE
        if not by_person or counts.factors or counts.user_clamp not in {None, (0, 1)}:
            return (*pairs, plain)
        return (
            *self._centered(inputs, separate, relation, "l2"),
            *self._centered(inputs, separate, relation, "l1", in_pairs=True),
            *pairs,
            *self._centered(inputs, separate, relation, "l1"),
            plain,
        )

    def _centered(
        self,
        inputs: Inputs,
        separate: WeightedQuery,
        relation: Relation,
        family: Family,
        *,
        in_pairs: bool = False,
    ) -> tuple[Design, ...]:
        """Centered counts, or pairs of them, with the least noise of a family.

        It is empty if separate counts, or pairs of them, have about as little noise.
        """
        best: tuple[Design, ...] = ()
        counts, one = separate.query, separate.query.sensitivity(relation)
        max_deviation = sqrt(one.l2_squared) if family == "l2" else float(one.l1)
        if in_pairs:
            max_deviation *= min(less_noise(paired(counts), relation), 1.0)
        max_deviation *= MAX_RELATIVE_DEVIATION
        for times in PARTS:
            centered = CenteredCountQuery(
                by=counts.by, items=counts.items, where=counts.where, present=counts.present,
                times=times, less=one.linf, of_people=counts.total_clamp is not None,
            )  # fmt: skip
            query: Query = paired(centered) if in_pairs else centered
            change = query.sensitivity(relation)
            ratio = _ratio(change, one.linf, family, query.numbers_of_cell)
            power = 1.0 if family == "l2" else 1.5
            deviation = one.linf * (float(ratio) + 1) ** power / times
            if deviation > max_deviation:
                continue
            max_deviation, weight = deviation, ratio / (ratio + 1)
            queries = (
                WeightedQuery(f"{separate.role} less people", query, weight),
                WeightedQuery("people", centered.people, 1 - weight),
            )
            reason = REASON.format(times=times, less=one.linf) + PAIRS_REASON * in_pairs
            design = SharedNoise(
                inputs, queries, (family,), ("epsilon",), reason, times=times, less=one.linf,
                gains_by_epsilon=in_pairs,
            )  # fmt: skip
            best = (design,)
        return best


@dataclass(frozen=True, kw_only=True)
class SharedNoise(LinearDesign):
    """A design of two answers: centered counts c, and the numbers that center them.

    For each count, c = `times` count - `less` number. So the count is (c + `less` number) /
    `times`. Several counts share the same number, and so its noise.

    Centered counts may be answered in pairs: each is half of what the difference and the sum of its
    pair add up to, so it has half the variance of either. Together they change no more than the two
    counts do, if each of these changes as much as it can.
    """

    times: int
    less: int = 1

    @property
    def block(self) -> tuple[int, ...]:
        counts, numbers = (part.query.cells for part in self.queries)
        return (counts // numbers, 1) if counts and numbers else super().block

    @property
    def numbers_of_cell(self) -> int:
        """How many numbers of the first answer make a centered count, as their mean."""
        return self.queries[0].query.numbers_of_cell

    def expected_error(self, errors: Sequence[float]) -> float:
        of_counts, of_numbers = errors
        return hypot(of_counts / sqrt(self.numbers_of_cell), self.less * of_numbers) / self.times

    def error(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction | None = None
    ) -> Fraction:
        return self._margin(noises, confidence).width * self._unit

    @property
    def _unit(self) -> Fraction:
        return Fraction(1, self.times * self.numbers_of_cell)

    def _margin(self, noises: Sequence[Noise], confidence: Fraction) -> Margin:
        counts, numbers = noises
        if self.numbers_of_cell > 1:
            terms = ((counts, 1, 2), (numbers, 2 * self.less, 1))
            return weighted_margin(terms, confidence)
        outside = float(1 - confidence) / 2
        width = blended_margin(counts, Fraction(1), numbers, Fraction(self.less), outside)
        variance = counts.discrete_variance + self.less**2 * numbers.discrete_variance
        return Margin(ceil(width), variance)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        counts, numbers = answers
        margin = self._margin([counts.noise, numbers.noise], confidence)
        centered, less = self._centered(counts), self.less * self.numbers_of_cell
        added = multiply_exact(numbers.values, less).repeat(len(centered) // len(numbers.values))
        return Estimates.around(add_exact(centered, added), margin, self._unit)

    def _centered(self, answer: NoisyAnswer) -> Array:
        return self.queries[0].query.cells_from(answer.values)


def _ratio(counts: Sensitivity, people: int, family: Family, numbers_of_cell: int) -> Fraction:
    """The ratio of the weights of centered counts and people with the least noise.

    `people` is the sensitivity of the number of people, times `less`. Variances are inverse to
    shares of rho, and to the squares of shares of epsilon.
    """
    if family == "l2":
        return sqrt_down(Fraction(counts.l2_squared), bits=16) / people
    size = counts.l1 / sqrt(numbers_of_cell) / people
    return Fraction(round(size ** (2 / 3) * 2**16), 2**16)
