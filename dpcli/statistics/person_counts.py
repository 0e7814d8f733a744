"""Counts by groups of which one person can raise many, with shared noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, hypot, sqrt

from dpcli.messages import note
from dpcli.noise.distribution import Noise
from dpcli.noise.tails import blended_margin
from dpcli.numeric.arrays import add_exact, multiply_exact
from dpcli.numeric.interval_arithmetic import sqrt_down
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.sensitivity import centered_sensitivity, sensitivity
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.person_counts import CenteredCountQuery
from dpcli.queries.query import LinearQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.statistic import NoisyAnswer, Request, Statistic, WeightedQuery

PARTS = (2, 4)
"""Half or a quarter of the most rows in a group is subtracted for each person."""

LESS_PEOPLE = " less people"

LEAST_GAIN = 0.95
"""People are counted as well if noise is then at most this times as large."""


class PersonCounts(Statistic):
    """A statistic whose numbers are counts by groups, or sums of such counts and of people.

    If a person can raise many of the counts, Gaussian noise is smaller for counts of which a
    multiple of the number of people is subtracted, because a person then changes each of them by
    less: half as much, if it is half of what the person can raise it by. The people are counted
    once for all groups and added again (Lebeda 2025, for the vectors of zeros and ones of which up
    to l of d numbers are one). With d groups, r rows in each and the multiple r/2, the deviation
    is (sqrt(d) + 1)/2 times r, instead of sqrt(d) times r. If a person can be in at most l of the d
    groups, and t r is subtracted for t up to 1/2, it is sqrt(l (1 - 2 t) + d t^2) + t times r. That
    decides which multiple is best, or none.

    If people are exchanged, their number stays the same, and a person may take one from some groups
    and another add one to others. Noise that all groups share does not help there.
    """

    sums_answers = True

    def by_people(
        self, counts: LinearQuery, role: str, relation: Relation
    ) -> tuple[WeightedQuery, ...]:
        """The queries for Gaussian noise: the counts, or counts less people, and the people."""
        unit, best = relation.unit, [WeightedQuery(role, counts)]
        if (
            not isinstance(unit, PersonUnit)
            or relation.neighbors is not Neighbors.ADD_REMOVE
            or not counts.cells
            or counts.factors
            or counts.user_clamp not in {None, (0, 1)}
        ):
            return tuple(best)
        of_people = counts.user_clamp is not None
        unit = unit.for_totals if of_people else unit
        single = sensitivity(counts.row_contribution, relation.neighbors, unit, counts.cells)
        least = LEAST_GAIN * sqrt(single.l2_squared)
        for times in PARTS:
            squares = centered_sensitivity(times, single.linf, unit, counts.cells).l2_squared
            deviation = (sqrt(squares) + single.linf) / times
            if deviation <= least:
                least = deviation
                query = CenteredCountQuery(
                    by=counts.by, items=counts.items, where=counts.where, present=counts.present,
                    times=times, less=single.linf, of_people=of_people,
                )  # fmt: skip
                # The least noise is at weights of the L2 sensitivity to the multiple.
                root = sqrt_down(Fraction(squares), bits=16)
                weight = root / (root + single.linf)
                best = [
                    WeightedQuery(role + LESS_PEOPLE, query, weight),
                    WeightedQuery("people", query.people, 1 - weight),
                ]
        return tuple(best)

    def queries_for_pure_noise(
        self, request: Request, relation: Relation
    ) -> tuple[WeightedQuery, ...]:
        """The counts."""
        return tuple(map(_counts, self.queries(request, relation)[:1]))

    def expected_error(
        self, request: Request, queries: Sequence[WeightedQuery], errors: Sequence[float]
    ) -> float:
        """That of a count: the error of an answer, or of the sum of both."""
        centered = queries[0].query
        if not isinstance(centered, CenteredCountQuery):
            return super().expected_error(request, queries, errors)
        of_counts, of_people = errors
        return hypot(of_counts, centered.less * of_people) / centered.times

    def design_notes(
        self, request: Request, queries: Sequence[WeightedQuery], noises: Sequence[Noise]
    ) -> tuple[str, ...]:
        """How counts less people and the people give the counts."""
        centered = queries[0].query
        if not isinstance(centered, CenteredCountQuery):
            return ()
        return (note("designs.people", less=centered.less, times=centered.times),)

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The noisy counts, or the sums of counts less people and of the people."""
        centered = answers[0].query
        if not isinstance(centered, CenteredCountQuery):
            return super().estimate(request, answers, confidence)
        counts, people = answers
        outside, less = float(1 - confidence) / 2, Fraction(centered.less)
        margin = ceil(blended_margin(counts.noise, Fraction(1), people.noise, less, outside))
        added = multiply_exact(people.values, centered.less).repeat(len(counts.values))
        sums = add_exact(counts.values, added)
        return Estimates.around(sums, margin, Fraction(1, centered.times))


def _counts(weighted: WeightedQuery) -> WeightedQuery:
    """The same counts without people subtracted."""
    role = weighted.role.removesuffix(LESS_PEOPLE)
    return replace(weighted, role=role, query=weighted.query.counted_part, weight=Fraction(1))
