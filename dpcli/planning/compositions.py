"""The loss of a plan under every composition."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcli.planning.plan import Plan
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import MissingDependencyError
from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass

DEFAULT_DELTA = Fraction(1, 10**6)
"""The delta of a comparison if the budget has none."""


@dataclass(frozen=True, slots=True)
class CompositionComparison:
    """The total loss of a plan under one composition, or the package that it `needs`.

    `bound` is the name of the bound on all answers. `fits` says whether the budget would allow the
    `total`. The `cheapest` composition has the least epsilon of those whose delta is small enough.
    """

    composition: str
    total: Loss | None = None
    bound: str | None = None
    fits: bool = False
    cheapest: bool = False
    needs: str | None = None


def comparison_delta(plan: Plan) -> Fraction:
    """The delta at which compositions are compared: the budget's, or a default."""
    return plan.spec.privacy.budget.delta or DEFAULT_DELTA


def compare_compositions(plan: Plan) -> tuple[CompositionComparison, ...]:
    """The losses of a plan under every composition; the first cheapest one is marked."""
    budget, delta = plan.spec.privacy.budget, comparison_delta(plan)
    comparisons: list[CompositionComparison] = []
    epsilons: dict[str, Fraction] = {}
    for rule in COMPOSITIONS:
        try:
            bound = rule.bound(plan.guarantee_counts, delta)
        except MissingDependencyError as missing:
            comparisons.append(CompositionComparison(rule.name, needs=str(missing)))
            continue
        # A budget in rho bounds rho, or the epsilon that rho implies if the composition has none.
        loss = bound.loss
        limit = Loss(budget.epsilon, budget.delta) if loss.rho is None else budget
        fits = loss.within(limit)
        comparisons.append(CompositionComparison(rule.name, loss, bound.name, fits))
        if loss.delta <= delta:
            epsilons[rule.name] = loss.epsilon
    cheapest = min(epsilons, key=epsilons.__getitem__, default=None)
    return tuple(replace(row, cheapest=row.composition == cheapest) for row in comparisons)
