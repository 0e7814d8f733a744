"""What a ledger allows: one release before it is made, or many runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpcli.errors import BudgetError, Failure
from dpcli.ledger.balance import Answers, Balance, Spend, balance
from dpcli.ledger.terms import Terms
from dpcli.privacy.loss import Loss, loss_text
from dpcli.privacy.search import bisect

MOST_RUNS = 1_000_000
"""Runs to look ahead; more than are ever planned."""

COARSE = 100
"""By `pld` the number of runs may be too low by one in 100: each trial takes seconds."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """How many runs were asked about, what they need, and how many the account allows.

    Unless it is `exact`, the account may allow slightly more than `most`.
    """

    asked: int
    needed: Loss
    fits: bool
    most: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of the same release in an account with these terms, after what it has spent.

    In an account with a window they are one on each of as many days from `period` on, or all
    in one window that is otherwise empty if there is no period.
    """

    terms: Terms
    spends: Sequence[Spend]
    answers: Answers
    period: int | None = None

    def fit(self, runs: int) -> bool:
        """Whether the account allows that many."""
        return not runs or self._after(runs).within

    def needed(self, runs: int) -> Loss:
        """What they reveal by themselves: in the worst window, if the account has one."""
        return self._after(runs, spends=()).spent

    def repeated(self, runs: int) -> Repeated:
        """Whether that many fit, and how many do."""
        fits, exact, most = self.fit(runs), self.terms.composition != "pld", self.most
        most = max(most, runs) if fits else min(most, runs - 1)
        return Repeated(runs, self.needed(runs), fits, most, exact or most == runs - 1)

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
        last = max((one.period or 0 for one in self.spends), default=self.period)
        return max(last - self.period, 0) + 2 * self.terms.window

    def _after(self, runs: int, spends: Sequence[Spend] | None = None) -> Balance:
        """The balance after that many; with these `spends` instead of those of the account."""
        terms, before = self.terms, self.spends if spends is None else spends
        if not terms.window:
            return balance(terms, [*before, Spend(self.answers, None, runs)])
        if self.period is None:
            return balance(terms, [Spend(self.answers, 0, runs)], 0)
        count = min(runs, self._steady or runs)
        days = [Spend(self.answers, self.period + day) for day in range(count)]
        return balance(terms, [*before, *days], self.period, days=count)


def too_many(terms: Terms, repeated: Repeated) -> BudgetError:
    """More runs than the account allows: what they need, and how many fit."""
    where = f" in any {terms.window} consecutive days" if terms.window else ""
    most = repeated.most
    return BudgetError.of(
        "too-many-runs",
        f"{repeated.asked:,} runs of this release need {loss_text(repeated.needed)}{where}, and "
        f"the account `{terms.dataset}` does not have that left of {loss_text(terms.budget)}",
        f"{most:,} {'runs fit' if most != 1 else 'run fits'}; for more, let each run reveal less",
    )


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
class Outlook:
    """What would happen to a release, and to the account that pays for it.

    `exists` says whether there is a ledger, `terms` are those of the account once it is opened.
    `before` and `after` are balances around the release, as far as they are known; what is
    `refused` has none after it. In an account with a window they are those of a window without
    other releases, unless the release names its day. `shared` are other accounts that were
    charged for the same file. `repeated` is about many runs; they are `unrepeatable` if the
    account allows one of them and not all.
    """

    ledger: Path
    exists: bool
    terms: Terms | None = None
    before: Balance | None = None
    after: Balance | None = None
    refused: Failure | None = None
    shared: tuple[str, ...] = ()
    repeated: Repeated | None = None
    unrepeatable: Failure | None = None

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
        failure = self.refused or self.unrepeatable
        if failure is not None:
            raise failure
