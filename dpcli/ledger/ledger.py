"""Charging for a release and storing its outputs, in one transaction.

After a crash at any instant there is either no charge and no output, or a charge whose outputs can
be published again at no cost. Nothing is ever refunded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import cast, final

from dpcli.ledger.account import Account, FurtherBudget, require_joint
from dpcli.ledger.balance import (
    AccountTerms,
    Balance,
    Payload,
    RecordedCost,
    balance,
    day_number,
    from_events_json,
    guarantee_counts,
    recorded_cost,
)
from dpcli.ledger.chain import (
    CLOSE,
    LOST,
    OPEN,
    RELEASE,
    LedgerEntry,
    canonical,
    create_anchor,
    default_anchor,
    entry_digest,
    entry_names,
    genesis,
    to_events_json,
    write_pointer,
)
from dpcli.ledger.charge import (
    SERIES,
    SUFFIX,
    Charge,
    EarlierRelease,
    Receipt,
    Render,
    StoredRelease,
    later_check,
    state_digest,
)
from dpcli.ledger.entries import account_terms, entry_faults, unpacked_outputs
from dpcli.ledger.options import (
    in_doubt_error,
    is_absent,
    ledger_of,
    require_creatable,
    require_file_name,
    require_no_history,
    translated_os_errors,
)
from dpcli.ledger.store import Store
from dpcli.noise.entropy import random_bytes
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.unit import Neighbors
from dpcli.problems.errors import LedgerError, Problem
from dpcli.problems.messages import quoted_list

EARLIER = 5
"""How many earlier releases a receipt names."""

DIGITS = 8
"""How many digits of a hash a message shows."""


def undo_interrupted_creation(path: Path) -> None:
    """Empty a ledger file whose creation was interrupted; keep other files.

    The file of an interrupted creation is not empty until SQLite reads it and finds the journal.
    """
    file = path.resolve()
    if path.is_file() and not is_absent(path) and file.with_name(f"{file.name}-journal").exists():
        with closing(Store(path)) as store:
            store.value("PRAGMA application_id")


def create_ledger(path: Path, anchor: Path | None = None, *, network: bool = False) -> OpenLedger:
    """The ledger at `path`, made with its anchor if absent; see `OpenLedger.created`.

    With `network`, `path` may be on a network drive. Raises LedgerError if `path` cannot hold a
    ledger, or if an anchor shows that a ledger was lost.
    """
    require_file_name(path)
    with translated_os_errors(path), ExitStack() as undo:
        undo_interrupted_creation(path)
        if path.is_file() and not is_absent(path):
            return OpenLedger.open(path)
        require_creatable(path, network=network)
        ledger = OpenLedger(path)
        undo.callback(ledger.close)
        with ledger.writing():
            if not ledger.is_ledger():
                anchor_path, identity = anchor or default_anchor(path), random_bytes(16).hex()
                require_no_history(path, anchor_path)
                # The anchor comes first: a crash must not leave a ledger without its anchor.
                create_anchor(anchor_path, identity)
                ledger.initialize(anchor_path, identity, network=network)
        ledger.check()
        if anchor is not None and ledger.anchor != default_anchor(path):
            with suppress(OSError):
                write_pointer(default_anchor(path), ledger.anchor)
        undo.pop_all()
    return ledger


def open_or_create_ledger(
    named: Path | None, folder: Path, *, must_exist: bool = False
) -> closing[OpenLedger]:
    """The `named` ledger, which must exist, or the default ledger in `folder`.

    The default ledger is created if it is absent. With `must_exist`, LedgerError is raised instead.
    """
    path = ledger_of(named, folder)
    if named is None and must_exist and is_absent(path):
        raise LedgerError.about("ledger-must-exist", path=path)
    return closing(create_ledger(path) if named is None else OpenLedger.open(path))


@final
class OpenLedger(Store):
    """An open ledger: accounts, their balances, and the releases that they paid for.

    Its methods raise LedgerError if the file cannot be read or written.
    """

    __slots__ = ()

    def accounts(self) -> dict[str, AccountTerms]:
        """The terms of every account, by dataset, in the order of opening."""
        entries = self.entries("kind = 'open'")
        return {entry.dataset: account_terms(entry) for entry in entries}

    def releases(self, dataset: str) -> list[LedgerEntry]:
        """The entries of the releases that an account paid for, in order."""
        return self.entries("kind = 'release' AND dataset = ?", dataset)

    def earlier(self, terms: AccountTerms, release_id: str) -> tuple[list[EarlierRelease], int]:
        """The last `EARLIER` other releases, newest first, and how many are before.

        The entry in which that release chose its bounds or limits is not another release.
        """
        dataset, found = terms.dataset, list[EarlierRelease]()
        own = *entry_names(release_id, dataset), *entry_names(release_id + SUFFIX, dataset)
        condition = "kind = 'release' AND dataset = ? AND release_id NOT IN (?, ?, ?, ?)"
        query = f"SELECT number FROM entries WHERE {condition} ORDER BY number DESC"  # noqa: S608 - a constant
        numbers = list(map(itemgetter(0), self.query(query, dataset, *own)))
        for number in numbers[:EARLIER]:
            (entry,) = self.entries("number = ?", number)
            cost = recorded_cost(entry.events_json, entry.period, terms)
            loss = balance(replace(terms, window=None), [cost]).lifetime
            found.append((entry.release_id, str(entry.content()["created"]), loss))
        return found, len(numbers) - len(found)

    def entry_of(self, release_id: str, dataset: str) -> LedgerEntry | None:
        """The entry of a dataset with this release id; None if there is none."""
        condition = "kind = 'release' AND dataset = ? AND release_id IN (?, ?)"
        entries = self.entries(condition, dataset, *entry_names(release_id, dataset))
        return entries[0] if entries else None

    def datasets_of(self, release_id: str) -> list[str]:
        """The datasets that have a release with this id, in the order of entries."""
        named = "kind = 'release' AND (release_id = ? OR instr(release_id, ?) = 1)"
        return [entry.dataset for entry in self.entries(named, *entry_names(release_id, ""))]

    def dataset_of(self, release_id: str, dataset: str | None = None) -> str:
        """The dataset of a release: the named one, or the only one with this id.

        Raises LedgerError if there is no such release, or if several datasets have one.
        """
        found = [name for name in self.datasets_of(release_id) if dataset in (None, name)]
        if not found:
            of = "" if dataset is None else f" of the dataset `{dataset}`"
            raise LedgerError.about("no-such-release", release_id=release_id, of=of)
        if len(found) > 1:
            arguments = {"release_id": release_id, "path": self.path, "dataset": found[0]}
            raise LedgerError.about("release-id-shared", names=quoted_list(found), **arguments)
        return found[0]

    def entry_name(self, release_id: str, dataset: str) -> str:
        """The name of a new entry; call it in a transaction."""
        short, full = entry_names(release_id, dataset)
        return full if self.entries("release_id = ?", short) else short

    def names(self) -> list[str]:
        """The names of all entries of releases, in order."""
        return [entry.name or "" for entry in self.entries("kind = 'release'")]

    def latest(self) -> str:
        """The recorded time of the last entry; empty if there is none."""
        last = self.last_entry()
        return str(last.content()["created"]) if last else ""

    def balance(self, terms: AccountTerms, period: int | None = None) -> Balance:
        """The balance of an account; see `Account.balance` for `period`."""
        return self.account(terms.dataset).balance(terms, period)

    def account(self, dataset: str, without: str = "", part_of: str | None = None) -> Account:
        """The recorded account of a dataset, without the charge of the id `without`.

        Equal charges are one cost with a count. A parent is charged for all of its parts. An
        account that is not open yet will be `part_of` this one.
        """
        accounts = self.accounts()
        terms = accounts.get(dataset)
        parent = part_of if terms is None else terms.part_of
        paying = [name for name in accounts if dataset in (name, accounts[name].part_of)]
        return Account(
            self.path,
            terms,
            [
                recorded_cost(events_json, period, accounts[name], count, recipient)
                for name in paying
                for events_json, period, recipient, count in self.charged_events(
                    name, without if name == dataset else ""
                )
            ],
            closed=bool(self.entries("kind = ? AND dataset = ?", CLOSE, dataset)),
            may_open=terms is not None or not self.entries("kind = ?", LOST),
            parent=self.account(parent) if parent in accounts and parent != dataset else None,
        )

    def charged(self, dataset: str) -> list[tuple[int, RecordedCost]]:
        """Each charge to an account, or to a part of it, with its day."""
        return [
            (day, recorded_cost(entry.events_json, entry.period, terms, 1, recipient))
            for name, terms in self.accounts().items()
            if dataset in (name, terms.part_of)
            for entry in self.releases(name)
            for content in [entry.content()]
            for recipient in [cast("str | None", content.get("recipient"))]
            if (day := day_number(str(content["created"])[:10])) is not None
        ]

    def sharing(
        self, dataset: str, files: Sequence[str] = (), part_of: str | None = None
    ) -> dict[str, set[str]]:
        """Other accounts charged for a file of this account, or for one of `files`.

        Parts of one account are left out: the budget of that account bounds them together.
        """
        files_of = self.data_files()
        own = files_of.pop(dataset, set()).union(files)
        shared = {name: files_of[name] & own for name in sorted(files_of) if files_of[name] & own}
        accounts = self.accounts() if shared else {}
        joint = accounts[dataset].part_of if dataset in accounts else part_of
        parts = {name for name in shared if (joint or dataset) in (name, accounts[name].part_of)}
        return {name: found for name, found in shared.items() if name not in parts}

    def new_sharing(
        self, dataset: str, files: Sequence[str], part_of: str | None = None
    ) -> dict[str, set[str]]:
        """Other accounts charged for one of `files`, if no file was shared before.

        The release for which the ledger learned that two accounts share files showed a warning.
        """
        known = self.sharing(dataset, (), part_of)
        shared = self.sharing(dataset, files, part_of)
        return {name: paths for name, paths in shared.items() if name not in known}

    def stored(
        self, release_id: str, dataset: str, same: Charge | None = None
    ) -> StoredRelease | None:
        """The stored release of a dataset with this id; None if there is none.

        Raises LedgerError if the release differs from `same` in the spec or the period, if its
        outputs were changed, or if it has no outputs: it failed, or was recovered from a report.
        """
        entry = self.entry_of(release_id, dataset)
        if entry is None:
            return None
        if same is not None:
            _require_same(entry, same)
        packed = self.unchanged_outputs(entry)
        if not packed:
            recovered = "recovered" in entry.content()
            code = "release-recovered" if recovered else "release-void"
            raise LedgerError.about(code, name=release_id)
        outputs = unpacked_outputs(entry.number, packed)
        created, last = str(entry.content()["created"]), entry
        if _is_stopped(entry):
            last = self.attempts(release_id.partition("+")[0], dataset)[-1]
        later = last.release_id if last != entry else ""
        return StoredRelease(
            release_id, dataset, entry.name or "", outputs, created=created, later=later,
            passed=not _is_stopped(last), shared=len(self.datasets_of(release_id)) > 1,
        )  # fmt: skip

    def attempts(self, release_id: str, dataset: str) -> list[LedgerEntry]:
        """The entry of a release, and those of later checks under its id, in order."""
        found: list[LedgerEntry] = []
        name = release_id
        while entry := self.entry_of(name, dataset):
            found.append(entry)
            name = later_check(release_id, len(found) + 1)
        return found

    def failed_checks(self, release_id: str, dataset: str) -> list[StoredRelease]:
        """The attempts at a release that the quality check stopped, as stored."""
        attempts = filter(_is_stopped, self.attempts(release_id, dataset))
        found = (self.stored(entry.release_id, dataset) for entry in attempts)
        return [stored for stored in found if stored is not None]

    def next_attempt(self, release_id: str, dataset: str, period: str | None) -> tuple[str, str]:
        """The entry names of the next check of a release and of the last failed check.

        If the last attempt was not stopped, its entry name and an empty text. Raises LedgerError if
        there is no attempt, or if the stopped one was for another period.
        """
        attempts = self.attempts(release_id, dataset)
        if not attempts:
            arguments = {"name": release_id, "dataset": dataset, "path": self.path}
            raise LedgerError.about("nothing-to-check-again", **arguments)
        last = attempts[-1]
        if not _is_stopped(last):
            return last.release_id, ""
        _require_period(last, period)
        return later_check(release_id, len(attempts) + 1), last.release_id

    def series_state(self, statistic: str, dataset: str) -> tuple[bytes, int]:
        """The last stored state of a series, and how many answers it lacks.

        The state is empty if there is none. The answers were charged after it, and have no outputs:
        they were recovered from reports, or failed after noise was drawn. Raises LedgerError if
        the state was changed, or if that of a later answer was removed.
        """
        number = self.last_with_output(SERIES + statistic, dataset) or 0
        later = self.entries("kind = 'release' AND dataset = ? AND number > ?", dataset, number)
        unstored = sum(
            not self.unchanged_outputs(entry)
            for entry in later
            if any(event.statistic == statistic for event in from_events_json(entry.events_json))
        )
        if not number:
            return b"", unstored
        (entry,) = self.entries("number = ?", number)
        outputs = unpacked_outputs(number, self.unchanged_outputs(entry))
        return outputs[SERIES + statistic], unstored

    def unchanged_outputs(self, entry: LedgerEntry) -> dict[str, bytes]:
        """The packed outputs of an entry; LedgerError unless its digest is of them."""
        packed = self.outputs(entry.number)
        if entry.digest != entry_digest(entry.head, packed):
            raise in_doubt_error(self.path, f"the outputs of entry {entry.number} were changed")
        return packed

    def check_budget(self, charge: Charge) -> None:
        """Raise BudgetError or LedgerError if the account refuses the charge."""
        self.account(charge.terms.dataset, part_of=charge.terms.part_of).check_charge(
            charge.terms, charge.cost, may_open=charge.may_open
        )

    def open_account(self, terms: AccountTerms, created: str) -> bool:
        """Open an account, and return whether it is new.

        An account on the same terms stays as it is. Raises LedgerError if the dataset has an
        account on other terms, or if it cannot be a part of the account that it names.
        """
        with self.checked_writing():
            accounts = self.accounts()
            existing = accounts.get(terms.dataset)
            if existing is not None and existing != terms:
                raise LedgerError.about("account-exists", dataset=terms.dataset)
            require_joint(terms, accounts.get(terms.part_of or ""), self.path)
            if existing is None:
                payload = terms.payload() | {"created": created}
                self.append(self.next_entry(OPEN, terms.dataset, payload))
        self.update_anchor()
        return existing is None

    def commit(self, charge: Charge, render: Render) -> StoredRelease:
        """Charge for a release and store its outputs, or return those stored already.

        Ledger, anchor and balance are checked again while no other process can write. Raises
        BudgetError or LedgerError if the release is refused; see `LedgerTransaction.commit`.
        """
        with translated_os_errors(self.path), self.checked_writing():
            ids, dataset = charge.outcomes or (charge.release_id,), charge.terms.dataset
            known = (self.stored(release_id, dataset, charge) for release_id in ids)
            stored = next((found for found in known if found is not None), None)
            if stored is None:
                stored = self._charge(charge, render)
        self.update_anchor()
        return stored

    def all_faults(self) -> list[str]:
        """Everything that is wrong with the ledger, one sentence for each fault."""
        fault = self.first_fault()
        faults = [fault] if fault else []
        if self.value("PRAGMA integrity_check(1)") != "ok":
            return [*faults, "the file is damaged"]
        try:
            # First, because other processes append entries with outputs in the meantime.
            published = {number for (number,) in self.query("SELECT number FROM outputs")}
            entries = self.entries()
            if published - {entry.number for entry in entries}:
                faults.append("it has outputs without an entry")
            faults += entry_faults(entries)
            for entry in entries:
                faults += self._content_faults(entry)
            problems: list[Problem] = []
            for terms in [] if faults else self.accounts().values():
                with LedgerError.collected(problems):
                    self.balance(terms)
            # A package may be missing on this machine.
            faults += [each.message for each in problems if each.code != "package-missing"]
        except (LedgerError, ValueError, TypeError, AttributeError):
            if not faults:
                raise
        return list(dict.fromkeys(faults))

    def _content_faults(self, entry: LedgerEntry) -> list[str]:
        """Why the outputs or the events of an entry cannot be used; empty if they can."""
        packed, problems = self.outputs(entry.number), list[Problem]()
        if entry.digest != entry_digest(entry.head, packed):
            return [f"the outputs of entry {entry.number} were changed"]
        with LedgerError.collected(problems):
            unpacked_outputs(entry.number, packed)
            guarantee_counts(entry.events_json, Neighbors.ADD_REMOVE.value)
        return [f"entry {entry.number}: {problem.message}" for problem in problems]

    @contextmanager
    def checked_writing(self) -> Iterator[None]:
        """A write transaction that begins with a check of the ledger and its anchor.

        Raises LedgerError if the ledger is in doubt, or if the anchor cannot be written.
        """
        with self.writing():
            self.check()
            self.require_anchor()
            yield

    def _charge(self, charge: Charge, render: Render) -> StoredRelease:
        if charge.reserved:
            self.check_budget(replace(charge, events=charge.reserved))
        dataset = charge.terms.dataset
        for statistic, digest in charge.series:
            if state_digest(*self.series_state(statistic, dataset)) != digest:
                # Two answers after one state would have the sums of earlier periods twice.
                raise LedgerError.about("series-window.moved", name=statistic)
        account = self.account(dataset, part_of=charge.terms.part_of)
        before, after = account.check_charge(charge.terms, charge.cost, may_open=charge.may_open)
        choice = charge.release_id + SUFFIX
        if account.terms is not None and self.entry_of(choice, dataset):
            # What chose the bounds of this release is a part of what it costs.
            without_choice = self.account(dataset, without=choice)
            before = without_choice.balance(account.terms, charge.cost.period)
        if account.terms is None:
            payload = charge.terms.payload() | {"created": charge.created}
            self.append(self.next_entry(OPEN, dataset, payload))
        salted = charge.payload | {"salt": random_bytes(16).hex()}
        entry = self.next_entry(
            RELEASE, dataset, salted, charge.events, charge.release_id, charge.period
        )
        terms, further = account.terms or charge.terms, list[FurtherBudget]()
        if terms.recipients or account.parent:
            further = account.further_budgets(terms, charge.cost)
        earlier, more = self.earlier(terms, charge.release_id)
        receipt = Receipt(
            self.path.name, entry, terms, charge.period,
            before.spent, after, first=not earlier,
            build=charge.build, after_check=charge.after_check, recipient=charge.recipient,
            further_budgets=tuple(further), earlier=tuple(earlier), more=more,
        )  # fmt: skip
        outputs = dict(render(receipt))
        self.append(entry, outputs)
        shared = len(self.datasets_of(charge.release_id)) > 1
        name = entry.name or ""
        return StoredRelease(charge.release_id, dataset, name, outputs, receipt, shared)

    def next_entry(
        self,
        kind: str,
        dataset: str,
        payload: Payload,
        events: Sequence[MechanismEvent] = (),
        release_id: str | None = None,
        period: str | None = None,
    ) -> LedgerEntry:
        """A new entry of a kind, at the chain's end; `append` it in the same transaction."""
        name = None if release_id is None else self.entry_name(release_id, dataset)
        last = self.last_entry()
        number, previous = (last.number + 1, last.digest) if last else (1, genesis(self.metadata()))
        content = to_events_json(events), canonical(payload)
        entry = LedgerEntry(number, kind, dataset, name, period, *content, previous)
        return replace(entry, head=entry.expected_head())


def _require_same(entry: LedgerEntry, charge: Charge) -> None:
    digest = str(entry.content()["digest"])
    if digest != charge.digest:
        was, now = digest[:DIGITS], charge.digest[:DIGITS]
        raise taken_error(entry, f"from another spec: its SHA-256 is {was}..., not {now}...")
    _require_period(entry, charge.period)
    recipient = entry.content().get("recipient")
    if recipient != charge.recipient:
        raise taken_error(entry, f"for the recipient {recipient}" if recipient else "for everyone")


def _require_period(entry: LedgerEntry, period: str | None) -> None:
    if entry.period != period:
        how = f"for the period {entry.period}" if entry.period else "for no period"
        raise taken_error(entry, how)


def taken_error(entry: LedgerEntry, how: str) -> LedgerError:
    """The error for a release id of a dataset that stands for another release."""
    arguments = {"name": entry.release_id, "dataset": entry.dataset, "how": how}
    return LedgerError.about("release-id-taken", **arguments)


def _is_stopped(entry: LedgerEntry) -> bool:
    return entry.content().get("stopped") is True
