"""Charging a lost or restored ledger for what published reports prove.

No recorded entry changes, and no release gets cheaper. Entries are appended in place of the missing
ones, each with the number that its report names. If a missing entry has no report, every account is
closed.

If releases were made with a restored copy before it was recovered, there are two histories: reports
name entries that the ledger has for other releases, or two reports name the same entry. People are
in both, so both are charged: the releases that the ledger lacks are appended with new numbers. An
account with two histories of a series is closed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path

from dpcli.ledger.balance import AccountTerms, Payload, day_number
from dpcli.ledger.chain import (
    CLOSE,
    LOST,
    OPEN,
    RELEASE,
    ForeignAnchorError,
    LedgerEntry,
    create_anchor,
    default_anchor,
    read_anchor,
    resolve_pointer,
)
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import (
    in_doubt_error,
    is_absent,
    missing_error,
    removed_if_empty,
    require_creatable,
    translated_os_errors,
)
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.problems.errors import LedgerError, Problem, make_problem
from dpcli.problems.light_dataclasses import dataclass

FORKED = "+fork"
"""Appended to the id of a release of another history if the ledger has that id."""

NEARLY = Fraction(999_999, 1_000_000)
"""The part of the loss stated in a report that the ledger must have recorded.

It is below 1 because the floats of `pld` differ between machines.
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """A release as its report describes it.

    `entry` and `head` identify its entry in the lost ledger. `report` is the SHA-256 of the report.
    `before` is what the account had spent before the release. `first` says whether the account had
    no release before it; None for an old report that does not say so. If `exact`, the `events` are
    those of the entry, else one event that stands for the sum of all losses. The account may be a
    part of another one, the `parent`.
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
    recipient: str | None = None
    parent: AccountTerms | None = None

    def unopened(self, accounts: Mapping[str, AccountTerms]) -> Iterator[Proof]:
        """What opens the parent and the account, as far as `accounts` lack them."""
        parents = [] if self.parent is None else [replace(self, terms=self.parent, parent=None)]
        return (proof for proof in (*parents, self) if proof.terms.dataset not in accounts)

    def disagrees(self, why: str) -> Problem:
        """The problem of a report that was changed, or does not belong to the ledger."""
        return make_problem("report-disagrees", report=self.path, why=why)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a recovery did: releases charged again, accounts opened and closed.

    The releases in `forked` are of another history than the rest of the ledger. `lost` is the
    number of missing entries without a report. If not `anchored`, no anchor showed how many
    entries the ledger had. `created` says whether there was no ledger before.
    """

    releases: tuple[Proof, ...] = ()
    forked: tuple[Proof, ...] = ()
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
    """Charge the ledger at `path` for what reports prove; create it if it is absent.

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
            require_creatable(path)
        opened = OpenLedger(path) if is_new else OpenLedger.open(path, unchecked=True)
        ledger = stack.enter_context(closing(opened))
        with ledger.writing():
            read_digests = _initialize if is_new else _check_and_read_anchor
            recorded = read_digests(ledger, anchor_lost=anchor_lost)
            recovered = _append_missing(ledger, recorded or {}, proofs, created, unproven)
        if not ledger.anchor.exists():
            # After the entries are there: an anchor that lacks them would prove less.
            create_anchor(ledger.anchor, ledger.metadata_value("identity"))
        ledger.require_anchor()
        ledger.check()
    return replace(recovered, anchored=recorded is not None, created=is_new)


def _initialize(ledger: OpenLedger, *, anchor_lost: bool) -> dict[int, str] | None:
    """Create a new ledger; return the digests in the anchor of the lost ledger.

    None if there is no anchor. Raises LedgerError for an anchor that is lost, unless `anchor_lost`,
    and for a file that is not an anchor.
    """
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
    """Check a ledger that may lack entries; return the digests in its anchor.

    None without an anchor, which raises LedgerError unless `anchor_lost`.
    """
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
    lacking = _lacking(proofs, list(entries.values()), accounts)
    new, forked, start = _histories(lacking, entries, recorded)
    firsts: dict[str, Proof] = {}
    for proof in new.values():
        for opening in proof.unopened(accounts):
            firsts.setdefault(opening.terms.dataset, opening)
    last = max(entries, default=0)
    end = max([last, *recorded, *new])
    # Several reports name these lost entries, and one of them proves each.
    named = Counter(proof.entry for proof in forked if proof.entry > last)
    shared = {at for at in named if named[at] > 1 and at in recorded}
    proven = {*new, *shared}
    lost_of_fork = _lost_of_fork(forked, start, recorded, entries)
    lost = end - last - len(proven) - len(firsts) + lost_of_fork
    if lost > unproven:
        raise LedgerError.about("releases-unproven", lost=lost, path=ledger.path)
    openings = _openings(firsts, [at for at in range(last + 1, end + 1) if at not in proven])
    # In this order, each release follows all that its own history has before it.
    left, forks = (deque(lacking), ()) if shared else (deque(new.values()), forked)
    opened = [*firsts]
    for number in range(last + 1, end + 1):
        origin: Payload = {"replaces": recorded.get(number)}
        if number in openings:
            _append_opening(ledger, openings[number], origin)
        elif number not in proven:
            _append_lost(ledger, created, origin)
        elif unopened := [*left[0].unopened(ledger.accounts())]:
            _append_opening(ledger, unopened[0], origin)
            opened.append(unopened[0].terms.dataset)
        else:
            _require_history(ledger, left[0], is_forked=bool(forked), is_whole=not lost)
            _append_release(ledger, left.popleft(), origin)
    opened += _append_forked(ledger, [*left, *forks], is_whole=not lost)
    for _ in range(lost_of_fork):
        _append_lost(ledger, created, {})
    closed = tuple(ledger.accounts()) if lost > 0 else _of_two_series(ledger, forked)
    for dataset in closed:
        ledger.append(ledger.next_entry(CLOSE, dataset, {"created": created}))
    return Recovered((*new.values(), *forked), forked, tuple(opened), max(lost, 0), closed)


def _of_two_series(ledger: OpenLedger, forked: Sequence[Proof]) -> tuple[str, ...]:
    """The accounts with two histories of a series, and their parents.

    Privacy: the days before both histories are in answers of both, and no entry charges for that.
    """
    datasets = {
        proof.terms.dataset for proof in forked if any(event.series for event in proof.events)
    }
    accounts = ledger.accounts()
    parents = {accounts[name].part_of for name in datasets if name in accounts}
    return tuple(name for name in accounts if name in datasets | parents)


def _append_forked(ledger: OpenLedger, forked: Sequence[Proof], *, is_whole: bool) -> Iterator[str]:
    """Charge for releases of another history; yield the accounts that this opens."""
    for proof in forked:
        for opening in proof.unopened(ledger.accounts()):
            _append_opening(ledger, opening, {})
            yield opening.terms.dataset
        _require_history(ledger, proof, is_forked=True, is_whole=is_whole)
        _append_release(ledger, proof, {})


def _append_lost(ledger: OpenLedger, created: str, origin: Payload) -> None:
    payload: Payload = {"created": created, "recovered": origin}
    ledger.append(ledger.next_entry(LOST, "", payload))


def _append_release(ledger: OpenLedger, proof: Proof, origin: Payload) -> None:
    """Charge for a release by its report; the new entry records the `origin`.

    The origin describes the lost entry, and what the report states is added to it. If the ledger
    has a release of the same dataset and id, from another history, the entry gets another id.
    """
    origin |= {"entry": proof.entry, "head": proof.head}
    origin |= {"report": proof.report, "exact": proof.exact}
    dataset, name = proof.terms.dataset, proof.release_id
    taken = {entry.release_id for entry in ledger.releases(dataset)}
    if name in taken:
        numbers = (str(number) if number > 1 else "" for number in count(1))
        name = next(each for number in numbers if (each := name + FORKED + number) not in taken)
        origin |= {"release_id": proof.release_id}
    payload: Payload = {"recovered": origin, "digest": proof.digest, "created": proof.created}
    payload |= {"recipient": proof.recipient} if proof.recipient else {}
    ledger.append(ledger.next_entry(RELEASE, dataset, payload, proof.events, name, proof.period))


def _append_opening(ledger: OpenLedger, proof: Proof, origin: Payload) -> None:
    payload = {**proof.terms.payload(), "created": proof.created, "recovered": origin}
    ledger.append(ledger.next_entry(OPEN, proof.terms.dataset, payload))


def _lacking(
    proofs: Sequence[Proof], entries: Sequence[LedgerEntry], accounts: Mapping[str, AccountTerms]
) -> list[Proof]:
    """Proofs of releases that the ledger lacks, in the order of entries; each once.

    Raises LedgerError with every report that contradicts the ledger or another report.
    """
    terms, problems = dict(accounts), []
    lacking: dict[str, Proof] = {}
    for proof in sorted(proofs, key=lambda proof: (proof.entry, proof.created)):
        named = [entry for entry in entries if entry.is_named(proof.head, proof.release_id)]
        known = [(entry.recovered or {}).get("report", proof.report) for entry in named]
        earlier, why = lacking.get(proof.head), ""
        if named and proof.report not in known:
            number = named[0].number
            why = f"entry {number} was recovered from another text of this report"
        elif earlier is not None and earlier.report != proof.report:
            why = f"`{earlier.path}` names the same entry"
        elif not named:
            lacking[proof.head] = proof
            stated = [each for each in (proof.parent, proof.terms) if each is not None]
            known_terms = [terms.setdefault(each.dataset, each) for each in stated]
            why = next(filter(None, map(_different_terms, known_terms, stated)), "")
        if why:
            problems.append(proof.disagrees(why))
    LedgerError.require_none(problems)
    return list(lacking.values())


def _histories(
    lacking: Sequence[Proof], entries: Mapping[int, LedgerEntry], recorded: Mapping[int, str]
) -> tuple[dict[int, Proof], tuple[Proof, ...], int]:
    """The lacking releases that continue the ledger, by entry; then the forked ones.

    The first are by entry. The third item is the first entry in which histories differ; 0 if none
    does. Raises LedgerError if a single history has one release id in two entries.
    """
    counts = Counter(proof.entry for proof in lacking)
    start = min((at for at in counts if at in entries or counts[at] > 1), default=0)
    if start:
        # No one knows which of the releases after that follow which. A release that was made before
        # one with a smaller number is of another history: it may not be the one that is lost.
        times = [(number, str(entry.content()["created"])) for number, entry in entries.items()]
        times += [(proof.entry, proof.created) for proof in lacking]
        new = {
            proof.entry: proof
            for proof in lacking
            if proof.entry in recorded
            and proof.entry not in entries
            and counts[proof.entry] == 1
            and all(time <= proof.created for number, time in times if number < proof.entry)
        }
        return new, tuple(proof for proof in lacking if proof.entry not in new), start
    ids, problems = {(entry.dataset, entry.release_id) for entry in entries.values()}, []
    for proof in lacking:
        own = proof.terms.dataset, proof.release_id
        if own in ids:
            why = "the ledger has the release `{1}` of `{0}` in another entry".format(*own)
            problems.append(proof.disagrees(why))
        ids.add(own)
    LedgerError.require_none(problems)
    return {proof.entry: proof for proof in lacking}, (), 0


def _lost_of_fork(
    forked: Sequence[Proof],
    start: int,
    recorded: Mapping[int, str],
    entries: Mapping[int, LedgerEntry],
) -> int:
    """How many entries of another history, from `start` on, no report proves.

    One missing entry is not counted for each account that the other history opened, which is known
    if a report says that its release was the first.
    """
    proven = {proof.entry for proof in forked}
    last = max(entries, default=0)
    missing = [
        number
        for number in range(start, max(proven, default=0))
        if number not in proven and not (number > last and number in recorded)
    ]
    before = {
        entry.dataset for entry in entries.values() if entry.kind == OPEN and entry.number < start
    }
    opened = {
        opening.terms.dataset for proof in forked if proof.first for opening in proof.unopened({})
    } - before
    return max(len(missing) - len(opened), 0)


def _different_terms(known: AccountTerms, stated: AccountTerms) -> str:
    names = [name for name, _, _ in known.differences(stated)]
    # A spec may leave these out, and a report does not.
    names += [
        term.replace("part_of", "parent")
        for term in ("window", "part_of", "recipients")
        if term not in names and getattr(known, term) != getattr(stated, term)
    ]
    return f"the account `{known.dataset}` has another {' and '.join(names)}" if names else ""


def _openings(firsts: Mapping[str, Proof], gaps: Sequence[int]) -> dict[int, Proof]:
    """Missing entries that may have opened an account, each with its first release.

    Raises LedgerError if an account has no missing entry before its first release.
    """
    openings: dict[int, Proof] = {}
    for index, proof in enumerate(firsts.values()):
        if index >= len(gaps) or gaps[index] > proof.entry:
            name = proof.terms.dataset
            why = f"there is no entry before it that could have opened the account `{name}`"
            raise LedgerError([proof.disagrees(why)])
        openings[gaps[index]] = proof
    return openings


def _require_history(ledger: OpenLedger, proof: Proof, *, is_forked: bool, is_whole: bool) -> None:
    """Raise LedgerError unless the account has the history that a report states.

    With several histories, the account may have more than that. If the ledger is not `is_whole`,
    because entries are lost, it has less, and nothing is required.
    """
    if not is_whole:
        return
    is_first = not ledger.earlier(proof.terms, proof.release_id)[0]
    if proof.first is not None and proof.first != is_first and not (is_forked and proof.first):
        expected = "releases" if is_first else "no release"
        raise LedgerError([proof.disagrees(f"its account had {expected} before it")])
    terms = ledger.accounts()[proof.terms.dataset]
    before = ledger.balance(terms, day_number(proof.period)).spent
    if before.epsilon < proof.before.epsilon * NEARLY or before.delta < proof.before.delta * NEARLY:
        why = "its account had spent more before it than this ledger and the reports show"
        raise LedgerError([proof.disagrees(why)])
