"""The hash chain of entries and its anchor, which show what was changed or lost.

The head of an entry is the hash of its content and of the digest of the entry before. The digest
is the hash of the head and of the published bytes. A report can therefore print the head of its own
entry, and the next entry covers the report.

The anchor is a second file. After each entry, one line is appended: its number and its digest.
A ledger that lacks an anchored entry, or has another entry in its place, was changed or
restored from a backup. A ledger may be ahead of its anchor: a crash can come between the two
writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

# A ledger of ten years has thousands of entries, whose constructor is faster.
from dataclasses import dataclass
from pathlib import Path

from dpcli.ledger.balance import Payload
from dpcli.privacy.events import MechanismEvent
from dpcli.problems import system
from dpcli.problems.errors import LedgerError

OPEN, RELEASE = "open", "release"
"""Kinds of entries: an account was opened, a release was charged."""

SALT = '"salt":'
"""The key before random digits in a payload.

Without these digits, no one can guess the paths of files by their hash.
"""

LOST, CLOSE = "lost", "close"
"""Kinds of recovery entries: a lost entry without a report, a closed account."""

OF_DATASET = "@"
"""Joins id and dataset in the name of an entry whose id another dataset has."""


def entry_names(release_id: str, dataset: str) -> tuple[str, str]:
    """The names that the entry of a release may have, the short one first.

    A name occurs once in a ledger, and an id once in a dataset. So the entry of an id that another
    dataset has is named with its dataset. A release id cannot contain an `@`.

    >>> entry_names("2027-01-05", "town")
    ('2027-01-05', '2027-01-05@town')
    """
    return release_id, f"{release_id}{OF_DATASET}{dataset}"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of the ledger; its fields are the columns of the table `entries`.

    The `name` is the release id, or one of `entry_names`; None for an entry that is not a release.
    `events_json` has the mechanism events and `payload` everything else, both as canonical JSON.
    `head` is the hash that a report prints, `digest` the hash that the next entry includes; they
    are empty until they are computed.
    """

    number: int
    kind: str
    dataset: str
    name: str | None
    period: str | None
    events_json: str
    payload: str
    previous: str
    head: str = ""
    digest: str = ""

    @property
    def release_id(self) -> str:
        """The id of the release within its dataset; empty if the entry is not a release."""
        return (self.name or "").partition(OF_DATASET)[0]

    def content(self) -> Payload:
        """The payload, decoded; LedgerError if it is no JSON object."""
        with suppress(ValueError, RecursionError):
            content = json.loads(self.payload)
            if isinstance(content, dict):
                return content
        raise LedgerError.about("ledger-unusable.entry", number=self.number)

    @property
    def recovered(self) -> Payload | None:
        """What an entry of `ledger recover` records of the lost entry; None for others.

        These are the number and the `head` that the report names, the SHA-256 of the `report`,
        and the digest that the anchor had recorded and that the entry `replaces`.
        """
        recovered = self.content().get("recovered") if '"recovered"' in self.payload else None
        return recovered if isinstance(recovered, dict) else None

    def is_named(self, head: str, release_id: str) -> bool:
        """Whether a report with this head and release id belongs to this entry."""
        recovered = self.recovered
        if recovered is None:
            return (self.head, self.release_id) == (head, release_id)
        # A release of another history may have another name here.
        named = recovered.get("head"), recovered.get("release_id", self.release_id)
        return named == (head, release_id)

    @property
    def public_payload(self) -> str:
        """The payload that a report may state: paths of files are a salted hash.

        It is the whole payload for entries of earlier versions, which have no salt.
        """
        content = self.content() if SALT in self.payload else {}
        salt, files = content.pop("salt", None), content.pop("files", [])
        if not isinstance(salt, str) or not isinstance(files, list):
            return self.payload
        return canonical(content | {"files_sha256": _hash(salt, *map(str, files))})

    def expected_head(self) -> str:
        """The hash of everything but the published bytes."""
        named = (self.kind, self.dataset, self.name, self.period)
        return _hash(self.previous, str(self.number), *named, self.events_json, self.public_payload)


def genesis(metadata: Mapping[str, str]) -> str:
    """The hash in place of an entry before the first: that of the ledger's metadata."""
    return _hash("dpcli ledger 1", *(part for pair in sorted(metadata.items()) for part in pair))


