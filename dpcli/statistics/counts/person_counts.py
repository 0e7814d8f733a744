"""Counts by groups of which one person can raise many, from centered counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, hypot, sqrt
from typing import Any

from dpcli.noise.distribution import Family, Margin, Noise
from dpcli.noise.sums import blended_margin
from dpcli.numeric.arrays import add_exact, multiply_exact
from dpcli.numeric.interval_arithmetic import sqrt_down
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.counts.known_sum import CountsOfAllRows
from dpcli.statistics.counts.vectors import MAX_RELATIVE_DEVIATION, NumbersTogether
from dpcli.statistics.design import (
    MEASURES,
    Design,
    Inputs,
    LinearDesign,
    NoisyAnswer,
    PublishedAnswer,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import Statistic

OWN = ("percent", "rate", "totals", "hierarchy", "level_shares", "known")
"""Options in which counts are published otherwise."""

PARTS = (2, 4)
"""The denominators of the multiple: r/2 or r/4 per person, for r rows per group."""

REASON = (
    "{times:,} times each count is measured less {less:,} for each person with a row that counts, "
    "and these people once; the sum of both gives the count. One person can change many groups, so "
    "this needs less noise than separate counts; the groups share a part of it"
)


class PersonCounts(Statistic):
    """A statistic of counts by groups, or of sums of such counts and of people.

    If a person can raise many of the counts, K-norm noise for all of them (`NumbersTogether`) needs
    less noise than Laplace noise for each. With Gaussian noise, or Laplace noise where rho counts,
    two other answers do: each count less a multiple of the number of people, and the number of
    people. A person who raises a count by 0 or r changes it by -r/2 or r/2 if the multiple is r/2:
    half as much. People are counted once for all groups, and the multiple is added again (Lebeda
    2025, for Gaussian noise and vectors of zeros and ones of which up to l of d numbers are one).

    With d groups, r rows in each and the multiple r/2, the deviation of a count with Gaussian noise
    is (sqrt(d) + 1)/2 times r, instead of sqrt(d) times r. If a person can be in at most l of the d
    groups, and the multiple is t r for t up to 1/2, it is sqrt(l (1 - 2 t) + d t^2) + t times r.
    With Laplace noise and the best shares of epsilon, it is (a^(2/3) + t^(2/3))^(3/2) times r for
    a = l (1 - 2 t) + d t, instead of l r. What has the smallest deviation is taken, or none.

    Under change-one, the number of people stays the same, and centering does not help: one person
    may leave some groups, and the other enter different ones. K-norm noise does.
    """

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs without an option that is not stated."""
        own = {key: value for key, value in given.items() if key not in OWN or value is not None}
        return super().complete_inputs(bare, own)

    def by_people(
        self,
        inputs: Inputs,
        counts: LinearQuery,
        role: str,
        relation: Relation,
        step: Fraction = Fraction(1),
    ) -> tuple[Design, ...]:
        """The design of plain counts, after those with less noise."""
        unit, separate = relation.unit, WeightedQuery(role, counts, step=step)
        plain = PublishedAnswer(inputs, (separate,))
        if not counts.cells or counts.cells == 1:
            return (plain,)
        together = NumbersTogether.of(inputs, separate, relation)
        of_all_rows = CountsOfAllRows.of(inputs, separate, relation)
        by_person = isinstance(unit, PersonUnit) and relation.neighbors is Neighbors.ADD_REMOVE
        if not by_person or counts.factors or counts.user_clamp not in {None, (0, 1)}:
            return (*together, *of_all_rows, plain)
        gaussian, laplace = (_centered(inputs, separate, relation, norm) for norm in ("l2", "l1"))
        return (*gaussian, *together, *of_all_rows, *laplace, plain)


def _centered(
    inputs: Inputs, separate: WeightedQuery, relation: Relation, family: Family
) -> tuple[SharedNoise, ...]:
    """Centered counts with the least noise of a family, if it is less than separate."""
    best: tuple[SharedNoise, ...] = ()
    counts, one = separate.query, separate.query.sensitivity(relation)
    is_gaussian = family == "l2"
    max_deviation = MAX_RELATIVE_DEVIATION * (sqrt(one.l2_squared) if is_gaussian else one.l1)
    for times in PARTS:
        centered = CenteredCountQuery(
            by=counts.by, items=counts.items, where=counts.where, present=counts.present,
            times=times, less=one.linf, of_people=counts.total_clamp is not None,
        )  # fmt: skip
        change = centered.sensitivity(relation)
        # Variances are inverse to shares of rho, and to the squares of shares of epsilon.
        if is_gaussian:
            ratio = sqrt_down(Fraction(change.l2_squared), bits=16) / one.linf
        else:
            ratio = Fraction(round((change.l1 / one.linf) ** (2 / 3) * 2**16), 2**16)
        deviation = one.linf * (float(ratio) + 1) ** (1.0 if is_gaussian else 1.5) / times
        if deviation > max_deviation:
            continue
        max_deviation, weight = deviation, ratio / (ratio + 1)
        queries = (
            WeightedQuery(f"{separate.role} less people", centered, weight),
            WeightedQuery("people", centered.people, 1 - weight),
        )
        reason = REASON.format(times=times, less=one.linf)
        measures = MEASURES if is_gaussian else ("epsilon",)
        best = (
            SharedNoise(inputs, queries, (family,), measures, reason, times=times, less=one.linf),
        )
    return best


@dataclass(frozen=True, kw_only=True)
class SharedNoise(LinearDesign):
    """A design of two answers: centered counts c, and the numbers that center them.

    For each count, c = `times` count - `less` number. So the count is (c + `less` number) /
    `times`. Several counts share the same number, and so its noise.
    """

    times: int
    less: int = 1

    @property
    def block(self) -> tuple[int, ...]:
        counts, numbers = (part.query.cells for part in self.queries)
        return (counts // numbers, 1) if counts and numbers else super().block

    def expected_error(self, errors: Sequence[float]) -> float:
        of_counts, of_numbers = errors
        return hypot(of_counts, self.less * of_numbers) / self.times

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        return self._margin(noises, confidence).width * Fraction(1, self.times)

    def _margin(self, noises: Sequence[Noise], confidence: Fraction) -> Margin:
        counts, numbers = noises
        outside = float(1 - confidence) / 2
        width = blended_margin(counts, Fraction(1), numbers, Fraction(self.less), outside)
        variance = counts.discrete_variance + self.less**2 * numbers.discrete_variance
        return Margin(ceil(width), variance)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        counts, numbers = answers
        margin = self._margin([counts.noise, numbers.noise], confidence)
        added = multiply_exact(numbers.values, self.less)
        added = added.repeat(len(counts.values) // len(added))
        return Estimates.around(add_exact(counts.values, added), margin, Fraction(1, self.times))
