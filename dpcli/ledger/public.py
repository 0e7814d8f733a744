"""The ledger of the public API: balances and releases, and nothing that charges."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Self, final

from dpcli.ledger.balance import Balance, balance, recorded_cost
from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.ledger.options import require_file_name, translated_os_errors
from dpcli.privacy.loss import Loss
from dpcli.problems.errors import LedgerError
from dpcli.problems.light_dataclasses import dataclass

FileName = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class ChargedRelease:
    """A release as its ledger records it.

    `created` is its date and time in UTC, `period` what its data are about, if that is known. A
    release that its quality check `stopped` is charged for the check alone. A check that passed and
    the counts that then chose bounds or limits have an entry of their own, `ID+bounds`. The name of
    a later check is the id with a number, as in `ID+2`.
    """

    release_id: str
    dataset: str
    created: str
    period: str | None
    cost: Loss
    stopped: bool


@final
class Ledger(AbstractContextManager["Ledger"]):
    """An open ledger: the budget of each dataset, and the releases charged to it.

    It is closed at the end of its `with` block. Releases are charged by `dpcli.release` alone.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Ledger.create(f"{folder}/ledger.sqlite") as ledger:
    ...     print(ledger.balances(), ledger.releases())
    {} []
    """

    __slots__ = ("_opened",)

    def __init__(self, opened: OpenLedger) -> None:
        if not isinstance(opened, OpenLedger):
            raise TypeError("use `Ledger.open(path)` or `Ledger.create(path)`")
        self._opened = opened

    @classmethod
    def create(cls, path: FileName) -> Self:
        """A new, empty ledger; LedgerError if the file exists, or a ledger was there."""
        target = Path(path)
        require_file_name(target)
        with translated_os_errors(target):
            if target.exists() or target.is_symlink():
                raise LedgerError.about("ledger-exists", path=target)
        return cls(create_ledger(target))

    @classmethod
    def open(cls, path: FileName) -> Self:
        """The ledger in a file; LedgerError if it is absent, or not as it was left."""
        return cls(OpenLedger.open(Path(path)))

    @property
    def path(self) -> Path:
        """The path of the ledger file."""
        return self._opened.path

    def balances(self) -> dict[str, Balance]:
        """What each account has `spent` and has `remaining` of its `budget`, by dataset.

        If the budget covers a window of days, these are the numbers of the worst window.
        """
        accounts = self._opened.accounts()
        return {name: self._opened.balance(terms) for name, terms in accounts.items()}

    def releases(self, dataset: str | None = None) -> list[ChargedRelease]:
        """What was charged, to one account or to all, in the order of charging."""
        found = []
        for name, terms in self._opened.accounts().items():
            for entry in self._opened.releases(name) if dataset in (None, name) else ():
                cost = recorded_cost(entry.events_json, entry.period, terms)
                total = balance(replace(terms, window=None), [cost]).lifetime
                content = entry.content()
                created, stopped = str(content["created"]), bool(content.get("stopped"))
                released = entry.release_id, name, created, entry.period
                release = ChargedRelease(*released, total, stopped)
                found.append((entry.number, release))
        return [release for _, release in sorted(found, key=lambda pair: pair[0])]

    def outputs(self, release_id: str, dataset: str | None = None) -> Mapping[str, bytes]:
        """The exact bytes a release may publish, by name.

        Raises LedgerError if there is no such release, or if several datasets have one of this id,
        and none is named.
        """
        stored = self._opened.stored(release_id, self._opened.dataset_of(release_id, dataset))
        return {} if stored is None else stored.outputs

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


def opened_ledger(ledger: Ledger) -> OpenLedger:
    """The open ledger behind a ledger of the public API."""
    return ledger._opened  # noqa: SLF001 - no part of the public face
