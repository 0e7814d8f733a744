"""The chain of entries, and how it shows that one was changed.

Every entry hashes its content together with the seal of the entry before it, and
its seal hashes that with the bytes that it published. A report can therefore print
the hash of its own entry, and the next entry covers the report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpcli.ledger.terms import Payload
from dpcli.privacy.events import MechanismEvent

OPEN, RELEASE = "open", "release"
"""An account that is opened, and a release that is charged."""

LOST, CLOSE = "lost", "close"
"""An entry that no report proves after a recovery, and an account that is closed for it."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A recorded event, of one of the kinds above.

    `events_json` and `payload` are canonical JSON: the events of mechanisms, and all
    else. `head` is the hash that a report prints, `seal` what the next entry
    builds on; they are empty until the entry has them.
    """

    number: int
    kind: str
    dataset: str
    release_id: str | None
    period: str | None
    events_json: str
    payload: str
    previous: str
    head: str = ""
    seal: str = ""

    def content(self) -> Payload:
        """The payload as plain data."""
        content: Payload = json.loads(self.payload)
        return content

    @property
    def recovered(self) -> Payload | None:
        """Of an entry that `ledger recover` made: what is known of the one in its place before.

        The number and `head` that its report names, the SHA-256 of the `report`, and the seal
        that the anchor recorded and that the entry `replaces`.
        """
        found = self.content().get("recovered") if '"recovered"' in self.payload else None
        return found if isinstance(found, dict) else None

    def is_named(self, head: str, release_id: str) -> bool:
        """Whether a report with that head and name is of this entry."""
        recovered = self.recovered
        mine = self.head if recovered is None else recovered.get("head")
        return (mine, self.release_id) == (head, release_id)

    def expected_head(self) -> str:
        """The hash of everything but the bytes that the entry published."""
        named = (self.kind, self.dataset, self.release_id, self.period)
        return _hash(self.previous, str(self.number), *named, self.events_json, self.payload)


def genesis(facts: Mapping[str, str]) -> str:
    """What the first entry of a ledger builds on: all that it knows of itself."""
    return _hash("dpcli ledger 1", *(part for pair in sorted(facts.items()) for part in pair))


def canonical(payload: object) -> str:
    """JSON with one way to write everything."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def to_events_json(events: Iterable[MechanismEvent]) -> str:
    """The events as canonical JSON, as an entry records them."""
    return canonical([event.to_json() for event in events])


def seal_of(head: str, outputs: Mapping[str, bytes]) -> str:
    """The hash of an entry and of the bytes that it published."""
    digests = (f"{name} {hashlib.sha256(content).hexdigest()}" for name, content in outputs.items())
    return _hash(head, *sorted(digests))


def _hash(*parts: str | None) -> str:
    """SHA-256 over parts, each with its length; None is not the empty text."""
    digest = hashlib.sha256()
    for part in parts:
        if part is None:
            digest.update(b"\xff" * 8)
            continue
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


def chain_fault(entries: Sequence[LedgerEntry], start: str) -> str:
    """What is wrong with a chain, naming the first entry; empty if nothing is."""
    previous = start
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            return f"entry {number} is missing"
        if entry.previous != previous or entry.head != entry.expected_head():
            return f"entry {number} was changed"
        previous = entry.seal
    return ""


def anchor_fault(
    recorded: Mapping[int, str], entries: Sequence[LedgerEntry], *, incomplete: bool
) -> str:
    """The first entry that is not as its anchor records it; empty if there is none.

    An `incomplete` ledger may lack entries that the anchor records.
    """
    for entry in entries:
        replaced = (entry.recovered or {}).get("replaces", entry.seal)
        if recorded.get(entry.number, entry.seal) not in (entry.seal, replaced):
            return f"entry {entry.number} is not the one that its anchor remembers"
    lacking = recorded.keys() - {entry.number for entry in entries}
    if incomplete or not lacking:
        return ""
    return f"entry {min(lacking)} is missing: an older copy was put in its place"
