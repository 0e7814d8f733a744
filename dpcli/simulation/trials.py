"""The whole pipeline on synthetic rows, many times, and what that shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Array, Floats, add_exact, multiply_exact, np
from dpcli.planning.plan import Plan, PlannedStatistic
from dpcli.privacy.confidential import Cells, Group
from dpcli.privacy.unit import PersonUnit
from dpcli.releasing import NoisyStatistic, estimate_statistic
from dpcli.simulation.noise_test import Errors, NoiseVerdict, Observed, QueryTrial, share
from dpcli.simulation.noiseless import NoiselessAnswers, NoiselessRun
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, Estimates
from dpcli.statistics.statistic import NoisyAnswer

READINGS = 10
"""How often the rows of people are chosen again: noise differs from run to run anyway."""

AT_MOST = 1_000_000
"""Rows that are read in all readings together, unless two readings have more."""


class PublishedItem:
    """The published numbers of one item, next to what they would be without noise."""

    def __init__(self, item: str, confidence: Fraction) -> None:
        self.item = item
        self.errors, self._shifts = Errors(confidence), Errors(confidence)
        self._widths: list[float] = []
        self._held = self._numbers = 0

    def shift(self, changes: Floats) -> None:
        """What the limits on people change in one reading, before any noise."""
        self._shifts.add(changes)

    def add(self, found: Estimates, place: slice, exact: Array) -> None:
        """One run: the numbers at a place, and the noise-free ones in the same steps."""
        value, lower, upper, status, exact = (
            each[place] for each in (found.value, found.lower, found.upper, found.status, exact)
        )
        shown, known = status != SUPPRESSED, status == HAS_INTERVAL
        self._numbers += len(value)
        self.errors.add(_floats((value - exact)[shown], found.step))
        self._widths += (_floats((upper - lower)[known], found.step) / 2).tolist()
        self._held += int(((lower <= exact) & (exact <= upper))[known].sum())

    @property
    def row(self) -> Observed:
        """The median half-width of intervals, and how many held the noise-free number.

        Then the shares of numbers that were suppressed, and of the others that had no interval;
        and what the limits on people change on average, before any noise.
        """
        shown, widths = self.errors.compared, self._widths
        return {
            "item": self.item or None,
            "stated95": Fraction(float(np.median(widths))) if widths else None,
            **self.errors.row,
            "held": share(self._held, len(widths)),
            "suppressed": share(self._numbers - shown, self._numbers) or Fraction(0),
            "without_interval": share(shown - len(widths), shown) or Fraction(0),
            "limits": self._shifts.bias,
        }


class ShownGroups(NamedTuple):
    """How many private groups the dataset has, and how many were shown on average."""

    groups: int
    shown: Fraction


class EntryTrial:
    """The runs of one entry, and what they show."""

    def __init__(self, planned: PlannedStatistic, confidence: Fraction) -> None:
        entry = planned.entry
        self.name, self.statistic = entry.request.name, entry.statistic.name
        self._planned, self._entry, self._confidence = planned, entry, confidence
        self.query_trials = [
            QueryTrial(part, confidence, selected=entry.selects_partitions)
            for part in planned.queries
        ]
        # The cells of a table are alike; other items may have units of their own.
        tabled = any(part.weighted.query.items for part in planned.queries)
        alone = tabled or entry.statistic.item_count(entry.request) == 1
        names = ("",) if alone else entry.statistic.items(entry.request)
        self._items = [PublishedItem(name, confidence) for name in names]
        self._shown: list[int] = []
        self._groups: list[int] = []
        self._values: list[dict[Group, Array]] = []
        self._behind: dict[Group, Array] = {}
        self._step = Fraction(1)

    @property
    def published(self) -> tuple[PublishedItem, ...]:
        """The items of which some number was compared."""
        return tuple(item for item in self._items if item.errors.compared)

    @property
    def shown(self) -> ShownGroups | None:
        """Private groups; None where groups are public."""
        if self._entry.selected_by is None:
            return None
        return ShownGroups(max(self._groups), Fraction(sum(self._shown), len(self._shown)))

    def begin(self, exact: NoiselessAnswers, free: NoiselessAnswers | None) -> None:
        """The numbers behind the next runs, with limits on people and without."""
        self._values = [_by_group(cells, exact.groups) for cells in exact.values]
        if exact.groups is not None:
            self._groups.append(len(exact.groups))
        if self._entry.statistic.chooses:
            return
        behind = self._estimates(exact.values)
        self._behind, self._step = _by_group(behind.value, exact.groups), behind.step
        if free is None:
            return
        unlimited = _by_group(self._estimates(free.values).value, free.groups)
        groups = [group for group in self._behind if group in unlimited]
        changes = add_exact(_joined(self._behind, groups), -_joined(unlimited, groups))
        for place, item in enumerate(self._items):
            item.shift(_floats(changes[place :: len(self._items)], self._step))

    def add(self, noisy: NoisyStatistic) -> None:
        """One run."""
        groups: Sequence[Group] = [()]
        if noisy.groups is not None:
            groups = noisy.groups
            self._shown.append(len(groups))
        behind = [_joined(values, groups) for values in self._values]
        for trial, answer, exact in zip(self.query_trials, noisy.answers, behind, strict=True):
            trial.add(answer.values, exact)
        estimates = estimate_statistic(noisy, self._confidence).estimates
        if estimates.items is not None:
            return
        if self._entry.statistic.chooses:
            nearest = self._estimates(self._nearest(noisy, behind))
            expected, step = nearest.value, nearest.step
        else:
            expected, step = _joined(self._behind, groups), self._step
        estimates = estimates.refined(step)
        expected = multiply_exact(expected, int(step / estimates.step))
        for place, item in enumerate(self._items):
            item.add(estimates, slice(place, None, len(self._items)), expected)

    def _nearest(self, noisy: NoisyStatistic, behind: Sequence[Cells]) -> list[Cells]:
        """The best candidates, of equally good ones the nearest to what was chosen."""
        best = []
        for part, answer, scores in zip(self._planned.queries, noisy.answers, behind, strict=True):
            every = scores.reshape(-1, part.weighted.query.cells_per_group)
            worse = every < every.max(axis=1, keepdims=True)
            distances = abs(np.arange(every.shape[1]) - answer.values[:, None])
            best.append(np.where(worse, every.shape[1], distances).argmin(axis=1))
        return best

    def _estimates(self, values: Sequence[Cells]) -> Estimates:
        """Estimates from answers without noise, before any step of `post`."""
        answers = [NoisyAnswer(cells, NO_NOISE) for cells in values]
        return self._entry.statistic.estimate(self._entry.request, answers, self._confidence)


@dataclass(frozen=True, slots=True)
class Trials:
    """What trials of a plan on synthetic rows have shown; about no real person, and no release.

    `people` is their number where they are the unit, and `above` says how many of them have
    more rows than the limit lets in. `stopped` counts the runs that the quality check would
    have stopped; None without a check.
    """

    plan: Plan
    rows: int
    seed: int
    people: int | None
    above: int | None
    runs: int
    readings: int
    entries: tuple[EntryTrial, ...]
    stopped: int | None = None

    @property
    def broken(self) -> tuple[tuple[str, QueryTrial], ...]:
        """The queries whose noise is not what the plan states, with their entries."""
        return tuple(
            (entry.name, trial)
            for entry in self.entries
            for trial in entry.query_trials
            if trial.verdict in (NoiseVerdict.LARGER, NoiseVerdict.SMALLER)
        )


def simulate(plan: Plan, rows: SyntheticDataset, runs: int) -> Trials:
    """Answer every query of a plan in this number of runs, and compare.

    Rows that stand alone are read once. Where people have limits, their rows are chosen at
    random in each reading, so there are several, with the runs divided among them.
    """
    limited = isinstance(plan.spec.privacy.unit, PersonUnit)
    readings = min(runs, READINGS, max(2, AT_MOST // rows.rows)) if limited else 1
    entries = tuple(EntryTrial(planned, plan.spec.confidence) for planned in plan.statistics)
    free = NoiselessRun(plan, rows, limited=False).exact() if limited else None
    stopped = 0
    for number in range(readings):
        reading = NoiselessRun(plan, rows)
        exact = reading.exact()
        for place, tried in enumerate(entries):
            tried.begin(exact[place], free[place] if free else None)
        for _ in range(runs * number // readings, runs * (number + 1) // readings):
            stopped += reading.stopped()
            for tried, noisy in zip(entries, reading.noisy(), strict=True):
                tried.add(noisy)
    return Trials(
        plan, rows.rows, rows.seed, rows.people, rows.above, runs, readings, entries,
        stopped if plan.quality is not None else None,
    )  # fmt: skip


def _floats(steps: Array, step: Fraction) -> Floats:
    """Whole numbers of steps as floats."""
    return multiply_exact(steps, step.numerator).astype(np.float64) / step.denominator


def _by_group(values: Array, groups: Sequence[Group] | None) -> dict[Group, Array]:
    """The values of each group; all of them under `()` if groups are public."""
    if groups is None:
        return {(): values}
    return dict(zip(groups, values.reshape(len(groups), -1), strict=True)) if groups else {}


def _joined(values: Mapping[Group, Array], groups: Sequence[Group]) -> Array:
    """The values of some groups, in their order."""
    return np.concatenate([np.zeros(0, np.int64), *(values[group] for group in groups)])
