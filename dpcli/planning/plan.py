"""The plans of releases and collections: queries, sensitivities, noise, losses.

Parallel composition applies to statistics about disjoint rows, which are in different branches.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar, final

from dpcli.data.column import Column, Ranges, ValuedColumn
from dpcli.data.filters import AllOf, Filter
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
from dpcli.privacy.events import CORRECTED, MechanismEvent
from dpcli.privacy.loss import Guarantee, Loss, loss_text, sum_losses
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.errors import UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import Shown, Summary
from dpcli.queries.query import BoundedQuery, Query
from dpcli.specification.dataset_names import dataset_name_fault
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

        The error of a choice is how far the utility of the chosen candidate may fall short of the
        best one. For quantiles, this assumes that values lie densely and evenly. The
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
    def unit(self) -> Unit:
        """The privacy unit, with the limits that hold for this statistic."""
        return self.queries[0].calibrated.relation.unit

    @property
    def is_of_people(self) -> bool:
        """Whether it uses one line of each person, not rows."""
        return isinstance(self.unit, PersonUnit) and self.unit.of_people

    def depends_on(self, choice: BoundsChoice) -> bool:
        """Whether chosen bounds, or a chosen limit, decide an answer or its noise."""
        own = self.entry.limits
        return any(choice.decides(part.weighted.query, own) for part in self.queries)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the published numbers, not of supporting queries."""
        return self.queries[0].calibrated.mechanism

    @property
    def keeps_sums(self) -> bool:
        """Whether later answers use its sums: it is a series."""
        return any(part.weighted.query.keeps_sums for part in self.queries)

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
                series=query.overlap and query.overlap + CORRECTED * self.design.is_correction,
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


@dataclass(frozen=True, slots=True, repr=False)
class _Plan(Shown):
    """What a release or a collection will spend."""

    spec: Spec
    bound: Bound

    def _summary(self) -> Summary:
        budget = self.spec.privacy.budget
        verdict = "fits" if self.fits else "does not fit"
        title = f"Plan of {self.spec.dataset}: {loss_text(self.cost)}"
        rows = [("name", "asks for", "numbers", "costs"), *self._costs()]
        return Summary(title, rows, (f"of a budget of {loss_text(budget)}: {verdict}",))

    @abstractmethod
    def _costs(self) -> Iterator[tuple[str, str, str, str]]:
        """For each entry its name, what it asks for, how many numbers, and the loss."""

    def about(self, period: str | None, recipient: str | None = None) -> Self:
        """The plan of a release about a period and for a recipient, if given.

        Raises ValueError if the text names no period, and UsageError if the spec states another
        period or recipient.
        """
        if recipient not in (None, self.spec.recipient):
            if own := self.spec.recipient:
                arguments = {"recipient": recipient, "stated": own}
                raise UsageError.about("period-differs.recipient", **arguments)
            if fault := dataset_name_fault(recipient):
                raise UsageError.about("bad-dataset", **fault)
            return replace(self, spec=replace(self.spec, recipient=recipient)).about(period)
        if period is None:
            return self
        from dpcli.data.periods import parse_period

        given, stated = parse_period(period), self.spec.reference_period
        if stated is not None and (stated.first, stated.last) != (given.first, given.last):
            raise UsageError.about("period-differs", period=period, stated=stated.text)
        return self if stated else replace(self, spec=replace(self.spec, reference_period=given))

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
@dataclass(frozen=True, slots=True, repr=False)
class CentralPlan(_Plan):
    """Everything that a release will ask, answer and spend.

    The `quality` check comes first, and all else is answered only if it passes. The histograms
    `bounds` come next: they choose the bounds of columns and the limit on rows per person. They are
    charged in a ledger entry of their own, the check with them. The `statistics` follow.
    """

    kind, part, outcome, allowed = "release", "statistic", "release", "allowed"

    spec: CentralSpec
    statistics: tuple[PlannedStatistic, ...]
    quality: PlannedStatistic | None = None
    bounds: tuple[PlannedStatistic, ...] = ()

    def _costs(self) -> Iterator[tuple[str, str, str, str]]:
        for planned in self.all_statistics:
            cells = planned.cells
            numbers = "private groups" if cells is None else f"{cells:,}"
            yield planned.name, planned.entry.words, numbers, loss_text(planned.target)

    @property
    def existing_rows(self) -> Filter | None:
        """Which rows exist for the release, by their day; None for all.

        Raises UsageError if that depends on the period, and it is not known.
        """
        spec = self.spec
        spec.require_period()
        if spec.period_column is None or spec.reference_period is None:
            return None
        from dpcli.data.period_filter import period_filter

        return period_filter(spec.period_column, spec.reference_period)

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
        """The events of the `released_statistics`, as the ledger records them.

        What comes before is charged in an entry of its own: `first_phase`.
        """
        return tuple(event for planned in self.released_statistics for event in planned.events)

    @property
    def all_statistics(self) -> tuple[PlannedStatistic, ...]:
        """All charged statistics: histograms for bounds, quality check, statistics."""
        return (*self.bounds, *([self.quality] if self.quality else []), *self.statistics)

    @property
    def answered_check(self) -> PlannedStatistic | None:
        """The quality check, unless it is answered with the histograms for bounds."""
        return None if self.bounds and self.spec.checks_first else self.quality

    @property
    def released_statistics(self) -> tuple[PlannedStatistic, ...]:
        """All that is answered after bounds are chosen: a check left, then statistics."""
        return (*([self.answered_check] if self.answered_check else []), *self.statistics)

    @property
    def followed_states(self) -> tuple[tuple[str, str], ...]:
        """The statistics that are answers of series, with the state that each follows."""
        pairs = ((planned.name, planned.design.follows) for planned in self.released_statistics)
        return tuple((name, digest) for name, digest in pairs if digest is not None)

    @property
    def quality_check_only(self) -> CentralPlan:
        """The plan to charge if the quality check fails: that of the check alone.

        Choices that are open then are not made. Those that an earlier version made before the check
        are charged as well.
        """
        assert self.quality is not None
        bounds = () if self.chooses_bounds else self.bounds
        spec = replace(self.spec, choices=()) if self.chooses_bounds else self.spec
        return CentralPlan(spec, self._bound_of([*bounds, self.quality]), (), self.quality, bounds)

    @property
    def first_phase(self) -> CentralPlan:
        """The plan of the entry that chooses bounds: perhaps a check, then histograms."""
        check = self.quality if self.spec.checks_first else None
        bound = self._bound_of([*self.bounds, *([check] if check else [])])
        return CentralPlan(self.spec.for_choices, bound, self.bounds, check)

    def _bound_of(self, statistics: Sequence[PlannedStatistic]) -> Bound:
        privacy, counts = self.spec.privacy, guarantee_counts(statistics, self.spec)
        return privacy.composition.bound(counts, privacy.budget.delta)

    @property
    def queries(self) -> tuple[PlannedQuery, ...]:
        """Every query of `released_statistics`: those of a quality check come first."""
        return tuple(query for planned in self.released_statistics for query in planned.queries)

    @property
    def engine_queries(self) -> tuple[BoundedQuery, ...]:
        """The `queries` in the form that the engine aggregates, each with its own limits."""
        calibrated = (query.calibrated for query in self.queries)
        return tuple(BoundedQuery(one.query, one.relation.unit) for one in calibrated)


