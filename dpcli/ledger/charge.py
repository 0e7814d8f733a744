"""What a release is charged for, as the ledger records it, and its receipt."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dpcli.errors import BudgetError, DpcliError
from dpcli.ledger.balance import Balance, RecordedCost, recorded_cost
from dpcli.ledger.chain import to_events_json
from dpcli.ledger.terms import AccountTerms, Payload, terms_from_spec
from dpcli.planning.plan import Plan, PlannedQuery, PlannedStatistic
from dpcli.privacy.confidential import Confidential
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.permit import NoisePermit
from dpcli.privacy.unit import unit_text
from dpcli.scores import ScoreQuery

if TYPE_CHECKING:
    from dpcli.ledger.ledger import Ledger

STDIN = "-"

STOPPED = "stopped.json"
"""The output of a release that its quality check stopped: why, as a list of sentences."""

RESPONSES = "responses.sha256"
"""The output of a local collection that stands for its responses, which are not stored."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release will be charged for: its events, and what names it.

    `files` are the data files that it reads, by their absolute paths: the ledger keeps them,
    and no report has them. Unless it `opens`, its account must have been opened before. If it
    was `stopped`, its quality check failed, and its events are those of the check; there must be
    room for the `reserved` events all the same, so that a refusal does not depend on the check.
    """

    terms: AccountTerms
    release_id: str
    digest: str
    created: str
    period: str | None
    events: tuple[MechanismEvent, ...]
    files: tuple[str, ...] = ()
    opens: bool = True
    stopped: bool = False
    reserved: tuple[MechanismEvent, ...] = ()

    @property
    def cost(self) -> RecordedCost:
        """What the charge adds to what the account has spent."""
        return recorded_cost(to_events_json(self.events), self.period, self.terms.neighbors)

    @property
    def payload(self) -> Payload:
        """What its entry records besides the events."""
        files: Payload = {"files": list(self.files)} if self.files else {}
        stopped: Payload = {"stopped": True} if self.stopped else {}
        return {"digest": self.digest, "created": self.created, **files, **stopped}


def now() -> str:
    """The date and time of a release in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def charge_for(
    plan: Plan,
    release_id: str,
    period: str | None,
    *,
    files: tuple[str, ...] = (),
    opens: bool = True,
) -> Charge:
    """What a release of a plan will be charged for, now."""
    terms, events = terms_from_spec(plan.spec), charged_events(plan)
    return Charge(terms, release_id, plan.spec.digest, now(), period, events, files, opens)


def charged_events(plan: Plan) -> tuple[MechanismEvent, ...]:
    """Every answer of a plan, as the ledger records it.

    In the local model, the responses of one record: each record is charged for its own.
    """
    if plan.is_local:
        return tuple(
            response.randomizer.event(response.column.name, response.mechanism.name)
            for response in plan.spec.responses
        )
    return tuple(
        _event(planned, part) for planned in plan.all_statistics for part in planned.queries
    )


def _event(planned: PlannedStatistic, part: PlannedQuery) -> MechanismEvent:
    query, rule = part.weighted.query, part.partition_selection
    details: dict[str, object] = {"unit": str(part.weighted.step), "cells": query.cells}
    if isinstance(query, ScoreQuery):
        details |= {"candidates": query.cells_per_group, "picks": query.k}
    if rule is not None:
        details["threshold"] = str(rule.threshold)
    return replace(
        part.calibrated.event,
        statistic=planned.name,
        question=part.weighted.role,
        joint=planned.is_joint,
        disjoint=planned.branch,
        details=details,
    )


def resolved(names: Iterable[str]) -> tuple[str, ...]:
    """The absolute paths of data files, without links; not of standard input or pipes."""
    found = set()
    for name in names:
        with suppress(OSError, ValueError):
            if name != STDIN and Path(name).is_file():
                found.add(str(Path(name).resolve()))
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a release stands in the ledger, what was spent before it, and what is left.

    `first` says whether it is the first release of its account in this ledger.
    """

    ledger: str
    entry: int
    head: str
    terms: AccountTerms
    period: str | None
    before: Loss
    balance: Balance
    first: bool


Render = Callable[[Receipt], Mapping[str, bytes]]
"""The outputs of a release, once its place in the ledger is known."""


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release that was charged: the exact bytes of its outputs, by name.

    It has a `receipt` if it was charged just now, and none if it was before.
    """

    release_id: str
    outputs: Mapping[str, bytes]
    receipt: Receipt | None = None

    @property
    def stopped(self) -> tuple[str, ...]:
        """Why the quality check stopped the release; empty if it did not."""
        return tuple(json.loads(self.outputs.get(STOPPED, b"[]")))

    @property
    def digest(self) -> str | None:
        """SHA-256 of the responses of a local collection; None of other releases."""
        found = self.outputs.get(RESPONSES)
        return None if found is None else found.decode()


