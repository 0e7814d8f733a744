"""Charging a lost or restored ledger what published reports prove.

Nothing that is recorded changes, and nothing gets cheaper: entries are appended in place of
those that are missing, each with the number that its report names. Releases that no report proves
close every account.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dpcli.errors import LedgerError, Problem, problem
from dpcli.ledger.anchor import (
    ForeignAnchor,
    begin_anchor,
    follow,
    identity_of,
    read_anchor,
    usual_anchor,
)
from dpcli.ledger.balance import period_number
from dpcli.ledger.chain import CLOSE, LOST, OPEN, RELEASE, Entry
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.place import (
    doubt,
    is_absent,
    missing,
    removed_if_empty,
    require_place,
    system_errors,
)
from dpcli.ledger.terms import Payload, Terms
from dpcli.privacy.loss import Loss
from dpcli.sampling.entropy import random_bytes

NEARLY = Fraction(999_999, 1_000_000)
"""Of what a report says was spent before it: the floats of `pld` differ between machines."""


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

    def disagrees(self, why: str) -> Problem:
        """A report that does not belong to the ledger, or was changed."""
        return problem("report-disagrees", report=self.path, why=why)


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
    with system_errors(path), _opened(path, proofs) as (ledger, is_new):
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


@contextmanager
def _opened(path: Path, proofs: Sequence[Proof]) -> Iterator[tuple[Ledger, bool]]:
    """The ledger, in doubt or not; a new empty file if there is none and there are proofs."""
    if not is_absent(path):
        with closing(Ledger.open(path, doubtful=True)) as ledger:
            yield ledger, False
        return
    if not proofs:
        raise missing(path)
    require_place(path)
    with removed_if_empty(path), closing(Ledger(path)) as ledger:
        yield ledger, True


def _begun(ledger: Ledger, *, anchor_lost: bool) -> dict[int, str] | None:
    """Make the tables of a new ledger; what the anchor of the lost one records, if any."""
    usual = usual_anchor(ledger.path)
    anchor = follow(usual)
    is_lost = anchor != usual and not anchor.exists()
    if is_lost and not anchor_lost:
        raise LedgerError.about("anchor-lost", anchor=anchor, path=ledger.path)
    try:
        identity = None if is_lost else identity_of(anchor)
        recorded = read_anchor(anchor, identity) if identity else None
    except ForeignAnchor as foreign:
        raise doubt(ledger.path, f"it is missing or empty, and `{anchor}` {foreign}") from None
    ledger.begin(usual if is_lost else anchor, identity or random_bytes(16).hex())
    if is_lost:
        usual.unlink()
    return recorded


def _recorded(ledger: Ledger, *, anchor_lost: bool) -> dict[int, str] | None:
    """What the anchor records; LedgerError unless the ledger is intact, but for its end."""
    ledger.check(incomplete=True)
    if ledger.anchor.exists():
        return read_anchor(ledger.anchor, ledger.meta("identity"))
    if not anchor_lost:
        raise LedgerError.about("anchor-lost", anchor=ledger.anchor, path=ledger.path)
    return None


def _charged(
    book: Ledger, recorded: Mapping[int, str], proofs: Sequence[Proof], created: str, unproven: int
) -> Recovered:
    """Append what is missing, within a transaction."""
    entries = {entry.number: entry for entry in book.entries()}
    accounts = book.accounts()
    new = _unknown(proofs, entries)
    _refuse(_other_terms(new.values(), accounts))
    firsts: dict[str, Proof] = {}
    for proof in new.values():
        if proof.terms.dataset not in accounts:
            firsts.setdefault(proof.terms.dataset, proof)
    last = max(entries, default=0)
    end = max([last, *recorded, *new])
    lost = end - last - len(new) - len(firsts)
    if lost > unproven:
        code = "releases-unproven" if lost != 1 else "releases-unproven.one"
        raise LedgerError.about(code, lost=lost, path=book.path)
    gaps = [number for number in range(last + 1, end + 1) if number not in new]
    openings = _openings(firsts, gaps)
    for number in range(last + 1, end + 1):
        place: Payload = {"replaces": recorded.get(number)}
        payload: Payload
        if number in new:
            proof = new[number]
            if not lost:
                _require_history(book, proof)
            place |= {"entry": number, "head": proof.head}
            place |= {"report": proof.report, "exact": proof.exact}
            payload = {"digest": proof.digest, "created": proof.created, "recovered": place}
            named = proof.release_id, proof.period
            book.append(RELEASE, proof.terms.dataset, payload, proof.parts, *named)
        elif number in openings:
            terms, when = openings[number].terms, openings[number].created
            payload = {**terms.payload(), "created": when, "recovered": place}
            book.append(OPEN, terms.dataset, payload)
        else:
            book.append(LOST, "", {"created": created, "recovered": place})
    closed = tuple(book.accounts()) if lost > 0 else ()
    for dataset in closed:
        book.append(CLOSE, dataset, {"created": created})
    return Recovered(tuple(new.values()), tuple(firsts), max(lost, 0), closed)


def _refuse(problems: Iterator[Problem]) -> None:
    found = list(problems)
    if found:
        raise LedgerError(found)


def _unknown(proofs: Sequence[Proof], entries: Mapping[int, Entry]) -> dict[int, Proof]:
    """Those that the ledger does not have, in the order of their entries.

    LedgerError with every report that contradicts the ledger, or another report.
    """
    ids = {entry.release_id for entry in entries.values()}
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
        if why:
            problems.append(proof.disagrees(why))
    _refuse(iter(problems))
    return new


def _other_terms(proofs: Iterable[Proof], accounts: Mapping[str, Terms]) -> Iterator[Problem]:
    """Every report of an account whose terms are others in the ledger, or in another report."""
    known = dict(accounts)
    for proof in proofs:
        terms = known.setdefault(proof.terms.dataset, proof.terms)
        words = [word for word, _, _ in terms.differences(proof.terms)]
        words += ["window"] if terms.window != proof.terms.window else []
        if words:
            yield proof.disagrees(
                f"the account `{terms.dataset}` has another {' and '.join(words)}"
            )


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


def _require_history(book: Ledger, proof: Proof) -> None:
    """Raise LedgerError if the account had another history before a release than it has here."""
    is_first = not book.releases(proof.terms.dataset)
    if proof.first is not None and proof.first != is_first:
        others = "releases" if is_first else "no release"
        raise LedgerError([proof.disagrees(f"its account had {others} before it")])
    terms = book.accounts()[proof.terms.dataset]
    period = period_number(proof.period) if proof.period else None
    before = book.balance(terms, period).spent
    if before.epsilon < proof.before.epsilon * NEARLY or before.delta < proof.before.delta * NEARLY:
        why = "its account had spent more before it than this ledger and the reports show"
        raise LedgerError([proof.disagrees(why)])
