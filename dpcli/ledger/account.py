"""Whether an account can pay for a release, and for how many runs of it.

Everything follows from recorded costs and account terms; no file is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from dpcli.ledger.balance import (
    LAST_DAY,
    AccountTerms,
    Balance,
    GuaranteeCounts,
    RecordedCost,
    balance,
    opening_command,
    period_text,
)
from dpcli.numeric.search import bisect
from dpcli.privacy.loss import Loss, loss_text, remaining_text
from dpcli.problems.errors import BudgetError, DpcliError, LedgerError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quoted_list

MAX_RUNS = 1_000_000

PLD_PRECISION = 100
"""With `pld` the number of runs may be 1% too low: each trial takes seconds."""


TIME_ZONES = 1
"""Days by which the local day may be ahead of the day in UTC."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a ledger records of the account of one dataset.

    `terms` are None before the account is opened. A `closed` account allows no more releases.
    `may_open` is false if a release may not open the account. `exists` says whether the ledger
    exists.
    """

    ledger: Path
    terms: AccountTerms | None = None
    costs: Sequence[RecordedCost] = ()
    closed: bool = False
    may_open: bool = True
    exists: bool = True

    def balance(self, terms: AccountTerms, period: int | None = None) -> Balance:
        """The balance now; with a `period`, only of the windows that hold this day."""
        current = balance(terms, self.costs, period)
        return current.exhausted if self.closed else current

    def check_charge(
        self, spec_terms: AccountTerms, cost: RecordedCost, *, may_open: bool = True
    ) -> tuple[Balance, Balance]:
        """The balances before and after a release that costs `cost`; nothing is charged.

        `spec_terms` are the terms of the spec. `may_open` says whether the release may open the
        account. Raises BudgetError or LedgerError if the account refuses the release.
        """
        terms = self._agreed_terms(spec_terms, cost.period, may_open=may_open)
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
            raise BudgetError.about(
                code,
                asked=loss_text(balance(replace(terms, window=None), [cost]).lifetime),
                dataset=terms.dataset,
                left=remaining_text(before.remaining),
                budget=_budget_text(terms),
                **arguments,
            )
        return before, after

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

        if not days:
            return "account-exhausted", {}
        if not fits(days[-1]):
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

    def require_likely_period(self, period: int | None, today: int) -> None:
        """Raise LedgerError for a day that is likely wrong, in an account with a window.

        Such a day is later than the day after `today`, which time zones allow, or more than a
        window before the last charged day that is not in the future. A charge for another day than
        that of the data would not add to the windows that hold the day of the data.
        """
        window = None if self.terms is None else self.terms.window
        if self.terms is None or not window or period is None:
            return
        latest = today + TIME_ZONES
        arguments: dict[str, object] = {
            "dataset": self.terms.dataset,
            "period": period_text(period),
        }
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

    def forecast(
        self, spec_terms: AccountTerms, cost: RecordedCost, times: int | None, *, may_open: bool
    ) -> BalanceForecast:
        """What one release, and `times` runs of it, would do to the account.

        A refusal is part of the forecast. `spec_terms` and `may_open` are as for `check_charge`.
        """
        account, terms, period = self, self.terms or spec_terms, cost.period
        refused, needs_day = None, False
        after: Balance | None = None
        try:
            before, after = self.check_charge(spec_terms, cost, may_open=may_open)
        except DpcliError as failure:
            refused, needs_day = failure, failure.problems[0].code == "period-required"
            if needs_day:
                # The balance depends on the day: show that of a window without other releases.
                account, period = replace(self, costs=()), 0
                alone = balance(terms, [replace(cost, period=0)], 0)
                after = alone if alone.within else None
            before = account.balance(terms, period if terms.window else None)
        runs = None
        if times and (refused is None or needs_day or isinstance(refused, BudgetError)):
            repeated = RepeatedRuns(terms, account.costs, cost.guarantees, cost.period)
            runs = repeated.forecast(times)
            if self.closed:
                runs = replace(runs, fits=False, most=0)
        return BalanceForecast(
            self.ledger, self.exists, self.terms, before, after, refused, runs=runs
        )

    def _agreed_terms(
        self, spec_terms: AccountTerms, period: int | None, *, may_open: bool
    ) -> AccountTerms:
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
        differences = "; ".join(
            f"its {term} is {own}, the spec says {other}"
            for term, own, other in terms.differences(spec_terms)
        )
        if differences:
            raise LedgerError.about(
                "account-differs", dataset=terms.dataset, differences=differences
            )
        arguments = {"dataset": terms.dataset, "path": self.ledger}
        if terms.window and period is None:
            raise LedgerError.about("period-required", window=terms.window, **arguments)
        if not terms.window and period is not None:
            raise LedgerError.about("period-not-taken", **arguments)
        return terms


@dataclass(frozen=True, slots=True)
class RunsForecast:
    """How many runs a user asked about, what they cost, and the most that fit.

    Unless the forecast is `exact`, the account may allow slightly more than `most` runs. The
    names of the fields are keys of `dpcli plan --json`.
    """

    terms: AccountTerms
    asked: int
    needed: Loss
    fits: bool
    most: int
    exact: bool

    @property
    def refusal(self) -> BudgetError:
        """The error for more runs than the account allows."""
        return BudgetError.about(
            "too-many-runs",
            asked=self.asked,
            needed=loss_text(self.needed),
            dataset=self.terms.dataset,
            budget=_budget_text(self.terms),
            most=self.most,
        )


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """Repeated runs of one release, on top of what an account has spent.

    In an account with a window, each run has a day of its own, the first one `period`. Without
    a period, all runs are in one window that holds nothing else.
    """

    terms: AccountTerms
    costs: Sequence[RecordedCost]
    guarantees: GuaranteeCounts
    period: int | None = None

    def fit(self, runs: int) -> bool:
        """Whether the account allows this number of runs."""
        return not runs or self.balance_after(runs).within

    def loss(self, runs: int) -> Loss:
        """The loss of `runs` runs alone; with a window, that of the worst window."""
        return replace(self, costs=()).balance_after(runs).spent

    def forecast(self, runs: int) -> RunsForecast:
        """Whether `runs` runs fit, and how many do."""
        fits, exact, max_runs = self.fit(runs), self.terms.composition != "pld", self.max_runs
        max_runs = max(max_runs, runs) if fits else min(max_runs, runs - 1)
        exact = exact or max_runs == runs - 1
        return RunsForecast(self.terms, runs, self.loss(runs), fits, max_runs, exact)

    @property
    def max_runs(self) -> int:
        """The most runs that fit, up to `MAX_RUNS`; see `PLD_PRECISION` for `pld`."""
        steady = self._runs_to_steady_state
        if steady is not None and self.fit(steady):
            return MAX_RUNS
        limit = MAX_RUNS if steady is None else steady
        if self.terms.composition != "pld":
            return _max_that_fit(self.fit, 0, 1, 0, limit)
        # `pld` never charges more than zcdp, and rarely less than two thirds of it.
        by_zcdp = replace(self, terms=replace(self.terms, composition="zcdp"))
        min_runs = _max_that_fit(by_zcdp.fit, 0, 1, 0, limit)
        return _max_that_fit(self.fit, min_runs, min_runs + min_runs // 8 + 1, PLD_PRECISION, limit)

    @property
    def _runs_to_steady_state(self) -> int | None:
        """A number of daily runs after which every window has the same loss.

        None without a period, or for an account without a window.
        """
        if self.period is None or not self.terms.window:
            return None
        last = max((cost.period or 0 for cost in self.costs), default=self.period)
        return max(last - self.period, 0) + 2 * self.terms.window

    def balance_after(self, runs: int) -> Balance:
        """The balance after `runs` runs."""
        terms, before = self.terms, self.costs
        if not terms.window:
            return balance(terms, [*before, RecordedCost(self.guarantees, None, runs)])
        if self.period is None:
            return balance(terms, [RecordedCost(self.guarantees, 0, runs)], 0)
        count = min(runs, self._runs_to_steady_state or runs)
        days = [RecordedCost(self.guarantees, self.period + day) for day in range(count)]
        return balance(terms, [*before, *days], self.period, days=count)


def _max_that_fit(
    fits: Callable[[int], bool], low: int, high: int, precision: int, limit: int
) -> int:
    """The most runs that fit, at least `low` and at most `limit`.

    With a `precision`, the result may be too low by a part of 1/`precision`.
    """
    step = high - low
    while high < limit and fits(high):
        low, step = high, step * 2
        high = low + step
    low, _ = bisect(
        lambda runs: not fits(runs),
        low,
        high,
        lambda low, high: high - low <= low // (precision or high),
    )
    return min(low, limit)


@dataclass(frozen=True, slots=True)
class BalanceForecast:
    """What would happen to a release, and to the account that pays for it.

    `exists` says whether the ledger exists. `terms` are None before the account is opened.
    `before` and `after` are the balances around the release, as far as they are known. `refused`
    is the error that the release would meet; there is no balance after a refusal. In an account
    with a window, the balances are those of a window without other releases unless the release
    names its day. `shared` has other accounts that were charged for the same data files, with
    these files. `runs` is a forecast of repeated runs. `obstacle` says why a release could not
    create a ledger that does not exist; it is empty if a release could.
    """

    ledger: Path
    exists: bool = False
    terms: AccountTerms | None = None
    before: Balance | None = None
    after: Balance | None = None
    refused: DpcliError | None = None
    shared: Mapping[str, set[str]] = field(default_factory=dict)
    runs: RunsForecast | None = None
    obstacle: str = ""

    @property
    def window(self) -> int | None:
        """The number of days that the budget covers; None without a window."""
        return None if self.terms is None else self.terms.window

    @property
    def exhausted(self) -> bool:
        """Whether the budget refuses the release."""
        return isinstance(self.refused, BudgetError)

    @property
    def warnings(self) -> list[str]:
        """What people must know before a release."""
        return [*sharing_warnings(self.shared), *filter(None, [self.obstacle])]

    def raise_refusal(self) -> None:
        """Raise the error that the release, or the runs asked about, would meet."""
        if self.refused is not None:
            raise self.refused
        if self.runs is not None and not self.runs.fits:
            raise self.runs.refusal


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


def _budget_text(terms: AccountTerms) -> str:
    window = f" in any {terms.window} consecutive days" if terms.window else ""
    return f"{loss_text(terms.budget)}{window}"
