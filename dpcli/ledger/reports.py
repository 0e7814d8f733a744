"""What published reports prove, and whether they agree with the ledger."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcli.errors import LedgerError, Problem, UsageError
from dpcli.ledger.chain import RELEASE, Entry, seal_of, unplaced
from dpcli.ledger.sqlite import translated_errors
from dpcli.ledger.store import Store
from dpcli.ledger.terms import Payload, Terms
from dpcli.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class Proof:
    """A release as its report describes it.

    `entry` and `head` name its entry in the ledger that was lost, `report` is the SHA-256 of the
    report, and `before` what the account had spent until then; `first` says whether that was
    nothing, unless the report is too old to say so. The `parts` are those of the entry
    if they are `exact`, else one that stands for the plain sum of all losses.
    """

    path: Path
    report: str
    entry: int
    head: str
    release_id: str
    digest: str
    created: str
    terms: Terms
    period: str | None
    before: Loss
    parts: tuple[Payload, ...]
    exact: bool
    first: bool | None = None

    def recovered(self, replaces: str | None) -> Entry:
        """The entry that charges for it again, before it has its place."""
        lost = {"entry": self.entry, "head": self.head, "report": self.report}
        payload: Payload = {
            "digest": self.digest,
            "created": self.created,
            "recovered": {**lost, "exact": self.exact, "replaces": replaces},
        }
        return unplaced(
            RELEASE,
            self.terms.dataset,
            payload,
            parts=self.parts,
            release_id=self.release_id,
            period=self.period,
        )


def unknown(proofs: Sequence[Proof], entries: Mapping[int, Entry]) -> list[Proof]:
    """Those that the ledger does not have, in the order of their entries.

    LedgerError with every report that contradicts the ledger, or another report.
    """
    ids = {entry.release_id for entry in entries.values()}
    new: dict[int, Proof] = {}
    problems = []
    for proof in sorted(proofs, key=lambda one: one.entry):
        entry, other = entries.get(proof.entry), new.get(proof.entry)
        if entry is not None:
            reason = _contradiction(proof, entry)
        elif other is not None:
            reason = "" if other.report == proof.report else f"`{other.path}` names the same entry"
        elif proof.release_id in ids:
            reason = f"the ledger has the release `{proof.release_id}` in another entry"
        else:
            reason = ""
            ids.add(proof.release_id)
            new[proof.entry] = proof
        if reason:
            problems.append(disagreeing(proof, reason))
    if problems:
        raise LedgerError(problems)
    return list(new.values())


def _contradiction(proof: Proof, entry: Entry) -> str:
    """Why a report is not of that entry; empty if it is."""
    recovered = entry.recovered or {"head": entry.head}
    if (recovered.get("head"), entry.release_id) != (proof.head, proof.release_id):
        return f"entry {proof.entry} of the ledger is another release"
    if recovered.get("report", proof.report) != proof.report:
        return f"entry {proof.entry} was recovered from another text of this report"
    return ""


def other_terms(proofs: Sequence[Proof], accounts: Mapping[str, Terms]) -> Iterator[Problem]:
    """Every report of an account whose terms are others in the ledger, or in another report."""
    known = dict(accounts)
    for proof in proofs:
        terms = known.setdefault(proof.terms.dataset, proof.terms)
        words = [word for word, _, _ in terms.differences(proof.terms)]
        words += ["window"] if terms.window != proof.terms.window else []
        if words:
            reason = f"the account `{terms.dataset}` has another {' and '.join(words)}"
            yield disagreeing(proof, reason)


def disagreeing(proof: Proof, reason: str) -> Problem:
    """A report that does not belong to the ledger, or was changed."""
    return Problem(
        "report-disagrees",
        f"`{proof.path}` cannot be of this ledger as it stands: {reason}",
        "name reports of releases that this ledger paid for, as they were published",
    )


def faults(store: Store) -> Iterator[str]:
    """Everything that is wrong with a ledger: one sentence each."""
    with translated_errors(store.path):
        fault = store.fault()
        if fault:
            yield fault
        if store.connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            yield "the file is damaged"
            return
        if fault and not _readable(store):
            return
        numbers = {row[0] for row in store.connection.execute("SELECT number FROM outputs")}
        entries = store.entries()
        if numbers - {entry.number for entry in entries}:
            yield "it has outputs without an entry"
        for entry in entries:
            if entry.seal != seal_of(entry.head, store.outputs(entry.number)):
                yield f"the outputs of entry {entry.number} were changed"


def _readable(store: Store) -> bool:
    """Whether the entries and outputs can be looked at."""
    try:
        for entry in store.entries():
            entry.content()
            seal_of(entry.head, store.outputs(entry.number))
    except (sqlite3.Error, ValueError, TypeError, AttributeError):
        return False
    return True


def report_faults(store: Store, reports: Sequence[Path]) -> Iterator[str]:
    """What published reports say that the ledger does not; UsageError if one is none."""
    read = [(path, *_read(path)) for path in reports]
    with translated_errors(store.path):
        entries = {entry.number: entry for entry in store.entries()}
        for path, content, number, head, release_id in read:
            if number not in entries:
                yield f"`{path}` was published from entry {number}, which the ledger does not have"
                continue
            entry = entries[number]
            recovered = entry.recovered
            there = entry.head if recovered is None else recovered.get("head")
            if (there, entry.release_id) != (head, release_id):
                yield f"`{path}` was published from another entry {number} than the ledger has"
            elif not _published(store, entry, content):
                yield f"`{path}` is not what entry {number} published: its text was changed"


def _published(store: Store, entry: Entry, content: bytes) -> bool:
    """Whether an entry published that report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == hashlib.sha256(content).hexdigest()
    packed = store.outputs(entry.number).get("report.json")
    try:
        return packed is not None and content == zlib.decompress(packed)
    except zlib.error:
        return False


def _read(path: Path) -> tuple[bytes, int, str, str]:
    """A report: its bytes, and the entry, head and release that it names."""
    try:
        content = path.read_bytes() if path.is_file() else b""
        report = json.loads(content)
        place = report["ledger"]
        number, head, name = place["entry"], place["head"], report["release_id"]
        if isinstance(number, int) and isinstance(head, str) and isinstance(name, str):
            return content, number, head, name
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UsageError.of(
        "not-a-report",
        f"`{path}` is not a report in JSON that names its entry",
        "name reports as `dpcli release --report NAME.json` writes them",
    )
