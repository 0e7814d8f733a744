"""Whether an account can pay for a release.

Everything follows from recorded costs and account terms; no file is read or written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpcli.ledger.balance import (
    LAST_DAY,
    SHARED_TERMS,
    AccountTerms,
    Balance,
    RecordedCost,
    balance,
    opening_command,
    period_text,
)
from dpcli.numeric.exact import readable_text
from dpcli.numeric.search import bisect
from dpcli.privacy.loss import loss_text, remaining_text
from dpcli.problems.errors import BudgetError, LedgerError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quoted_list

TIME_ZONES = 1
"""Days by which the local day may be ahead of the day in UTC."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a ledger records of the account of one dataset.

    `terms` are None before the account is opened. A `closed` account allows no more releases.
    `may_open` is false if a release may not open the account. `exists` says whether the ledger
    exists. The `parent` is the account that this one is a part of; its costs are those of all of
    its parts. With a `recipient`, the costs are those of the releases that it gets.
    """

    ledger: Path
    terms: AccountTerms | None = None
    costs: Sequence[RecordedCost] = ()
    closed: bool = False
    may_open: bool = True
    exists: bool = True
    parent: Account | None = None
    recipient: str | None = None

    def balance(self, terms: AccountTerms, period: int | None = None) -> Balance:
        """The balance now; with a `period`, only of the windows that hold this day."""
        current = balance(terms, self.costs, period)
        return current.exhausted if self.closed else current

    def check_charge(
        self, spec_terms: AccountTerms, cost: RecordedCost, *, may_open: bool = True
    ) -> tuple[Balance, Balance]:
        """The balances before and after a release that costs `cost`; nothing is charged.

        `spec_terms` are the terms of the spec. `may_open` says whether the release may open the
        account. Raises BudgetError or LedgerError if the account, its parent or the budget of a
        recipient refuses the release.
        """
        terms = self._agreed_terms(spec_terms, may_open=may_open)
        self._require_possible(terms, cost)
        before = self.balance(terms, cost.period)
        after = balance(terms, [*self.costs, cost], cost.period)
        if self.closed:
            raise BudgetError.about("account-closed", dataset=terms.dataset, path=self.ledger)
        if not after.within:
            code, arguments = "account-exhausted", dict[str, object]()
            if terms.window:
                code, arguments = self._window_refusal(terms, cost)
            elif not before.remaining.epsilon:
                code = "account-exhausted.empty"
            if self.recipient is not None:
                code, arguments = "account-exhausted.recipient", {"recipient": self.recipient}
            raise BudgetError.about(
                code,
                asked=loss_text(balance(replace(terms, window=None), [cost]).lifetime),
                dataset=terms.dataset,
                left=remaining_text(before.remaining),
                budget=budget_text(terms),
                **arguments,
            )
        if terms.recipients or self.parent:
            for bound, account in [*self.budgets(terms, cost.recipient)][1:]:
                account.check_charge(bound, cost)
        return before, after

    def _require_possible(self, terms: AccountTerms, cost: RecordedCost) -> None:
        """Raise LedgerError for a recipient, a series or a period that it does not take."""
        arguments: dict[str, object] = {"dataset": terms.dataset, "path": self.ledger}
        if terms.recipients and cost.recipient not in (None, *dict(terms.recipients)):
            known = quoted_list(dict(terms.recipients))
            raise LedgerError.about(
                "account-differs.recipient", recipient=cost.recipient, known=known, **arguments
            )
        if cost.has_series and terms.window is None:
            command = opening_command(terms, self.ledger)
            raise LedgerError.about("series-window", dataset=terms.dataset, command=command)
        if terms.window and cost.period is None:
            raise LedgerError.about("period-required", window=terms.window, **arguments)

    def budgets(
        self, terms: AccountTerms, recipient: str | None = None
    ) -> Iterator[tuple[AccountTerms, Account]]:
        """Everything that bounds a release: the account, recipients and the parent.

        A release without a recipient is public, so that it reaches every recipient.

        Privacy: people may be in all parts of the parent, so the losses of all parts are composed
        sequentially there. Rows of several datasets are never taken to be of different people.
        """
        yield terms, self
        for name, _ in terms.recipients:
            if recipient in (None, name):
                bound, costs = terms.for_recipient(name), self.costs
                costs = [cost for cost in costs if cost.recipient in (None, name)]
                yield bound, replace(self, terms=bound, costs=costs, parent=None, recipient=name)
        if self.parent is not None and self.parent.terms is not None:
            yield from self.parent.budgets(self.parent.terms, recipient)

    def further_budgets(self, terms: AccountTerms, cost: RecordedCost) -> list[FurtherBudget]:
        """The balances of everything else that bounds the account, around a release."""
        found: list[FurtherBudget] = []
        for bound, account in [*self.budgets(terms)][1:]:
            gets_it = cost.recipient is None or account.recipient in (None, cost.recipient)
            after = replace(account, costs=[*account.costs, *([cost] if gets_it else [])])
            balances = (each.balance(bound, cost.period) for each in (account, after))
            found.append(FurtherBudget(bound, account.recipient, *balances))
        return found

    def _window_refusal(
        self, terms: AccountTerms, cost: RecordedCost
    ) -> tuple[str, dict[str, object]]:
        """The code and arguments of the error for a charge that its windows refuse.

        The arguments have the day from which on the charge fits, if there is one.
        """
        period, last = cost.period or 0, max(self._days, default=0)
        # From the last charged day on, each later day shares a window with fewer charges, and the
        # losses of its windows change only on days on which a charge leaves them.
        first = max(period + 1, last)
        leaving = {day + (terms.window or 1) for day in self._days}
        days = sorted(day for day in {first, *leaving} if first <= day <= LAST_DAY)

        def fits(day: int) -> bool:
            return balance(terms, [*self.costs, replace(cost, period=day)], day).within

        if not days or not fits(days[-1]):
            return "account-exhausted", {}
        _, index = bisect(lambda index: fits(days[index]), -1, len(days) - 1)
        free, day = self.balance(terms, days[index]).remaining, period_text(days[index])
        return "account-exhausted.later", {"day": day, "free": remaining_text(free)}

    @property
    def _days(self) -> set[int]:
        return {cost.period for cost in self.costs if cost.period is not None}

    def frees(self, terms: AccountTerms) -> list[tuple[str, Balance]]:
        """The days from which on more of the budget is left, each with the balance.

        These are the first such day after the last charged day, and the day from which on the whole
        budget is left, if nothing else is charged. Empty for an account without a window or
        charges, and for a closed account; days after the year 9999 are left out.
        """
        if not terms.window or not self._days or self.closed:
            return []
        last = max(self._days)
        ends = sorted(day + terms.window for day in self._days if day + terms.window > last)
        named = sorted(day for day in {ends[0], ends[-1]} if day <= LAST_DAY)
        return [(period_text(day), self.balance(terms, day)) for day in named]

    def require_likely_period(
        self, spec_terms: AccountTerms | None, period: int | None, today: int
    ) -> None:
        """Raise LedgerError for a day that is likely wrong, in an account with a window.

        Such a day is later than the day after `today`, which time zones allow, or more than a
        window before the last charged day that is not in the future. A charge for another day than
        that of the data would not add to the windows that hold the day of the data.
        """
        if self.parent is not None:
            self.parent.require_likely_period(None, period, today)
        terms = self.terms or spec_terms
        window = None if terms is None else terms.window
        if terms is None or not window or period is None:
            return
        latest = today + TIME_ZONES
        arguments: dict[str, object] = {"dataset": terms.dataset, "period": period_text(period)}
        if period > latest:
            raise LedgerError.about("period-unlikely", today=period_text(today), **arguments)
        # A day in the future that was confirmed must not make all others unlikely.
        known = (cost.period for cost in self.costs if cost.period is not None)
        last = max((day for day in known if day <= latest), default=period)
        if period < last - window:
            last_text = period_text(last)
            raise LedgerError.about(
                "period-unlikely.past", window=window, last=last_text, **arguments
            )

    def _agreed_terms(self, spec_terms: AccountTerms, *, may_open: bool) -> AccountTerms:
        terms = self.terms
        if terms is None:
            if not may_open or not self.may_open:
                why = "releases that no report proves were recovered: they may have been its own"
                if self.may_open:
                    why = "`ledger: must-exist` in the spec or DPCLI_LEDGER_MUST_EXIST demands one"
                raise LedgerError.about(
                    "account-must-exist",
                    path=self.ledger,
                    why=why,
                    dataset=spec_terms.dataset,
                    command=opening_command(spec_terms, self.ledger),
                )
            terms = spec_terms
            if terms.part_of is not None:
                parent = self.parent or self
                require_joint(terms, parent.terms, self.ledger)
        differences = "; ".join(
            f"its {term} is {own}, the spec says {other}"
            for term, own, other in terms.differences(spec_terms)
        )
        if differences:
            raise LedgerError.about(
                "account-differs", dataset=terms.dataset, differences=differences
            )
        return terms


def require_joint(terms: AccountTerms, parent: AccountTerms | None, ledger: Path) -> None:
    """Raise LedgerError unless an account on these terms can be a part of its parent.

    Privacy: losses add up only for the same privacy unit and relation, and only one rule can
    compose them. A parent has no parent itself, so each charge goes to two accounts at most.
    """
    if terms.part_of is None:
        return
    arguments = {"dataset": terms.dataset, "parent": terms.part_of}
    if terms.part_of == terms.dataset or (parent is not None and parent.part_of is not None):
        raise LedgerError.about("account-differs.nested", **arguments)
    if parent is None:
        wanted = replace(terms, dataset=terms.part_of, part_of=None, recipients=(), window=None)
        command = opening_command(wanted, ledger)
        raise LedgerError.about(
            "account-must-exist.parent", path=ledger, command=command, **arguments
        )
    differences = [
        f"the {term} of `{terms.part_of}` is {getattr(parent, term)}, and {own} here"
        for term in SHARED_TERMS
        if (own := getattr(terms, term)) != getattr(parent, term)
    ]
    if differences:
        raise LedgerError.about(
            "account-differs.parent", differences="; ".join(differences), **arguments
        )


@dataclass(frozen=True, slots=True)
class FurtherBudget:
    """The balance, around a release, of what else bounds its account.

    That is its parent, or a `recipient` of one of both; `terms` have the budget.
    """

    terms: AccountTerms
    recipient: str | None
    before: Balance
    after: Balance

    @property
    def name(self) -> str:
        """The account, or the recipient and the account."""
        account = f"the account `{self.terms.dataset}`"
        return account if self.recipient is None else f"what `{self.recipient}` gets from {account}"


def sharing_warnings(shared: Mapping[str, set[str]]) -> list[str]:
    """A warning if accounts with other budgets were charged for the same files."""
    files = sorted({Path(path).name for paths in shared.values() for path in paths})
    if not shared:
        return []
    names, accounts = quoted_list(shared), "account" if len(shared) == 1 else "accounts"
    warning = (
        f"the {accounts} {names} paid for releases of {quoted_list(files)} as well: the losses add "
        "up for the people in the file, and no budget bounds the sum; give all specs about the "
        "same people one `dataset:`"
    )
    return [warning]


def low_warnings(
    account: str, after: Balance, further: Sequence[FurtherBudget], share: Fraction
) -> Iterator[str]:
    """A warning for each budget of which less than a share is left after a release."""
    names = {f"the account `{account}`": after, **{each.name: each.after for each in further}}
    for name, left in names.items():
        budget, rest = left.budget, left.remaining
        pairs = ((budget.epsilon, rest.epsilon), (budget.delta, rest.delta), (budget.rho, rest.rho))
        if any(size and kept is not None and kept < share * size for size, kept in pairs):
            yield (
                f"{name} has {remaining_text(rest)} left of {loss_text(budget)}, less than "
                f"`warn_below: {readable_text(share)}`"
            )


def budget_text(terms: AccountTerms) -> str:
    """The budget of an account, and the days that it covers."""
    window = f" in any {terms.window} consecutive days" if terms.window else ""
    return f"{loss_text(terms.budget)}{window}"
