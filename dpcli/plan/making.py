"""From a spec to its plan: prices solved, mechanisms chosen, noise calibrated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcli.composition.base import Missing
from dpcli.errors import Problem, SpecError
from dpcli.mechanisms.calibration import CannotCalibrate, Mechanism
from dpcli.plan.disjoint import branches
from dpcli.plan.model import Part, Plan, PlannedEntry, counted
from dpcli.plan.solving import solve
from dpcli.privacy.loss import NOTHING, Loss
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.privacy.sensitivity import Sensitivity, readability_sensitivity, sensitivity
from dpcli.privacy.threshold import selection
from dpcli.queries import LinearQuery, Query, ScoreQuery
from dpcli.spec.model import Entry, Privacy, Spec
from dpcli.vector_queries import MinimiserQuery, ReadabilityQuery


def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec; SpecError when an entry cannot be answered."""
    try:
        entries = solve(spec, branches(spec), planned_entry)
        bound = spec.privacy.composition.bound(counted(entries, spec), spec.privacy.budget.delta)
    except Missing as missing:
        raise SpecError([_missing_package(spec.privacy.composition.name, missing)]) from None
    if spec.quality is None:
        return Plan(spec, tuple(entries), bound)
    quality, *statistics = entries
    return Plan(spec, tuple(statistics), bound, quality)


def _missing_package(name: str, missing: Missing) -> Problem:
    """A composition that needs what is not installed."""
    return Problem(
        "package-missing",
        f"`composition: {name}` needs a package that is not installed: {missing}",
        "install it, or use `composition: zcdp`, which needs none",
    )


def planned_entry(
    entry: Entry, mechanism: Mechanism, target: Loss, spec: Spec, branch: tuple[str, int] | None
) -> PlannedEntry:
    """The parts of an entry, and of the same with the other bound on people."""
    parts = _parts(entry, mechanism, target, spec)
    if target.rho is not None:
        epsilon = sum((part.loss.epsilon for part in parts), start=Fraction(0))
        delta = sum((part.loss.delta for part in parts), start=Fraction(0))
        target = Loss(epsilon, delta, target.rho)
    rival = replace(entry, request=entry.rival, rival=None) if entry.rival else None
    rivals = _parts(rival, mechanism, target, spec) if rival else ()
    return PlannedEntry(entry, target, parts, rivals, branch)


def _parts(entry: Entry, mechanism: Mechanism, target: Loss, spec: Spec) -> tuple[Part, ...]:
    """The parts of an entry, answered jointly, each with its share of the target."""
    privacy = spec.privacy
    questions = entry.statistic.questions(entry.request, privacy.relation)
    moved = [moves(question.query, privacy, privacy.neighbors) for question in questions]
    if entry.selects:
        ((question, change),) = zip(questions, moved, strict=True)
        # Half of delta for the noise, if it needs any, and the rest for the keys.
        needs = mechanism.needs_delta and target.rho is None
        spent = target.delta / 2 if needs else Fraction(0)
        if target.delta - spent <= 0:
            raise CannotCalibrate(
                "private keys need a delta above zero",
                "add `delta: 1e-7` or so, or allow more under `privacy: budget:`",
            )
        alone = moves(question.query, privacy, Neighbors.ADD_REMOVE)
        (noise,) = mechanism.fit_jointly(
            [change], [Fraction(1)], replace(target, delta=spent), entry.calibration
        )
        rule = selection(noise, alone, target.delta - spent)
        charged = target
        if target.rho is not None:
            (charged,) = mechanism.losses_at([noise], [change], privacy.budget.delta)
            charged = Loss(charged.epsilon, charged.delta + rule.delta)
        return (Part(question, change, mechanism, noise, charged, rule),)
    shares = [question.share for question in questions]
    noises = mechanism.fit_jointly(moved, shares, target, entry.calibration)

    changed = [place for place, change in enumerate(moved) if change.l1]
    losses = [NOTHING] * len(moved)
    if target.rho is not None:
        found = mechanism.losses_at(
            [noises[place] for place in changed],
            [moved[place] for place in changed],
            privacy.budget.delta,
        )
    else:
        found = [Loss(target.epsilon * shares[at], target.delta * shares[at]) for at in changed]
    for place, loss in zip(changed, found, strict=True):
        losses[place] = loss
    return tuple(
        Part(question, change, mechanism, noise, loss)
        for question, change, noise, loss in zip(questions, moved, noises, losses, strict=True)
    )


def moves(query: Query, privacy: Privacy, neighbors: Neighbors) -> Sensitivity:
    """How far one unit can move the answer to a query."""
    if isinstance(query, MinimiserQuery):
        return query.sensitivity
    unit = privacy.unit
    if isinstance(query, ReadabilityQuery):
        count = len(query.checked)
        return readability_sensitivity(count, neighbors, unit, with_rows=query.with_rows)
    if isinstance(unit, PersonUnit):
        if isinstance(query, LinearQuery) and query.totals is not None:
            unit = unit.in_totals
        elif not query.axes:
            unit = unit.ungrouped
    moved = sensitivity(query.influence, neighbors, unit, query.cells)
    return moved.repeated(query.picks) if isinstance(query, ScoreQuery) else moved
