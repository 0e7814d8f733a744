"""The terms of an account, what recorded events cost, and its balance, exactly.

The composition of the account computes the loss of all recorded events again each time, so that
rounding errors never add up: 100,000 costs of 1/100,000 are exactly 1.
"""

from __future__ import annotations

import datetime
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.mechanisms import MECHANISMS
from dpcli.numeric.exact import readable_text
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import (
    Branch,
    Composition,
    GuaranteePair,
    MissingDependencyError,
    composed_pair,
    parallel_composition,
)
from dpcli.privacy.events import (
    CORRECTED,
    NO_NOISE_NAME,
    RECOVERED,
    MechanismEvent,
    UnknownEventError,
    recorded_fraction,
)
from dpcli.privacy.loss import (
    ZERO_GUARANTEE,
    Guarantee,
    Loss,
    approximate_guarantee,
    loss_text,
    pure_guarantee,
    sum_losses,
)
from dpcli.privacy.unit import Neighbors, unit_text
from dpcli.problems.errors import LedgerError
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    from dpcli.specification.model import Spec

Payload = dict[str, object]
"""What an entry records, as data that JSON can hold."""


@dataclass(frozen=True, slots=True)
class AccountTerms:
    """The dataset of an account, the guarantee that it pays for, and its budget.

    With a `window` of w periods, the budget bounds the loss of any w consecutive periods (w-event
    privacy: Kellaris, Papadopoulos, Xiao and Papadias 2014). Without a window, it bounds the loss
    of all releases.

    An account that is `part_of` another one charges that one as well. The `recipients` are those
    who may get releases, each with the epsilon (or rho, if the budget is in rho) that releases to
    them may cost together.
    """

    dataset: str
    unit: str
    neighbors: str
    composition: str
    budget: Loss
    window: int | None = None
    part_of: str | None = None
    recipients: tuple[tuple[str, Fraction], ...] = ()

    def payload(self) -> Payload:
        """The terms as an entry records them; numbers are exact fractions as text."""
        named = self.recipients
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "neighbors": self.neighbors,
            "composition": self.composition,
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "window": self.window,
            **({} if self.budget.rho is None else {"rho": str(self.budget.rho)}),
            **({"part_of": self.part_of} if self.part_of else {}),
            **({"recipients": {name: str(each) for name, each in named}} if named else {}),
        }

    def differences(self, other: AccountTerms) -> Iterator[tuple[str, str, str]]:
        """The name of each term that differs, with its value here and in `other`.

        A window, a parent and recipients that `other` does not state are no difference: the account
        keeps its own, which bind each charge.
        """
        for term in SHARED_TERMS:
            own, others = getattr(self, term), getattr(other, term)
            if own != others:
                yield term, own, others
        if _declared(self.budget) != _declared(other.budget):
            yield "budget", loss_text(self.budget), loss_text(other.budget)
        for term in ("window", "part_of", "recipients"):
            own, others = getattr(self, term), getattr(other, term)
            if others and own != others:
                yield term, _term_text(own), _term_text(others)

    def for_recipient(self, name: str) -> AccountTerms:
        """The terms that bound what the releases to one recipient reveal together."""
        amount, delta = dict(self.recipients)[name], self.budget.delta
        budget = Loss(amount, delta)
        if self.budget.rho is not None:
            from dpcli.privacy.zcdp_conversion import zcdp_epsilon

            budget = Loss(zcdp_epsilon(amount, delta), delta, amount)
        return replace(self, budget=budget, part_of=None, recipients=())


SHARED_TERMS = ("unit", "neighbors", "composition")
"""The terms that an account shares with its parent and with its specs."""


def _term_text(term: object) -> str:
    """A window, a parent or recipients in words."""
    if isinstance(term, tuple):
        return ", ".join(f"{name} {readable_text(amount)}" for name, amount in term) or "none"
    return "none" if term is None else str(term)