def canonical(payload: object) -> str:
    """JSON in a canonical form: equal data give equal text."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def to_events_json(events: Iterable[MechanismEvent]) -> str:
    """The events as canonical JSON, as an entry records them."""
    return canonical([event.to_json() for event in events])


def entry_digest(head: str, outputs: Mapping[str, bytes]) -> str:
    """The hash of the head of an entry and of its published bytes."""
    digests = (f"{name} {hashlib.sha256(content).hexdigest()}" for name, content in outputs.items())
    return _hash(head, *sorted(digests))


def _hash(*parts: str | None) -> str:
    """SHA-256 over parts, each with its length; None differs from the empty text."""
    digest = hashlib.sha256()
    for part in parts:
        if part is None:
            digest.update(b"\xff" * 8)
            continue
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()


def chain_fault(entries: Sequence[LedgerEntry], start: str) -> str:
    """What is wrong with the first bad entry after the hash `start`; empty if none."""
    previous = start
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            return f"entry {number} is missing"
        if entry.previous != previous or entry.head != entry.expected_head():
            return f"entry {number} was changed"
        previous = entry.digest
    return ""


def anchor_fault(
    recorded: Mapping[int, str], entries: Sequence[LedgerEntry], *, incomplete: bool
) -> str:
    """How the entries first differ from the anchor's records; empty if they agree.

    An `incomplete` ledger may lack entries that the anchor records.
    """
    for entry in entries:
        replaced = (entry.recovered or {}).get("replaces", entry.digest)
        if recorded.get(entry.number, entry.digest) not in (entry.digest, replaced):
            return f"entry {entry.number} is not the one that its anchor remembers"
    lacking = recorded.keys() - {entry.number for entry in entries}
    if incomplete or not lacking:
        return ""
    return f"entry {min(lacking)} is missing: an older copy was put in its place"


MARK = "dpcli-anchor"
POINTER = "dpcli-anchor-elsewhere"
_LINE = r"([0-9]{1,18}) ([0-9a-f]{64})"


class ForeignAnchorError(Exception):
    """The file is no anchor, or belongs to another ledger; the message says which."""


def default_anchor(path: Path) -> Path:
    """The default path of the anchor of a ledger."""
    return path.with_name(path.name + ".anchor")


def read_anchor(path: Path, identity: str | None) -> tuple[str | None, dict[int, str]]:
    """The identity of the ledger that an anchor belongs to, and digests by number.

    Without a file, the identity is None and there are no digests. A line that a crash cut short is
    ignored. Raises ForeignAnchorError unless the anchor belongs to the ledger `identity`; None
    accepts any ledger.
    """
    if path.exists() and not path.is_file():
        raise ForeignAnchorError("is no regular file")
    try:
        first, *lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    except FileNotFoundError:
        return None, {}
    if not first.startswith(f"{MARK} "):
        raise ForeignAnchorError("is not an anchor")
    owner = first.removeprefix(f"{MARK} ")
    if identity not in (None, owner):
        raise ForeignAnchorError("belongs to another ledger")
    form = re.compile(_LINE)
    digests = (match for line in lines if (match := form.fullmatch(line)))
    return owner, {int(match[1]): match[2] for match in digests}


def resolve_pointer(path: Path) -> Path:
    """The path of the anchor: `path` itself, or the one that its file points to."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    first = text.partition("\n")[0]
    return Path(first.removeprefix(f"{POINTER} ")) if first.startswith(f"{POINTER} ") else path


def create_anchor(path: Path, identity: str) -> None:
    """Write an anchor without entries, where there is none or one without entries."""
    _write(path, f"{MARK} {identity}\n")


def write_pointer(path: Path, anchor: Path) -> None:
    """Write a pointer to `anchor` at the default path of the anchor.

    Without the pointer, a lost ledger would look like one that never existed.
    """
    if not path.exists():
        _write(path, f"{POINTER} {anchor}\n")


def append_anchor(path: Path, entries: dict[int, str]) -> None:
    """Append entries. A line that is not complete is ignored when the anchor is read.

    Without entries, this only checks that the file can be written. Raises OSError if it cannot.
    """
    lines = "".join(f"{number} {digest}\n" for number, digest in sorted(entries.items()))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        if lines:
            # The line end comes first: a line that was cut short must not join the next one.
            os.write(descriptor, ("\n" + lines).encode("ascii"))
            system.sync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        system.sync(file.fileno())
    temporary.replace(path)
