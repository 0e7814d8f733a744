"""Charging a lost or restored ledger what published reports prove.

Nothing that is recorded changes, and nothing gets cheaper: entries are appended in place of
those that are missing, each with the number that its report names. Releases that no report proves
close every account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dpcli.errors import LedgerError, Problem, make_problem
from dpcli.ledger.anchor import ForeignAnchor, begin_anchor, follow, read_anchor, usual_anchor
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
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.terms import AccountTerms, Payload
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss

NEARLY = Fraction(999_999, 1_000_000)
"""Of what a report says was spent before it: the floats of `pld` differ between machines."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A release as its report describes it.

    `entry` and `head` name its entry in the ledger that was lost, `report` is the SHA-256 of the
    report, and `before` what the account had spent until then; `first` says whether that was
    nothing, unless the report is too old to say so. The `events` are those of the entry
    if they are `exact`, else one that stands for the plain sum of all losses.
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
        """A report that does not belong to the ledger, or was changed."""
        return make_problem("report-disagrees", report=self.path, why=why)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was charged again, which accounts were opened for it, and what closed all accounts.

    `lost` entries are those that no report proves. Without `anchored`, nothing showed how far
    the ledger had come. `created` says whether there was no ledger before.
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
    """Charge the ledger at `path`, which is made if it is absent, for what reports prove.

    Up to `unproven` entries may be missing that no report proves; then every account is
    closed. With `anchor_lost`, a ledger is accepted without its anchor. Raises LedgerError, and
    changes nothing, for a ledger that was changed, for reports that do not belong to it, and for
    more missing entries than allowed.
    """
    with translated_os_errors(path), removed_if_empty(path), ExitStack() as stack:
        is_new = is_absent(path)
        if is_new and not proofs:
            raise missing_error(path)
        if is_new:
            require_place(path)
        opened = Ledger(path) if is_new else Ledger.open(path, doubtful=True)
        ledger = stack.enter_context(closing(opened))
        with ledger.writing():
            known = _begun if is_new else _recorded
            recorded = known(ledger, anchor_lost=anchor_lost)
            found = _charged(ledger, recorded or {}, proofs, created, unproven)
        if not ledger.anchor.exists():
            # Not before the entries are there: an anchor without them would prove less.
            begin_anchor(ledger.anchor, ledger.meta("identity"))
        ledger.require_anchor()
        ledger.check()
    return replace(found, anchored=recorded is not None, created=is_new)


def _begun(ledger: Ledger, *, anchor_lost: bool) -> dict[int, str] | None:
    """Make the tables of a new ledger; what the anchor of the lost one records, if any."""
    usual = usual_anchor(ledger.path)
    anchor = follow(usual)
    is_lost = anchor != usual and not anchor.exists()
    if is_lost and not anchor_lost:
        raise LedgerError.about("anchor-lost", anchor=anchor, path=ledger.path)
    try:
        identity, recorded = (None, {}) if is_lost else read_anchor(anchor, None)
    except ForeignAnchor as foreign:
        raise in_doubt_error(
            ledger.path, f"it is missing or empty, and `{anchor}` {foreign}"
        ) from None
    ledger.begin(usual if is_lost else anchor, identity or random_bytes(16).hex())
    if is_lost:
        usual.unlink()
    return recorded if identity else None


def _recorded(ledger: Ledger, *, anchor_lost: bool) -> dict[int, str] | None:
    """What the anchor records; LedgerError unless the ledger is intact, but for its end."""
    ledger.check(incomplete=True)
    if ledger.anchor.exists():
        return read_anchor(ledger.anchor, ledger.meta("identity"))[1]
    if not anchor_lost:
        raise LedgerError.about("anchor-lost", anchor=ledger.anchor, path=ledger.path)
    return None


def _charged(
    ledger: Ledger,
    recorded: Mapping[int, str],
    proofs: Sequence[Proof],
    created: str,
    unproven: int,
) -> Recovered:
    entries, accounts = {entry.number: entry for entry in ledger.entries()}, ledger.accounts()
    new = _unknown(proofs, entries, accounts)
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
        place: Payload = {"replaces": recorded.get(number)}
        payload: Payload = {"created": created, "recovered": place}
        if number in new:
            proof = new[number]
            if not lost:
                _require_history(ledger, proof)
            place |= {"entry": number, "head": proof.head}
            place |= {"report": proof.report, "exact": proof.exact}
            payload |= {"digest": proof.digest, "created": proof.created}
            named = proof.release_id, proof.period
            entry = ledger.next_entry(RELEASE, proof.terms.dataset, payload, proof.events, *named)
        elif number in openings:
            terms = openings[number].terms
            payload |= {**terms.payload(), "created": openings[number].created}
            entry = ledger.next_entry(OPEN, terms.dataset, payload)
        else:
            entry = ledger.next_entry(LOST, "", payload)
        ledger.insert(entry)
    closed = tuple(ledger.accounts()) if lost > 0 else ()
    for dataset in closed:
        ledger.insert(ledger.next_entry(CLOSE, dataset, {"created": created}))
    return Recovered(tuple(new.values()), tuple(firsts), max(lost, 0), closed)


def _unknown(
    proofs: Sequence[Proof],
    entries: Mapping[int, LedgerEntry],
    accounts: Mapping[str, AccountTerms],
) -> dict[int, Proof]:
    """Those that the ledger does not have, in the order of their entries.

    LedgerError with every report that contradicts the ledger, or another report.
    """
    ids, terms = {entry.release_id for entry in entries.values()}, dict(accounts)
    new: dict[int, Proof] = {}
    problems = []
    for proof in sorted(proofs, key=lambda one: one.entry):
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
    words = [word for word, _, _ in known.differences(stated)]
    words += ["window"] if known.window != stated.window else []
    return f"the account `{known.dataset}` has another {' and '.join(words)}" if words else ""


def _openings(firsts: Mapping[str, Proof], gaps: Sequence[int]) -> dict[int, Proof]:
    """A missing entry before its first release for each account that the ledger lacks."""
    found: dict[int, Proof] = {}
    for place, proof in enumerate(firsts.values()):
        if place >= len(gaps) or gaps[place] > proof.entry:
            name = proof.terms.dataset
            why = f"there is no entry before it that could have opened the account `{name}`"
            raise LedgerError([proof.disagrees(why)])
        found[gaps[place]] = proof
    return found


def _require_history(ledger: Ledger, proof: Proof) -> None:
    """Raise LedgerError if the account had another history before a release than it has here."""
    is_first = not ledger.releases(proof.terms.dataset)
    if proof.first is not None and proof.first != is_first:
        others = "releases" if is_first else "no release"
        raise LedgerError([proof.disagrees(f"its account had {others} before it")])
    terms = ledger.accounts()[proof.terms.dataset]
    period = period_number(proof.period) if proof.period else None
    before = ledger.balance(terms, period).spent
    if before.epsilon < proof.before.epsilon * NEARLY or before.delta < proof.before.delta * NEARLY:
        why = "its account had spent more before it than this ledger and the reports show"
        raise LedgerError([proof.disagrees(why)])
