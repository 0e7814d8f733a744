"""Trials of the whole pipeline on synthetic rows, and their results.

Privacy: a `SyntheticDataset` aggregates rows that it generated, and opens answers about these
alone. So nothing here can be about a real person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, cast, final

from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Array, Floats, add_exact, integer_array, multiply_exact, np
from dpcli.planning.plan import CentralPlan, PlannedQuery, PlannedStatistic
from dpcli.planning.quality_check import quality_result
from dpcli.planning.results import NoisyStatistic
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.privacy.unit import Limits, PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import BoundedQuery
from dpcli.releasing.steps import add_noise, answer_check, by_statistic, estimate_statistic
from dpcli.simulation.errors import ErrorSample, Observed, QueryTrial, fraction
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, Estimates
from dpcli.statistics.quantiles.recursion import QuantilesQuery

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer

UNLIMITED = Limits(1 << 30)
"""Limits that no synthetic dataset reaches."""


@dataclass(frozen=True, slots=True)
class ExactAnswers:
    """Exact answers to a statistic's queries: numbers, or scores of all candidates.

    `values` has an array for each query. `groups` are all groups of the dataset if they are
    private, and None if they are public.
    """

    values: tuple[Cells, ...]
    groups: tuple[Group, ...] | None


@final
class SyntheticRun:
    """The answers to all queries of a plan about one dataset, from one pass over it.

    If `limited`, the contributions of people are bounded as the plan says, with a new random
    choice of their rows. Otherwise all their rows count, which no release does.
    """

    def __init__(
        self, plan: CentralPlan, dataset: SyntheticDataset, *, limited: bool = True
    ) -> None:
        self._plan, self._dataset = plan, dataset
        queries = plan.engine_queries
        if not limited:
            queries = tuple(
                BoundedQuery(asked.query.without_clamp(), UNLIMITED.of(asked.unit))
                for asked in queries
            )
        # A check before a choice is not among the queries of the plan.
        self._check = replace(plan.first_phase, statistics=()) if plan.bounds else plan
        first = self._check.engine_queries if plan.bounds else ()
        answers = dataset.aggregate((*first, *queries))
        self._checked, self._confidential = answers, answers[len(first) :]

    def noisy(self) -> tuple[NoisyStatistic, ...]:
        """The answers with new noise, as a release has them."""
        return add_noise(self._plan, self._confidential, self._dataset.permit)

    def stopped(self) -> bool:
        """Whether the quality check, with new noise, stops a release of these rows."""
        if self._plan.quality is None:
            return False
        answers = answer_check(self._check, self._checked, self._dataset.permit)
        return bool(quality_result(self._plan, answers).reasons)

    def exact(self) -> tuple[ExactAnswers, ...]:
        """The answers without noise, statistic by statistic."""
        own = by_statistic(self._plan, self._confidential)
        groups = {
            planned.name: self._groups(pairs[0][1]).names
            for planned, pairs in own
            if planned.entry.selects_partitions
        }
        answers = []
        for planned, pairs in own:
            names = groups[planned.entry.selected_by] if planned.entry.selected_by else None
            values = tuple(_outcome(query, self._values(part, names)) for query, part in pairs)
            answers.append(ExactAnswers(values, names))
        return tuple(answers)

    def _groups(self, confidential: ConfidentialAnswer) -> Groups:
        return self._dataset.exact(cast("Confidential[Groups]", confidential))

    def _values(self, confidential: ConfidentialAnswer, groups: Sequence[Group] | None) -> Cells:
        """The exact numbers of all cells, or the scores of their candidates."""
        if groups is not None:
            return integer_array(self._groups(confidential).cells(groups))
        return integer_array(self._dataset.exact(cast("Confidential[Cells]", confidential)))


def _outcome(planned_query: PlannedQuery, values: Cells) -> Cells:
    """The answer of the mechanism without noise: numbers, or minimizer with ridge."""
    query, noise = planned_query.weighted.query, planned_query.calibrated.noise
    return planned_query.calibrated.mechanism.respond_without_noise(noise, query, values)


SAMPLINGS = 10
"""How often rows of people are sampled again; noise is new in each run anyway."""

MAX_ROWS = 1_000_000
"""The number of rows in all samplings together, unless two samplings have more."""


class ItemTrial:
    """The published numbers of one item in all runs, compared with noise-free ones."""

    def __init__(self, item: str, confidence: Fraction) -> None:
        self.item = item
        self.errors, self._shifts = ErrorSample(confidence), ErrorSample(confidence)
        self._widths: list[float] = []
        self._covered = self._numbers = 0

    def add_shifts(self, changes: Floats) -> None:
        """Add by how much limits on people change the noise-free number of each group."""
        self._shifts.add(changes)

    def add(self, estimates: Estimates, indices: slice, exact: Array) -> None:
        """Add one run: the estimates at these indices, and exact numbers in their steps."""
        value, lower, upper, status, exact = (
            numbers[indices]
            for numbers in (
                estimates.value, estimates.lower, estimates.upper, estimates.status, exact,
            )
        )  # fmt: skip
        shown, bounded = status != SUPPRESSED, status == HAS_INTERVAL
        self._numbers += len(value)
        self.errors.add(_floats((value - exact)[shown], estimates.step))
        self._widths += (_floats((upper - lower)[bounded], estimates.step) / 2).tolist()
        self._covered += int(((lower <= exact) & (exact <= upper))[bounded].sum())

    @property
    def observed(self) -> Observed:
        """The median half-width of intervals, and the fraction with the exact number.

        Also the fractions of numbers that were suppressed or had no interval, and the mean change
        of noise-free numbers by the limits on people.
        """
        shown, widths = self.errors.compared, self._widths
        return {
            "item": self.item or None,
            "stated95": Fraction(float(np.median(widths))) if widths else None,
            **self.errors.observed,
            "held": fraction(self._covered, len(widths)),
            "suppressed": fraction(self._numbers - shown, self._numbers) or Fraction(0),
            "without_interval": fraction(shown - len(widths), shown) or Fraction(0),
            "limits": self._shifts.bias,
        }


class SelectedGroups(NamedTuple):
    """How many private groups the dataset has, and how many were selected on average."""

    groups: int
    average: Fraction


class StatisticTrial:
    """All runs of one statistic."""

    def __init__(self, planned: PlannedStatistic, confidence: Fraction) -> None:
        entry = planned.entry
        self.name, self.statistic = entry.inputs.name, entry.statistic.name
        self._planned, self._entry, self._confidence = planned, entry, confidence
        self.query_trials = [QueryTrial(part, confidence) for part in planned.queries]
        # The cells of a table are alike; other items may have units of their own.
        tabled = any(part.weighted.query.items for part in planned.queries)
        tabled = tabled and not entry.statistic.mixed_units
        alone = tabled or entry.statistic.item_count(entry.inputs) == 1
        names = ("",) if alone else entry.statistic.items(entry.inputs)
        self._items = [ItemTrial(name, confidence) for name in names]
        self._selected_counts: list[int] = []
        self._group_counts: list[int] = []
        self._values: list[dict[Group, Array]] = []
        self._expected: dict[Group, Array] = {}
        self._step = Fraction(1)

    @property
    def published(self) -> tuple[ItemTrial, ...]:
        """The items with at least one number that was compared."""
        return tuple(item for item in self._items if item.errors.compared)

    @property
    def selected_groups(self) -> SelectedGroups | None:
        """The number of private groups, and the mean number selected; None if public."""
        if self._entry.selected_by is None:
            return None
        return SelectedGroups(
            max(self._group_counts),
            Fraction(sum(self._selected_counts), len(self._selected_counts)),
        )

    def begin(self, exact: ExactAnswers, unlimited: ExactAnswers | None) -> None:
        """Set the exact answers for the next runs.

        `exact` is with limits on people; `unlimited` is without, and None if rows are the unit.
        """
        self._values = [_by_group(cells, exact.groups) for cells in exact.values]
        if exact.groups is not None:
            self._group_counts.append(len(exact.groups))
        if self._is_chosen or self._entry.statistic.chooses_labels:
            return
        expected = self._estimates(exact.values)
        self._expected, self._step = _by_group(expected.value, exact.groups), expected.step
        if unlimited is None:
            return
        free = _by_group(self._estimates(unlimited.values).value, unlimited.groups)
        groups = [group for group in self._expected if group in free]
        changes = add_exact(_joined(self._expected, groups), -_joined(free, groups))
        for index, item in enumerate(self._items):
            item.add_shifts(_floats(changes[index :: len(self._items)], self._step))

    def add(self, noisy: NoisyStatistic) -> None:
        """Add the noisy answers of one run, and compare them with the exact answers."""
        groups: Sequence[Group] = [()]
        selected = noisy.answers[0].groups
        if selected is not None:
            groups = selected
            self._selected_counts.append(len(groups))
        exact = [_joined(values, groups) for values in self._values]
        earlier: list[Array] = []
        for trial, answer, values in zip(self.query_trials, noisy.answers, exact, strict=True):
            query = trial.part.weighted.query
            trial.add(answer.values, query.narrowed(values, earlier))
            earlier.append(answer.values)
        estimates = estimate_statistic(noisy, self._confidence).estimates
        if estimates.items is not None:
            return
        if self._is_chosen:
            nearest = self._estimates(self._nearest(noisy, exact))
            expected, step = nearest.value, nearest.step
        else:
            expected, step = _joined(self._expected, groups), self._step
        estimates = estimates.refined(step)
        expected = multiply_exact(expected, int(step / estimates.step))
        for index, item in enumerate(self._items):
            item.add(estimates, slice(index, None, len(self._items)), expected)

    @property
    def _is_chosen(self) -> bool:
        """Whether the published numbers are chosen candidates, and not read from counts."""
        return self._planned.design.chooses

    def _nearest(self, noisy: NoisyStatistic, exact: Sequence[Cells]) -> list[Cells]:
        """The best candidates of each query; of equal ones, the nearest to the chosen."""
        best = []
        for part, answer, cells in zip(self._planned.queries, noisy.answers, exact, strict=True):
            query = part.weighted.query
            if part.weighted.supports:
                best.append(answer.values)
                continue
            by_group = cells.reshape(-1, query.cells_per_group)
            if isinstance(query, QuantilesQuery):
                items = enumerate(answer.values.reshape(len(by_group), -1).T)
                found = [
                    _nearest_best(query.rank_scores(by_group, item), chosen)
                    for item, chosen in items
                ]
                best.append(np.stack(found, axis=1).ravel())
            else:
                best.append(_nearest_best(by_group, answer.values))
        return best

    def _estimates(self, values: Sequence[Cells]) -> Estimates:
        """Estimates from answers without noise, before any step of `post`."""
        answers = [NoisyAnswer(cells, NO_NOISE) for cells in values]
        return self._planned.design.estimate(answers, self._confidence)


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of trials of a plan on synthetic rows; it is about no real person.

    If people are the privacy unit, `people` is their number, and `people_above_limit` the number of
    people with more rows than the limit allows; else both are None. `samplings` is how often rows
    of people were sampled. `stopped` is the number of runs that the quality check would have
    stopped; None if the plan has no check.
    """

    plan: CentralPlan
    rows: int
    seed: int
    people: int | None
    people_above_limit: int | None
    runs: int
    samplings: int
    statistics: tuple[StatisticTrial, ...]
    stopped: int | None = None


