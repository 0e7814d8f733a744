"""Charging a lost or restored ledger for what published reports prove.

No recorded entry changes, and no release gets cheaper. Entries are appended in place of the missing
ones, each with the number that its report names. If a missing entry has no report, every account is
closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpcli.errors import LedgerError, Problem, make_problem
from dpcli.ledger.anchor import (
    ForeignAnchorError,
    create_anchor,
    default_anchor,
    read_anchor,
    resolve_pointer,
)
from dpcli.ledger.balance import period_number
from dpcli.ledger.chain import CLOSE, LOST, OPEN, RELEASE, LedgerEntry
from dpcli.ledger.filesystem import (
    in_doubt_error,
    is_absent,
    missing_error,
    removed_if_empty,
    require_place,
    translated_os_errors,
)
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.terms import AccountTerms, Payload
from dpcli.light_dataclasses import dataclass
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss

NEARLY = Fraction(999_999, 1_000_000)
"""The part of the loss in a report that must be recorded: `pld` floats differ by machine."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A release as its report describes it.

    `entry` and `head` identify its entry in the lost ledger. `report` is the SHA-256 of the report.
    `before` is what the account had spent before the release. `first` says whether the account had
    no release before it; None for an old report that does not say so. If `exact`, the `events` are
    those of the entry, else one event that stands for the sum of all losses.
    """

    path: Path
    report: str
    entry: int
    head: str
    release_id: str
    digest: str
    created: str
    terms: AccountTerms
    period: str | None
    before: Loss
    events: tuple[MechanismEvent, ...]
    exact: bool
    first: bool | None = None

    def disagrees(self, why: str) -> Problem:
        """The problem of a report that was changed, or does not belong to the ledger."""
        return make_problem("report-disagrees", report=self.path, why=why)


@dataclass(frozen=True, slots=True)
class Recovered:
    """The releases that were charged again, and the accounts that were opened and closed.

    `lost` is the number of missing entries without a report. Without `anchored`, no anchor showed
    how many entries the ledger had. `created` says whether there was no ledger before.
    """

    releases: tuple[Proof, ...] = ()
    opened: tuple[str, ...] = ()
    lost: int = 0
    closed: tuple[str, ...] = ()
    anchored: bool = True
    created: bool = False


def recover(
    path: Path,
    proofs: Sequence[Proof],
    created: str,
    *,
    unproven: int = 0,
    anchor_lost: bool = False,
) -> Recovered:
    """Charge the ledger at `path` for what reports prove; create it if it does not exist.

    Up to `unproven` entries may be missing without a report; if there are any, every account is
    closed. With `anchor_lost`, a ledger is accepted without its anchor. Raises LedgerError for a
    ledger that was changed, for reports that do not belong to it, and for more missing entries
    than allowed; then nothing is changed.
    """
    with translated_os_errors(path), removed_if_empty(path), ExitStack() as stack:
        is_new = is_absent(path)
        if is_new and not proofs:
            raise missing_error(path)
        if is_new:
            require_place(path)
        opened = OpenLedger(path) if is_new else OpenLedger.open(path, unchecked=True)
        ledger = stack.enter_context(closing(opened))
        with ledger.writing():
            read_seals = _initialize if is_new else _check_and_read_anchor
            recorded = read_seals(ledger, anchor_lost=anchor_lost)
            recovered = _append_missing(ledger, recorded or {}, proofs, created, unproven)
        if not ledger.anchor.exists():
            # After the entries are there: an anchor that lacks them would prove less.
            create_anchor(ledger.anchor, ledger.metadata_value("identity"))
        ledger.require_anchor()
        ledger.check()
    return replace(recovered, anchored=recorded is not None, created=is_new)


def _initialize(ledger: OpenLedger, *, anchor_lost: bool) -> dict[int, str] | None:
    """Create a new ledger; return the seals that the lost one's anchor records, if there is one."""
    usual = default_anchor(ledger.path)
    anchor = resolve_pointer(usual)
    is_lost = anchor != usual and not anchor.exists()
    if is_lost and not anchor_lost:
        raise LedgerError.about("anchor-lost", anchor=anchor, path=ledger.path)
    try:
        identity, recorded = (None, {}) if is_lost else read_anchor(anchor, None)
    except ForeignAnchorError as foreign:
        raise in_doubt_error(
            ledger.path, f"it is missing or empty, and `{anchor}` {foreign}"
        ) from None
    ledger.initialize(usual if is_lost else anchor, identity or random_bytes(16).hex())
    if is_lost:
        usual.unlink()
    return recorded if identity else None


def _check_and_read_anchor(ledger: OpenLedger, *, anchor_lost: bool) -> dict[int, str] | None:
    """Check that a ledger is intact except for its end; return the seals of its anchor, if any."""
    ledger.check(incomplete=True)
    if ledger.anchor.exists():
        return read_anchor(ledger.anchor, ledger.metadata_value("identity"))[1]
    if not anchor_lost:
        raise LedgerError.about("anchor-lost", anchor=ledger.anchor, path=ledger.path)
    return None


