"""What recorded answers reveal, and what an account has spent, exactly.

The loss of all recorded answers is computed again each time by the account's
composition, so that rounding never adds up: 100,000 spends of 1/100,000 are one.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter

from dpcli.errors import LedgerError
from dpcli.ledger.terms import AccountTerms
from dpcli.mechanisms import MECHANISMS
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition, MissingDependencyError
from dpcli.privacy.accounting.parallel import Branch, parallel_composition
from dpcli.privacy.events import NO_NOISE, RECOVERED, MechanismEvent, UnknownEventError
from dpcli.privacy.loss import (
    ZERO_GUARANTEE,
    Guarantee,
    Loss,
    approximate_guarantee,
    compose,
    pure_guarantee,
    sum_losses,
)
from dpcli.privacy.neighboring import Neighbors

DAYS_A_YEAR = 365

GuaranteeCounts = tuple[tuple[Guarantee, int], ...]
"""What a release reveals, and how often each."""

BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}


@lru_cache(maxsize=4096)
def guarantee_counts(events_json: str, neighbors: str) -> GuaranteeCounts:
    """The guarantees of recorded parts, disjoint ones not added up.

    Each is computed again by its mechanism, so that a better argument for one prices the past as
    well. The same few texts recur in every ledger, so their results are kept.
    """
    events = from_events_json(events_json)
    if not any(event.joint or event.disjoint for event in events):
        found = Counter(map(guarantee_of, events))
        del found[ZERO_GUARANTEE]
        return tuple(found.items())
    joint: dict[object, list[Guarantee]] = {}
    branches: dict[object, Branch | None] = {}
    for place, event in enumerate(events):
        # Events that are protected jointly count as one answer.
        name = (event.statistic, "" if event.joint else place)
        joint.setdefault(name, []).append(guarantee_of(event))
        branches[name] = event.disjoint
    placed = [
        ((compose(each) if len(each) > 1 else each[0],), branches[name])
        for name, each in joint.items()
    ]
    return tuple(parallel_composition(placed, Neighbors(neighbors)).items())


def from_events_json(events_json: str) -> list[MechanismEvent]:
    """The events that an entry records; LedgerError if this version cannot read one."""
    try:
        return list(map(MechanismEvent.from_json, json.loads(events_json)))
    except UnknownEventError as newer:
        raise LedgerError.about("ledger-unusable.mechanism", name=str(newer)) from None
    except (ValueError, TypeError):
        raise LedgerError.about("ledger-unusable.event") from None


def guarantee_of(event: MechanismEvent) -> Guarantee:
    """What a recorded answer reveals; LedgerError if this version cannot say."""
    name = event.mechanism
    if name == NO_NOISE:
        return ZERO_GUARANTEE
    if name == RECOVERED:
        return approximate_guarantee(event.loss)
    mechanism = BY_NAME.get(name)
    if mechanism is None:
        from dpcli.mechanisms.local import LOCAL_MECHANISMS

        if name in {one.name for one in LOCAL_MECHANISMS}:
            # Given by probabilities in place of noise.
            return pure_guarantee(event.loss.epsilon)
        raise LedgerError.about("ledger-unusable.mechanism", name=name)
    if event.scale is None or event.sensitivity is None:
        raise LedgerError.about("ledger-unusable.event")
    noise, failure_delta = mechanism.distribution(event.scale), event.keys_delta or Fraction(0)
    return mechanism.guarantee(noise, event.sensitivity, event.loss, failure_delta)


def require_proven(events: Iterable[MechanismEvent]) -> None:
    """Raise ValueError unless mechanisms prove the losses that these events state.

    The loss of answers that were calibrated jointly holds for all of them together: one of them
    reveals more than its part of it. A pure answer reveals no more than its own loss.
    """
    together: dict[object, list[MechanismEvent]] = {}
    for place, event in enumerate(events):
        mechanism = BY_NAME.get(event.mechanism)
        if mechanism is not None and mechanism.needs_delta:
            name = event.mechanism, event.statistic, "" if event.joint else place
            together.setdefault(name, []).append(event)
    for each in together.values():
        mechanism, stated = BY_NAME[each[0].mechanism], sum_losses(one.loss for one in each)
        noises = [mechanism.distribution(one.scale or Fraction(0)) for one in each]
        sensitivities = [one.sensitivity for one in each if one.sensitivity is not None]
        selecting = sum((one.keys_delta or Fraction(0) for one in each), Fraction(0))
        proven = mechanism.loss(noises, sensitivities, stated.epsilon)
        if proven.delta > stated.delta - selecting:
            raise ValueError("answers that are protected jointly are charged together")


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """What releases revealed, answer by answer, their period, and how many they are."""

    guarantees: GuaranteeCounts
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
        spent, lifetime = (_greatest([loss, self.budget]) for loss in (self.spent, self.lifetime))
        return Balance(self.budget, spent, lifetime, remaining)


def _greatest(losses: Sequence[Loss]) -> Loss:
    return Loss(
        max(loss.epsilon for loss in losses),
        max(loss.delta for loss in losses),
        max((loss.rho for loss in losses if loss.rho is not None), default=None),
    )


def balance(
    terms: AccountTerms, costs: Sequence[RecordedCost], period: int | None = None, *, days: int = 1
) -> Balance:
    """The balance of an account.

    With a window, that of the worst window; with a `period` too, of the worst that holds one of
    the `days` from there on.
    """
    rule, budget = _rule(terms), terms.budget
    counted: Counter[GuaranteeCounts] = Counter()
    for one in costs:
        counted[one.guarantees] += one.count
    lifetime = _loss(terms, counted)
    if terms.window is None:
        return Balance(budget, lifetime, lifetime, rule.remaining(budget, lifetime))
    none = Loss(Fraction(0), Fraction(0), Fraction(0))
    worst = _greatest([none, *_windows(terms, costs, period, days)])
    if lifetime.rho is None:
        worst = replace(worst, rho=None)
    return Balance(budget, worst, lifetime, rule.remaining(budget, worst))


def _rule(terms: AccountTerms) -> Composition:
    return next(rule for rule in COMPOSITIONS if rule.name == terms.composition)


def _windows(
    terms: AccountTerms, costs: Sequence[RecordedCost], period: int | None, days: int
) -> Iterator[Loss]:
    """The losses of the windows that can be worst: they begin at a release.

    With a `period`, only of windows that hold one of the days from it on, or begin there. The
    window slides over the releases in order, and keeps count of what it holds; windows that hold
    the same cost the same, and one that gained no release only lost some.
    """
    window = terms.window or 1
    dated = sorted(
        ((one.period, one) for one in costs if one.period is not None), key=itemgetter(0)
    )
    starts = sorted({*(start for start, _ in dated), *([] if period is None else [period])})
    inside: Counter[GuaranteeCounts] = Counter()
    seen: set[frozenset[tuple[GuaranteeCounts, int]]] = set()
    first = last = 0
    reached = -1
    for start in starts:
        if period is not None and not start - days < period < start + window:
            continue
        while last < len(dated) and dated[last][0] < start + window:
            inside[dated[last][1].guarantees] += dated[last][1].count
            last += 1
        while first < last and dated[first][0] < start:
            inside[dated[first][1].guarantees] -= dated[first][1].count
            first += 1
        if last == reached:
            continue
        reached = last
        held = frozenset((+inside).items())
        if held not in seen:
            seen.add(held)
            yield _loss(terms, inside)


def _loss(terms: AccountTerms, releases: Mapping[GuaranteeCounts, int]) -> Loss:
    found: Counter[Guarantee] = Counter()
    for answers, count in releases.items():
        for guarantee, times in answers if count else ():
            found[guarantee] += times * count
    try:
        return _rule(terms).total(found, terms.budget.delta)
    except MissingDependencyError as package:
        facts = {"dataset": terms.dataset, "why": str(package)}
        raise LedgerError.about("package-missing.ledger", **facts) from None


def recorded_cost(
    events_json: str, period: str | None, neighbors: str, count: int = 1
) -> RecordedCost:
    """What recorded releases of the same parts in the same period revealed."""
    return RecordedCost(
        guarantee_counts(events_json, neighbors), period_number(period) if period else None, count
    )


def period_number(text: str) -> int:
    """The day that a period names, as a whole number; ValueError if it names none."""
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("a period is a date, YYYY-MM-DD")
    return datetime.date.fromisoformat(text).toordinal()