def opening_command(terms: AccountTerms, ledger: Path) -> str:
    """The command that opens an account on these terms; defaults are left out."""
    budget, each = terms.budget, " or single row without one"
    amount = f"--epsilon {readable_text(budget.epsilon)}"
    if budget.rho is not None:
        amount = f"--rho {readable_text(budget.rho)}"
    person = terms.unit.removeprefix("person by ")
    words = [
        f"dpcli ledger open {terms.dataset} {amount}",
        f"--delta {readable_text(budget.delta)}" if budget.delta else "",
        f"--unit {shlex.quote(person.removesuffix(each))}" if person != "row" else "",
        "--each" if person.endswith(each) else "",
        f"--window {terms.window}" if terms.window else "",
        f"--part-of {terms.part_of}" if terms.part_of else "",
        *(f"--recipient {name}={readable_text(size)}" for name, size in terms.recipients),
        f"--neighbors {terms.neighbors}" if terms.neighbors != "add-remove" else "",
        f"--composition {terms.composition}" if terms.composition != "sequential" else "",
        f"--ledger {shlex.quote(str(ledger))}",
    ]
    return " ".join(word for word in words if word)


def _declared(budget: Loss) -> tuple[Fraction | None, ...]:
    """The declared epsilon, delta and rho of a budget.

    Epsilon is None if rho is declared, because epsilon then follows from rho.
    """
    return (budget.epsilon if budget.rho is None else None, budget.delta, budget.rho)


def terms_from_spec(spec: Spec) -> AccountTerms:
    """The terms of the account that a spec needs."""
    privacy = spec.privacy
    return AccountTerms(
        spec.dataset,
        unit_text(privacy.unit),
        privacy.neighbors.value,
        privacy.composition.name,
        privacy.budget,
        privacy.window,
        spec.part_of,
        privacy.recipients,
    )


def terms_from_payload(payload: Mapping[str, object]) -> AccountTerms:
    """The terms that the entry of an account records.

    Raises KeyError, TypeError, ValueError or ArithmeticError if no account has such terms.
    """
    epsilon, delta = (recorded_fraction(payload[name]) for name in ("epsilon", "delta"))
    rho = recorded_fraction(payload["rho"]) if "rho" in payload else None
    dataset, unit, window = payload["dataset"], payload["unit"], payload["window"]
    neighbors, composition = Neighbors(payload["neighbors"]).value, payload["composition"]
    if not (isinstance(dataset, str) and isinstance(unit, str) and isinstance(composition, str)):
        raise TypeError("names are texts")
    if composition not in COMPOSITIONS.names or min(epsilon, rho or 0) < 0 or not 0 <= delta < 1:
        raise ValueError("a budget is not negative, and has a composition")
    if not isinstance(window, int | None) or (window is not None and window < 1):
        raise ValueError("a window is a number of days")
    part_of, named = payload.get("part_of"), payload.get("recipients", {})
    if not isinstance(part_of, str | None) or not isinstance(named, dict):
        raise TypeError("a parent is a name, and recipients have budgets")
    recipients = tuple((str(name), recorded_fraction(named[name])) for name in sorted(named))
    if any(amount < 0 for _, amount in recipients):
        raise ValueError("a budget is not negative")
    budget = Loss(epsilon, delta, rho)
    return AccountTerms(dataset, unit, neighbors, composition, budget, window, part_of, recipients)


DAYS_A_YEAR = 365


@dataclass(frozen=True, slots=True)
class SeriesCost:
    """The cost of an answer of a series, which depends on the number of periods.

    Privacy: if a person has rows in n periods, the answers change by sums of shifted columns, which
    overlap. The loss is that of answers with the sensitivities of n periods (`of_periods`).
    """

    event: MechanismEvent
    dataset: str = ""

    @property
    def series(self) -> tuple[str, str, str]:
        """The dataset and the entry, which name the series, and how its periods overlap."""
        return self.dataset, self.event.statistic, self.event.series or ""

    def guarantees(self, periods: int) -> Counter[Guarantee]:
        """The guarantees for a person with rows in this number of periods."""
        return _guarantees_of_periods(self.event, periods)

    @property
    def size(self) -> Fraction:
        """What the loss grows with: the square of L2 over the scale, or L1 over it."""
        sensitivity, scale = self.event.sensitivity, self.event.scale or Fraction(1)
        assert sensitivity is not None
        if MECHANISMS[self.event.mechanism].needs_delta:
            return sensitivity.l2_squared / scale**2
        return sensitivity.l1 / scale


