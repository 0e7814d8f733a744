"""What an account has spent and what is left, exactly, from its own records.

The loss of all recorded answers is computed anew each time by the account's
composition, so that rounding never adds up: 100,000 spends of 1/100,000 are one.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter

from dpcli.ledger.terms import Terms
from dpcli.privacy.composition import COMPOSITIONS, Composition
from dpcli.privacy.loss import Loss

DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class Spend:
    """What releases revealed, part by part, their period, and how many they are."""

    losses: tuple[Loss, ...]
    period: int | None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account has spent: in the window that counts, and in all.

    `spent` is what the budget bounds: the worst window of an account with one, else
    everything.
    """

    budget: Loss
    spent: Loss
    lifetime: Loss

    @property
    def remaining(self) -> Loss:
        """What is left of the budget, in each of epsilon and delta."""
        return Loss(
            max(self.budget.epsilon - self.spent.epsilon, Fraction(0)),
            max(self.budget.delta - self.spent.delta, Fraction(0)),
        )

    @property
    def within(self) -> bool:
        """Whether the budget bounds what was spent."""
        return self.spent.within(self.budget)


def balance(terms: Terms, spends: Sequence[Spend], period: int | None = None) -> Balance:
    """The balance of an account; with a window, of the worst window around `period`."""
    rule = rule_of(terms)
    lifetime = _total(rule, spends)
    if terms.window is None:
        return Balance(terms.budget, lifetime, lifetime)
    windows = list(_windows(rule, spends, terms.window, period))
    worst = Loss(
        max((loss.epsilon for loss in windows), default=Fraction(0)),
        max((loss.delta for loss in windows), default=Fraction(0)),
    )
    return Balance(terms.budget, worst, lifetime)


def _windows(
    rule: Composition, spends: Sequence[Spend], window: int, period: int | None
) -> Iterator[Loss]:
    """The losses of the windows that can be worst: they begin at a release.

    With a `period`, only of windows that contain it, or begin there. The window slides over the
    releases in order, and keeps count of what it holds.
    """
    dated = sorted(
        ((one.period, one) for one in spends if one.period is not None), key=itemgetter(0)
    )
    starts = sorted({*(start for start, _ in dated), *([] if period is None else [period])})
    inside: Counter[tuple[Loss, ...]] = Counter()
    first = last = 0
    for start in starts:
        if period is not None and not start <= period < start + window:
            continue
        while last < len(dated) and dated[last][0] < start + window:
            inside[dated[last][1].losses] += dated[last][1].count
            last += 1
        while first < last and dated[first][0] < start:
            inside[dated[first][1].losses] -= dated[first][1].count
            first += 1
        yield _composed(rule, inside)


def _total(rule: Composition, spends: Iterable[Spend]) -> Loss:
    """The loss of publishing all answers of these releases."""
    counted: Counter[tuple[Loss, ...]] = Counter()
    for one in spends:
        counted[one.losses] += one.count
    return _composed(rule, counted)


def _composed(rule: Composition, counted: Counter[tuple[Loss, ...]]) -> Loss:
    """The loss of releases, counted by what each of them revealed."""
    return rule.total((loss, count) for losses, count in counted.items() for loss in losses)


def rule_of(terms: Terms) -> Composition:
    """The composition that an account fixed."""
    return next(rule for rule in COMPOSITIONS if rule.name == terms.composition)


def spend(parts: str, period: str | None, count: int = 1) -> Spend:
    """What recorded releases of the same parts in the same period revealed."""
    return Spend(_losses(parts), period_number(period) if period else None, count)


@lru_cache(maxsize=4096)
def _losses(parts: str) -> tuple[Loss, ...]:
    """The losses in recorded parts; the same few texts recur night after night."""
    return tuple(
        Loss(Fraction(part["epsilon"]), Fraction(part["delta"])) for part in json.loads(parts)
    )


def period_number(text: str) -> int:
    """The day that a period names, as a whole number; ValueError if it names none."""
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("a period is a date, YYYY-MM-DD")
    return datetime.date.fromisoformat(text).toordinal()