def simulate(plan: CentralPlan, rows: SyntheticDataset, runs: int) -> SimulationResult:
    """Answer each query of a plan in `runs` runs, and compare with exact answers.

    If rows are the unit, they are aggregated once. If people are, their rows are sampled at
    random several times, and the runs are divided among the samplings.
    """
    limited = isinstance(plan.spec.privacy.unit, PersonUnit)
    samplings = min(runs, SAMPLINGS, max(2, MAX_ROWS // rows.rows)) if limited else 1
    trials = tuple(StatisticTrial(planned, plan.spec.confidence) for planned in plan.statistics)
    unlimited = SyntheticRun(plan, rows, limited=False).exact() if limited else None
    stopped = 0
    for number in range(samplings):
        sample = SyntheticRun(plan, rows)
        exact = sample.exact()
        for index, trial in enumerate(trials):
            trial.begin(exact[index], unlimited[index] if unlimited else None)
        for _ in range(runs * number // samplings, runs * (number + 1) // samplings):
            stopped += sample.stopped()
            for trial, noisy in zip(trials, sample.noisy(), strict=True):
                trial.add(noisy)
    return SimulationResult(
        plan=plan,
        rows=rows.rows,
        seed=rows.seed,
        people=rows.people,
        people_above_limit=rows.people_above_limit,
        runs=runs,
        samplings=samplings,
        statistics=trials,
        stopped=stopped if plan.quality is not None else None,
    )


def _nearest_best(scores: Array, chosen: Array) -> Array:
    """In each row of scores, the index of the best score nearest to the chosen index."""
    count = scores.shape[1]
    distances = abs(np.arange(count) - chosen[:, None])
    is_worse = scores < scores.max(axis=1, keepdims=True)
    indexes: Array = np.where(is_worse, count, distances).argmin(axis=1)
    return indexes


def _floats(steps: Array, step: Fraction) -> Floats:
    return multiply_exact(steps, step.numerator).astype(np.float64) / step.denominator


def _by_group(values: Array, groups: Sequence[Group] | None) -> dict[Group, Array]:
    """The values of each group; all values under the key `()` if groups are public."""
    if groups is None:
        return {(): values}
    return dict(zip(groups, values.reshape(len(groups), -1), strict=True)) if groups else {}


def _joined(values: Mapping[Group, Array], groups: Sequence[Group]) -> Array:
    return np.concatenate([np.zeros(0, np.int64), *(values[group] for group in groups)])
