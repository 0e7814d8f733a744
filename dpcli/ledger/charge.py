"""The charge for a release, its receipt, and the release as published and stored."""

from __future__ import annotations

import datetime
import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from dpcli.ledger.account import FurtherBudget
from dpcli.ledger.balance import (
    AccountTerms,
    Balance,
    Payload,
    RecordedCost,
    from_events_json,
    period_number,
    recorded_cost,
    terms_from_payload,
    terms_from_spec,
)
from dpcli.ledger.chain import LedgerEntry, canonical, to_events_json
from dpcli.planning.plan import LocalPlan, Plan, require_disjoint
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass
from dpcli.version import Build, this_build

if TYPE_CHECKING:
    from dpcli.planning.results import NoisyNumbers

STDIN = "-"

SUFFIX = "+bounds"
"""Appended to a release id to name the entry of its choice of bounds or limits.

The quality check before the choice is charged there, too, unless it failed.

A release id cannot contain a plus.
"""


UNSTORED = "+unstored-"
"""Between a release id and a random word in the name of an entry.

The entry is the charge for a check whose release could not be stored.
"""


def later_check(release_id: str, number: int) -> str:
    """The entry name of a later check of a release: `ID+2` for the second check.

    >>> later_check("2027-01-05", 2)
    '2027-01-05+2'
    """
    return f"{release_id}+{number}"


def state_digest(state: bytes, unstored: int) -> str:
    """What identifies a state and the answers after it; empty for none."""
    return hashlib.sha256(b"%d %s" % (unstored, state)).hexdigest() if state or unstored else ""


EarlierRelease = tuple[str, str, Loss]
"""The id of an earlier release of the account, when it was made, and its loss."""

STOPPED = "stopped.json"
"""The output of a release that its quality check stopped: a JSON list of reasons."""

SERIES = "series/"
"""The name of the state of a series begins with this, and ends with its entry."""

RESPONSES = "responses.sha256"
"""The output of a local collection in place of responses, which are not stored."""


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """What a release will be charged for: its events, and what identifies it.

    `files` are the absolute paths of its data files; the ledger keeps them, and no report has
    them. Unless the charge `may_open` the account, the account must exist. A release is `stopped`
    if its quality check failed: its events are then those of the check alone. It may be made
    `after_check`, the name of a release whose check failed: that one is charged as well. Without a
    `recipient` it is public.

    A charge with several possible `outcomes`, which are ids of entries, is recorded under its id,
    or under the last of them if the quality check failed.

    Each answer of a `series` follows an earlier state: pairs of an entry of the spec, and the
    digest of its last stored state, which is empty for a first period.

    Privacy: the budget must cover the `reserved` events, if there are any, not those of this entry
    alone. A refusal does not depend on the result of the quality check then, and bounds are only
    chosen if there is enough for the release that uses them. An entry of another process with one
    of the `outcomes` takes the place of the charge, whatever the check showed here: if only an
    equal outcome did, another outcome would reveal a check that is not charged for.
    """

    terms: AccountTerms
    release_id: str
    digest: str
    created: str
    period: str | None
    events: tuple[MechanismEvent, ...]
    files: tuple[str, ...] = ()
    may_open: bool = True
    stopped: bool = False
    reserved: tuple[MechanismEvent, ...] = ()
    after_check: str = ""
    outcomes: tuple[str, ...] = ()
    series: tuple[tuple[str, str], ...] = ()
    recipient: str | None = None
    build: Build = field(default_factory=this_build)

    @property
    def cost(self) -> RecordedCost:
        """What the charge adds to the costs of its account."""
        events = to_events_json(self.events)
        return recorded_cost(events, self.period, self.terms, recipient=self.recipient)

    @property
    def as_recorded(self) -> Charge:
        """The same charge with terms and events decoded from what its entry will hold.

        Terms or events of a subclass could compare or be written in another way.
        """
        terms = terms_from_payload(json.loads(canonical(self.terms.payload())))
        events = from_events_json(to_events_json(self.events))
        return replace(self, terms=terms, events=tuple(events))

    @property
    def payload(self) -> Payload:
        """What the entry of the charge records in addition to the events."""
        files: Payload = {"files": list(self.files)} if self.files else {}
        stopped: Payload = {"stopped": True} if self.stopped else {}
        after: Payload = {"after_check": self.after_check} if self.after_check else {}
        given: Payload = {"recipient": self.recipient} if self.recipient else {}
        made = {"created": self.created, "build": self.build._asdict()}
        return {"digest": self.digest, **made, **files, **stopped, **after, **given}