def _append_missing(
    ledger: OpenLedger,
    recorded: Mapping[int, str],
    proofs: Sequence[Proof],
    created: str,
    unproven: int,
) -> Recovered:
    entries, accounts = {entry.number: entry for entry in ledger.entries()}, ledger.accounts()
    new = _new_proofs(proofs, entries, accounts)
    firsts: dict[str, Proof] = {}
    for proof in new.values():
        if proof.terms.dataset not in accounts:
            firsts.setdefault(proof.terms.dataset, proof)
    last = max(entries, default=0)
    end = max([last, *recorded, *new])
    lost = end - last - len(new) - len(firsts)
    if lost > unproven:
        code = "releases-unproven" if lost != 1 else "releases-unproven.one"
        raise LedgerError.about(code, lost=lost, path=ledger.path)
    openings = _openings(firsts, [at for at in range(last + 1, end + 1) if at not in new])
    for number in range(last + 1, end + 1):
        origin: Payload = {"replaces": recorded.get(number)}
        payload: Payload = {"created": created, "recovered": origin}
        if number in new:
            proof = new[number]
            if not lost:
                _require_history(ledger, proof)
            origin |= {"entry": number, "head": proof.head}
            origin |= {"report": proof.report, "exact": proof.exact}
            payload |= {"digest": proof.digest, "created": proof.created}
            dataset, release_id = proof.terms.dataset, proof.release_id
            entry = ledger.next_entry(
                RELEASE, dataset, payload, proof.events, release_id, proof.period
            )
        elif number in openings:
            terms = openings[number].terms
            payload |= {**terms.payload(), "created": openings[number].created}
            entry = ledger.next_entry(OPEN, terms.dataset, payload)
        else:
            entry = ledger.next_entry(LOST, "", payload)
        ledger.append(entry)
    closed = tuple(ledger.accounts()) if lost > 0 else ()
    for dataset in closed:
        ledger.append(ledger.next_entry(CLOSE, dataset, {"created": created}))
    return Recovered(tuple(new.values()), tuple(firsts), max(lost, 0), closed)


def _new_proofs(
    proofs: Sequence[Proof],
    entries: Mapping[int, LedgerEntry],
    accounts: Mapping[str, AccountTerms],
) -> dict[int, Proof]:
    """The proofs of releases that the ledger lacks, by entry, in the order of entries.

    Raises LedgerError with every report that contradicts the ledger or another report.
    """
    ids, terms = {entry.release_id for entry in entries.values()}, dict(accounts)
    new: dict[int, Proof] = {}
    problems = []
    for proof in sorted(proofs, key=lambda proof: proof.entry):
        entry, other, why = entries.get(proof.entry), new.get(proof.entry), ""
        if entry is not None:
            recovered = entry.recovered or {}
            if not entry.is_named(proof.head, proof.release_id):
                why = f"entry {proof.entry} of the ledger is another release"
            elif recovered.get("report", proof.report) != proof.report:
                why = f"entry {proof.entry} was recovered from another text of this report"
        elif other is not None:
            if other.report != proof.report:
                why = f"`{other.path}` names the same entry"
        elif proof.release_id in ids:
            why = f"the ledger has the release `{proof.release_id}` in another entry"
        else:
            ids.add(proof.release_id)
            new[proof.entry] = proof
            why = _other_terms(terms.setdefault(proof.terms.dataset, proof.terms), proof.terms)
        if why:
            problems.append(proof.disagrees(why))
    if problems:
        raise LedgerError(problems)
    return new


def _other_terms(known: AccountTerms, stated: AccountTerms) -> str:
    names = [name for name, _, _ in known.differences(stated)]
    names += ["window"] if known.window != stated.window else []
    return f"the account `{known.dataset}` has another {' and '.join(names)}" if names else ""


def _openings(firsts: Mapping[str, Proof], gaps: Sequence[int]) -> dict[int, Proof]:
    """For each account that the ledger lacks, a missing entry before its first release."""
    openings: dict[int, Proof] = {}
    for place, proof in enumerate(firsts.values()):
        if place >= len(gaps) or gaps[place] > proof.entry:
            name = proof.terms.dataset
            why = f"there is no entry before it that could have opened the account `{name}`"
            raise LedgerError([proof.disagrees(why)])
        openings[gaps[place]] = proof
    return openings


def _require_history(ledger: OpenLedger, proof: Proof) -> None:
    """Raise LedgerError unless the account has the history that the report of a release states."""
    is_first = ledger.is_first(proof.release_id, proof.terms.dataset)
    if proof.first is not None and proof.first != is_first:
        others = "releases" if is_first else "no release"
        raise LedgerError([proof.disagrees(f"its account had {others} before it")])
    terms = ledger.accounts()[proof.terms.dataset]
    period = period_number(proof.period) if proof.period else None
    before = ledger.balance(terms, period).spent
    if before.epsilon < proof.before.epsilon * NEARLY or before.delta < proof.before.delta * NEARLY:
        why = "its account had spent more before it than this ledger and the reports show"
        raise LedgerError([proof.disagrees(why)])
