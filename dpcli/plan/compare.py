"""Comparisons of plans: the same answers under every composition, and two specs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Bound, Missing
from dpcli.plan.model import Plan, PlannedEntry
from dpcli.privacy.decimals import readable_text
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import unit_text

USUAL_DELTA = Fraction(1, 10**6)
"""The delta of the comparison if the budget has none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A composition and its bound on all answers; or the package that it needs.

    `fits` if the budget would allow it, `cheapest` if no other that keeps to the delta has a
    smaller epsilon.
    """

    name: str
    bound: Bound | None
    needs: str = ""
    fits: bool = False
    cheapest: bool = False


def delta_of(plan: Plan) -> Fraction:
    """The delta at which compositions are compared."""
    return plan.spec.privacy.budget.delta or USUAL_DELTA


def compare(plan: Plan) -> tuple[Compared, ...]:
    """Every composition, with the same noise; the first of the cheapest is marked."""
    budget, delta = plan.spec.privacy.budget, delta_of(plan)
    answers = plan.answers
    found: list[Compared] = []
    for rule in COMPOSITIONS:
        try:
            bound = rule.bound(answers, delta)
        except Missing as missing:
            found.append(Compared(rule.name, None, str(missing)))
            continue
        loss = bound.loss
        # A budget in rho bounds rho where that is counted, else the epsilon that it implies.
        limit = budget if loss.rho is not None else Loss(budget.epsilon, budget.delta)
        found.append(Compared(rule.name, bound, fits=loss.within(limit)))
    valid = [one for one in found if one.bound is not None and one.bound.loss.delta <= delta]
    least = min(valid, key=_epsilon, default=None)
    return tuple(
        Compared(one.name, one.bound, one.needs, one.fits, cheapest=one is least) for one in found
    )


def _epsilon(one: Compared) -> Fraction:
    """The epsilon of a composition that could be evaluated."""
    assert one.bound is not None
    return one.bound.loss.epsilon


SEARCHED = Fraction(1, 1000)
"""Part of a loss by which two plans of the same spec could differ: losses are searched for."""


Pair = tuple[Fraction | None, Fraction | None]
"""A number before and after a change; None where it is not there, or not known in advance."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A statistic before and after: `kind` is `added`, `removed`, `changed`, or empty.

    `error` is the half-width of a single answer; of several, errors depend on values.
    """

    name: str
    kind: str
    epsilon: Pair
    rho: Pair
    error: Pair
    mechanisms: tuple[str, ...]


def changes(old: Plan, new: Plan) -> tuple[Changed, ...]:
    """Every statistic of either spec, in the order of the new one, then those removed."""
    before, after = ({one.entry.request.name: one for one in plan.priced} for plan in (old, new))
    names = [*after, *(name for name in before if name not in after)]
    return tuple(_changed(name, before.get(name), after.get(name), old, new) for name in names)


def _changed(
    name: str, before: PlannedEntry | None, after: PlannedEntry | None, old: Plan, new: Plan
) -> Changed:
    """One statistic, or what is left of it."""
    epsilons, rhos, errors = zip(
        *(
            _numbers(one, plan.spec.confidence) if one else (None, None, None)
            for one, plan in ((before, old), (after, new))
        ),
        strict=True,
    )
    kind = "added" if before is None else "removed"
    if before and after:
        same = before.parts == after.parts and before.entry.post == after.entry.post
        kind = "" if same else "changed"
    mechanisms = dict.fromkeys(one.mechanism.name for one in (before, after) if one)
    return Changed(name, kind, epsilons, rhos, errors, tuple(mechanisms))


def _numbers(
    planned: PlannedEntry, confidence: Fraction
) -> tuple[Fraction, Fraction, Fraction | None]:
    """Epsilon, rho and error of a statistic."""
    rho = sum((one.rho for one in planned.guarantees), start=Fraction(0))
    parts = planned.parts
    return planned.target.epsilon, rho, parts[0].error(confidence) if len(parts) == 1 else None


def weaker(old: Plan, new: Plan) -> Iterator[str]:
    """Why the new spec protects less than the old one, or other people; nothing if not."""
    for word, before, after in _terms(old, new):
        if before != after:
            yield f"{word} was {before} and is {after}: the guarantee is a different one"
    # Where budgets bound epsilon, rho only serves to compute it, and is no loss of its own.
    rho = any(plan.spec.privacy.budget.rho is not None for plan in (old, new))
    for rule in dict.fromkeys((old.spec.privacy.composition, new.spec.privacy.composition)):
        # Each composition counts both, so that another rule does not look like other noise.
        delta = max(plan.spec.privacy.budget.delta for plan in (old, new))
        spent = [rule.total(plan.answers, delta) for plan in (old, new)]
        yield from _larger(f"by {rule.name} composition, the release reveals", *spent, rho=rho)
    yield from _larger(
        "the budget allows", old.spec.privacy.budget, new.spec.privacy.budget, rho=True
    )


def _terms(old: Plan, new: Plan) -> Iterator[tuple[str, str, str]]:
    """What states who is protected, before and after."""
    one, two = old.spec, new.spec
    yield "`dataset`", one.dataset, two.dataset
    yield "`unit`", unit_text(one.privacy.unit), unit_text(two.privacy.unit)
    yield "`neighbors`", one.privacy.neighbors.value, two.privacy.neighbors.value


def _larger(what: str, old: Loss, new: Loss, *, rho: bool) -> Iterator[str]:
    """Each measure in which a loss has grown."""
    measures = [("epsilon", old.epsilon, new.epsilon), ("delta", old.delta, new.delta)]
    if rho and old.rho is not None and new.rho is not None:
        measures.append(("rho", old.rho, new.rho))
    for word, before, after in measures:
        if after > before * (1 + SEARCHED):
            yield f"{what} {word} {readable_text(after)} instead of {readable_text(before)}"
