"""From a spec to its plan, and whether the budget allows that."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import floor
from typing import overload

from dpcli.errors import BudgetError, Problem, SpecError
from dpcli.numeric.exact import decimal_text, readable_text
from dpcli.planning.allocation import allocate
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, guarantee_counts
from dpcli.privacy.accounting.composition import MissingDependencyError
from dpcli.specification.model import CentralSpec, LocalSpec, Spec


@overload
def make_plan(spec: CentralSpec) -> CentralPlan: ...
@overload
def make_plan(spec: LocalSpec) -> LocalPlan: ...
def make_plan(spec: Spec) -> Plan:
    """The complete plan of a spec, of the central or the local model.

    Raises SpecError if a statistic cannot be answered, or if the composition needs a package that
    is not installed.
    """
    rule, delta = spec.privacy.composition, spec.privacy.budget.delta
    try:
        if isinstance(spec, LocalSpec):
            counts = Counter(response.randomizer.guarantee for response in spec.responses)
            return LocalPlan(spec, rule.bound(counts, delta), counts)
        allocated = allocate(spec)
        bound = rule.bound(guarantee_counts(allocated, spec), delta)
    except MissingDependencyError as missing:
        raise SpecError.about("package-missing", rule=rule.name, package=str(missing)) from None
    choices, statistics = allocated[: len(spec.choices)], allocated[len(spec.choices) :]
    quality = None if spec.quality is None else statistics.pop(0)
    return CentralPlan(spec, bound, tuple(statistics), quality, tuple(choices))


def require_plan_fits(plan: Plan) -> None:
    """Raise BudgetError, with what would fit, unless the budget of the spec allows the plan."""
    if plan.fits:
        return
    budget, cost = plan.spec.privacy.budget, plan.cost
    measures = ["epsilon", "delta"]
    if budget.rho is not None and cost.rho is not None:
        # If rho does not fit, the epsilon that it implies repeats that.
        measures = ["rho", *measures[cost.rho > budget.rho :]]
    losses = [(measure, getattr(cost, measure), getattr(budget, measure)) for measure in measures]
    raise BudgetError(
        Problem(
            f"over-budget-{measure}",
            f"the release asks for {measure} {readable_text(requested)}, "
            f"but the budget allows {readable_text(allowed)}",
            _hint(plan, measure, allowed / requested),
            plan.spec.privacy.place,
        )
        for measure, requested, allowed in losses
        if requested > allowed
    )


def _hint(plan: Plan, measure: str, factor: Fraction) -> str:
    """How to change the spec; its losses fit if they are multiplied by `factor`."""
    queries = f"{plan.part}s"
    if plan.spec.privacy.composition.name != "sequential":
        return f"give {queries} less, drop some, or allow more under `privacy: budget:`"
    fitting = Fraction(floor(factor * 1000), 1000)
    if not fitting:
        return f"drop the {queries} that need {measure}, or allow some under `privacy: budget:`"
    return (
        f"multiply every {measure} by {decimal_text(fitting, 3)}, drop {queries}, "
        "or allow more under `privacy: budget:`"
    )