@final
@dataclass(frozen=True, slots=True, repr=False)
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

    def _costs(self) -> Iterator[tuple[str, str, str, str]]:
        for response in self.spec.responses:
            loss = loss_text(response.randomizer.loss)
            yield response.column.name, response.mechanism.name, "one for each record", loss

    followed_states: ClassVar[tuple[tuple[str, str], ...]] = ()
    """None: a collection is no answer of a series."""

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

    Privacy: a unit is in a single branch if it is a row, or a person with at most one row. Limits
    may differ: only statistics with `max_rows` of 1 are in a branch. For each choice of random
    bits they all use the same row of a person, that with the smallest priority of all their rows.
    Statistics that clamp the total of all rows of a person are in no branch of a column of rows. In
    a column of people, a person has one value, so all of their rows are in one branch, whatever
    limits are.
    """
    declared = frozenset(spec.columns)
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        unit, queries = spec.relation_of(entry).unit, tuple(entry.queries)
        implied = AllOf(entry.inputs.where).implied() or {}
        for column, ranges in implied.items():
            # A branch is named by its column, so only declared columns have branches.
            if column in declared and all(_has_one_value(column, each, unit) for each in queries):
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


def _has_one_value(column: Column, query: Query, unit: Unit) -> bool:
    """Whether all rows of a unit that a query uses have the same value in a column.

    So it is for columns of people, and where every query uses the same single row of a unit.
    """
    if not isinstance(unit, PersonUnit) or column.is_of_people:
        return True
    return unit.max_rows == 1 and query.total_clamp is None and not unit.of_people


def require_disjoint(statistics: Iterable[PlannedStatistic]) -> None:
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
                or not _has_one_value(column, query, planned_query.calibrated.relation.unit)
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
