"""Spec to Plan: where sensitivity meets mechanism, before any row is read.

A plan is complete and public: what will be asked, how far one unit can move each
answer, which noise hides that, and what all of it reveals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

from dpcli.errors import BudgetError, Problem, SpecError
from dpcli.mechanisms.base import CannotCalibrate, Mechanism
from dpcli.privacy.decimals import decimal_text, plain_text
from dpcli.privacy.loss import NOTHING, Loss
from dpcli.privacy.noise import Noise
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.privacy.sensitivity import Sensitivity, sensitivity
from dpcli.privacy.threshold import Selection, selection
from dpcli.queries import LinearQuery, MinimiserQuery, Query, ScoreQuery
from dpcli.spec.model import Entry, Privacy, Spec
from dpcli.statistics.base import Question, groups


@dataclass(frozen=True, slots=True)
class Part:
    """One question with all that is needed to answer it, and what that reveals.

    Sensitivity and noise count steps of the question's grid. `loss` is what is
    charged: the part's share of the entry; nothing when no neighbour can change the
    answer. The recomputed loss of all parts together does not exceed the entry's. Of
    pure mechanisms, each part's own does not exceed its share either; Gaussian parts are
    protected jointly, and their shares have a meaning only in sum. With a `selection`
    the answer also says which groups there are.
    """

    question: Question
    sensitivity: Sensitivity
    mechanism: Mechanism
    noise: Noise
    loss: Loss
    selection: Selection | None = None

    @property
    def public(self) -> bool:
        """Whether the answer is the same for all neighbours, and given exactly."""
        return self.sensitivity.l1 == 0

    def error(self, confidence: Fraction) -> Fraction:
        """The half-width of the noise at `confidence`, in the answer's own unit.

        Of choices, by how much the utility of each falls short of the best at most.
        """
        query = self.question.query
        if isinstance(query, ScoreQuery):
            missed = self.noise.shortfall(query.width * query.picks, confidence)
        else:
            missed = self.noise.half_width(confidence)
        return missed * self.question.unit


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """An entry of the spec and the parts that answer it.

    `rival` is what would answer it if people were bounded in the other way.
    """

    entry: Entry
    parts: tuple[Part, ...]
    rival: tuple[Part, ...] = ()

    @property
    def cells(self) -> int | None:
        """How many numbers the entry publishes; None if its groups are private."""
        if self.entry.keys:
            return None
        request = self.entry.request
        return groups(request) * self.entry.statistic.size(request)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a release will ask, answer and spend."""

    spec: Spec
    entries: tuple[PlannedEntry, ...]
    asked: Loss
    spent: Loss

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every part of every entry, in spec order."""
        return tuple(part for planned in self.entries for part in planned.parts)

    @property
    def queries(self) -> tuple[Query, ...]:
        """Every query, in the order of `parts`."""
        return tuple(part.question.query for part in self.parts)

    @property
    def fits(self) -> bool:
        """Whether the budget allows the release, compared exactly."""
        return self.spent.within(self.spec.privacy.budget)


def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec; SpecError when an entry cannot be answered."""
    problems: list[Problem] = []
    planned: list[PlannedEntry] = []
    for entry in spec.entries:
        try:
            planned.append(_planned(entry, spec))
        except CannotCalibrate as refusal:
            problems.append(
                Problem(
                    "cannot-calibrate",
                    f"`{entry.request.name}` cannot be answered: {refusal.reason}",
                    refusal.hint,
                )
            )
    if problems:
        raise SpecError(problems)
    composition = spec.privacy.composition
    return Plan(
        spec,
        tuple(planned),
        asked=composition.total((entry.target, 1) for entry in spec.entries),
        spent=composition.total((part.loss, 1) for entry in planned for part in entry.parts),
    )


def _planned(entry: Entry, spec: Spec) -> PlannedEntry:
    """The parts of an entry, and of the same with the other bound on people."""
    rival = replace(entry, request=entry.rival, rival=None) if entry.rival else None
    return PlannedEntry(entry, _parts(entry, spec), _parts(rival, spec) if rival else ())


def _parts(entry: Entry, spec: Spec) -> tuple[Part, ...]:
    """The parts of an entry, answered jointly, each with its share of the target."""
    target, mechanism, privacy = entry.target, entry.mechanism, spec.privacy
    questions = entry.statistic.questions(entry.request, privacy.relation)
    moved = [moves(question.query, privacy, privacy.neighbors) for question in questions]
    if entry.selects:
        ((question, change),) = zip(questions, moved, strict=True)
        # Half of delta for the noise, if it needs any, and the rest for the keys.
        spent = target.delta / 2 if mechanism.needs_delta else Fraction(0)
        noise, _ = mechanism.fit(change, Loss(target.epsilon, spent), entry.calibration)
        alone = moves(question.query, privacy, Neighbors.ADD_REMOVE)
        rule = selection(noise, alone, target.delta - spent)
        return (Part(question, change, mechanism, noise, target, rule),)
    shares = [question.share for question in questions]
    noises = mechanism.fit_jointly(moved, shares, target, entry.calibration)
    return tuple(
        Part(
            question,
            change,
            mechanism,
            noise,
            Loss(target.epsilon * question.share, target.delta * question.share)
            if change.l1
            else NOTHING,
        )
        for question, change, noise in zip(questions, moved, noises, strict=True)
    )


def moves(query: Query, privacy: Privacy, neighbors: Neighbors) -> Sensitivity:
    """How far one unit can move the answer to a query."""
    if isinstance(query, MinimiserQuery):
        return query.sensitivity
    unit = privacy.unit
    if isinstance(unit, PersonUnit):
        if isinstance(query, LinearQuery) and query.totals is not None:
            unit = unit.in_totals
        elif not query.axes:
            unit = unit.ungrouped
    moved = sensitivity(query.influence, neighbors, unit, query.cells)
    return moved.repeated(query.picks) if isinstance(query, ScoreQuery) else moved


def require_budget(plan: Plan) -> None:
    """Raise BudgetError, with what would fit, unless the budget allows the plan."""
    if plan.fits:
        return
    budget, spent = plan.spec.privacy.budget, plan.spent
    problems = []
    for word, wanted, allowed in (
        ("epsilon", spent.epsilon, budget.epsilon),
        ("delta", spent.delta, budget.delta),
    ):
        if wanted > allowed:
            fitting = Fraction(floor(allowed / wanted * 1000), 1000)
            hint = (
                f"multiply every {word} by {decimal_text(fitting, 3)}, drop statistics, "
                f"or allow more under `privacy: budget:`"
                if fitting
                else f"drop the statistics that need {word}, or allow some under `privacy: budget:`"
            )
            problems.append(
                Problem(
                    f"over-budget-{word}",
                    f"the release asks for {word} {plain_text(wanted)}, "
                    f"but the budget allows {plain_text(allowed)}",
                    hint,
                )
            )
    raise BudgetError(problems)
