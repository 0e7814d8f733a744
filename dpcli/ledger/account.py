"""What an account allows: one release before it is made, or many runs of it.

A function of what the ledger records and of the plan; it neither reads nor writes a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpcli.errors import BudgetError, DpcliError, LedgerError
from dpcli.ledger.balance import Balance, GuaranteeCounts, RecordedCost, balance
from dpcli.ledger.terms import AccountTerms, opening_command
from dpcli.numeric.search import bisect
from dpcli.privacy.loss import Loss, loss_text

MOST_RUNS = 1_000_000
"""Runs to look ahead; more than are ever planned."""

COARSE = 100
"""By `pld` the number of runs may be too low by one in 100: each trial takes seconds."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a ledger records of an account.

    `terms` are None before it is opened. A `closed` account allows no more releases; where
    `opens` is false, a release may not open it. `exists` says whether there is a ledger.
    """

    ledger: Path
    terms: AccountTerms | None = None
    costs: Sequence[RecordedCost] = ()
    closed: bool = False
    opens: bool = True
    exists: bool = True

    def balance(self, terms: AccountTerms, period: int | None = None) -> Balance:
        """What it has spent so far; with a window, around `period`."""
        found = balance(terms, self.costs, period)
        return found.exhausted if self.closed else found

    def check_charge(
        self, asked: AccountTerms, cost: RecordedCost, *, opens: bool = True
    ) -> tuple[Balance, Balance]:
        """The balances before and after a release; BudgetError or LedgerError if it is refused.

        `asked` are the terms of the spec, `opens` whether the release may open the account.
        """
        terms = self._agreed(asked, cost.period, opens=opens)
        before = self.balance(terms, cost.period)
        after = balance(terms, [*self.costs, cost], cost.period)
        if self.closed:
            raise BudgetError.about("account-closed", dataset=terms.dataset, path=self.ledger)
        if not after.within:
            code = "account-exhausted" if before.remaining.epsilon else "account-exhausted.empty"
            raise BudgetError.about(
                "account-exhausted.window" if terms.window else code,
                asked=loss_text(balance(replace(terms, window=None), [cost]).lifetime),
                dataset=terms.dataset,
                left=loss_text(before.remaining),
                budget=loss_text(terms.budget),
                window=terms.window or 0,
            )
        return before, after

    def forecast(
        self, asked: AccountTerms, cost: RecordedCost, times: int | None, *, opens: bool
    ) -> BalanceForecast:
        """What it does with a release, and with that many; a refusal is part of it.

        `asked` and `opens` are as for `check_charge`.
        """
        account, terms, period = self, self.terms or asked, cost.period
        refused, needs_day = None, False
        after: Balance | None = None
        try:
            before, after = self.check_charge(asked, cost, opens=opens)
        except DpcliError as failure:
            refused, needs_day = failure, failure.problems[0].code == "period-required"
            if needs_day:
                # What is left depends on the day: shown is a window without other releases.
                account, period = replace(self, costs=()), 0
                alone = balance(terms, [replace(cost, period=0)], 0)
                after = alone if alone.within else None
            before = account.balance(terms, period if terms.window else None)
        repeated = None
        if times and (refused is None or needs_day or isinstance(refused, BudgetError)):
            repeated = Runs(terms, account.costs, cost.guarantees, cost.period).repeated(times)
            if self.closed:
                repeated = replace(repeated, fits=False, most=0)
        return BalanceForecast(
            self.ledger, self.exists, self.terms, before, after, refused, repeated=repeated
        )

    def _agreed(self, asked: AccountTerms, period: int | None, *, opens: bool) -> AccountTerms:
        terms = self.terms
        if terms is None:
            if not opens or not self.opens:
                raise LedgerError.about(
                    "account-must-exist" if self.opens else "account-must-exist.lost",
                    path=self.ledger,
                    dataset=asked.dataset,
                    command=opening_command(asked, self.ledger),
                )
            terms = asked
        differences = "; ".join(
            f"its {word} is {mine}, the spec says {theirs}"
            for word, mine, theirs in terms.differences(asked)
        )
        if differences:
            raise LedgerError.about(
                "account-differs", dataset=terms.dataset, differences=differences
            )
        named = {"dataset": terms.dataset, "path": self.ledger}
        if terms.window and period is None:
            raise LedgerError.about("period-required", window=terms.window, **named)
        if not terms.window and period is not None:
            raise LedgerError.about("period-not-taken", **named)
        return terms


@dataclass(frozen=True, slots=True)
class Repeated:
    """How many runs were asked about, what they need, and how many an account allows.

    Unless it is `exact`, the account may allow slightly more than `most`.
    """

    terms: AccountTerms
    asked: int
    needed: Loss
    fits: bool
    most: int
    exact: bool

    @property
    def refusal(self) -> BudgetError:
        """More runs than the account allows."""
        return BudgetError.about(
            "too-many-runs.window" if self.terms.window else "too-many-runs",
            asked=self.asked,
            needed=loss_text(self.needed),
            window=self.terms.window or 0,
            dataset=self.terms.dataset,
            budget=loss_text(self.terms.budget),
            most=self.most,
        )


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of the same release in an account with these terms, after what it has spent.

    In an account with a window they are one on each of as many days from `period` on, or all
    in one window that is otherwise empty if there is no period.
    """

    terms: AccountTerms
    costs: Sequence[RecordedCost]
    guarantees: GuaranteeCounts
    period: int | None = None

    def fit(self, runs: int) -> bool:
        """Whether the account allows that many."""
        return not runs or self.after(runs).within

    def needed(self, runs: int) -> Loss:
        """What they reveal by themselves: in the worst window, if the account has one."""
        return replace(self, costs=()).after(runs).spent

    def repeated(self, runs: int) -> Repeated:
        """Whether that many fit, and how many do."""
        fits, exact, most = self.fit(runs), self.terms.composition != "pld", self.most
        most = max(most, runs) if fits else min(most, runs - 1)
        exact = exact or most == runs - 1
        return Repeated(self.terms, runs, self.needed(runs), fits, most, exact)

    @property
    def most(self) -> int:
        """How many the account allows, up to `MOST_RUNS`; by `pld` perhaps one in 100 less."""
        end = self._steady
        if end is not None and self.fit(end):
            return MOST_RUNS
        limit = MOST_RUNS if end is None else end
        if self.terms.composition != "pld":
            return _most(self.fit, 0, 1, 0, limit)
        # It never charges more than zcdp, and hardly ever less than two thirds of that.
        quick = replace(self, terms=replace(self.terms, composition="zcdp"))
        least = _most(quick.fit, 0, 1, 0, limit)
        return _most(self.fit, least, least + least // 8 + 1, COARSE, limit)

    @property
    def _steady(self) -> int | None:
        """On consecutive days, a number of runs after which every window is the same."""
        if self.period is None or not self.terms.window:
            return None
        last = max((one.period or 0 for one in self.costs), default=self.period)
        return max(last - self.period, 0) + 2 * self.terms.window

    def after(self, runs: int) -> Balance:
        """The balance after that many."""
        terms, before = self.terms, self.costs
        if not terms.window:
            return balance(terms, [*before, RecordedCost(self.guarantees, None, runs)])
        if self.period is None:
            return balance(terms, [RecordedCost(self.guarantees, 0, runs)], 0)
        count = min(runs, self._steady or runs)
        days = [RecordedCost(self.guarantees, self.period + day) for day in range(count)]
        return balance(terms, [*before, *days], self.period, days=count)


def _most(fits: Callable[[int], bool], low: int, high: int, coarse: int, limit: int) -> int:
    """The most that fits, at least `low`; too low by one in `coarse` at most, if that is given."""
    step = high - low
    while high < limit and fits(high):
        low, step = high, step * 2
        high = low + step
    low, _ = bisect(
        lambda runs: not fits(runs),
        low,
        high,
        lambda low, high: high - low <= low // (coarse or high),
    )
    return min(low, limit)


@dataclass(frozen=True, slots=True)
class BalanceForecast:
    """What would happen to a release, and to the account that pays for it.

    `exists` says whether there is a ledger, `terms` are those of the account once it is opened.
    `before` and `after` are balances around the release, as far as they are known; what is
    `refused` has none after it. In an account with a window they are those of a window without
    other releases, unless the release names its day. `shared` are other accounts with the data
    files that they were charged for as well. `repeated` is about many runs.
    """

    ledger: Path
    exists: bool = False
    terms: AccountTerms | None = None
    before: Balance | None = None
    after: Balance | None = None
    refused: DpcliError | None = None
    shared: Mapping[str, set[str]] = field(default_factory=dict)
    repeated: Repeated | None = None

    @property
    def window(self) -> int | None:
        """The days that the budget of the account is for."""
        return None if self.terms is None else self.terms.window

    @property
    def exhausted(self) -> bool:
        """Whether it is the budget that refuses."""
        return isinstance(self.refused, BudgetError)

    def require(self) -> None:
        """Raise what a release would be refused with, or as many of them as were asked about."""
        if self.refused is not None:
            raise self.refused
        if self.repeated is not None and not self.repeated.fits:
            raise self.repeated.refusal
