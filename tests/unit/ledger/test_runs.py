"""The number of runs that fit is the number that an account accepts, one after the other."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.ledger.account import Account
from dpcli.ledger.balance import AccountTerms, GuaranteeCounts, RecordedCost, balance
from dpcli.ledger.forecast import MAX_RUNS, RepeatedRuns
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.loss import Loss, pure_guarantee
from dpcli.problems.errors import BudgetError
from tests.support.rules import mostly_extended

DELTA = Fraction(1, 10**6)
each_rule = pytest.mark.parametrize("rule", COMPOSITIONS, ids=lambda rule: str(rule.name))


def answers(epsilon: Fraction) -> GuaranteeCounts:
    """The cost of a release with a single pure answer."""
    return ((pure_guarantee(epsilon), 1),)


def account_terms(rule: Composition, budget: Fraction, window: int | None = None) -> AccountTerms:
    """The terms of an account with that composition and budget."""
    return AccountTerms("town", "row", "add-remove", rule.name, Loss(budget, DELTA), window)


def one_by_one(
    terms: AccountTerms, costs: list[RecordedCost], run: GuaranteeCounts, first: int | None
) -> int:
    """The number of runs that the account accepts, each on the day after the one before."""
    held, count = list(costs), 0
    while count < 60:
        cost = RecordedCost(run, None if first is None else first + count)
        try:
            Account(Path("l"), terms, held).check_charge(terms, cost)
        except BudgetError:
            break
        held.append(cost)
        count += 1
    return count


@each_rule
@pytest.mark.parametrize("spent", [0, 1, 3])
def test_runs_are_counted_as_the_account_accepts_them(rule: Composition, spent: int) -> None:
    """With every composition, the number that fits is accepted, and one more is refused."""
    terms, run = account_terms(rule, Fraction(2)), answers(Fraction(1, 5))
    before = [RecordedCost(answers(Fraction(3, 10)), None, spent)] if spent else []
    runs = RepeatedRuns(terms, before, run)
    most = one_by_one(terms, before, run, None)
    assert 0 < most < 60
    assert runs.max_runs == most
    assert runs.fit(most) and not runs.fit(most + 1)
    assert runs.loss(7) == balance(terms, [RecordedCost(run, None, 7)]).spent


@each_rule
@pytest.mark.parametrize("window", mostly_extended([1, 3, 5], 3))
def test_days_are_counted_as_the_account_accepts_them(rule: Composition, window: int) -> None:
    """One run a day from a day on, between releases of days before and after."""
    terms, run = account_terms(rule, Fraction(1), window), answers(Fraction(1, 5))
    for held in (
        [],
        [RecordedCost(answers(Fraction(1, 2)), 103)],
        [RecordedCost(run, 99), RecordedCost(run, 108, 3)],
    ):
        runs = RepeatedRuns(terms, held, run, 100)
        most = one_by_one(terms, held, run, 100)
        if most == 60:
            assert runs.max_runs == MAX_RUNS and runs.fit(60)
        else:
            assert runs.max_runs == most
            assert runs.fit(most) and not runs.fit(most + 1)


def test_an_empty_window_counts_where_no_day_is_named() -> None:
    """Without a day, runs are counted in a window that holds nothing else."""
    terms = account_terms(COMPOSITIONS["sequential"], Fraction(1), 7)
    full = [RecordedCost(answers(Fraction(1)), 100)]
    assert RepeatedRuns(terms, full, answers(Fraction(1, 4))).max_runs == 4


def test_windows_that_are_full_do_not_hinder_other_days() -> None:
    """An earlier window, even above the budget, does not matter to later days."""
    terms = account_terms(COMPOSITIONS["sequential"], Fraction(1), 3)
    held = [RecordedCost(answers(Fraction(9)), 100)]
    assert RepeatedRuns(terms, held, answers(Fraction(1, 2)), 102).max_runs == 0
    assert RepeatedRuns(terms, held, answers(Fraction(1, 2)), 103).max_runs == 2


def test_a_run_that_reveals_nothing_always_fits() -> None:
    """Exact answers that do not depend on any person cost nothing."""
    terms = account_terms(COMPOSITIONS["sequential"], Fraction(1))
    assert RepeatedRuns(terms, [], ()).max_runs == MAX_RUNS


@pytest.mark.parametrize("rule", [*COMPOSITIONS][:3], ids=lambda rule: str(rule.name))
def test_the_refusal_says_how_many_fit(rule: Composition) -> None:
    """It states the needed loss and the number that fits."""
    terms = account_terms(rule, Fraction(1))
    runs = RepeatedRuns(terms, [], answers(Fraction(1, 4)))
    repeated = runs.forecast(40)
    assert not repeated.fits and repeated.exact
    (problem,) = repeated.refusal.problems
    assert problem.code == "too-many-runs"
    assert "40 runs" in problem.message and f"it allows {runs.max_runs} runs" in problem.hint
