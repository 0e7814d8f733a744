"""Whether a plan keeps to the budget of its spec, and what would."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from dpcli.errors import BudgetError, Problem
from dpcli.plan.model import Plan
from dpcli.privacy.decimals import decimal_text, readable_text


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
    things = "responses" if plan.is_local else "statistics"
    problems = []
    for word, wanted, allowed in losses:
        if wanted > allowed:
            fitting = Fraction(floor(allowed / wanted * 1000), 1000)
            hint = (
                f"give {things} less, drop some, or allow more under `privacy: budget:`"
                if plan.spec.privacy.composition.name != "sequential"
                else f"multiply every {word} by {decimal_text(fitting, 3)}, drop {things}, "
                f"or allow more under `privacy: budget:`"
                if fitting
                else f"drop the {things} that need {word}, or allow some under `privacy: budget:`"
            )
            problems.append(
                Problem(
                    f"over-budget-{word}",
                    f"the release asks for {word} {readable_text(wanted)}, "
                    f"but the budget allows {readable_text(allowed)}",
                    hint,
                )
            )
    raise BudgetError(problems)
