"""The plans of releases and collections: queries, sensitivities, noise, losses.

Parallel composition applies to statistics about disjoint rows, which are in different branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeVar, final

from dpcli.data.column import Ranges, ValuedColumn
from dpcli.data.filters import AllOf
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.noise.distribution import Noise
from dpcli.numeric.exact import decimal_sqrt_up
from dpcli.privacy.accounting.composition import (
    Bound,
    Branch,
    GuaranteePair,
    composed_pair,
    parallel_composition,
)
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Guarantee, Loss, sum_losses
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.specification.model import CentralSpec, Entry, LocalSpec, Spec
from dpcli.statistics.design import Design, WeightedQuery

if TYPE_CHECKING:
    from dpcli.statistics.bounds.chosen_bounds import BoundsChoice


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query and the mechanism that is calibrated to answer it.

    The sensitivity and the noise of `calibrated` count steps of the query's grid. The properties of
    a planned query are in the unit of the answer.

    Privacy: the recomputed loss of all queries of a statistic together is at most the target of the
    statistic. For pure mechanisms, the loss of each query is also at most its weight of the target.
    Gaussian answers are protected jointly: only the sum of their losses has a meaning.
    """

    weighted: WeightedQuery
    calibrated: CalibratedMechanism

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.calibrated.noise.scale * self.weighted.step

    @property
    def l1(self) -> Fraction:
        """The L1 sensitivity: the most by which one unit changes all cells together."""
        return self.calibrated.sensitivity.l1 * self.weighted.step

    @property
    def l2(self) -> Fraction:
        """The L2 sensitivity, rounded up."""
        return decimal_sqrt_up(self.calibrated.sensitivity.l2_squared * self.weighted.step**2)

    @property
    def linf(self) -> Fraction:
        """The Linf sensitivity: the most by which one unit changes a cell."""
        return self.calibrated.sensitivity.linf * self.weighted.step

    @property
    def row_contribution(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest value that one row adds to a cell."""
        once = self.weighted.query.row_contribution
        return once.low * self.weighted.step, once.high * self.weighted.step

    @property
    def is_exact(self) -> bool:
        """Whether all neighbors have the same answer, which is given without noise."""
        return self.calibrated.sensitivity.l1 == 0

    @property
    def mechanism_kind(self) -> str:
        """The name of the noise, or of the mechanism that chooses; `exact` without noise."""
        return "exact" if self.is_exact else self.calibrated.noise.name

    def error(self, confidence: Fraction, summed: int = 1) -> Fraction:
        """The half-width of the interval around the sum of `summed` numbers of an answer.

        A choice has no interval: its error is how far the utility of the chosen candidate may fall
        short of the best one. For quantiles, this assumes that values lie densely and evenly. The
        error of an objective is the half-width of its noise, a random slope.
        """
        query, noise = self.weighted.query, self.calibrated.noise
        return (
            self.calibrated.mechanism.expected_error(noise, query, confidence, summed)
            * self.weighted.step
        )


@dataclass(frozen=True, slots=True)
class PlannedStatistic:
    """An entry of the spec, its loss, and the queries that answer it.

    `target` is the loss that the entry may have. `branch` is None, or the name of a column and the
    number of a branch: statistics in different branches of a column are about disjoint rows.
    `alternative_bounding` has the design and the queries under the other contribution bounding.
    """

    entry: Entry
    target: Loss
    design: Design
    queries: tuple[PlannedQuery, ...]
    alternative_bounding: tuple[Design, tuple[PlannedQuery, ...]] | None = None
    branch: Branch | None = None

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self.entry.inputs.name

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the published numbers, not of supporting queries."""
        return self.queries[0].calibrated.mechanism

    @property
    def is_joint(self) -> bool:
        """Whether answers are protected jointly: only the sum of losses has a meaning."""
        return len(self.queries) > 1 and self.mechanism.needs_delta

    @property
    def guarantee_pairs(self) -> tuple[GuaranteePair, ...]:
        """The guarantee pair of each answer; one composed pair if `is_joint`."""
        guarantees = [query.calibrated.guarantee for query in self.queries]
        singles = [query.calibrated.add_remove_guarantee for query in self.queries if self.branch]
        pairs = tuple(map(GuaranteePair, guarantees, singles or guarantees))
        return (composed_pair(pairs),) if self.is_joint else pairs

    @property
    def events(self) -> Iterator[MechanismEvent]:
        """The mechanism events of the answers, as the ledger records them."""
        for part in self.queries:
            query, rule = part.weighted.query, part.calibrated.partition_selection
            details: dict[str, object] = {"unit": str(part.weighted.step), **query.ledger_details()}
            if rule is not None:
                details["threshold"] = str(rule.threshold)
            yield replace(
                part.calibrated.event,
                statistic=self.name,
                role=part.weighted.role,
                joint=self.is_joint,
                disjoint=self.branch,
                add_remove_sensitivity=part.calibrated.add_remove_sensitivity
                if self.branch
                else None,
                details=details,
            )

    @property
    def rho(self) -> Fraction:
        """The sum of the rhos of all answers."""
        return sum((query.calibrated.guarantee.rho for query in self.queries), start=Fraction(0))

    def error(self, confidence: Fraction) -> Fraction | None:
        """The half-width of a published number; None if it depends on the answers."""
        return self.design.error(self.noises, confidence)

    @property
    def noises(self) -> list[Noise]:
        """The noise of each query."""
        return [query.calibrated.noise for query in self.queries]

    @property
    def cells(self) -> int | None:
        """The number of published numbers; None if the groups are private."""
        inputs, items = self.entry.inputs, self.entry.statistic.item_count(self.entry.inputs)
        return None if self.entry.has_private_groups else inputs.groups * items


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a release or a collection will spend."""

    spec: Spec
    bound: Bound

    @property
    def chooses_bounds(self) -> bool:
        """Whether bounds or a limit are still to be chosen."""
        return any(choice.chosen is None for choice in self.spec.choices)

    @property
    def cost(self) -> Loss:
        """The loss of all answers together, by the composition of the spec."""
        return self.bound.loss

    @property
    def fits(self) -> bool:
        """Whether the cost is within the budget of the spec; compared exactly."""
        return self.cost.within(self.spec.privacy.budget)


@final
@dataclass(frozen=True, slots=True)
class CentralPlan(_Plan):
    """Everything that a release will ask, answer and spend.

    The histograms `bounds` come first: they choose the bounds of columns and the limit on rows per
    person, and are charged in a ledger entry of their own. The `quality` check is answered next;
    the `statistics` follow only if it passes.
    """

    kind, part, outcome, allowed = "release", "statistic", "release", "allowed"

    spec: CentralSpec
    statistics: tuple[PlannedStatistic, ...]
    quality: PlannedStatistic | None = None
    bounds: tuple[PlannedStatistic, ...] = ()

    @property
    def requested_loss(self) -> Loss:
        """The plain sum of the losses of all statistics."""
        return sum_losses(entry.target for entry in self.all_statistics)

    @property
    def choices(self) -> Iterator[tuple[BoundsChoice, PlannedStatistic]]:
        """Each choice of bounds or a limit, with the planned histogram that decides it."""
        return zip(self.spec.choices, self.bounds, strict=True)

    @property
    def guarantee_counts(self) -> dict[Guarantee, int]:
        """Each guarantee of all answers for the worst unit, and how often it occurs."""
        return guarantee_counts(self.all_statistics, self.spec)

    @property
    def charged_events(self) -> tuple[MechanismEvent, ...]:
        """The events of the quality check and the statistics, as the ledger records them.

        The histograms that choose bounds are charged before, in an entry of their own:
        `bounds_only`.
        """
        return tuple(event for planned in self.released_statistics for event in planned.events)

    @property
    def all_statistics(self) -> tuple[PlannedStatistic, ...]:
        """All charged statistics: histograms for bounds, quality check, statistics."""
        return (*self.bounds, *self.released_statistics)

    @property
    def released_statistics(self) -> tuple[PlannedStatistic, ...]:
        """All that is answered after bounds are chosen: quality check, then statistics."""
        return (*([self.quality] if self.quality else []), *self.statistics)

    @property
    def quality_check_only(self) -> CentralPlan:
        """The plan to charge if the quality check fails, including the choices of bounds."""
        assert self.quality is not None
        bound = self._bound_of([*self.bounds, self.quality])
        return CentralPlan(self.spec, bound, (), self.quality, self.bounds)

    @property
    def bounds_only(self) -> CentralPlan:
        """The plan of the histograms for bounds, which have a ledger entry of their own."""
        return CentralPlan(self.spec.for_choices, self._bound_of(self.bounds), self.bounds)

    def _bound_of(self, statistics: Sequence[PlannedStatistic]) -> Bound:
        privacy, counts = self.spec.privacy, guarantee_counts(statistics, self.spec)
        return privacy.composition.bound(counts, privacy.budget.delta)

    @property
    def queries(self) -> tuple[PlannedQuery, ...]:
        """Every query of `released_statistics`: those of the quality check come first."""
        return tuple(query for planned in self.released_statistics for query in planned.queries)

    @property
    def engine_queries(self) -> tuple[Query, ...]:
        """The `queries` in the form that the engine aggregates."""
        return tuple(query.weighted.query for query in self.queries)


@final
@dataclass(frozen=True, slots=True)
class LocalPlan(_Plan):
    """What a collection will spend: every record gives the responses of the spec.

    `guarantee_counts` says how often each guarantee occurs among the responses of one record. A
    collection has no statistics.
    """

    kind, part, outcome, allowed = "collection", "response", "responses", "per record"
    all_statistics: ClassVar[tuple[PlannedStatistic, ...]] = ()

    spec: LocalSpec
    guarantee_counts: Mapping[Guarantee, int]

    @property
    def requested_loss(self) -> Loss:
        """The plain sum of the losses of all responses of one record."""
        return sum_losses(response.randomizer.loss for response in self.spec.responses)

    @property
    def charged_events(self) -> tuple[MechanismEvent, ...]:
        """The events of the responses of one record: each record is charged for its own."""
        return tuple(
            response.randomizer.event(response.column.name, response.mechanism.name)
            for response in self.spec.responses
        )


Plan = CentralPlan | LocalPlan
"""A plan of either model."""

PlanT = TypeVar("PlanT", bound=Plan)


def guarantee_counts(
    statistics: Iterable[PlannedStatistic], spec: CentralSpec
) -> dict[Guarantee, int]:
    """The guarantees of statistics for the worst unit, each with its number of times.

    By parallel composition, statistics about disjoint rows are not added up.
    """
    pairs = ((planned.guarantee_pairs, planned.branch) for planned in statistics)
    return parallel_composition(pairs, spec.privacy.neighbors)


def disjoint_branches(spec: CentralSpec) -> dict[str, Branch]:
    """The branch of each statistic whose rows belong to no other branch.

    Every row has one value in a column. So two statistics are about disjoint rows if no value lies
    in the ranges of both on that column; statistics whose ranges overlap share a branch. Only
    ranges that contain all rows of a statistic count (`Filter.implied`): a range within `any`
    implies nothing about the other conditions. A row without a value in the column is in no branch.

    Privacy: a unit is in a single branch if it is a row, or a person with at most one row.
    Statistics that clamp the total of all rows of a person are in no branch.
    """
    unit = spec.privacy.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        return {}
    declared = frozenset(spec.columns)
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        if all(query.total_clamp is None for query in entry.queries):
            implied = AllOf(entry.inputs.where).implied() or {}
            for column, ranges in implied.items():
                # A branch is named by its column, so only declared columns have branches.
                if column in declared:
                    columns.setdefault(column.name, {})[entry.inputs.name] = ranges
    branches: dict[str, Branch] = {}
    # Columns that separate more branches go first; a statistic belongs to one column.
    for name_of_column in sorted(columns, key=lambda name: -len(_overlapping(columns[name]))):
        ranges_by_name = columns[name_of_column]
        left = {name: ranges for name, ranges in ranges_by_name.items() if name not in branches}
        groups = _overlapping(left)
        if len(groups) > 1:
            for index, names in enumerate(groups):
                branches |= dict.fromkeys(names, (name_of_column, index))
    return branches


def require_disjoint(statistics: Iterable[PlannedStatistic], unit: Unit) -> None:
    """Raise ValueError unless queries of different branches are about disjoint rows.

    A plan can be copied with other branches, so `branch` is not trusted: the conditions of the
    queries that will be answered must show that rows are disjoint, as in `disjoint_branches`.
    """
    columns: dict[str, ValuedColumn] = {}
    ranges_by_branch: dict[str, dict[str, Ranges]] = {}
    for planned in statistics:
        if planned.branch is None:
            continue
        name, index = planned.branch
        branches = ranges_by_branch.setdefault(name, {})
        for planned_query in planned.queries:
            query = planned_query.weighted.query
            implied = AllOf(query.where).implied() or {}
            column = next((column for column in implied if column.name == name), None)
            if (
                column is None
                or columns.setdefault(name, column) != column
                or query.total_clamp is not None
                or (isinstance(unit, PersonUnit) and unit.max_rows > 1)
            ):
                raise ValueError("a statistic is not about the rows of its branch")
            branches[str(index)] = branches.get(str(index), ()) + implied[column]
    for branches in ranges_by_branch.values():
        if len(_overlapping(branches)) != len(branches):
            raise ValueError("two branches have rows in common")


def _overlapping(ranges_by_name: Mapping[str, Ranges]) -> list[list[str]]:
    """Groups of names, in the given order: no two groups have overlapping ranges."""
    spans = sorted(
        (low, high, name) for name, ranges in ranges_by_name.items() for low, high in ranges
    )
    group_of: dict[str, set[str]] = {name: {name} for name in ranges_by_name}
    reached, holder = None, ""
    for low, high, name in spans:
        if reached is not None and low <= reached and group_of[name] is not group_of[holder]:
            merged = group_of[name] | group_of[holder]
            group_of |= dict.fromkeys(merged, merged)
        if reached is None or high > reached:
            reached, holder = high, name
    distinct = {id(group): group for group in map(group_of.__getitem__, ranges_by_name)}
    return [[name for name in ranges_by_name if name in group] for group in distinct.values()]
