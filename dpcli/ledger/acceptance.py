"""Whether an account accepts a release: for releases, plans and checks alike.

A function of what the ledger records and of the plan; it neither reads nor writes a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpcli.errors import BudgetError, LedgerError
from dpcli.ledger.balance import Balance, Spend, balance
from dpcli.ledger.terms import Terms, opening_command
from dpcli.privacy.loss import loss_text


@dataclass(frozen=True, slots=True)
class Account:
    """What a ledger records of an account.

    `terms` are None before it is opened. A `closed` account pays for nothing more; where
    `opens` is false, a release may not open it.
    """

    ledger: Path
    terms: Terms | None = None
    spends: Sequence[Spend] = ()
    closed: bool = False
    opens: bool = True

    def balance(self, terms: Terms, period: int | None = None) -> Balance:
        """What it has spent so far; with a window, around `period`."""
        found = balance(terms, self.spends, period)
        return found.exhausted if self.closed else found


@dataclass(frozen=True, slots=True)
class Accepted:
    """The terms that a release is charged by, and the balance before and after it."""

    terms: Terms
    before: Balance
    after: Balance


def accepted(account: Account, asked: Terms, spend: Spend, *, opens: bool = True) -> Accepted:
    """What a release does to the account; BudgetError or LedgerError if it is refused.

    `asked` are the terms of the spec, `opens` whether the release may open the account.
    """
    terms = agreed(account, asked, spend.period, opens=opens)
    before = account.balance(terms, spend.period)
    after = balance(terms, [*account.spends, spend], spend.period)
    if account.closed or not after.within:
        raise _refusal(account, terms, spend, before)
    return Accepted(terms, before, after)


def agreed(account: Account, asked: Terms, period: int | None, *, opens: bool = True) -> Terms:
    """The terms of the account that pays; LedgerError unless spec and period fit them."""
    terms = account.terms
    if terms is None:
        if not opens or not account.opens:
            raise _unopened(account, asked)
        terms = asked
    differences = list(terms.differences(asked))
    if differences:
        listed = "; ".join(
            f"its {word} is {mine}, the spec says {theirs}" for word, mine, theirs in differences
        )
        raise LedgerError.of(
            "account-differs",
            f"the account `{terms.dataset}` was opened on other terms: {listed}",
            "an account keeps its terms; restore those terms in the spec, or name another dataset "
            "if the data are about other people",
        )
    if terms.window and period is None:
        raise LedgerError.of(
            "period-required",
            f"the account `{terms.dataset}` in `{account.ledger}` counts windows of "
            f"{terms.window} periods, and the release names none",
            "give the day the data are about by --period YYYY-MM-DD",
        )
    if not terms.window and period is not None:
        raise LedgerError.of(
            "period-not-taken",
            f"the account `{terms.dataset}` in `{account.ledger}` has no window, and the release "
            "names a period",
            "omit --period; if an account with a window was opened in another ledger, name "
            "that by --ledger",
        )
    return terms


def _unopened(account: Account, asked: Terms) -> LedgerError:
    """An account that a release may not open."""
    why = (
        "and `ledger: must-exist` in the spec or DPCLI_LEDGER_MUST_EXIST demands one"
        if account.opens
        else "and releases that no report proves were recovered: they may have been its own"
    )
    return LedgerError.of(
        "account-must-exist",
        f"the ledger `{account.ledger}` has no account `{asked.dataset}`, {why}",
        "check that it is the ledger of this spec; if nothing was released from it before, "
        f"`{opening_command(asked, account.ledger)}` opens the account",
    )


def _refusal(account: Account, terms: Terms, spend: Spend, before: Balance) -> BudgetError:
    """What was asked, what remains, and what would fit."""
    if account.closed:
        return BudgetError.of(
            "account-closed",
            f"the account `{terms.dataset}` in `{account.ledger}` was closed when releases that "
            "no report proves were recovered: nothing is left",
            "past releases that were not recovered can be published again at no cost: "
            "`dpcli ledger export ID`; of those that were, use the published files",
        )
    asked = balance(replace(terms, window=None), [spend]).lifetime
    window = f" in {terms.window} periods" if terms.window else ""
    return BudgetError.of(
        "account-exhausted",
        f"the release asks for {loss_text(asked)}, but the account `{terms.dataset}` has "
        f"{loss_text(before.remaining)} left of {loss_text(terms.budget)}{window}",
        "the budget of this dataset is used up; past releases can be published again at no cost: "
        "`dpcli ledger export ID`"
        if not (before.remaining.epsilon or terms.window)
        else "lower the epsilons to what is left; a past release can be published again at no "
        "cost: `dpcli ledger export ID`"
        + (", or wait until a window without earlier releases" if terms.window else ""),
    )
