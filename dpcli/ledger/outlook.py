"""What a ledger says about a release before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpcli.errors import BudgetError, Failure
from dpcli.ledger.balance import Balance
from dpcli.ledger.runs import Repeated
from dpcli.ledger.terms import Terms


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would happen to a release, and to the account that pays for it.

    `exists` says whether there is a ledger, `terms` are those of the account once it is opened.
    `before` and `after` are balances around the release, as far as they are known; what is
    `refused` has none after it. In an account with a window they are those of a window without
    other releases, unless the release names its day. `shared` are other accounts that were
    charged for the same file. `repeated` is about many runs; they are `unrepeatable` if the
    account allows one of them and not all.
    """

    ledger: Path
    exists: bool
    terms: Terms | None = None
    before: Balance | None = None
    after: Balance | None = None
    refused: Failure | None = None
    shared: tuple[str, ...] = ()
    repeated: Repeated | None = None
    unrepeatable: Failure | None = None

    @property
    def window(self) -> int | None:
        """The days that the budget of the account is for."""
        return None if self.terms is None else self.terms.window

    @property
    def exhausted(self) -> bool:
        """Whether it is the budget that refuses."""
        return isinstance(self.refused, BudgetError)

    def require(self) -> None:
        """Raise what a release would be refused with, or as many of them as were asked about."""
        failure = self.refused or self.unrepeatable
        if failure is not None:
            raise failure
