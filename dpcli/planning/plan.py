"""What a plan is: complete and public before any row is read.

What will be asked, how far one unit can change each answer, which noise covers that, and
what all of it reveals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from dpcli.columns import CategoryColumn
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.mechanisms.partition_selection import PartitionSelection
from dpcli.noise.distribution import Noise
from dpcli.numeric.number_text import decimal_sqrt_up
from dpcli.privacy.accounting.composition import Bound
from dpcli.privacy.accounting.parallel import Branch, parallel_composition
from dpcli.privacy.loss import Guarantee, Loss, compose, sum_losses
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.queries import Query
from dpcli.scores import ScoreQuery
from dpcli.specification.model import Entry, Response, Spec
from dpcli.statistics.statistic import WeightedQuery, groups

if TYPE_CHECKING:
    from dpcli.privacy.amplification import ShuffledGuarantee


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One query with the mechanism that is calibrated to answer it.

    Sensitivity and noise count steps of the query's grid.
    """

    weighted: WeightedQuery
    calibrated: CalibratedMechanism

    @property
    def sensitivity(self) -> Sensitivity:
        """The most that one unit changes the answer, in steps."""
        return self.calibrated.sensitivity

    @property
    def mechanism(self) -> Mechanism:
        """How it is answered."""
        return self.calibrated.mechanism

    @property
    def noise(self) -> Noise:
        """The noise of the answer, in steps."""
        return self.calibrated.noise

    @property
    def loss(self) -> Loss:
        """What is charged: its share of the entry, or nothing if no neighbor can change it.

        The recomputed loss of all parts together does not exceed the entry's. Of pure mechanisms,
        each part's own does not exceed its share either; Gaussian parts are protected
        jointly, and their shares have a meaning only in sum.
        """
        return self.calibrated.loss

    @property
    def partition_selection(self) -> PartitionSelection | None:
        """The rule by which the answer also says which groups there are."""
        return self.calibrated.partition_selection

    @property
    def guarantee(self) -> Guarantee:
        """What it reveals, in every measure."""
        return self.calibrated.guarantee

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in the answer's own unit."""
        return self.noise.scale * self.weighted.step

    @property
    def l1(self) -> Fraction:
        """The most that one unit changes all cells together, in the answer's own unit."""
        return self.sensitivity.l1 * self.weighted.step

    @property
    def l2(self) -> Fraction:
        """The same by squares, rounded up."""
        return decimal_sqrt_up(self.sensitivity.l2_squared * self.weighted.step**2)

    @property
    def linf(self) -> Fraction:
        """The most that one unit changes a cell, in the answer's own unit."""
        return self.sensitivity.linf * self.weighted.step

    @property
    def row_contribution(self) -> tuple[Fraction, Fraction]:
        """The least and the most that a row adds to a cell, in the answer's own unit."""
        once = self.weighted.query.row_contribution
        return once.low * self.weighted.step, once.high * self.weighted.step

    @property
    def is_exact(self) -> bool:
        """Whether the answer is the same for all neighbors, and given exactly."""
        return self.sensitivity.l1 == 0

    @property
    def mechanism_kind(self) -> str:
        """The distribution of its noise, or the mechanism that chooses; `exact` without either."""
        return "exact" if self.is_exact else self.noise.name

    def error(self, confidence: Fraction) -> Fraction:
        """The half-width of the noise at `confidence`, in the answer's own unit.

        Of choices, by how much the utility of each falls short of the best at most.
        """
        query = self.weighted.query
        if isinstance(query, ScoreQuery):
            missed = self.noise.shortfall(query.cells_per_group * query.k, confidence)
        else:
            missed = self.noise.half_width(confidence)
        return missed * self.weighted.step