@lru_cache(maxsize=1024)
def _guarantees_of_periods(event: MechanismEvent, periods: int) -> Counter[Guarantee]:
    from dpcli.mechanisms.periods import guarantees_of_periods

    one, overlap = event.sensitivity, event.series or ""
    if one is None or not one.l1:
        return Counter([guarantee_of(event)])
    mechanism = MECHANISMS.named(event.mechanism)
    if mechanism is None:
        raise LedgerError.about("ledger-unusable.mechanism", name=event.mechanism)
    noise = mechanism.distribution(event.scale or Fraction(0))
    found = guarantees_of_periods(mechanism, noise, one, overlap, event.loss, periods)
    # A single period is charged for what its plan states.
    is_planned = periods == 1 and not overlap.endswith(CORRECTED)
    return Counter([guarantee_of(event)]) if is_planned else found


GuaranteeCounts = tuple[tuple[Guarantee | SeriesCost, int], ...]
"""The guarantees of the answers of a release, each with its number of answers."""

_composition = lru_cache(COMPOSITIONS.__getitem__)


@lru_cache(maxsize=4096)
def guarantee_counts(events_json: str, neighbors: str) -> GuaranteeCounts:
    """The guarantees of recorded events, with parallel composition of disjoint ones.

    Each mechanism computes its guarantee again, so that a tighter analysis also applies to past
    releases. Results are cached, because a few texts recur in every ledger. Raises LedgerError
    if this version cannot read an event.
    """
    events = from_events_json(events_json)
    series = Counter(SeriesCost(event) for event in events if event.series is not None)
    try:
        others = _counts_of([event for event in events if event.series is None], neighbors)
        for cost in series:
            cost.guarantees(1)
        return (*others, *series.items())
    except (ValueError, ArithmeticError):
        raise LedgerError.about("ledger-unusable.event") from None


def _counts_of(events: Sequence[MechanismEvent], neighbors: str) -> GuaranteeCounts:
    if not any(event.joint or event.disjoint for event in events):
        counts = Counter(map(guarantee_of, events))
        del counts[ZERO_GUARANTEE]
        return tuple(counts.items())
    joint: dict[object, list[GuaranteePair]] = {}
    branches: dict[object, Branch | None] = {}
    for index, event in enumerate(events):
        # Events that are protected jointly count as one answer.
        name = (event.statistic, "" if event.joint else index)
        joint.setdefault(name, []).append(_pair_of(event))
        branches[name] = event.disjoint
    placed = [
        ((composed_pair(pairs) if len(pairs) > 1 else pairs[0],), branches[name])
        for name, pairs in joint.items()
    ]
    return tuple(parallel_composition(placed, Neighbors(neighbors)).items())


def from_events_json(events_json: str) -> list[MechanismEvent]:
    """The events that an entry records; LedgerError if this version cannot read one."""
    try:
        return list(map(MechanismEvent.from_json, json.loads(events_json)))
    except UnknownEventError as newer:
        raise LedgerError.about("ledger-unusable.mechanism", name=str(newer)) from None
    except (ValueError, TypeError, RecursionError):
        raise LedgerError.about("ledger-unusable.event") from None


def guarantee_of(event: MechanismEvent) -> Guarantee:
    """A recorded answer's guarantee; LedgerError if this version cannot compute it."""
    name = event.mechanism
    if name == NO_NOISE_NAME:
        return ZERO_GUARANTEE
    if name == RECOVERED:
        return approximate_guarantee(event.loss)
    mechanism = MECHANISMS.named(name)
    if mechanism is None:
        from dpcli.mechanisms.local import LOCAL_MECHANISMS

        if name in {mechanism.name for mechanism in LOCAL_MECHANISMS}:
            # A table of probabilities has no scale to compute the loss from.
            return pure_guarantee(event.loss.epsilon)
        raise LedgerError.about("ledger-unusable.mechanism", name=name)
    if event.scale is None or event.sensitivity is None:
        raise LedgerError.about("ledger-unusable.event")
    noise, failure_delta = mechanism.distribution(event.scale), event.keys_delta or Fraction(0)
    return mechanism.guarantee(noise, event.sensitivity, event.loss, failure_delta)


