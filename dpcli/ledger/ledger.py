"""Charging for a release and storing its bytes, in one transaction.

A crash at any instant leaves either no charge and no bytes, or a charge whose bytes
can be published again at no cost. Nothing is ever refunded.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dpcli.errors import LedgerError
from dpcli.ledger.acceptance import Accepted, Account, accepted
from dpcli.ledger.balance import Balance, Spend, spend
from dpcli.ledger.chain import CLOSE, LOST, RELEASE, Entry, opening, seal_of, unplaced
from dpcli.ledger.charge import Charge, Render, Slot, Standing, Stored
from dpcli.ledger.sqlite import translated_errors
from dpcli.ledger.store import Store
from dpcli.ledger.terms import Terms, terms_from


class Ledger:
    """An open ledger: accounts, balances, and the releases that they paid for."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        return self.store.path

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    def accounts(self) -> dict[str, Terms]:
        """The terms of every account, by dataset, in the order of opening."""
        with translated_errors(self.path):
            entries = self.store.entries("kind = 'open'")
            return {entry.dataset: terms_from(entry.content()) for entry in entries}

    def releases(self, dataset: str) -> list[Entry]:
        """What an account was charged for, in order."""
        with translated_errors(self.path):
            return self.store.entries("kind = 'release' AND dataset = ?", dataset)

    def release_ids(self) -> list[str]:
        """The names of everything that was charged."""
        with translated_errors(self.path):
            return [entry.release_id or "" for entry in self.store.entries("kind = 'release'")]

    def latest(self) -> str:
        """When the last release was charged for, as it was written then."""
        with translated_errors(self.path):
            last = self.store.last()
            return str(last.content()["created"]) if last else ""

    def balance(self, terms: Terms, period: int | None = None) -> Balance:
        """What an account has spent so far; with a window, around `period`."""
        with translated_errors(self.path):
            return self.account(terms.dataset).balance(terms, period)

    def account(self, dataset: str) -> Account:
        """What is recorded of an account, equal charges counted together."""
        with translated_errors(self.path):
            terms = self.accounts().get(dataset)
            spends = [] if terms is None else self._spends(terms)
            closed = bool(self.store.entries("kind = ? AND dataset = ?", CLOSE, dataset))
            lost = terms is None and bool(self.store.entries("kind = ?", LOST))
            return Account(self.path, terms, spends, closed, opens=not lost)

    def _spends(self, terms: Terms) -> list[Spend]:
        """What an account was charged for."""
        return [
            spend(parts, period, terms.neighbors, count)
            for parts, period, count in self.store.spends(terms.dataset)
        ]

    def sharing(self, dataset: str, files: Sequence[str] = ()) -> list[str]:
        """Other accounts that were charged for a file that this one was, or for one of these."""
        with translated_errors(self.path):
            recorded = self.store.data_files()
            mine = recorded.pop(dataset, set()).union(files)
            return sorted(name for name, theirs in recorded.items() if theirs & mine)

    def stored(self, release_id: str, same: Charge | None = None) -> Stored | None:
        """The release of that name, if there is one.

        LedgerError if it was made from another spec or for another period than `same`, or
        if its outputs are not stored: it failed, or was recovered from its report.
        """
        with translated_errors(self.path):
            found = self.store.entries("release_id = ?", release_id)
            if not found:
                return None
            (entry,) = found
            if same is not None:
                _require_same(entry, same)
            packed = self.store.outputs(entry.number)
            if entry.seal != seal_of(entry.head, packed):
                raise LedgerError.of(
                    "ledger-in-doubt",
                    f"the ledger `{self.path}` cannot be trusted: entry {entry.number} was changed",
                    "the stored outputs are not the ones that were published",
                )
            if not packed:
                raise _without_outputs(entry)
            outputs = {name: zlib.decompress(content) for name, content in packed.items()}
            return Stored(release_id, outputs, fresh=False)

    def require_room(self, charge: Charge) -> Accepted:
        """The balances around a charge; BudgetError or LedgerError if it may not be made."""
        with translated_errors(self.path):
            account = self.account(charge.terms.dataset)
            return accepted(account, charge.terms, charge.spend, opens=charge.opens)

    def open_account(self, terms: Terms, created: str) -> bool:
        """Open an account; whether it is new.

        One on the same terms stays as it is. LedgerError if the dataset has one on other terms.
        """
        with translated_errors(self.path):
            with self.charging():
                there = self.accounts().get(terms.dataset)
                if there is not None and there != terms:
                    raise LedgerError.of(
                        "account-exists",
                        f"the dataset `{terms.dataset}` has an account on other terms",
                        "an account keeps its terms; see `dpcli ledger show`",
                    )
                if there is None:
                    self.append(opening(terms, created))
            self.store.update_anchor()
        return there is None

    def reserve(self, charge: Charge) -> Slot:
        """A place for one release, to be left by `with`; LedgerError if its name is taken."""
        return Slot(self, charge)

    def commit(self, charge: Charge, render: Render) -> Stored:
        """Charge for a release and store its outputs, or return those stored before.

        Ledger, anchor and balance are checked again while no other process can write.
        """
        with translated_errors(self.path):
            with self.charging():
                stored = self.stored(charge.release_id, charge)
                if stored is None:
                    stored = self._charge(charge, render)
            self.store.update_anchor()
        return stored

    @contextmanager
    def charging(self) -> Iterator[None]:
        """A transaction on a ledger that is checked within it."""
        with self.store.writing():
            self.store.check()
            self.store.require_anchor()
            yield

    def _charge(self, charge: Charge, render: Render) -> Stored:
        """Add the charge and what `render` makes of its place, within a transaction."""
        if charge.reserved:
            self.require_room(replace(charge, parts=charge.reserved))
        found, dataset = self.require_room(charge), charge.terms.dataset
        if dataset not in self.accounts():
            self.append(opening(charge.terms, charge.created))
        first = not self.releases(dataset)
        entry = self._placed(
            unplaced(
                RELEASE,
                dataset,
                charge.payload,
                parts=charge.parts,
                release_id=charge.release_id,
                period=charge.period,
            )
        )
        standing = Standing(
            self.path.name, entry.number, entry.head, found.terms, charge.period,
            found.before.spent, found.after, first,
        )  # fmt: skip
        outputs = dict(render(standing))
        packed = {name: zlib.compress(content) for name, content in outputs.items()}
        self.store.insert(replace(entry, seal=seal_of(entry.head, packed)), packed)
        return Stored(charge.release_id, outputs, fresh=True)

    def append(self, entry: Entry) -> None:
        """Add an entry without outputs to the end of the chain, within a transaction."""
        placed = self._placed(entry)
        self.store.insert(replace(placed, seal=seal_of(placed.head, {})), {})

    def _placed(self, entry: Entry) -> Entry:
        """The entry at the end of the chain, without its seal."""
        last = self.store.last()
        number = last.number + 1 if last else 1
        previous = last.seal if last else self.store.genesis()
        placed = replace(entry, number=number, previous=previous)
        return replace(placed, head=placed.expected_head())


def _require_same(entry: Entry, charge: Charge) -> None:
    """Raise LedgerError unless a recorded release is the one that is asked for."""
    if entry.content()["digest"] != charge.digest:
        other = "from another spec"
    elif entry.period != charge.period:
        other = f"for {'the period ' + entry.period if entry.period else 'no period'}"
    else:
        return
    raise LedgerError.of(
        "release-id-taken",
        f"release `{charge.release_id}` was made {other}",
        "ask for the same again, or give this release an id of its own",
    )


def _without_outputs(entry: Entry) -> LedgerError:
    """A release that was charged, and whose bytes the ledger does not have."""
    if "recovered" in entry.content():
        return LedgerError.of(
            "release-recovered",
            f"the release `{entry.release_id}` was recovered from its report: it is charged, and "
            "the ledger does not have its outputs",
            "use the files that were published then; a new release needs another --release-id",
        )
    return LedgerError.of(
        "release-void",
        f"the release `{entry.release_id}` failed after its noise was drawn: it is charged, and "
        "nothing was stored",
        "give the next one another --release-id, and report the fault",
    )
