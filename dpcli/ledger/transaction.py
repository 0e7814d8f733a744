"""The transaction in which a release draws noise; its end charges for answers."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn, Self, final

from dpcli.ledger.balance import require_proven
from dpcli.ledger.chain import to_events_json
from dpcli.ledger.charge import UNSTORED, Charge, Render, StoredRelease
from dpcli.ledger.ledger import OpenLedger
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.confidential import Confidential, NoisePermit
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.unit import Relation, unit_text
from dpcli.problems.errors import BudgetError, DpcliError, LedgerError, StoppedBySignal

EventCounts = Counter[tuple[object, ...]]
"""How many times each answer is charged for."""


def _event_counts(charge: Charge) -> EventCounts:
    return Counter(event.parameters for event in charge.events)


@final
class LedgerTransaction:
    """The transaction of one release with the ledger, open during a `with` block.

    The way out of the `with` block decides what is charged:

    | way out                 | before noise is drawn | after that                  |
    |-------------------------|-----------------------|-----------------------------|
    | after `commit`          | -                     | the charge, and its outputs |
    | BudgetError             | nothing               | nothing                     |
    | another DpcliError      | nothing               | the quality check alone     |
    | a signal                | nothing               | nothing: nothing was shown  |
    | anything else           | nothing               | the charge, without outputs |

    Privacy: a BudgetError does not depend on the result of the quality check, so it reveals
    nothing. Another DpcliError may reveal that result: the outputs of a failed check are smaller,
    and an error while they are stored may show which outputs they were. Any other exception may
    reveal more of the noise, also a panic of native code, which is no `Exception`.

    If another process was charged for the same release in the meantime, the answers given here are
    neither published nor charged. An entry of this name, or of another possible outcome, that was
    charged for other answers is refused.
    """

    def __init__(self, ledger: OpenLedger, charge: Charge) -> None:
        if {type(ledger), type(charge)} != {OpenLedger, Charge}:
            raise TypeError("a ledger and a charge cannot be subclassed")
        # Private, so that no other code changes the charge after answers were given.
        self.__ledger, self.__charge = ledger, charge.as_recorded
        self.__answers = self.__charge.events
        self.__stored = ledger.stored(charge.release_id, charge.terms.dataset, self.__charge)
        self.__lock, self.__process = threading.Lock(), os.getpid()
        self.__check: Charge | None = None
        self.__is_open = self.__is_drawn = self.__must_charge = False
        self.__unanswered: EventCounts = Counter()

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a transaction of a ledger is not copied")

    @property
    def stored(self) -> StoredRelease | None:
        """The release that was charged before under this id; if there is one, publish it."""
        return self.__stored

    @property
    def ledger(self) -> OpenLedger:
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
        if not self.__must_charge or isinstance(error, BudgetError):
            return
        if isinstance(error, DpcliError):
            if self.__check is not None:
                name = f"{self.__check.release_id}{UNSTORED}{random_bytes(4).hex()}"
                unstored = replace(self.__check, release_id=name, outcomes=())
                with suppress(DpcliError):
                    self.__ledger.commit(unstored, lambda _: {})
        elif not isinstance(error, KeyboardInterrupt | StoppedBySignal):
            self.__ledger.commit(self.__charge, lambda _: {})

    def draw_noise(self, check: tuple[MechanismEvent, ...] | None = None) -> NoisePermit:
        """Begin to draw noise; `check` are the events of the quality check, if any.

        The permit covers each answer of the charge once, until the block ends or the charge is
        committed or stopped. Raises ValueError outside of the `with` block, where nothing would
        be charged, on a second call, and if the events state losses that are not proven.
        """
        require_proven(self.__charge.events)
        quality = None if check is None else self._part(check)
        with self.__lock:
            if not self.__is_open or self.__is_drawn:
                raise ValueError("noise is drawn once, within the transaction of a new release")
            self.__must_charge = self.__is_drawn = True
        self.__check = quality
        self.__unanswered = _event_counts(self.__charge)
        permit = object.__new__(NoisePermit)
        permit._NoisePermit__check = self._require_charged  # type: ignore[attr-defined]
        return permit

    def _part(self, check: tuple[MechanismEvent, ...]) -> Charge:
        """The charge for the quality check alone.

        Raises ValueError unless the events in `check` are among those of the whole charge: other
        events could charge for the same answers at a smaller loss.
        """
        name = (self.__charge.outcomes or (self.__charge.release_id,))[-1]
        part = replace(self.__charge, events=check, release_id=name, series=()).as_recorded
        remaining = list(self.__charge.events)
        for event in part.events:
            remaining.remove(event)
        require_proven(part.events)
        return part

    def _require_charged(
        self, event: MechanismEvent, relation: Relation, _exact: Confidential[Any]
    ) -> None:
        """Count an answer as given; ValueError unless the charge covers it."""
        terms = self.__charge.terms
        if (terms.unit, terms.neighbors) != (unit_text(relation.unit), relation.neighbors.value):
            raise ValueError("the account is charged for another unit or other neighbors")
        if os.getpid() != self.__process:
            raise ValueError("another process is charged for its own answers")
        with self.__lock:
            # An older form of the event lacks the add-remove sensitivity: it costs more if it is
            # about disjoint rows, else the same.
            forms = [event.parameters, replace(event, add_remove_sensitivity=None).parameters]
            left = [form for form in forms if self.__unanswered[form] > 0]
            if not self.__is_open or not left:
                raise ValueError("the answer is not charged for, or was given before")
            self.__unanswered[left[0]] -= 1

    def charge_check_only(self) -> None:
        """Reduce the charge to the failed check; the budget must cover the whole charge.

        Raises ValueError if more than the check was answered.
        """
        assert self.__check is not None
        if _event_counts(self.__charge) - self.__unanswered - _event_counts(self.__check):
            raise ValueError("more was answered than the quality check")
        self.__is_open = False
        reserved = self.__charge.reserved or self.__charge.events
        self.__charge = replace(self.__check, stopped=True, reserved=reserved)

    def commit(self, render: Render) -> StoredRelease:
        """Charge for the release, and store what `render` makes from its receipt.

        Raises BudgetError or LedgerError. Then nothing was charged, unless the disk failed during
        the commit itself. LedgerError is also raised if the release was charged for
        other answers while this block was open.
        """
        self.__is_open = False
        stored = self.__ledger.commit(self.__charge, render)
        if stored.receipt is None and self.__is_drawn:
            known = {to_events_json(self.__answers)}
            if self.__check is not None:
                known.add(to_events_json(self.__check.events))
            entry = self.__ledger.entry_of(stored.release_id, stored.dataset)
            if entry is None or entry.events_json not in known:
                raise LedgerError.about(
                    "release-id-taken", name=stored.release_id, dataset=stored.dataset,
                    how="from another spec",
                )  # fmt: skip
        self.__must_charge = False
        return stored
