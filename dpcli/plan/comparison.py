"""What the same answers cost under every composition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Bound, Missing
from dpcli.plan.model import Plan
from dpcli.privacy.loss import Loss

USUAL_DELTA = Fraction(1, 10**6)
"""At which totals are told if the budget has no delta."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A composition and its bound on all answers; or what it needs to be asked.

    `fits` says whether the budget would allow it, `cheapest` whether no other that keeps to
    the delta has a smaller epsilon.
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
        # A budget in rho bounds rho where that is counted, and elsewhere what it means.
        limit = budget if loss.rho is not None else Loss(budget.epsilon, budget.delta)
        fits = loss.within(limit)
        found.append(Compared(rule.name, bound, fits=fits))
    valid = [one for one in found if one.bound is not None and one.bound.loss.delta <= delta]
    least = min(valid, key=_epsilon, default=None)
    return tuple(
        Compared(one.name, one.bound, one.needs, one.fits, cheapest=one is least) for one in found
    )


def _epsilon(one: Compared) -> Fraction:
    """The epsilon of a composition that could be asked."""
    assert one.bound is not None
    return one.bound.loss.epsilon
