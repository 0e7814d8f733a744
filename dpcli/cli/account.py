"""What the ledger would say to a release, for plans and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.cli.ledger_file import DEFAULT, existing_ledger, must_exist
from dpcli.errors import Failure
from dpcli.ledger.acceptance import Account, accepted
from dpcli.ledger.balance import Spend, balance, period_number
from dpcli.ledger.outlook import Outlook, Runs, too_many
from dpcli.ledger.terms import Terms, terms_of

if TYPE_CHECKING:
    from dpcli.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line asks about: a plan, its ledger, and the day that it names."""

    plan: Plan
    ledger: Path | None
    spec: Path
    period: str | None = None
    data: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """The ledger that is named, or the one next to the spec."""
        return self.ledger or self.spec.parent / DEFAULT

    @property
    def terms(self) -> Terms:
        """The terms of the spec."""
        return terms_of(self.plan.spec)

    @property
    def day(self) -> int | None:
        """The day as a number."""
        return None if self.period is None else period_number(self.period)

    @property
    def spend(self) -> Spend:
        """What the release would add."""
        return Spend(tuple(self.plan.answers.items()), self.day)


def outlook(asked: Asked, times: int | None = None) -> Outlook:
    """What a release would meet, and that many of them; a refusal is part of the answer.

    Refused is what `dpcli release` would refuse first: what the budget of the spec does not
    allow, then a ledger that cannot be used, then what the account does not accept.
    """
    from dpcli.plan.planner import require_budget

    over = None
    try:
        require_budget(asked.plan)
    except Failure as failure:
        over = failure
    try:
        found = _in_ledger(asked, times if over is None else None)
    except Failure as failure:
        found = Outlook(asked.path, asked.path.exists(), refused=failure)
    return found if over is None else replace(found, refused=over, after=None)


def _in_ledger(asked: Asked, times: int | None) -> Outlook:
    """What the ledger says; LedgerError if it cannot be used."""
    from dpcli.ledger.charge import resolved
    from dpcli.ledger.place import is_absent, require_no_history, require_place, required

    path = asked.path
    if asked.ledger is None and is_absent(path):
        if must_exist(asked.plan.spec):
            raise required(path)
        require_place(path)
        require_no_history(path)
        return _accepted(asked, Account(path), times, exists=False)
    with existing_ledger(path) as book:
        from dpcli.ledger.sqlite import translated_errors

        dataset = asked.plan.spec.dataset
        with translated_errors(path):
            found = _accepted(asked, book.account(dataset), times, exists=True)
        return replace(found, shared=tuple(book.sharing(dataset, resolved(asked.data))))


def _accepted(asked: Asked, account: Account, times: int | None, *, exists: bool) -> Outlook:
    """What an account says."""
    terms, spend, opens = account.terms or asked.terms, asked.spend, not must_exist(asked.plan.spec)
    found = Outlook(account.ledger, exists, account.terms)
    try:
        taken = accepted(account, asked.terms, spend, opens=opens)
    except Failure as failure:
        code = failure.problems[0].code
        if code == "period-required":
            # What is left depends on the day: shown is a window without other releases.
            account, spend = replace(account, spends=()), replace(spend, period=0)
        day = spend.period if terms.window else None
        after = balance(terms, [spend], day) if code == "period-required" else None
        found = replace(
            found,
            before=account.balance(terms, day),
            after=after if after is not None and after.within else None,
            refused=failure,
        )
        if code != "period-required" and not found.exhausted:
            return found
    else:
        found = replace(found, before=taken.before, after=taken.after)
    if times is None:
        return found
    runs = Runs(terms, account.spends, spend.answers, asked.day)
    repeated = runs.repeated(times)
    if account.closed:
        repeated = replace(repeated, fits=False, most=0)
    many = too_many(terms, repeated) if found.refused is None and not repeated.fits else None
    return replace(found, repeated=repeated, unrepeatable=many)