def now() -> str:
    """The date and time of a release in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def today() -> int:
    """The ordinal of the day in UTC."""
    return period_number(now()[:10])


def charge_for(
    plan: Plan,
    release_id: str,
    *,
    files: tuple[str, ...] = (),
    may_open: bool = True,
    after_check: str = "",
) -> Charge:
    """The charge for a release of a plan that is made now.

    Raises ValueError if parallel composition does not apply where the plan says that it does.
    """
    require_disjoint(plan.all_statistics)
    terms, events = terms_from_spec(plan.spec), plan.charged_events
    series = plan.followed_states
    return Charge(
        terms, release_id, plan.spec.digest, now(), plan.spec.period, events, files, may_open,
        after_check=after_check, series=series, recipient=plan.spec.recipient,
    )  # fmt: skip


def planned_cost(plan: Plan) -> RecordedCost:
    """What a release of a plan will cost, with what it chooses first."""
    events = [event for planned in plan.all_statistics for event in planned.events]
    written = to_events_json(events or plan.charged_events)
    return recorded_cost(
        written, plan.spec.period, terms_from_spec(plan.spec), recipient=plan.spec.recipient
    )


def resolved(names: Iterable[str]) -> tuple[str, ...]:
    """Absolute paths of data files, links resolved, without standard input and pipes."""
    paths = set()
    for name in names:
        with suppress(OSError, ValueError):
            if name != STDIN and Path(name).is_file():
                paths.add(str(Path(name).resolve()))
    return tuple(sorted(paths))


@dataclass(frozen=True, slots=True)
class Receipt:
    """The entry of a release, what was spent `before` it, and the `balance` after it.

    `first` says whether it is the first release of its account in this ledger, `build` what makes
    it. If it was made `after_check`, that names the release whose quality check failed. The
    `further_budgets` bound the account, too: those of its recipients and of its parent. The
    `earlier` ones are the last entries of other releases, newest first; `more` are before them.
    """

    ledger: str
    ledger_entry: LedgerEntry
    terms: AccountTerms
    period: str | None
    before: Loss
    balance: Balance
    first: bool
    build: Build
    after_check: str = ""
    recipient: str | None = None
    further_budgets: tuple[FurtherBudget, ...] = ()
    earlier: tuple[EarlierRelease, ...] = ()
    more: int = 0

    @property
    def entry(self) -> int:
        """The number of the entry."""
        return self.ledger_entry.number

    @property
    def head(self) -> str:
        """The hash of the entry that a report prints."""
        return self.ledger_entry.head


@dataclass(frozen=True, slots=True)
class NoisyRelease:
    """All that may be published: a function of plan, noisy answers and ledger."""

    numbers: NoisyNumbers
    release_id: str
    created: str
    receipt: Receipt
    warnings: tuple[str, ...] = ()  # of the formats of the data files


@dataclass(frozen=True, slots=True)
class RandomizedCollection:
    """What may be published about a collection: plan, release id, digest and receipt."""

    plan: LocalPlan
    release_id: str
    created: str
    digest: str
    receipt: Receipt
    shuffled: bool


Render = Callable[[Receipt], Mapping[str, bytes]]
"""Makes the outputs of a release from its receipt, by name."""


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release that was charged: the exact bytes of its outputs, by name.

    It has a `receipt` if it was charged just now. It is `shared` if another dataset of the ledger
    has a release with this id, too; its `entry_name` is unique in the ledger. If it was charged
    earlier, it has the time when it was `created`, `later` names the last of the later checks under
    its id, if there are any, and `passed` says whether the last attempt under its id was not
    stopped.
    """

    release_id: str
    dataset: str
    entry_name: str
    outputs: Mapping[str, bytes]
    receipt: Receipt | None = None
    shared: bool = False
    created: str = ""
    later: str = ""
    passed: bool = False

    def export_command(self, release_id: str = "") -> str:
        """The command that publishes it again, or another release id of the same dataset."""
        dataset = f" --dataset {shlex.quote(self.dataset)}" if self.shared else ""
        return f"dpcli ledger export {release_id or self.release_id}{dataset}"

    @property
    def stopped(self) -> tuple[str, ...]:
        """Why the quality check stopped the release; empty if it did not."""
        return tuple(json.loads(self.outputs.get(STOPPED, b"[]")))

    @property
    def digest(self) -> str | None:
        """SHA-256 of the responses of a local collection; None for other releases."""
        digest = self.outputs.get(RESPONSES)
        return None if digest is None else digest.decode()
