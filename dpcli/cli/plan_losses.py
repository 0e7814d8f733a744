"""The loss of a plan against the budget and the balance of its account, as text."""

from __future__ import annotations

import sys
from fractions import Fraction

from dpcli.cli.text_tables import BUDGET_BAR_LEGEND, budget_bar, can_draw_bars
from dpcli.ledger.account import MAX_RUNS, BalanceForecast
from dpcli.messages import note
from dpcli.numeric.exact import exact_or_up
from dpcli.planning.guarantee_text import headline, presence_headline
from dpcli.planning.plan import Plan
from dpcli.privacy.loss import Loss, loss_text, remaining_text


def print_losses(plan: Plan, forecast: BalanceForecast) -> None:
    """Print each measure of the loss against the budget, and what the account has left."""
    budget = plan.spec.privacy.budget
    left = (
        forecast.before.remaining
        if forecast.before and forecast.before.budget == budget
        else budget
    )
    measures = summed = ["epsilon", "delta"]
    if plan.cost.rho is not None and budget.rho is not None:
        measures, summed = ["rho", *measures], ["rho"]
    elif plan.spec.privacy.composition.name != "sequential":
        # The composition does not add epsilons, and spends the delta of the budget once.
        summed = ["epsilon"] if left == budget else []
    for measure in measures:
        remaining: Fraction | None = getattr(left, measure) if measure in summed else None
        print(f"{measure:8}{_loss_against_budget(plan, forecast, measure, remaining)}")
    if can_draw_bars(sys.stdout) and any(getattr(budget, measure) for measure in summed):
        print(f"        {BUDGET_BAR_LEGEND}")
    for sentence in filter(None, (headline(plan), presence_headline(plan))):
        print(f"means   {sentence}")
    if forecast.before is not None:
        print(f"account {_account_text(plan, forecast, forecast.before.remaining)}")
    if forecast.runs is not None:
        runs = forecast.runs
        least = "at least " if runs.most >= MAX_RUNS or not runs.exact else ""
        facts = {"runs": runs.asked, "needed": loss_text(runs.needed), "most": runs.most}
        print(f"times   {note('plan.times', least=least, **facts)}")


def _loss_against_budget(
    plan: Plan, forecast: BalanceForecast, measure: str, left: Fraction | None
) -> str:
    """One measure of the loss against the budget; with a bar if `left` is known."""
    requested: Fraction = getattr(plan.cost, measure)
    allowed: Fraction = getattr(plan.spec.privacy.budget, measure)
    text = f"{exact_or_up(requested)} of {exact_or_up(allowed)} {plan.allowed}"
    if left is not None:
        text += f", {exact_or_up(left)} left" if left < allowed else ""
        drawn = budget_bar(allowed - left, requested, allowed) if can_draw_bars(sys.stdout) else ""
        text = f"{drawn}  {text}" if drawn else text
    if requested > allowed or (forecast.exhausted and requested and plan.fits):
        return f"{text}: does not fit"
    return (
        f"{text}: {'refused, see below' if forecast.refused is not None and requested else 'fits'}"
    )


def _account_text(plan: Plan, forecast: BalanceForecast, before: Loss) -> str:
    facts = {"what": plan.kind, "path": str(forecast.ledger)}
    if not forecast.exists or forecast.terms is None:
        return note("plan.no_account" if forecast.exists else "plan.no_ledger", **facts)
    window = f" {note('plan.window', days=forecast.window)}" if forecast.window else ""
    after = (
        note("plan.after", left=remaining_text(forecast.after.remaining)) if forecast.after else ""
    )
    return note("plan.left", left=remaining_text(before), window=window, after=after, **facts)
