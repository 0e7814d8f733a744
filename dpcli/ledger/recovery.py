"""Charging a lost or restored ledger what published reports prove.

Nothing that is recorded changes, and nothing gets cheaper: entries are appended in place of
those that are missing, each with the number that its report names. Releases that no report proves
close every account.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dpcli.errors import LedgerError
from dpcli.ledger.anchor import ForeignAnchor, begin_anchor, follow, identity_of, read_anchor
from dpcli.ledger.balance import period_number
from dpcli.ledger.chain import CLOSE, LOST, Entry, canonical, opening, unplaced
from dpcli.ledger.creation import make_tables, require_empty
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.place import doubt, is_absent, missing, require_place, usual_anchor
from dpcli.ledger.reports import Proof, disagreeing, other_terms, unknown
from dpcli.ledger.sqlite import connect, touch, translated_errors
from dpcli.ledger.store import Store
from dpcli.sampling.entropy import random_bytes

NEARLY = Fraction(999_999, 1_000_000)
"""Of what a report says was spent before it: the floats of `pld` differ between machines."""


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
    with translated_errors(path), _opened(path, proofs) as store:
        with store.writing():
            known = _begun if store.created else _remembered
            remembered = known(store, anchor_lost=anchor_lost)
            found = _charged(Ledger(store), remembered or {}, proofs, created, unproven)
        if not store.anchor.exists():
            # Not before the entries are there: an anchor without them would prove less.
            begin_anchor(store.anchor, store.meta("identity"))
        store.require_anchor()
        store.check()
    return replace(found, anchored=remembered is not None, created=store.created)


@contextmanager
def _opened(path: Path, proofs: Sequence[Proof]) -> Iterator[Store]:
    """The ledger, in doubt or not; a new empty file if there is none and there are proofs."""
    if not is_absent(path):
        store = Store.open(path, doubtful=True)
        try:
            yield store
        finally:
            store.close()
        return
    if not proofs:
        raise missing(path)
    require_place(path)
    is_new = not path.exists()
    touch(path)
    store = Store(path, connect(path))
    store.created = True
    try:
        yield store
    finally:
        store.close()
        if is_new and not path.stat().st_size:
            path.unlink()


def _begun(store: Store, *, anchor_lost: bool) -> dict[int, str] | None:
    """Make the tables of a new ledger; what the anchor of the lost one remembers, if any."""
    require_empty(store)
    anchor = follow(usual_anchor(store.path))
    if anchor != usual_anchor(store.path) and not anchor.exists():
        if not anchor_lost:
            raise _anchor_lost(store.path, anchor)
        anchor = usual_anchor(store.path)
        anchor.unlink()
    try:
        identity = identity_of(anchor) if anchor.exists() else None
        remembered = read_anchor(anchor, identity) if identity else None
    except ForeignAnchor as foreign:
        raise doubt(store.path, f"it is missing or empty, and `{anchor}` {foreign}") from None
    make_tables(store, anchor, identity or random_bytes(16).hex())
    return remembered


def _remembered(store: Store, *, anchor_lost: bool) -> dict[int, str] | None:
    """What the anchor remembers; LedgerError unless the ledger is intact, but for its end."""
    store.check(incomplete=True)
    if store.anchor.exists():
        return read_anchor(store.anchor, store.meta("identity"))
    if not anchor_lost:
        raise _anchor_lost(store.path, store.anchor)
    return None


def _anchor_lost(path: Path, anchor: Path) -> LedgerError:
    """An anchor that should be somewhere, and is not."""
    return LedgerError.of(
        "anchor-lost",
        f"the anchor `{anchor}` of the ledger `{path}` is missing: nothing shows how far the "
        "ledger had come",
        "put the anchor back; if it is lost, name every report that was published, and add "
        "`--anchor-lost`",
    )


def _charged(
    book: Ledger,
    remembered: Mapping[int, str],
    proofs: Sequence[Proof],
    created: str,
    unproven: int,
) -> Recovered:
    """Append what is missing, within a transaction."""
    entries = {entry.number: entry for entry in book.store.entries()}
    new = unknown(proofs, entries)
    problems = list(other_terms(new, book.accounts()))
    if problems:
        raise LedgerError(problems)
    by_number = {proof.entry: proof for proof in new}
    accounts = book.accounts()
    firsts = {one.terms.dataset: one for one in reversed(new) if one.terms.dataset not in accounts}
    last = max(entries, default=0)
    end = max([last, *remembered, *by_number])
    lost = end - last - len(new) - len(firsts)
    if lost > unproven:
        raise _unproven(book.path, lost)
    gaps = [number for number in range(last + 1, end + 1) if number not in by_number]
    openings = _openings(firsts, gaps)
    for number in range(last + 1, end + 1):
        replaces = remembered.get(number)
        if number in by_number:
            proof = by_number[number]
            if not lost:
                _require_history(book, proof)
            book.append(proof.recovered(replaces))
        elif number in openings:
            book.append(
                _marked(opening(openings[number].terms, openings[number].created), replaces)
            )
        else:
            book.append(_marked(unplaced(LOST, "", {"created": created}), replaces))
    closed = tuple(book.accounts()) if lost > 0 else ()
    for dataset in closed:
        book.append(unplaced(CLOSE, dataset, {"created": created}))
    return Recovered(tuple(new), tuple(firsts), max(lost, 0), closed)


def _openings(firsts: Mapping[str, Proof], gaps: Sequence[int]) -> dict[int, Proof]:
    """A missing entry before its first release for each account that the ledger lacks."""
    free = list(gaps)
    found: dict[int, Proof] = {}
    for proof in sorted(firsts.values(), key=lambda one: one.entry):
        if not free or free[0] > proof.entry:
            name = proof.terms.dataset
            reason = f"there is no entry before it that could have opened the account `{name}`"
            raise LedgerError([disagreeing(proof, reason)])
        found[free.pop(0)] = proof
    return found


def _marked(entry: Entry, replaces: str | None) -> Entry:
    """An entry that says what the anchor remembered in its place."""
    return replace(
        entry, payload=canonical({**entry.content(), "recovered": {"replaces": replaces}})
    )


def _require_history(book: Ledger, proof: Proof) -> None:
    """Raise LedgerError if the account had another history before a release than it has here."""
    is_first = not book.releases(proof.terms.dataset)
    if proof.first is not None and proof.first != is_first:
        others = "releases" if is_first else "no release"
        raise LedgerError([disagreeing(proof, f"its account had {others} before it")])
    terms = book.accounts()[proof.terms.dataset]
    period = period_number(proof.period) if proof.period else None
    before = book.balance(terms, period).spent
    if before.epsilon < proof.before.epsilon * NEARLY or before.delta < proof.before.delta * NEARLY:
        reason = "its account had spent more before it than this ledger and the reports show"
        raise LedgerError([disagreeing(proof, reason)])


def _unproven(path: Path, lost: int) -> LedgerError:
    """Entries that were made, and that no report proves."""
    many = f"{lost:,} entries are" if lost != 1 else "1 entry is"
    return LedgerError.of(
        "releases-unproven",
        f"{many} missing in the ledger `{path}` that no report proves",
        f"name the reports of all releases; if they are lost as well, `--unproven {lost}` closes "
        "every account for good",
    )
