"""What a release, or runs of it, would do to an account; nothing is charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from operator import itemgetter
from pathlib import Path

from dpcli.ledger.account import Account, FurtherBudget, budget_text, sharing_warnings
from dpcli.ledger.balance import (
    DAYS_A_YEAR,
    LAST_DAY,
    AccountTerms,
    Balance,
    GuaranteeCounts,
    RecordedCost,
    SeriesCost,
    balance,
    period_text,
)
from dpcli.ledger.charge import today
from dpcli.numeric.search import bisect
from dpcli.privacy.loss import Guarantee, Loss, loss_text
from dpcli.problems.errors import BudgetError, DpcliError
from dpcli.problems.light_dataclasses import dataclass

MAX_RUNS = 1_000_000

PLD_PRECISION = 100
"""With `pld` the number of runs may be 1% too low: each trial takes seconds."""


def forecast_charge(
    account: Account,
    spec_terms: AccountTerms,
    cost: RecordedCost,
    times: int | None = None,
    *,
    may_open: bool,
) -> BalanceForecast:
    """What one release, and `times` runs of it, would do to an account.

    A refusal is part of the forecast. `spec_terms` and `may_open` are as for `check_charge` of the
    account.
    """
    terms, period = account.terms or spec_terms, cost.period
    further: list[FurtherBudget] = []
    refused, needs_day = None, False
    after: Balance | None = None
    try:
        before, after = account.check_charge(spec_terms, cost, may_open=may_open)
        further = account.further_budgets(terms, cost)
    except DpcliError as failure:
        refused, needs_day = failure, failure.problems[0].code == "period-required"
        if needs_day:
            # The balance depends on the day: show that of a window without other releases.
            account, period = replace(account, costs=()), 0
            alone = balance(terms, [replace(cost, period=0)], 0)
            after = alone if alone.within else None
        before = account.balance(terms, period if terms.window else None)
    runs = None
    if times and (refused is None or needs_day or isinstance(refused, BudgetError)):
        runs = min(
            (repeated.forecast(times) for repeated in repeated_runs(account, terms, cost)),
            key=lambda forecast: forecast.most,
        )
        if account.closed:
            runs = replace(runs, fits=False, most=0)
    return BalanceForecast(
        account.ledger, account.exists, account.terms, before, after, refused, runs=runs,
        further_budgets=tuple(further), window=terms.window,
    )  # fmt: skip


def repeated_runs(
    account: Account, terms: AccountTerms, cost: RecordedCost
) -> Iterator[RepeatedRuns]:
    """Runs of a release on everything that bounds its account, which each must allow."""
    for bound, charged in account.budgets(terms, cost.recipient):
        yield RepeatedRuns(bound, charged.costs, cost.guarantees, cost.period)


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
            budget=budget_text(self.terms),
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


PACE_DAYS = 30
"""The pace of an account is that of its releases in this many days."""


def timeline(
    account: Account, terms: AccountTerms, charged: Sequence[tuple[int, RecordedCost]]
) -> dict[str, Loss | str | None]:
    """What was charged in the last 30 and 365 days, and when the budget `ends`.

    `charged` has the day of each charge. The rule: the releases of the last 30 days, or since the
    first one if that is later, are repeated, with the same days in between. The budget ends on the
    day of the first one that does not fit. No day is known after releases on a single day, or if
    the budget is that of a window.
    """
    now, found = today(), dict[str, Loss | str | None]()
    since = {days: [(day, cost) for day, cost in charged if now - days < day <= now]
             for days in (DAYS_A_YEAR, PACE_DAYS)}  # fmt: skip
    for days, costs in since.items():
        without_window = replace(terms, window=None)
        found[f"last_{days}_days"] = balance(without_window, [cost for _, cost in costs]).spent
    recent = sorted(since[PACE_DAYS], key=itemgetter(0))
    found["ends"] = None
    if len(dict(recent)) > 1 and not terms.window and not account.closed:
        first = min(day for day, _ in charged)
        found["ends"] = _end(account, terms, recent, min(PACE_DAYS, now - first + 1))
    return found


def _end(
    account: Account, terms: AccountTerms, recent: Sequence[tuple[int, RecordedCost]], days: int
) -> str | None:
    """The day of the first release that does not fit if recent ones repeat."""
    once: Counter[Guarantee | SeriesCost] = Counter()
    for _, cost in recent:
        once.update(dict(cost.guarantees))
    runs = RepeatedRuns(terms, account.costs, tuple(once.items()))
    rounds = runs.max_runs
    held = [*account.costs, RecordedCost(runs.guarantees, None, rounds)]
    _, index = bisect(
        lambda count: not balance(terms, [*held, *(cost for _, cost in recent[:count])]).within,
        0,
        len(recent),
    )
    day = recent[index - 1][0] + days * (rounds + 1)
    return period_text(day) if day <= LAST_DAY else None


@dataclass(frozen=True, slots=True)
class BalanceForecast:
    """What would happen to a release, and to the account that pays for it.

    `exists` says whether the ledger exists. `terms` are None before the account is opened.
    `before` and `after` are the balances around the release, as far as they are known. `refused`
    is the error that the release would meet; there is no balance after a refusal. In an account
    with a window, the balances are those of a window without other releases unless the release
    names its day. `shared` has other accounts that were charged for the same data files, with
    these files. `runs` is a forecast of repeated runs. `obstacle` says why a release could not
    create a ledger that does not exist; it is empty if a release could. `further_budgets` are
    what else bounds the account. The budget covers `window` days, or all if it is None.
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
    further_budgets: tuple[FurtherBudget, ...] = ()
    window: int | None = None

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
