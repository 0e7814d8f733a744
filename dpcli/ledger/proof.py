"""What a published report proves about its release: what to charge again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcli.errors import LedgerError, Problem
from dpcli.ledger.entry import RELEASE, Entry, canonical
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
        return Entry(
            0, RELEASE, self.terms.dataset, self.release_id, self.period,
            canonical(self.parts), canonical(payload), "",
        )  # fmt: skip


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