EventCounts = Counter[tuple[object, ...]]
"""How often each answer is charged for."""


def _event_counts(charge: Charge) -> EventCounts:
    return Counter(event.answer for event in charge.events)


class OpenCharge:
    """A place for one release in a ledger, where its name is looked up once, for `with`.

    The way out of the `with` block decides what is charged:

    | way out                 | before noise is drawn | after that                  |
    |-------------------------|-----------------------|-----------------------------|
    | after `commit`          | -                     | the charge, and its outputs |
    | BudgetError             | nothing               | nothing                     |
    | another DpcliError      | nothing               | the quality check alone     |
    | another Exception       | nothing               | the charge, without outputs |
    | none of these, no error | nothing               | the charge, without outputs |
    | a signal                | nothing               | nothing: nothing was shown  |

    A BudgetError is the same whatever the quality check found: it reveals nothing. Another
    DpcliError may reveal what the check found, because the outputs of a failed check are smaller:
    what could not be stored may show which. Any other exception may reveal more of the noise.

    `stored` is the release of that name that was made before; then nothing is left to do.
    """

    def __init__(self, ledger: Ledger, charge: Charge) -> None:
        self.stored = ledger.stored(charge.release_id, charge)
        # No one else changes what will be charged for what was answered.
        self.__ledger, self.__charge = ledger, charge
        self.__check: Charge | None = None
        self.__is_open = self.__is_drawn = self.__is_owed = False
        self.__unanswered: EventCounts = Counter()

    @property
    def ledger(self) -> Ledger:
        """The ledger that charges."""
        return self.__ledger

    @property
    def charge(self) -> Charge:
        """What the release will be charged for."""
        return self.__charge

    def __enter__(self) -> Self:
        self.__is_open = self.stored is None and not self.__is_drawn
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.__is_open = False
        if not self.__is_owed or isinstance(error, BudgetError):
            return
        if isinstance(error, DpcliError):
            if self.__check is not None:
                with suppress(DpcliError):
                    self.__ledger.commit(self.__check, lambda _: {})
        elif error is None or isinstance(error, Exception):
            self.__ledger.commit(self.__charge, lambda _: {})

    def draw_noise(self, check: tuple[MechanismEvent, ...] | None = None) -> NoisePermit:
        """Say that noise is drawn from here on; `check` are the events of the quality check.

        The permit covers each answer of the charge once, until the block is left, or the charge
        made or stopped. Noise is drawn once, within `with`: else nothing would be charged.
        """
        if not self.__is_open or self.__is_drawn:
            raise ValueError("noise is drawn once, within an open charge of a new release")
        self.__check = None if check is None else replace(self.__charge, events=check)
        self.__is_owed = self.__is_drawn = True
        self.__unanswered = _event_counts(self.__charge)
        permit = object.__new__(NoisePermit)
        permit._NoisePermit__rule = self._require_charged  # type: ignore[attr-defined]
        return permit

    def _require_charged(
        self, event: MechanismEvent, relation: Relation, _exact: Confidential[Any]
    ) -> None:
        """Count an answer as given."""
        terms = self.__charge.terms
        if (terms.unit, terms.neighbors) != (unit_text(relation.unit), relation.neighbors.value):
            raise ValueError("the account is charged for another unit or other neighbors")
        if not self.__is_open or self.__unanswered[event.answer] < 1:
            raise ValueError("the answer is not charged for, or was given before")
        self.__unanswered[event.answer] -= 1

    def stop(self) -> None:
        """Charge the quality check alone, because it failed, if there is room for everything.

        ValueError if more than the check was answered.
        """
        assert self.__check is not None
        if _event_counts(self.__charge) - self.__unanswered - _event_counts(self.__check):
            raise ValueError("more was answered than the quality check")
        self.__is_open = False
        self.__charge = replace(self.__check, stopped=True, reserved=self.__charge.events)

    def commit(self, render: Render) -> StoredRelease:
        """Charge, and store what `render` makes of the place in the ledger.

        Raises BudgetError or LedgerError, and charges nothing then.
        """
        self.__is_open = False
        stored = self.__ledger.commit(self.__charge, render)
        self.__is_owed = False
        return stored
