"""A place for one release in a ledger: it charges for what is answered there."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn, Self, final

from dpcli.errors import BudgetError, DpcliError
from dpcli.ledger.balance import require_proven
from dpcli.ledger.charge import Charge, Render, StoredRelease
from dpcli.ledger.ledger import Ledger
from dpcli.privacy.confidential import Confidential
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.permit import NoisePermit
from dpcli.privacy.unit import unit_text

EventCounts = Counter[tuple[object, ...]]
"""How often each answer is charged for."""


def _event_counts(charge: Charge) -> EventCounts:
    return Counter(event.answer for event in charge.events)


@final
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

    What is answered here and not published, because another process was charged for the same
    name meanwhile, is not charged.
    """

    def __init__(self, ledger: Ledger, charge: Charge) -> None:
        if {type(ledger), type(charge)} != {Ledger, Charge}:
            raise TypeError("a ledger and a charge have no other kinds")
        # No one else changes what will be charged for what was answered.
        self.__ledger, self.__charge = ledger, charge.as_recorded
        self.__stored = ledger.stored(charge.release_id, self.__charge)
        self.__lock, self.__process = threading.Lock(), os.getpid()
        self.__check: Charge | None = None
        self.__is_open = self.__is_drawn = self.__is_owed = False
        self.__unanswered: EventCounts = Counter()

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("an open charge is not copied")

    @property
    def stored(self) -> StoredRelease | None:
        """The release of that name that was made before; then nothing is left to do."""
        return self.__stored

    @property
    def ledger(self) -> Ledger:
        """The ledger that charges."""
        return self.__ledger

    @property
    def charge(self) -> Charge:
        """What the release will be charged for."""
        return self.__charge

    def __enter__(self) -> Self:
        self.__is_open = self.__stored is None and not self.__is_drawn
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
        require_proven(self.__charge.events)
        with self.__lock:
            if not self.__is_open or self.__is_drawn:
                raise ValueError("noise is drawn once, within an open charge of a new release")
            self.__is_owed = self.__is_drawn = True
        if check is not None:
            self.__check = replace(self.__charge, events=check).as_recorded
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
        if os.getpid() != self.__process:
            raise ValueError("another process is charged for its own answers")
        with self.__lock:
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