def _pair_of(event: MechanismEvent) -> GuaranteePair:
    """The guarantees of a recorded answer: for the plan's neighbors, and add-remove.

    Both are the same if the event, as in older versions, has no add-remove sensitivity.
    """
    guarantee, sensitivity = guarantee_of(event), event.add_remove_sensitivity
    mechanism = MECHANISMS.named(event.mechanism)
    if event.scale is None or sensitivity is None or mechanism is None:
        return GuaranteePair(guarantee, guarantee)
    noise, failure_delta = mechanism.distribution(event.scale), event.keys_delta or Fraction(0)
    add_remove = mechanism.add_remove_guarantee(noise, sensitivity, event.loss, failure_delta)
    return GuaranteePair(guarantee, add_remove)


def require_proven(events: Iterable[MechanismEvent]) -> None:
    """Raise ValueError unless mechanisms prove the losses that these events state.

    The loss of jointly calibrated answers holds for all of them together; a single one reveals
    more than its part. Answers of mechanisms without a delta are not checked: each reveals no more
    than its own loss.
    """
    joint: dict[object, list[MechanismEvent]] = {}
    for index, event in enumerate(events):
        mechanism = MECHANISMS.named(event.mechanism)
        if mechanism is not None and mechanism.needs_delta:
            name = event.mechanism, event.statistic, "" if event.joint else index
            joint.setdefault(name, []).append(event)
    for group in joint.values():
        mechanism = MECHANISMS[group[0].mechanism]
        stated = sum_losses(event.loss for event in group)
        noises = [mechanism.distribution(event.scale or Fraction(0)) for event in group]
        sensitivities = [event.sensitivity for event in group if event.sensitivity is not None]
        selection_delta = sum((event.keys_delta or Fraction(0) for event in group), Fraction(0))
        proven = mechanism.loss([*zip(noises, sensitivities, strict=True)], stated.epsilon)
        if proven.delta > stated.delta - selection_delta:
            raise ValueError("answers that are protected jointly are charged together")


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """The guarantees of the answers of `count` equal releases to a recipient.

    Releases without a recipient are public: every recipient gets them.
    """

    guarantees: GuaranteeCounts
    period: int | None
    count: int = 1
    recipient: str | None = None

    @property
    def has_series(self) -> bool:
        """Whether an answer is one of a series, whose periods do not add up."""
        return any(isinstance(guarantee, SeriesCost) for guarantee, _ in self.guarantees)


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account has spent, and what is left of its budget.

    The budget bounds `spent`: the loss of the worst window, or of all releases if the account has
    no window. `lifetime` is the loss of all releases. `remaining` is what is left of the budget;
    unless the composition adds epsilons, it is stated at the delta of the budget.
    """

    budget: Loss
    spent: Loss
    lifetime: Loss
    remaining: Loss

    @property
    def within(self) -> bool:
        """Whether `spent` is within the budget."""
        return self.spent.within(self.budget)

    @property
    def exhausted(self) -> Balance:
        """The balance of an account after it was closed: nothing is left."""
        zero = Fraction(0)
        remaining = Loss(zero, zero, None if self.remaining.rho is None else zero)
        spent, lifetime = (_greatest([loss, self.budget]) for loss in (self.spent, self.lifetime))
        return Balance(self.budget, spent, lifetime, remaining)


def _greatest(losses: Sequence[Loss]) -> Loss:
    return Loss(
        max(loss.epsilon for loss in losses),
        max(loss.delta for loss in losses),
        max((loss.rho for loss in losses if loss.rho is not None), default=None),
    )


_Identity = int
"""The identity of the guarantees of a release; equal ones may have several."""


def balance(
    terms: AccountTerms, costs: Sequence[RecordedCost], period: int | None = None, *, days: int = 1
) -> Balance:
    """The balance of an account with these terms and costs.

    With a window, `spent` is the loss of the worst window. With a `period` as well, only windows
    count that hold one of the `days` days from `period` on. Raises LedgerError if the composition
    needs a package that is not installed.
    """
    rule, budget = _composition(terms.composition), terms.budget
    releases: Counter[_Identity] = Counter()
    for cost in costs:
        releases[id(cost.guarantees)] += cost.count
    # By identity: the hash of guarantees is that of many fractions.
    known = {id(cost.guarantees): cost.guarantees for cost in costs}
    lifetime = _loss(terms, rule, releases, known)
    if terms.window is None:
        return Balance(budget, lifetime, lifetime, rule.remaining(budget, lifetime))
    zero = Loss(Fraction(0), Fraction(0), Fraction(0))
    worst = _greatest([zero, *_window_losses(terms, rule, costs, known, period, days)])
    if lifetime.rho is None:
        worst = replace(worst, rho=None)
    return Balance(budget, worst, lifetime, rule.remaining(budget, worst))


def _window_losses(
    terms: AccountTerms,
    rule: Composition,
    costs: Sequence[RecordedCost],
    known: Mapping[_Identity, GuaranteeCounts],
    period: int | None,
    days: int,
) -> Iterator[Loss]:
    """The losses of the windows that can be the worst: those that begin at a release.

    With a `period`, only windows count that begin on it, or hold one of the `days` days from it
    on. The window slides over the releases in order and counts those that it holds. Two kinds
    of windows are skipped: those with releases equal to an earlier window's, which have the same
    loss, and those that only lose releases, whose loss is not greater.
    """
    window = terms.window or 1
    dated = sorted(
        ((cost.period, cost) for cost in costs if cost.period is not None), key=itemgetter(0)
    )
    starts = sorted({*(start for start, _ in dated), *([] if period is None else [period])})
    inside: Counter[_Identity] = Counter()
    seen: set[frozenset[tuple[_Identity, int]]] = set()
    first = last = 0
    reached = -1
    for start in starts:
        if period is not None and not start - days < period < start + window:
            continue
        while last < len(dated) and dated[last][0] < start + window:
            inside[id(dated[last][1].guarantees)] += dated[last][1].count
            last += 1
        while first < last and dated[first][0] < start:
            inside[id(dated[first][1].guarantees)] -= dated[first][1].count
            first += 1
        if last == reached:
            continue
        reached = last
        held = frozenset((+inside).items())
        if held not in seen:
            seen.add(held)
            yield _loss(terms, rule, inside, known)


def _loss(
    terms: AccountTerms,
    rule: Composition,
    releases: Mapping[_Identity, int],
    known: Mapping[_Identity, GuaranteeCounts],
) -> Loss:
    totals: Counter[Guarantee] = Counter()
    series: dict[tuple[str, str, str], list[tuple[SeriesCost, int]]] = {}
    for identity, count in releases.items():
        for guarantee, times in known[identity] if count else ():
            if isinstance(guarantee, SeriesCost):
                own = series.setdefault(guarantee.series, [])
                own.append((guarantee, times * count))
            else:
                totals[guarantee] += times * count
    try:
        for costs in series.values():
            # Each period costs at most as much as the one that costs most.
            worst = max((cost for cost, _ in costs), key=lambda cost: cost.size)
            totals += worst.guarantees(sum(count for _, count in costs))
        return rule.total(totals, terms.budget.delta)
    except MissingDependencyError as package:
        arguments = {"dataset": terms.dataset, "why": str(package)}
        raise LedgerError.about("package-missing.ledger", **arguments) from None
    except (ArithmeticError, ValueError):
        raise LedgerError.about("ledger-unusable.event") from None


def recorded_cost(
    events_json: str,
    period: str | None,
    terms: AccountTerms,
    count: int = 1,
    recipient: str | None = None,
) -> RecordedCost:
    """The cost of `count` recorded releases with these events in one period.

    The terms are those of the account of the releases, not of its parent.
    """
    guarantees = _guarantees_of(events_json, terms.neighbors, terms.dataset)
    return RecordedCost(guarantees, day_number(period), count, recipient)


@lru_cache(maxsize=4096)
def _guarantees_of(events_json: str, neighbors: str, dataset: str) -> GuaranteeCounts:
    return tuple(
        (replace(cost, dataset=dataset) if isinstance(cost, SeriesCost) else cost, times)
        for cost, times in guarantee_counts(events_json, neighbors)
    )


def day_number(period: str | None) -> int | None:
    """The ordinal of the day that a period is; None for other periods, and for none."""
    with suppress(ValueError):
        return None if period is None else period_number(period)
    return None


def period_number(text: str) -> int:
    """The ordinal of the day that a period names; ValueError if it is not YYYY-MM-DD."""
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("a period is a date, YYYY-MM-DD")
    return datetime.date.fromisoformat(text).toordinal()


LAST_DAY = datetime.date.max.toordinal()


def period_text(number: int) -> str:
    """The day with this ordinal, as a period names it."""
    return datetime.date.fromordinal(number).isoformat()