@dataclass(frozen=True, slots=True)
class PlannedStatistic:
    """An entry of the spec, what it may reveal, and the parts that answer it.

    `target` is the price in the spec, solved. Where it is about rows that no entry of
    other branches is about, `branch` names the column that separates them, and which of the
    disjoint parts this is. `alternative_bounding` is what would
    answer it if people were bounded in the other way.
    """

    entry: Entry
    target: Loss
    queries: tuple[PlannedQuery, ...]
    alternative_bounding: tuple[PlannedQuery, ...] = ()
    branch: Branch | None = None

    @property
    def name(self) -> str:
        """What the spec calls it."""
        return self.entry.request.name

    @property
    def mechanism(self) -> Mechanism:
        """How it is answered."""
        return self.queries[0].mechanism

    @property
    def is_joint(self) -> bool:
        """Whether the losses of its parts have a meaning only in sum."""
        return len(self.queries) > 1 and self.mechanism.needs_delta

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What its answers reveal, those that are protected jointly as one."""
        each = tuple(part.guarantee for part in self.queries)
        return (compose(each),) if self.is_joint else each

    @property
    def rho(self) -> Fraction:
        """What its answers reveal together, in rho."""
        return sum((one.rho for one in self.guarantees), start=Fraction(0))

    def error(self, confidence: Fraction) -> Fraction | None:
        """The half-width of a single answer; None of several, whose errors depend on values."""
        return self.queries[0].error(confidence) if len(self.queries) == 1 else None

    @property
    def cells(self) -> int | None:
        """How many numbers the entry publishes; None if its groups are private."""
        if self.entry.keys:
            return None
        request = self.entry.request
        return groups(request) * self.entry.statistic.item_count(request)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a release will ask, answer and spend.

    With a `quality` check its answers come first; the `entries` are answered only if they
    meet its minimums. In the local model there are no entries: every record gives the
    `responses` of the spec.
    """

    spec: Spec
    statistics: tuple[PlannedStatistic, ...]
    bound: Bound
    quality: PlannedStatistic | None = None

    @property
    def is_local(self) -> bool:
        """Whether every record responds by itself, instead of being counted with the others."""
        return self.spec.is_local

    @property
    def all_statistics(self) -> tuple[PlannedStatistic, ...]:
        """Everything that spends: the quality check first, then the statistics."""
        return (*([self.quality] if self.quality else []), *self.statistics)

    @property
    def quality_check_only(self) -> Plan:
        """What is asked, answered and spent if the quality check fails."""
        assert self.quality is not None
        answers = guarantee_counts([self.quality], self.spec)
        privacy = self.spec.privacy
        bound = privacy.composition.bound(answers, privacy.budget.delta)
        return Plan(self.spec, (), bound, self.quality)

    @property
    def requested_loss(self) -> Loss:
        """What the entries or responses ask for, one by one: the plain sum of their losses."""
        losses = [entry.target for entry in self.all_statistics]
        return sum_losses(
            [*losses, *(response.randomizer.loss for response in self.spec.responses)]
        )

    @property
    def cost(self) -> Loss:
        """What all answers together reveal, by the composition of the spec."""
        return self.bound.loss

    @property
    def guarantee_counts(self) -> dict[Guarantee, int]:
        """What the worst unit can lose by each answer or response, and how often."""
        return guarantee_counts(self.all_statistics, self.spec)

    @property
    def queries(self) -> tuple[PlannedQuery, ...]:
        """Every part of every entry, the quality check first, then in spec order."""
        return tuple(part for planned in self.all_statistics for part in planned.queries)

    @property
    def engine_queries(self) -> tuple[Query, ...]:
        """Every query, in the order of `parts`."""
        return tuple(part.weighted.query for part in self.queries)

    @property
    def fits(self) -> bool:
        """Whether the budget allows the release, compared exactly."""
        return self.cost.within(self.spec.privacy.budget)

    def shuffle_guarantee(self, records: int, delta: Fraction) -> ShuffledGuarantee | None:
        """The central guarantee of this number of responses in random order.

        A record's responses together are one, of the sum of epsilons. None if some response
        has a delta: the bound is for pure ones.
        """
        from dpcli.privacy.amplification import amplify_by_shuffling

        asked = self.requested_loss
        return None if asked.delta else amplify_by_shuffling(asked.epsilon, records, delta)


def standard_error(response: Response, records: int) -> float | None:
    """The standard error of estimates from this number of records; None without any.

    For frequencies the root of the mean square over all labels, where these are equally
    frequent. Symmetric responses and unary encoding have the same for all frequencies,
    as their squares sum to the same.
    """
    randomizer, column = response.randomizer, response.column
    if not randomizer.estimable:
        return None
    count = len(column.labels) if isinstance(column, CategoryColumn) else 1
    return sqrt(sum(randomizer.variances([1 / count] * count)) / count / records)


def guarantee_counts(entries: Sequence[PlannedStatistic], spec: Spec) -> dict[Guarantee, int]:
    """What the worst unit can lose by these entries, disjoint ones not added up.

    In the local model, what a record can lose by each of its responses.
    """
    if spec.is_local:
        return Counter(response.randomizer.guarantee for response in spec.responses)
    answers = ((entry.guarantees, entry.branch) for entry in entries)
    return parallel_composition(answers, spec.privacy.neighbors)
