"""What an account has spent and what is left, exactly, from its own records.

The loss of all recorded answers is computed anew each time by the account's
composition, so that rounding never adds up: 100,000 spends of 1/100,000 are one.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpcli.ledger.entry import Entry
from dpcli.ledger.terms import Terms
from dpcli.privacy.composition import COMPOSITIONS, Composition
from dpcli.privacy.loss import Loss

DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class Spend:
    """What one release revealed, part by part, and the period it belongs to."""

    losses: tuple[Loss, ...]
    period: int | None


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
    windows = [
        _total(rule, [spend for spend in spends if _inside(spend, start, terms.window)])
        for start in _starts(spends, terms.window, period)
    ]
    worst = Loss(
        max((loss.epsilon for loss in windows), default=Fraction(0)),
        max((loss.delta for loss in windows), default=Fraction(0)),
    )
    return Balance(terms.budget, worst, lifetime)


def _starts(spends: Sequence[Spend], window: int, period: int | None) -> list[int]:
    """Where the windows begin that can be worst: at a period with a release.

    With a `period`, only windows that contain it.
    """
    starts = sorted({spend.period for spend in spends if spend.period is not None})
    if period is None:
        return starts
    return [start for start in {*starts, period} if start <= period < start + window]


def _inside(spend: Spend, start: int, window: int) -> bool:
    """Whether a release belongs to a window."""
    return spend.period is not None and start <= spend.period < start + window


def _total(rule: Composition, spends: Iterable[Spend]) -> Loss:
    """The loss of publishing all answers of these releases."""
    return rule.total(loss for spend in spends for loss in spend.losses)


def rule_of(terms: Terms) -> Composition:
    """The composition that an account fixed."""
    return next(rule for rule in COMPOSITIONS if rule.name == terms.composition)


def spend_of(entry: Entry) -> Spend:
    """What a recorded release revealed."""
    content = entry.content()
    parts = content["parts"]
    period = content["period"]
    assert isinstance(parts, list)
    return Spend(
        tuple(Loss(Fraction(part["epsilon"]), Fraction(part["delta"])) for part in parts),
        period_number(str(period)) if period is not None else None,
    )


def period_number(text: str) -> int:
    """The day that a period names, as a whole number; ValueError if it names none."""
    if len(text) != len("2026-11-21"):
        raise ValueError("a period is a date, YYYY-MM-DD")
    return datetime.date.fromisoformat(text).toordinal()
