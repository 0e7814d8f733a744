"""Charging for a release and storing its bytes, in one transaction.

A crash at any instant leaves either no charge and no bytes, or a charge whose bytes
can be published again, for nothing. Nothing is ever refunded.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dpcli.errors import BudgetError, LedgerError
from dpcli.ledger.balance import Balance, Spend, balance, spend
from dpcli.ledger.entry import Entry, canonical, seal_of
from dpcli.ledger.failures import told
from dpcli.ledger.store import Store
from dpcli.ledger.stored import Stored
from dpcli.ledger.terms import Payload, Terms, terms_from
from dpcli.privacy.loss import Loss, loss_text


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release will be charged for: its parts, and what names it.

    If it was `stopped`, its quality check failed, and its parts are those of the check.
    """

    terms: Terms
    release_id: str
    digest: str
    created: str
    period: str | None
    parts: tuple[Payload, ...]
    stopped: bool = False

    @property
    def spend(self) -> Spend:
        """What the charge adds to what the account has spent."""
        return spend(canonical(self.parts), self.period, self.terms.neighbors)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a release stands in the ledger, what was spent before it, and what is left."""

    ledger: str
    entry: int
    head: str
    terms: Terms
    period: str | None
    before: Loss
    balance: Balance


Render = Callable[[Standing], Mapping[str, bytes]]
"""The outputs of a release, once its place in the ledger is known."""


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
        with told(self.path):
            entries = self.store.entries("kind = 'open'")
            return {entry.dataset: terms_from(entry.content()) for entry in entries}

    def releases(self, dataset: str) -> list[Entry]:
        """What an account was charged for, in order."""
        with told(self.path):
            return self.store.entries("kind = 'release' AND dataset = ?", dataset)

    def release_ids(self) -> list[str]:
        """The names of everything that was charged."""
        with told(self.path):
            entries = self.store.entries("kind = 'release'")
            return [entry.release_id or "" for entry in entries]

    def balance(self, terms: Terms, period: int | None = None) -> Balance:
        """What an account has spent so far; with a window, around `period`."""
        with told(self.path):
            return balance(terms, self.spends(terms), period)

    def spends(self, terms: Terms) -> list[Spend]:
        """What an account was charged for, equal charges counted together."""
        with told(self.path):
            return [
                spend(parts, period, terms.neighbors, count)
                for parts, period, count in self.store.spends(terms.dataset)
            ]

    def stored(self, release_id: str, same: Charge | None = None) -> Stored | None:
        """The release of that name, if there is one.

        LedgerError if it was made from another spec or for another period than `same`, or
        if it is void.
        """
        with told(self.path):
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
                raise LedgerError.of(
                    "release-void",
                    f"the release `{release_id}` failed after its noise was drawn: it is charged, "
                    "and nothing was stored",
                    "give the next one another --release-id, and report the fault",
                )
            outputs = {name: zlib.decompress(content) for name, content in packed.items()}
            return Stored(release_id, outputs, fresh=False)

    def require_room(self, charge: Charge) -> Balance:
        """The balance after a charge; BudgetError or LedgerError if it may not be made."""
        terms = self._agreed(charge)
        before = self.spends(terms)
        period = charge.spend.period
        after = balance(terms, [*before, charge.spend], period)
        if not after.within:
            raise _refusal(charge, balance(terms, before, period), terms)
        return after

    def _agreed(self, charge: Charge) -> Terms:
        """The terms of the account that pays; LedgerError if the spec differs."""
        terms = self.accounts().get(charge.terms.dataset, charge.terms)
        differences = list(terms.differences(charge.terms))
        if differences:
            told_apart = "; ".join(
                f"its {word} is {mine}, the spec says {theirs}"
                for word, mine, theirs in differences
            )
            raise LedgerError.of(
                "account-differs",
                f"the account `{terms.dataset}` was opened on other terms: {told_apart}",
                "an account keeps its terms; change the spec back, or name another dataset if "
                "these are other people",
            )
        if (charge.period is None) != (terms.window is None):
            raise LedgerError.of(
                "period-required" if terms.window else "period-not-taken",
                f"the account `{terms.dataset}` in `{self.path}` "
                + (
                    f"counts windows of {terms.window} periods, and the release names none"
                    if terms.window
                    else "has no window, and the release names a period"
                ),
                "give the day the data are about by --period YYYY-MM-DD"
                if terms.window
                else "leave --period out; if an account with a window was opened in another "
                "ledger, name that by --ledger",
            )
        return terms

    def open_account(self, terms: Terms, created: str) -> bool:
        """Open an account; whether it is new.

        One on the same terms stays as it is. LedgerError if the dataset has one on other terms.
        """
        with told(self.path):
            with self._charging():
                there = self.accounts().get(terms.dataset)
                if there is not None and there != terms:
                    raise LedgerError.of(
                        "account-exists",
                        f"the dataset `{terms.dataset}` has an account on other terms",
                        "an account keeps its terms; see `dpcli ledger show`",
                    )
                if there is None:
                    self._append(_opening(terms, created))
            self.store.remember()
        return there is None

    def commit(self, charge: Charge, render: Render) -> Stored:
        """Charge for a release and store its outputs, or return those stored before.

        Ledger, anchor and balance are checked again while nobody else can write.
        """
        with told(self.path):
            with self._charging():
                stored = self.stored(charge.release_id, charge)
                if stored is None:
                    after = self.require_room(charge)
                    if charge.terms.dataset not in self.accounts():
                        self._append(_opening(charge.terms, charge.created))
                    stored = self._charged(charge, after, render)
            self.store.remember()
        return stored

    @contextmanager
    def _charging(self) -> Iterator[None]:
        """A transaction on a ledger that was looked at within it."""
        with self.store.writing():
            self.store.check()
            self.store.require_anchor()
            yield

    def latest(self) -> str:
        """When the last release was charged for, as it was written then."""
        with told(self.path):
            last = self.store.entries("number = (SELECT max(number) FROM entries)")
            return str(last[0].content()["created"]) if last else ""

    def _charged(self, charge: Charge, after: Balance, render: Render) -> Stored:
        """Add the charge and what `render` makes of its place."""
        outputs: dict[str, bytes] = {}
        terms = self._agreed(charge)
        spent = balance(terms, self.spends(terms), charge.spend.period).spent

        def packed(number: int, head: str) -> dict[str, bytes]:
            standing = Standing(self.path.name, number, head, terms, charge.period, spent, after)
            outputs.update(render(standing))
            return {name: zlib.compress(content) for name, content in outputs.items()}

        fields = {"digest": charge.digest, "created": charge.created}
        payload = canonical({**fields, **({"stopped": True} if charge.stopped else {})})
        parts = canonical(charge.parts)
        dataset, named = charge.terms.dataset, charge.release_id
        self._append(Entry(0, "release", dataset, named, charge.period, parts, payload, ""), packed)
        return Stored(charge.release_id, outputs, fresh=True)

    def _append(
        self,
        entry: Entry,
        outputs: Callable[[int, str], dict[str, bytes]] = lambda *_: {},
    ) -> None:
        """Add an entry to the end of the chain, within a transaction."""
        last = self.store.entries("number = (SELECT max(number) FROM entries)")
        number = last[0].number + 1 if last else 1
        previous = last[0].seal if last else self.store.genesis()
        placed = replace(entry, number=number, previous=previous)
        head = placed.expected_head()
        published = outputs(number, head)
        self.store.insert(replace(placed, head=head, seal=seal_of(head, published)), published)


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


def _opening(terms: Terms, created: str) -> Entry:
    """The entry of a new account, before it has its place."""
    payload = canonical({**terms.payload(), "created": created})
    return Entry(0, "open", terms.dataset, None, None, "[]", payload, "")


def _refusal(charge: Charge, before: Balance, terms: Terms) -> BudgetError:
    """What was asked, what remains, and what would fit."""
    asked = balance(replace(terms, window=None), [charge.spend]).lifetime
    window = f" in {terms.window} periods" if terms.window else ""
    return BudgetError.of(
        "account-exhausted",
        f"the release asks for {loss_text(asked)}, but the account `{terms.dataset}` has "
        f"{loss_text(before.remaining)} left of {loss_text(terms.budget)}{window}",
        "nothing is left, for ever; past releases are free: `dpcli ledger export ID`"
        if not (before.remaining.epsilon or terms.window)
        else "ask for no more than what is left"
        + (", or wait until a window without earlier releases" if terms.window else ""),
    )
