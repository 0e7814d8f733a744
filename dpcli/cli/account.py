"""The account that a spec would be charged to, as a plan shows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.cli.ledger_file import DEFAULT, existing_ledger
from dpcli.ledger.terms import terms_of

if TYPE_CHECKING:
    from dpcli.plan.local import AnyPlan
    from dpcli.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of an account, if there is one.

    `left` is what remains of its budget, unless that depends on the day of the release;
    `window` has the days that the budget is for, and `differences` what is not as the spec says.
    """

    left: Loss | None = None
    window: int | None = None
    differences: tuple[str, ...] = ()


def account_of(plan: AnyPlan, ledger: Path | None, spec: Path) -> Account:
    """The account in the ledger that is named, or in the one beside the spec."""
    if ledger is None and not (spec.parent / DEFAULT).exists():
        return Account()
    with existing_ledger(ledger or spec.parent / DEFAULT) as book:
        terms = book.accounts().get(plan.spec.dataset)
        if terms is None:
            return Account()
        differences = tuple(
            f"its {word} is {mine}, the spec says {theirs}"
            for word, mine, theirs in terms.differences(terms_of(plan.spec))
        )
        left = None if terms.window else book.balance(terms).remaining
        return Account(left, terms.window, differences)
