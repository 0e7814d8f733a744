"""Plans one statistic: sensitivity and noise for a loss or for an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import log
from operator import attrgetter
from typing import Literal

from dpcli.fields.values import MAX_EPSILON, MIN_EPSILON, MIN_RHO
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.mechanism import CalibrationError, Mechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.numeric.exact import readable_text, short_up
from dpcli.numeric.search import bisect
from dpcli.planning.plan import PlannedQuery, PlannedStatistic, guarantee_counts
from dpcli.privacy.accounting.composition import Branch
from dpcli.privacy.loss import Loss, sum_losses
from dpcli.problems.errors import SpecError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import CentralSpec, Entry
from dpcli.statistics.design import Design, Measure, WeightedQuery

SIZE_DIGITS = 6
"""Significant digits of a loss that is found by search."""

LEAST_SIZE = {"rho": MIN_RHO, "epsilon": MIN_EPSILON}
"""The least loss that a search tries, by its measure."""

SEARCH_FACTOR = 32
"""A search multiplies or divides losses by this until it has one that is too small or too large."""

SUPPORTING = Laplace()
"""What answers queries that say how good the other answers of an entry are."""


@dataclass(frozen=True, slots=True)
class StatisticPlanner:
    """Plans the statistics of a spec one by one; `branches` are those of disjoint rows.

    The `size` of a loss is its rho if the composition counts rho, else its epsilon.
    """

    spec: CentralSpec
    branches: Mapping[str, Branch]

    def plan_with(self, entry: Entry, mechanism: Mechanism, target: Loss) -> PlannedStatistic:
        """The statistic with this mechanism and loss; a delta that it cannot use is not charged.

        Raises SpecError if the mechanism cannot meet the loss.
        """
        if not mechanism.needs_delta and not entry.selects_partitions:
            target = replace(target, delta=Fraction(0))
        alternative = None
        try:
            design, queries = self._planned_queries(entry, mechanism, target)
            if target.rho is not None:
                target = replace(
                    sum_losses(query.calibrated.loss for query in queries), rho=target.rho
                )
            if designs := entry.alternative_bounding:
                bounded = replace(entry, designs=designs, alternative_bounding=())
                alternative = self._planned_queries(bounded, mechanism, target)
        except CalibrationError as error:
            arguments = {"name": entry.request.name, "reason": error.reason, "hint": error.hint}
            raise SpecError.about("cannot-calibrate", **arguments) from None
        if design.agrees and {step.name for step in entry.post} == {"consistent"}:
            # The sums of a single table, or of effects, agree: they are the published numbers.
            entry = replace(entry, raw=False)
        branch = self.branches.get(entry.request.name)
        return PlannedStatistic(entry, target, design, queries, alternative, branch)

    def most_accurate(self, entry: Entry, target: Loss) -> PlannedStatistic:
        """The statistic with the mechanism that adds the least noise.

        Raises SpecError if a mechanism cannot meet the loss.
        """
        mechanisms = self._usable_mechanisms(entry, target)
        planned = [self.plan_with(entry, mechanism, target) for mechanism in mechanisms]
        return min(planned, key=self.log_error)

    def _usable_mechanisms(self, entry: Entry, target: Loss) -> list[Mechanism]:
        has_delta = target.delta > 0 or target.rho is not None or len(entry.mechanisms) == 1
        return [
            mechanism for mechanism in entry.mechanisms if has_delta or not mechanism.needs_delta
        ]

    def log_error(self, planned: PlannedStatistic) -> float:
        """The logarithm of the expected error, up to a constant."""
        # No published number has the error of a supporting query.
        published = (query for query in planned.queries if not query.weighted.supports)
        errors = [float(query.error(self.spec.confidence)) for query in published]
        error = planned.design.expected_error(errors)
        return log(error) if error else 0.0

    def total_loss(self, statistics: Sequence[PlannedStatistic]) -> Loss:
        """What these statistics reveal together, by the composition of the spec."""
        privacy, counts = self.spec.privacy, guarantee_counts(statistics, self.spec)
        return privacy.composition.total(counts, privacy.budget.delta)

    @property
    def measure(self) -> Literal["rho", "epsilon"]:
        """The measure of the size of a loss."""
        return "rho" if self.spec.privacy.composition.takes_rho else "epsilon"

    def target(self, size: Fraction, entry: Entry) -> Loss:
        """A loss of this size, with the delta that the spec gives to the entry."""
        if self.measure == "rho":
            return Loss(Fraction(0), entry.budget_request.delta, size)
        return Loss(size, entry.budget_request.delta)

    def plan_unweighted(self, entry: Entry) -> PlannedStatistic:
        """A statistic with its own loss, or with the least loss that reaches its error.

        Raises SpecError if no loss in range reaches the error.
        """
        request = entry.budget_request
        if request.error is None:
            epsilon = request.epsilon or Fraction(0)
            return self.most_accurate(entry, Loss(epsilon, request.delta, request.rho))
        mechanisms = self._usable_mechanisms(entry, self.target(Fraction(1), entry))
        searches = (
            self._least_reaching(request.error, entry, mechanism) for mechanism in mechanisms
        )
        planned = [statistic for statistic in searches if statistic is not None]
        if not planned:
            arguments = {"name": entry.request.name, "word": self.measure}
            raise SpecError.about(
                "cannot-calibrate.out-of-reach", error=readable_text(request.error), **arguments
            )
        return min(planned, key=lambda statistic: getattr(statistic.target, self.measure))

    def _least_reaching(
        self, error: Fraction, entry: Entry, mechanism: Mechanism
    ) -> PlannedStatistic | None:
        """The least loss found, to `SIZE_DIGITS` digits; None if it is beyond any protection."""
        min_size = LEAST_SIZE[self.measure]

        @cache
        def planned(size: Fraction) -> PlannedStatistic:
            return self.plan_with(entry, mechanism, self.target(size, entry))

        def reaches(size: Fraction) -> bool:
            expected = planned(size).error(self.spec.confidence)
            return expected is not None and expected <= error

        low = high = Fraction(1)
        if planned(low).error(self.spec.confidence) is None:
            arguments = {"name": entry.request.name, "word": self.measure}
            raise SpecError.about("cannot-calibrate.several-answers", **arguments)
        while reaches(low):
            if low == min_size:
                return planned(min_size)
            low, high = max(low / SEARCH_FACTOR, min_size), low
        while not reaches(high):
            if high == MAX_EPSILON:
                return None
            low, high = high, min(high * SEARCH_FACTOR, MAX_EPSILON)
        return planned(bisect(reaches, low, high, middle=_geometric_mean)[1])

    def _planned_queries(
        self, entry: Entry, mechanism: Mechanism, target: Loss
    ) -> tuple[Design, tuple[PlannedQuery, ...]]:
        """The design for a mechanism, and its queries: each uses its weight of the target.

        Privacy: choices and minimizers have another mechanism than the counts and sums that say how
        good they are, so these are calibrated apart.
        Each mechanism verifies that the loss of its answers is at most their weight of the target,
        and the weights of all queries sum to one. Losses of answers add up, as do rhos.
        """
        if entry.selects_partitions and target.delta <= 0:
            raise SpecError.about("cannot-calibrate.no-delta", name=entry.request.name)
        measure: Measure = "epsilon" if target.rho is None else "rho"
        design = next(
            candidate for candidate in entry.designs if candidate.serves(mechanism.family, measure)
        )
        planned: list[PlannedQuery] = []
        if target.rho is not None:
            design = replace(design, queries=_with_parts_of_rho(design.queries))
        for supports, together in groupby(design.queries, attrgetter("supports")):
            part = tuple(together)
            calibrated = CalibratedMechanism.calibrate(
                SUPPORTING if supports else mechanism,
                [weighted.query for weighted in part],
                self.spec.relation_of(entry),
                target,
                [weighted.weight for weighted in part],
                entry.calibration,
                selects_partitions=entry.selects_partitions,
                delta=self.spec.privacy.budget.delta,
            )
            planned += map(PlannedQuery, part, calibrated)
        return design, tuple(planned)


def _with_parts_of_rho(queries: Sequence[WeightedQuery]) -> tuple[WeightedQuery, ...]:
    """The queries, with weights of rho for which supporting ones do not raise the sum of epsilons.

    A pure answer with the part w^2 of rho has the part w of the epsilon that all of rho has. So
    with the part s for supporting answers, the others keep 1 - s of that epsilon.
    """
    supporting = sum((query.weight for query in queries if query.supports), start=Fraction(0))
    return tuple(
        replace(query, weight=query.weight * (query.weight if query.supports else 1 - supporting))
        for query in queries
    )


def _geometric_mean(low: Fraction, high: Fraction) -> Fraction:
    return short_up(Fraction((float(low) * float(high)) ** 0.5), SIZE_DIGITS)
