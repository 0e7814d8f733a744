"""From a spec to its plan, and whether the budget allows it."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from dpcli.composition.base import Missing
from dpcli.errors import BudgetError, Problem, SpecError
from dpcli.plan.allocation import allocate
from dpcli.plan.model import Plan, counted
from dpcli.privacy.decimals import decimal_text, readable_text
from dpcli.spec.model import Spec


def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec of either model; SpecError when an entry cannot be answered."""
    privacy = spec.privacy
    try:
        entries = allocate(spec)
        bound = privacy.composition.bound(counted(entries, spec), privacy.budget.delta)
    except Missing as missing:
        rule, package = privacy.composition.name, str(missing)
        raise SpecError.about("package-missing", rule=rule, package=package) from None
    if spec.quality is None:
        return Plan(spec, tuple(entries), bound)
    quality, *statistics = entries
    return Plan(spec, tuple(statistics), bound, quality)


def require_budget(plan: Plan) -> None:
    """Raise BudgetError, with what would fit, unless the budget allows the plan."""
    if plan.fits:
        return
    budget, spent = plan.spec.privacy.budget, plan.spent
    losses = [("epsilon", spent.epsilon, budget.epsilon), ("delta", spent.delta, budget.delta)]
    if budget.rho is not None and spent.rho is not None:
        losses = [("rho", spent.rho, budget.rho), *losses[1:]]
        if spent.rho <= budget.rho:
            losses.insert(1, ("epsilon", spent.epsilon, budget.epsilon))
    raise BudgetError(
        Problem(
            f"over-budget-{word}",
            f"the release asks for {word} {readable_text(wanted)}, "
            f"but the budget allows {readable_text(allowed)}",
            _remedy(plan, word, allowed / wanted),
        )
        for word, wanted, allowed in losses
        if wanted > allowed
    )


def _remedy(plan: Plan, word: str, part: Fraction) -> str:
    """What to change so that a plan fits; its losses fit if they are multiplied by `part`."""
    things = "responses" if plan.is_local else "statistics"
    if plan.spec.privacy.composition.name != "sequential":
        return f"give {things} less, drop some, or allow more under `privacy: budget:`"
    fitting = Fraction(floor(part * 1000), 1000)
    if not fitting:
        return f"drop the {things} that need {word}, or allow some under `privacy: budget:`"
    return (
        f"multiply every {word} by {decimal_text(fitting, 3)}, drop {things}, "
        "or allow more under `privacy: budget:`"
    )
