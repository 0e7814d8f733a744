"""What an account has spent and what is left, exactly, from its own records.

The loss of all recorded answers is computed anew each time by the account's
composition, so that rounding never adds up: 100,000 spends of 1/100,000 are one.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter

from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Composition
from dpcli.ledger.pricing import Answers, answers_of
from dpcli.ledger.terms import Terms
from dpcli.privacy.guarantee import Guarantee
from dpcli.privacy.loss import Loss

DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class Spend:
    """What releases revealed, answer by answer, their period, and how many they are."""

    answers: Answers
    period: int | None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account has spent: in the window that counts, and in all.

    `spent` is what the budget bounds: the worst window of an account with one, else
    everything. `remaining` is what is left of the budget; unless epsilons just add, it is stated
    at the delta of the budget.
    """

    budget: Loss
    spent: Loss
    lifetime: Loss
    remaining: Loss

    @property
    def within(self) -> bool:
        """Whether the budget bounds what was spent."""
        return self.spent.within(self.budget)

    @property
    def exhausted(self) -> Balance:
        """The same with nothing left: an account that was closed has spent all of its budget."""
        none = Fraction(0)
        remaining = Loss(none, none, None if self.remaining.rho is None else none)
        spent, lifetime = (_greater(loss, self.budget) for loss in (self.spent, self.lifetime))
        return Balance(self.budget, spent, lifetime, remaining)


def _greater(one: Loss, other: Loss) -> Loss:
    """The greater of two losses, measure by measure."""
    rhos = [rho for rho in (one.rho, other.rho) if rho is not None]
    return Loss(
        max(one.epsilon, other.epsilon), max(one.delta, other.delta), max(rhos, default=None)
    )


def balance(
    terms: Terms, spends: Sequence[Spend], period: int | None = None, *, days: int = 1
) -> Balance:
    """The balance of an account.

    With a window, that of the worst window; with a `period` too, of the worst that holds one of
    the `days` from there on.
    """
    rule, budget = rule_of(terms), terms.budget
    lifetime = _total(rule, spends, budget.delta)
    if terms.window is None:
        return Balance(budget, lifetime, lifetime, rule.remaining(budget, lifetime))
    windows = list(_windows(rule, spends, terms, period, days))
    worst = Loss(
        max((loss.epsilon for loss in windows), default=Fraction(0)),
        max((loss.delta for loss in windows), default=Fraction(0)),
        None
        if lifetime.rho is None
        else max((loss.rho or Fraction(0) for loss in windows), default=Fraction(0)),
    )
    return Balance(budget, worst, lifetime, rule.remaining(budget, worst))


def _windows(
    rule: Composition, spends: Sequence[Spend], terms: Terms, period: int | None, days: int
) -> Iterator[Loss]:
    """The losses of the windows that can be worst: they begin at a release.

    With a `period`, only of windows that hold one of the days from it on, or begin there. The
    window slides over the releases in order, and keeps count of what it holds; windows that hold
    the same cost the same, and one that gained no release only lost some.
    """
    window = terms.window or 1
    dated = sorted(
        ((one.period, one) for one in spends if one.period is not None), key=itemgetter(0)
    )
    starts = sorted({*(start for start, _ in dated), *([] if period is None else [period])})
    inside: Counter[Answers] = Counter()
    seen: set[frozenset[tuple[Answers, int]]] = set()
    first = last = 0
    reached = -1
    for start in starts:
        if period is not None and not start - days < period < start + window:
            continue
        while last < len(dated) and dated[last][0] < start + window:
            inside[dated[last][1].answers] += dated[last][1].count
            last += 1
        while first < last and dated[first][0] < start:
            inside[dated[first][1].answers] -= dated[first][1].count
            first += 1
        if last == reached:
            continue
        reached = last
        held = frozenset((+inside).items())
        if held not in seen:
            seen.add(held)
            yield rule.total(_counted(inside), terms.budget.delta)


def _total(rule: Composition, spends: Iterable[Spend], delta: Fraction) -> Loss:
    """The loss of publishing all answers of these releases."""
    counted: Counter[Answers] = Counter()
    for one in spends:
        counted[one.answers] += one.count
    return rule.total(_counted(counted), delta)


def _counted(releases: Mapping[Answers, int]) -> Counter[Guarantee]:
    """How often each guarantee was given, by releases counted by what they revealed."""
    found: Counter[Guarantee] = Counter()
    for answers, count in releases.items():
        if count:
            for guarantee, times in answers:
                found[guarantee] += times * count
    return found


def rule_of(terms: Terms) -> Composition:
    """The composition that an account fixed."""
    return next(rule for rule in COMPOSITIONS if rule.name == terms.composition)


def spend(parts: str, period: str | None, neighbors: str, count: int = 1) -> Spend:
    """What recorded releases of the same parts in the same period revealed."""
    return Spend(answers_of(parts, neighbors), period_number(period) if period else None, count)


def period_number(text: str) -> int:
    """The day that a period names, as a whole number; ValueError if it names none."""
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("a period is a date, YYYY-MM-DD")
    return datetime.date.fromisoformat(text).toordinal()
