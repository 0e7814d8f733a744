"""The whole pipeline on a dummy, many times: what comes out, what is behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar, final

from dpcli.mechanisms.calibration import UNCHANGEABLE
from dpcli.plan.model import Plan, PlannedEntry
from dpcli.privacy.confidential import Cells, Group
from dpcli.privacy.relation import PersonUnit
from dpcli.queries import ScoreQuery
from dpcli.release import Answered, published
from dpcli.simulation.dummy import Dummy
from dpcli.simulation.findings import Findings, Shown, Tried
from dpcli.simulation.reading import Exact, Reading
from dpcli.simulation.tally import Published, Question
from dpcli.statistics.base import Answer, Estimate

Item = TypeVar("Item")

READINGS = 10
"""How often the rows of people are drawn anew: noise differs from run to run anyway."""

AT_MOST = 1_000_000
"""Rows that are read in all readings together, unless two readings have more."""


def simulate(plan: Plan, dummy: Dummy, runs: int) -> Findings:
    """Answer every question of a plan so many times, and compare.

    Rows that stand alone are read once. Where people have limits, their rows are drawn by lot
    in each reading, so there are some, with the runs divided among them.
    """
    limited = isinstance(plan.spec.privacy.unit, PersonUnit)
    readings = min(runs, READINGS, max(2, AT_MOST // dummy.rows)) if limited else 1
    tallies = [_Tally(planned, plan.spec.confidence) for planned in plan.entries]
    free = Reading(plan, dummy, limited=False).exact() if limited else None
    stopped = 0
    for number in range(readings):
        reading = Reading(plan, dummy)
        exact = reading.exact()
        for place, tally in enumerate(tallies):
            tally.begin(exact[place], free[place] if free else None)
        for _ in range(runs * number // readings, runs * (number + 1) // readings):
            stopped += reading.stopped()
            for tally, noisy in zip(tallies, reading.noisy(), strict=True):
                tally.add(noisy)
    entries = tuple(tally.tried() for tally in tallies)
    return Findings(
        plan,
        dummy.rows,
        dummy.seed,
        dummy.people,
        dummy.above,
        runs,
        readings,
        entries,
        stopped if plan.quality is not None else None,
    )


@final
class _Tally:
    """What comes of one entry, run by run."""

    def __init__(self, planned: PlannedEntry, confidence: Fraction) -> None:
        entry = planned.entry
        self._planned, self._confidence = planned, confidence
        self._questions = [
            Question(part, confidence, selecting=entry.selects) for part in planned.parts
        ]
        self._size = entry.statistic.size(entry.request)
        # The cells of a table are alike; other items may have units of their own.
        tabled = any(part.question.query.items for part in planned.parts)
        names = ("",) if tabled or self._size == 1 else entry.statistic.items(entry.request)
        self._items = [Published(name, confidence) for name in names]
        self._shown: list[int] = []
        self._groups: list[int] = []
        self._exact: Exact
        self._behind: tuple[Estimate, ...] = ()
        self._places: Mapping[Group, int] = {}

    def begin(self, exact: Exact, free: Exact | None) -> None:
        """What is behind the answers of the next runs, with limits on people and without."""
        self._exact = exact
        if exact.groups is not None:
            self._places = {group: place for place, group in enumerate(exact.groups)}
            self._groups.append(len(exact.groups))
        if self._planned.entry.statistic.chooses:
            return
        self._behind = self._estimates(exact.values)
        if free is None:
            return
        unlimited = self._estimates(free.values)
        pairs = list(_same(exact.groups, free.groups, len(self._behind) // self._size))
        for place, item in enumerate(self._items):
            item.limit(
                [
                    _value(self._behind[one]) - _value(unlimited[other])
                    for one, other in self._in_both(pairs, place)
                ]
            )

    def _in_both(self, pairs: Sequence[tuple[int, int]], item: int) -> Iterator[tuple[int, int]]:
        """Where the numbers of an item stand among the estimates of two readings."""
        inner = range(self._size) if len(self._items) == 1 else (item,)
        for one, other in pairs:
            for place in inner:
                yield one * self._size + place, other * self._size + place

    def add(self, noisy: Answered) -> None:
        """One run."""
        places: Sequence[int] | None = None
        if noisy.groups is not None:
            places = [self._places[group] for group in noisy.groups]
            self._shown.append(len(places))
        behind = [
            _picked(values, places, len(self._exact.groups or ())) for values in self._exact.values
        ]
        pairs = zip(self._questions, noisy.answers, behind, strict=True)
        for question, answer, exact in pairs:
            question.add(answer.values, exact)
        found = published(noisy, self._confidence).estimates
        if any(estimate.item is not None for estimate in found):
            return
        expected: Sequence[Estimate]
        if self._planned.entry.statistic.chooses:
            expected = self._estimates(self._nearest(noisy, behind))
        else:
            expected = _picked(self._behind, places, len(self._exact.groups or ()))
        for place, item in enumerate(self._items):
            step = len(self._items)
            numbers = zip(found[place::step], expected[place::step], strict=True)
            item.add([(one, _value(other)) for one, other in numbers])

    def _nearest(self, noisy: Answered, behind: Sequence[Cells]) -> list[Cells]:
        """The best candidates, of those as good the nearest to what was chosen."""
        best = []
        for part, answer, scores in zip(self._planned.parts, noisy.answers, behind, strict=True):
            query = part.question.query
            assert isinstance(query, ScoreQuery)
            best.append(
                tuple(
                    _best(scores[group * query.width : (group + 1) * query.width], chosen)
                    for group, chosen in enumerate(answer.values)
                )
            )
        return best

    def _estimates(self, values: Sequence[Cells]) -> tuple[Estimate, ...]:
        """What is made of answers that have no noise, before any step of `post`."""
        entry = self._planned.entry
        answers = [Answer(cells, UNCHANGEABLE) for cells in values]
        return entry.statistic.estimate(entry.request, answers, self._confidence)

    def tried(self) -> Tried:
        """What was found."""
        entry = self._planned.entry
        shown = None
        if entry.keys is not None:
            groups = max(self._groups)
            shown = Shown(groups, Fraction(sum(self._shown), len(self._shown)))
        return Tried(
            entry.request.name,
            entry.statistic.name,
            tuple(question.asked() for question in self._questions),
            tuple(told for item in self._items if (told := item.told()).errors.compared),
            shown,
        )


def _value(estimate: Estimate) -> Fraction:
    """The number of an estimate to which nothing was done."""
    assert estimate.value is not None
    return estimate.value


def _picked(values: Sequence[Item], places: Sequence[int] | None, groups: int) -> tuple[Item, ...]:
    """What belongs to some of the groups, in their order; all if groups are public."""
    if places is None:
        return tuple(values)
    width = len(values) // max(groups, 1)
    return tuple(value for place in places for value in values[place * width : (place + 1) * width])


def _same(
    one: Sequence[Group] | None, other: Sequence[Group] | None, count: int
) -> Iterator[tuple[int, int]]:
    """The places of the same group in two readings; so many groups if they are public."""
    if one is None or other is None:
        yield from zip(range(count), range(count), strict=True)
        return
    places = {group: place for place, group in enumerate(other)}
    yield from ((place, places[group]) for place, group in enumerate(one) if group in places)


def _best(scores: Sequence[int], chosen: int) -> int:
    """The place of the best candidate that is nearest to the one chosen."""
    most = max(scores)
    places = (place for place, score in enumerate(scores) if score == most)
    return min(places, key=lambda place: abs(place - chosen))
