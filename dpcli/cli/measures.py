"""What a plan costs against its budget, in words and, on a terminal, as bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook, Repeated
    from dpcli.plan.model import Plan, PlannedEntry

CLOSE = 10
"""An error is small beside a count of so many times as much."""

MOST_BARS = 60
"""Statistics whose prices are drawn."""


def print_measures(plan: Plan, found: Outlook, of: str, what: str) -> None:
    """Each measure of the loss, what the budget allows, and what the account has left.

    `of` says what the budget is for, and `what` is before the account is charged.
    """
    from dpcli.cli import bars
    from dpcli.report.numbers import exact_or_up

    drawn = bars.draws(sys.stdout)
    for word, asked, allowed, before in _measures(plan, found):
        bar = f"{bars.budget(before, asked, allowed)}  " if drawn and before is not None else ""
        refused = found.refused is not None and asked > 0
        verdict = "refused, see below" if refused else "fits"
        verdict = "does not fit" if asked > allowed or (found.exhausted and asked) else verdict
        print(f"{word:8}{bar}{exact_or_up(asked)} of {exact_or_up(allowed)} {of}: {verdict}")
    for line in _account(found, what):
        print(f"account {line}")
    if found.repeated is not None:
        print(f"times   {_repeated(found.repeated)}")


def _account(found: Outlook, what: str) -> Iterator[str]:
    """What the account has left, or that there is none."""
    from dpcli.privacy.loss import loss_text

    if found.before is None:
        return
    if not found.exists:
        yield f"none yet: the first {what} opens it in `{found.ledger}`, which it creates"
        return
    if found.terms is None:
        yield f"none yet in `{found.ledger}`: the first {what} opens it"
        return
    where = f" of any {found.window} consecutive days" if found.window else ""
    after = "" if found.after is None else f", {loss_text(found.after.remaining)} after it"
    yield f"{loss_text(found.before.remaining)} left{where} before this {what}{after}"


def _repeated(found: Repeated) -> str:
    """What the runs need, and how many fit."""
    from dpcli.ledger.outlook import MOST_RUNS
    from dpcli.privacy.loss import loss_text

    least = "at least " if found.most >= MOST_RUNS or not found.exact else ""
    return f"{found.asked:,} runs need {loss_text(found.needed)}; {least}{found.most:,} fit"


def _measures(
    plan: Plan, found: Outlook
) -> Iterator[tuple[str, Fraction, Fraction, Fraction | None]]:
    """Name, loss, budget, and what was spent before, of each measure that counts.

    None where a bar would mislead: compositions other than sums do not add up epsilons, and
    spend the delta of the budget once.
    """
    spent, budget = plan.spent, plan.spec.privacy.budget
    left = found.before.remaining if found.before and found.before.budget == budget else None
    if spent.rho is not None and budget.rho is not None:
        rest = left.rho if left is not None and left.rho is not None else budget.rho
        yield "rho", spent.rho, budget.rho, budget.rho - rest
        yield "epsilon", spent.epsilon, budget.epsilon, None
        yield "delta", spent.delta, budget.delta, None
        return
    plain = plan.spec.privacy.composition.name == "sequential"
    fresh = left is None or left == budget
    for word in ("epsilon", "delta"):
        whole: Fraction = getattr(budget, word)
        used = Fraction(0) if left is None else whole - getattr(left, word)
        shown = whole > 0 and (plain or (fresh and word == "epsilon"))
        yield word, getattr(spent, word), whole, used if shown else None


def print_price(plan: Plan) -> None:
    """On a terminal, a bar for the price of each statistic, and what its error is little of."""
    from dpcli.cli import bars
    from dpcli.cli.console import plain_table
    from dpcli.report.numbers import brief

    if not bars.draws(sys.stdout) or len(plan.priced) > MOST_BARS:
        return
    most = max(planned.target.epsilon for planned in plan.priced)
    rows = [
        (
            planned.entry.request.name,
            bars.part(planned.target.epsilon, most, 16),
            brief(planned.target.epsilon),
            _error(planned, plan),
        )
        for planned in plan.priced
    ]
    print(plain_table(("", "epsilon", "", "error"), rows, (2,)))


def _error(planned: PlannedEntry, plan: Plan) -> str:
    """What the error of a count is little of, and what part of a group it is."""
    from dpcli.cli import bars
    from dpcli.report.numbers import exact_or_up, short

    part = planned.parts[0]
    if len(planned.parts) > 1 or part.public:
        return ""
    error = part.error(plan.spec.confidence)
    percent = exact_or_up(plan.spec.confidence * 100)
    if part.question.role not in ("count", "distinct"):
        return f"{short(error, 6)} in {percent} %"
    people, cells = plan.spec.declarations.population, planned.cells
    told = f"{short(error, 6)} in {percent} %: a tenth of {short(error * CLOSE, 6)}"
    if people is None or not cells:
        return told
    usual = Fraction(people, cells)
    return f"{bars.part(error, usual, 8):8} {told}; {short(usual, 3)} in a usual group"
